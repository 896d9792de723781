/* code.c -- a compiled program as a handle, whatever its target: from the cache, or compiled and
 * then put there. Does not say how either is done. */
#include <string.h>

#include "target/cache.h"

struct hop_code {
	hop_mem    mem;
	const hop_target *t;
	hop_image  image;
	hop_size   frame;
	bool       cached;
};

/* key: NULL = do not keep it. */
static hop_status compile(hop_env *e, const hop_prog *p, const hop_machine *m,
                          const hop_target_opts *o, hop_code *c, const hop_hash *key)
{
	hop_bytes b = { 0 };
	HOP_TRY(c->t->compile(e, p, m, o, &b));
	return hop_image_load(e, c->t, b, p, "hop_main", key, &c->image);
}

hop_status hop_code_new(hop_env *e, const hop_target *t, const hop_prog *p,
                        const hop_machine *m, const hop_target_opts *o, hop_code **out_c)
{
	static const hop_target_opts none;
	hop_code *c, made = { .mem = e->mem, .t = t };
	hop_status st = HOP_OK;
	hop_hash key;
	o = o ? o : &none;
	*out_c = NULL;
	HOP_TRY(hop_prog_verify(e, p));
	made.frame = p->func[0].frame;
	bool anew = o->no_cache || hop_look();         /* the key knows no lines and no names */
	if (!anew)
		key = hop_cache_key(e, t, p, m, o);
	made.cached = !anew && hop_image_cached(e, t, p, "hop_main", key, &made.image);
	if (!made.cached)
		st = compile(e, p, m, o, &made, anew ? NULL : &key);
	if (st)
		return st;
	c = hop_raw_try(&e->mem, sizeof *c);
	if (!c) {
		t->unload(&made.image);
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for a program");
	}
	memcpy(c, &made, sizeof *c);
	*out_c = c;
	return HOP_OK;
}

void hop_code_release(hop_code *c)
{
	hop_mem m;
	if (!c)
		return;
	m = c->mem;
	c->t->unload(&c->image);
	hop_raw_free(&m, c, sizeof *c);
}

int hop_code_launch(const hop_code *c, void *queue, void *const *params, const int64_t *syms,
                    void *workspace, hop_rt *rt)
{
	return c->t->launch(&c->image, queue, params, syms, workspace, rt);
}

bool hop_code_frame(const hop_code *c, const int64_t *syms, int n, int64_t *out_b)
{
	return hop_size_eval(c->frame, syms, n, out_b) && *out_b >= 0;
}

bool hop_code_cached(const hop_code *c)
{
	return c->cached;
}

int64_t hop_code_bytes(const hop_code *c)
{
	return (int64_t)c->image.size;
}

const hop_memory *hop_code_memory(const hop_code *c)
{
	return c->t->mem;
}

/* ---- code in this process ---- */

int hop_host_launch(const hop_image *i, void *queue, void *const *params, const int64_t *syms,
                    void *workspace, hop_rt *rt)
{
	hop_entry *entry = *(hop_entry *const *)&i->entry;
	(void)queue;
	return entry(params, syms, workspace, rt);
}

static void *host_alloc(const hop_mem *m, void *queue, size_t n)
{
	(void)queue;
	return hop_raw_data(m, n);
}

static void host_free(const hop_mem *m, void *queue, void *p, size_t n)
{
	(void)queue;
	hop_raw_free(m, p, n);
}

static const char *host_copy(void *queue, void *to, const void *from, size_t n)
{
	(void)queue;
	if (n)
		memcpy(to, from, n);
	return NULL;
}

static const char *host_wait(void *queue)
{
	(void)queue;
	return NULL;
}

const hop_memory hop_host_memory = { host_alloc, host_free, host_copy, host_wait, NULL };
