/* save.c -- files of arrays, written: .npz and .safetensors. Packs nothing; reading is store.c. */
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"
#include "data/array.h"
#include "hop/file.h"
#include "io/npy.h"
#include "io/tensors.h"
#include "io/utf8.h"
#include "io/zip.h"

struct save {
	hop_env           *env;
	const char        *path;
	size_t             n;
	const char *const *name;
	hop_array *const  *array;
	hop_out           *out;
};

/* ---- what can be saved ---- */

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);
	return n > k && !strcmp(path + n - k, end);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hop_status check(struct save *s)
{
	enum { LONGEST = 60000 };                          /* a zip has 65535 for all of it */
	const char **name = HOP_NEWN(&s->env->tmp, const char *, s->n);
	for (size_t i = 0; i < s->n; i++) {
		name[i] = s->name[i];
		if (!name[i] || !s->array[i])
			return hop_fail(s->env, 0, HOP_EUSE, "%s: array %zu or its name is missing", s->path,
			                i);
		if (!*name[i] || strlen(name[i]) > LONGEST || !hop_name_ok(name[i], strlen(name[i])))
			return hop_fail(s->env, 0, HOP_EVALUE, "%s: the name of array %zu is empty, too long, "
			                "not UTF-8, or has control characters", s->path, i);
	}
	qsort(name, s->n, sizeof *name, by_name);
	for (size_t i = 1; i < s->n; i++)
		if (!strcmp(name[i - 1], name[i]))
			return hop_fail(s->env, 0, HOP_EVALUE, "%s: two arrays are called %s", s->path, name[i]);
	return HOP_OK;
}

/* Dense elements, with the lowest byte first if so asked for; in scratch if they have to be made. */
static const void *elements(struct save *s, const hop_array *a, bool little)
{
	uint16_t one = 1;
	bool swap = little && !*(unsigned char *)&one;
	size_t w = hop_dtype_bytes(a->dtype);
	if (a->dense && !a->mem && !swap)
		return a->data;
	char *p = hop_arena_alloc(&s->env->tmp, a->bytes);
	if (hop_array_pack(a, p))
		hop_fail(s->env, 0, HOP_ETARGET, "%s: %s", s->path, hop_message(s->env->ctx));
	for (size_t i = 0; swap && i < a->bytes; i += w)
		for (size_t k = 0; k < w / 2; k++) {
			char was = p[i + k];
			p[i + k] = p[i + w - 1 - k];
			p[i + w - 1 - k] = was;
		}
	return p;
}

/* ---- .npz ---- */

static hop_status save_zip(struct save *s)
{
	hop_zip_writer w;
	hop_crc *crc = HOP_NEW(&s->env->tmp, hop_crc);
	hop_buf head, name;
	hop_crc_init(crc);
	hop_zip_open(&w, s->out);
	hop_buf_open(&head, s->env);
	hop_buf_open(&name, s->env);
	for (size_t i = 0; i < s->n; i++) {
		const hop_array *a = s->array[i];
		hop_mark m = hop_mark_at(&s->env->tmp);
		const void *p = elements(s, a, false);
		head.n = name.n = 0;
		hop_npy_head(&head, a->dtype, a->rank, a->dim);
		hop_putf(&name, "%s.npy", s->name[i]);
		uint32_t sum = hop_crc_of(crc, 0, head.s, head.n);
		sum = hop_crc_of(crc, sum, p, a->bytes);
		hop_zip_member_begin(&w, name.s, head.n + a->bytes, sum);
		hop_out_put(s->out, head.s, head.n);
		hop_out_put(s->out, p, a->bytes);
		hop_rewind(&s->env->tmp, m);
	}
	hop_buf_free(&name);
	hop_buf_free(&head);
	hop_zip_close(&w);
	return s->env->diag.st;
}

/* ---- .safetensors ---- */

