/* target.c -- the targets there are. The first is the one that is used unless another is asked
 * for by name. */
#include "target/target.h"

#include "ctx/ctx.h"

#include <stdlib.h>
#include <string.h>

extern const hop_target hop_target_llvm, hop_target_c, hop_target_cuda;

static const hop_target *const targets[] = { &hop_target_llvm, &hop_target_c, &hop_target_cuda };
enum { NTARGET = sizeof targets / sizeof *targets };

static hop_status unknown(hop_env *e, const char *name)
{
	hop_buf b;
	hop_buf_open(&b, e);
	for (int i = 0; i < NTARGET; i++)
		hop_putf(&b, "%s%s", i ? ", " : "", targets[i]->name);
	hop_status st = hop_fail(e, 0, HOP_EVALUE, "target: there is no '%s'; there is %s", name, b.s);
	hop_buf_free(&b);
	return st;
}

hop_status hop_target_pick(hop_env *e, const char *name, const hop_target **out_t)
{
	*out_t = targets[0];
	if (!name)
		name = getenv("HOP_TARGET");
	if (!name || !*name)
		return HOP_OK;
	const hop_target *own = hop_ctx_owned(e->ctx, HOP_OWN_TARGET, name, strlen(name));
	if (own) {
		*out_t = own;
		return HOP_OK;
	}
	for (int i = 0; i < NTARGET; i++)
		if (!strcmp(targets[i]->name, name)) {
			*out_t = targets[i];
			return HOP_OK;
		}
	return unknown(e, name);
}

const hop_target *hop_target_at(int i)
{
	return i >= 0 && i < NTARGET ? targets[i] : NULL;
}

static bool is_on(const hop_target *t, const char *name, int type)
{
	const hop_far *far = t->mem->far;
	return far && (name ? !strcmp(far->name, name) : far->type == type);
}

const hop_target *hop_target_on(hop_ctx *c, const char *name, int type)
{
	const char *own;
	for (int i = 0; (own = hop_ctx_owned_name(c, HOP_OWN_TARGET, i)); i++) {
		const hop_target *t = hop_ctx_owned(c, HOP_OWN_TARGET, own, strlen(own));
		if (t && is_on(t, name, type))
			return t;
	}
	for (int i = 0; i < NTARGET; i++)
		if (is_on(targets[i], name, type))
			return targets[i];
	return NULL;
}
