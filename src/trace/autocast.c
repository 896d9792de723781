/* autocast.c -- the operands of a call in the dtype that autocast wants of them. It acts where handles
 * become slots, so that no constructor knows of it: only the names of calls decide. */
#include "trace/mode.h"

#include <string.h>

enum cast { none, lower, f32, promote };

static const struct { const char *name; enum cast cpu, cuda; } rows[] = {
#define HOP_CAST_ROW(name, torch, cpu, cuda) { #name, cpu, cuda },
#include "trace/autocast.def"
#undef HOP_CAST_ROW
};
enum { NROW = sizeof rows / sizeof *rows };

hop_dtype hop_autocast_of(const hop_modes *m, const char *op)
{
	for (int i = 0; m && m->cast != HOP_NDTYPE && i < NROW; i++) {
		if (strcmp(rows[i].name, op))
			continue;
		enum cast c = m->cuda ? rows[i].cuda : rows[i].cpu;
		return c == lower ? m->cast : c == f32 ? HOP_f32 : HOP_NDTYPE;
	}
	return HOP_NDTYPE;
}

/* f64 is never touched, nor are numbers, which have no dtype yet. */
static bool eligible(const hop_trace *t, const hop_cell *s)
{
	hop_dtype d = (hop_dtype)s->type->dtype;
	return !s->weak && hop_dtype_float(d) && d != HOP_f64 && d != t->cast;
}

/* One cast for all uses of the same contents in a trace: in a weight that is used often it is made
 * once. It is no result of a call, so that no_grad does not stop it: a use outside shares it. */
uint32_t hop_autocast_slot(hop_trace *t, uint32_t slot)
{
	const hop_cell *s = &t->slot[slot];
	if (!eligible(t, s))
		return slot;
	hop_val v = hop_slot_read(t, slot);
	if (hop_is_bad(v))
		return slot;
	uint32_t key[2] = { v.id, (uint32_t)t->cast };
	uintptr_t had = (uintptr_t)hop_map_get(&t->casts, key, sizeof key);
	if (had)
		return (uint32_t)(had - 1);
	hop_value r = hop_value_plain(t, hop_emit_cast(&t->b, v, t->cast));
	if (!r.trace)
		return slot;
	hop_map_put(&t->casts, key, sizeof key, (void *)((uintptr_t)r.id + 1));
	return r.id;
}
