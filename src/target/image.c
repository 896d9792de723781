/* image.c -- the bytes of a program to an image: as they were made, or as the cache has them. An exit
 * for want of memory, which loading may take, leaves no bytes behind. Does not make any. */
#include "target/cache.h"

static hop_status load(hop_env *e, const hop_target *t, const hop_bytes *b, const hop_prog *p,
                       const char *entry, hop_image *out_i)
{
	hop_frame f;
	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	hop_status st = t->load(e, b, p, entry, out_i);
	hop_guard_end(e, &f);
	return st;
}

/* Filed under the code generator that was opened, whichever one was expected. Where there is no memory
 * for it, it is not kept. */
static void remember(hop_env *e, const hop_target *t, hop_hash key, hop_bytes b)
{
	hop_frame f;
	if (HOP_GUARD(e, &f)) {
		hop_guard_nomem(e, &f);
		hop_diag_clear(e);
		return;
	}
	hop_hash maker = t->maker(e, true);
	if (maker.lo || maker.hi)
		hop_cache_put(e, hop_cache_key_maker(key, maker), b.p, b.n);
	hop_guard_end(e, &f);
}

hop_status hop_image_load(hop_env *e, const hop_target *t, hop_bytes b, const hop_prog *p,
                          const char *entry, const hop_hash *key, hop_image *out_i)
{
	hop_status st = load(e, t, &b, p, entry, out_i);
	if (!st && key)
		remember(e, t, *key, b);
	hop_raw_free(&e->mem, b.p, b.n);
	return st;
}

bool hop_image_cached(hop_env *e, const hop_target *t, const hop_prog *p, const char *entry,
                      hop_hash key, hop_image *out_i)
{
	hop_bytes b = { 0 };
	b.p = hop_cache_get(e, hop_cache_key_maker(key, t->maker(e, false)), &b.n);
	if (!b.p)
		return false;
	bool ok = !hop_image_load(e, t, b, p, entry, NULL, out_i);
	if (!ok)
		hop_diag_clear(e);
	return ok;
}
