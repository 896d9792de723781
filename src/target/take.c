/* take.c -- texts of users as code in this process. What they say is not looked at here. */
#include <string.h>

#include "target/cache.h"
#include "target/look.h"

/* What was cached and does not load is as good as nothing. */
static bool from_cache(hop_env *e, const hop_target *t, hop_hash key, const char *entry,
                       hop_image *out_i)
{
	hop_bytes b = { 0 };
	b.p = hop_cache_get(e, hop_cache_key_maker(key, t->maker(e, false)), &b.n);
	if (!b.p)
		return false;
	bool ok = !t->load(e, &b, NULL, entry, out_i);
	hop_raw_free(&e->mem, b.p, b.n);
	if (!ok)
		hop_diag_clear(e);
	return ok;
}

/* What it was made by is asked once it was: LLVM is opened then. */
static void remember(hop_env *e, const hop_target *t, hop_hash key, const hop_bytes *b)
{
	hop_hash maker = t->maker(e, true);
	if (maker.lo || maker.hi)
		hop_cache_put(e, hop_cache_key_maker(key, maker), b->p, b->n);
}

hop_status hop_target_take(hop_env *e, const hop_target *t, const char *text, size_t n,
                           const char *entry, hop_image *out_i)
{
	hop_bytes b = { 0 };
	hop_hash key = hop_cache_key_text(e, t, text, n);
	if (!hop_look() && from_cache(e, t, key, entry, out_i))
		return HOP_OK;
	HOP_TRY(t->take(e, text, n, entry, &b));
	hop_status st = t->load(e, &b, NULL, entry, out_i);
	if (!st && !hop_look())
		remember(e, t, key, &b);
	hop_raw_free(&e->mem, b.p, b.n);
	return st;
}
