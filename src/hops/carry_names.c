/* carry_names.c -- what the carries of loops are called, for those who look at them while they run.
 * Graphs have no names, so they are kept beside them, under what transforms do not change: the
 * place of the loop, its op and direction, how many carries it has. A loop that a transform made
 * with other carries is not found, and its carries have numbers. */
#include "hops/hops.h"

#include <string.h>

struct key { char what[8]; hop_loc loc; uint32_t op, reverse, ncarry; };

static struct key key_of(hop_loc loc, int op, bool reverse, uint32_t ncarry)
{
	return (struct key){ "carries", loc, (uint32_t)op, reverse, ncarry };
}

/* A word that a debugger reads: layer[2].h is layer_2__h. */
static const char *word(hop_env *e, const char *s)
{
	char *w = hop_arena_str(&e->tmp, s, strlen(s));
	for (char *c = w; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			*c = '_';
	return hop_ctx_name(e, w, strlen(w));
}

void hop_carry_names_set(hop_env *e, hop_loc loc, int op, bool reverse, uint32_t ncarry, uint32_t n,
                         const char *const *name)
{
	struct key k = key_of(loc, op, reverse, ncarry);
	hop_mark m = hop_mark_at(&e->tmp);
	const char **list = HOP_NEWN(&e->tmp, const char *, ncarry);
	for (uint32_t i = 0; i < n && i < ncarry; i++)
		list[i] = name[i] && *name[i] ? word(e, name[i]) : NULL;
	if (loc && ncarry)
		hop_ctx_memo_put(e, &k, sizeof k, (void *)(uintptr_t)hop_ctx_intern(e, HOP_IN_NAME, list,
		                 ncarry * sizeof *list, sizeof *list));
	hop_rewind(&e->tmp, m);
}

const char *const *hop_carry_names(hop_env *e, const hop_node *n, int ncarry)
{
	bool reverse = n->op == HOP_OP_scan && HOP_ATTR(n, scan)->reverse;
	struct key k = key_of(n->loc, n->op, reverse, (uint32_t)ncarry);
	return ncarry ? hop_ctx_memo_get(e, &k, sizeof k) : NULL;
}
