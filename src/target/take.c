/* take.c -- texts of users as code in this process. What they say is not looked at here. */
#include "target/cache.h"
#include "target/look.h"

/* What it was made by is asked once it was: LLVM is opened then. */
hop_status hop_target_take(hop_env *e, const hop_target *t, const char *text, size_t n,
                           const char *entry, hop_image *out_i)
{
	hop_bytes b = { 0 };
	hop_hash key = hop_cache_key_text(e, t, text, n);
	bool kept = !hop_look();
	if (kept && hop_image_cached(e, t, NULL, entry, key, out_i))
		return HOP_OK;
	HOP_TRY(t->take(e, text, n, entry, &b));
	return hop_image_load(e, t, b, NULL, entry, kept ? &key : NULL, out_i);
}