/* Wide elements first, so that all are aligned where nothing may lie between them. */
static size_t *places(struct save *s, uint64_t *from)
{
	size_t *order = HOP_NEWN(&s->env->tmp, size_t, s->n), k = 0;
	uint64_t at = 0;
	for (size_t w = 8; w; w /= 2)
		for (size_t i = 0; i < s->n; i++)
			if (hop_dtype_bytes(s->array[i]->dtype) == w) {
				from[i] = at;
				at += s->array[i]->bytes;
				order[k++] = i;
			}
	return order;
}

static hop_status save_tensors(struct save *s)
{
	enum { ALIGN = 64, MOST = 100000000 };
	uint64_t *from = HOP_NEWN(&s->env->tmp, uint64_t, s->n);
	size_t *order = places(s, from);
	hop_buf h;
	hop_buf_open(&h, s->env);
	hop_putc(&h, '{');
	for (size_t i = 0; i < s->n; i++) {
		const hop_array *a = s->array[i];
		if (!strcmp(s->name[i], "__metadata__")) {
			hop_buf_free(&h);
			return hop_fail(s->env, 0, HOP_EVALUE, "%s: no array may be called __metadata__",
			                s->path);
		}
		hop_put(&h, i ? "," : "");
		hop_put_json(&h, s->name[i]);
		hop_putf(&h, ":{\"dtype\":\"%s\",\"shape\":[", hop_dtype_row(a->dtype)->tensors);
		for (int k = 0; k < a->rank; k++)
			hop_putf(&h, "%s%lld", k ? "," : "", (long long)a->dim[k]);
		hop_putf(&h, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)from[i],
		         (unsigned long long)(from[i] + a->bytes));
	}
	hop_putc(&h, '}');
	while ((8 + h.n) % ALIGN)
		hop_putc(&h, ' ');
	hop_status st = h.n <= MOST ? HOP_OK : hop_fail(s->env, 0, HOP_EVALUE, "%s: so many names do "
	                                                "not fit the format", s->path);
	unsigned char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)((uint64_t)h.n >> 8 * i);
	hop_out_put(s->out, length, 8);
	hop_out_put(s->out, h.s, h.n);
	hop_buf_free(&h);
	for (size_t i = 0; i < s->n; i++) {
		const hop_array *a = s->array[order[i]];
		hop_mark m = hop_mark_at(&s->env->tmp);
		hop_out_put(s->out, elements(s, a, true), a->bytes);
		hop_rewind(&s->env->tmp, m);
	}
	return st;
}

/* ---- the door ---- */

/* A frame of its own: without memory, what was written so far must go. */
static hop_status save(struct save *s)
{
	hop_env *e = s->env;
	hop_frame f;
	hop_out out;
	if (!ends_in(s->path, ".npz") && !ends_in(s->path, ".safetensors"))
		return hop_fail(e, 0, HOP_EVALUE, "%s: a path that ends in .npz or .safetensors says how "
		                "to write it", s->path);
	HOP_TRY(check(s));
	hop_out_open(&out, e, s->path);
	s->out = &out;
	if (HOP_GUARD(e, &f)) {
		hop_guard_end(e, &f);
		hop_out_drop(&out);
		hop_nomem(e);
	}
	hop_status st = ends_in(s->path, ".npz") ? save_zip(s) : save_tensors(s);
	hop_guard_end(e, &f);
	if (!st)
		return hop_out_close(&out);
	hop_out_drop(&out);
	return st;
}

hop_status hop_file_save(hop_ctx *c, const char *path, int n, const char *const *names,
                         hop_array *const *arrays)
{
	hop_env e;
	hop_frame f;
	hop_status st;
	if (!c || !path || n < 0 || (n && (!names || !arrays)))
		return HOP_EUSE;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		struct save s = { .env = &e, .path = path, .n = (size_t)n, .name = names,
		                  .array = arrays };
		st = save(&s);
		hop_guard_end(&e, &f);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}
