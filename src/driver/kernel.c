/* kernel.c -- kernels of users, from their definitions: what is declared is checked, source is
 * compiled. Does not call them: data/kernel.c does. */
#include <ctype.h>
#include <string.h>

#include "data/kernel.h"
#include "ir/dtype.h"
#include "ir/type.h"
#include "target/target.h"

/* ---- what is declared ---- */

static bool is_c_name(const char *s)
{
	if (!s || (!isalpha((unsigned char)*s) && *s != '_'))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static int find(const hop_kernel_def *d, const char *name)
{
	for (int i = 0; i < d->narg; i++)
		if (d->arg[i].name && !strcmp(d->arg[i].name, name))
			return i;
	return -1;
}

static hop_status check_arg(hop_env *e, const hop_kernel_def *d, int i)
{
	const hop_kernel_arg *a = &d->arg[i];
	if ((unsigned)a->use > HOP_KERNEL_INOUT || (unsigned)a->dtype >= HOP_NDTYPE || a->rank < 0 ||
	    a->rank > HOP_MAXRANK)
		return hop_fail(e, 0, HOP_EVALUE, "kernel %s: argument %d has a use, a dtype or a rank that "
		                "there is not", d->name, i);
	if (d->body && !is_c_name(a->name))
		return hop_fail(e, 0, HOP_EVALUE, "kernel %s: argument %d has no C name, by which the body "
		                "could use it", d->name, i);
	if (a->name && find(d, a->name) != i)
		return hop_fail(e, 0, HOP_EVALUE, "kernel %s: two arguments are called `%s`", d->name,
		                a->name);
	if (!a->like)
		return HOP_OK;
	int k = find(d, a->like);
	if (a->use != HOP_KERNEL_OUT || k < 0 || d->arg[k].use == HOP_KERNEL_OUT ||
	    d->arg[k].rank != a->rank)
		return hop_fail(e, 0, HOP_EVALUE, "kernel %s: argument %d is like `%s`: only an OUT one is "
		                "like another, which is IN or INOUT and of the same rank", d->name, i, a->like);
	return HOP_OK;
}

static hop_status check(hop_env *e, const hop_kernel_def *d)
{
	if (!d->name || !*d->name)
		return hop_fail(e, 0, HOP_EUSE, "kernel: it has no name");
	if (d->narg < 0 || d->narg > HOP_KERNEL_ARGS || (d->narg && !d->arg))
		return hop_fail(e, 0, HOP_EUSE, "kernel %s: %d arguments, there may be 0 to %d in a list",
		                d->name, d->narg, HOP_KERNEL_ARGS);
	int ways = !!d->fn + !!d->c + !!d->body + !!d->llvm;
	if (d->cuda && !ways)
		return hop_fail(e, 0, HOP_ETARGET, "kernel %s: only CUDA C, and no target of this library "
		                "runs that: give fn, c, body or llvm too", d->name);
	if (ways != 1)
		return hop_fail(e, 0, HOP_EUSE, "kernel %s: %s of fn, c, body and llvm says what it does: "
		                "give one", d->name, ways ? "more than one" : "none");
	if (!d->fn && !is_c_name(d->name))
		return hop_fail(e, 0, HOP_EVALUE, "kernel %s: its source needs a function of this name, which "
		                "is no C name", d->name);
	for (int i = 0; i < d->narg; i++)
		HOP_TRY(check_arg(e, d, i));
	return HOP_OK;
}

static void declare(hop_env *e, const hop_kernel_def *d, hop_user_kernel *k)
{
	k->name = hop_ctx_name(e, d->name, strlen(d->name));
	k->lanes = d->lanes;
	k->symbol = d->symbol ? hop_ctx_name(e, d->symbol, strlen(d->symbol)) : NULL;
	for (int i = 0; i < d->narg; i++) {
		hop_kernel_arg *a = &k->arg[i];
		*a = d->arg[i];
		a->name = a->name ? hop_ctx_name(e, a->name, strlen(a->name)) : NULL;
		a->like = a->like ? hop_ctx_name(e, a->like, strlen(a->like)) : NULL;
		if (d->unknown && a->use == HOP_KERNEL_IN)
			a->use = HOP_KERNEL_INOUT;
		k->at[i] = a->use == HOP_KERNEL_OUT ? k->nout++ : k->nin++;
	}
}

/* ---- C ---- */

static const char *const c_type[] = {
#define HOP_DTYPE(name, ctype, form, class, computes, exp, man, flags, npy, dlpack, tensors, reg, mem) \
	#ctype,
#include "ir/dtypes.def"
};

static void put_line(hop_buf *o, const hop_kernel_def *d)
{
	hop_putf(o, "#line %d \"", d->line > 0 ? d->line : 1);
	if (!d->file)
		hop_putf(o, "kernel %s", d->name);
	for (const char *s = d->file; s && *s; s++) {
		if (*s == '"' || *s == '\\')
			hop_putc(o, '\\');
		hop_putc(o, *s);
	}
	hop_put(o, "\"\n");
}

/* Arguments of a body, as variables. */
static void put_args(hop_buf *o, const hop_kernel_def *d)
{
	for (int i = 0; i < d->narg; i++) {
		const hop_kernel_arg *a = &d->arg[i];
		hop_putf(o, "\t%s%s *%s = hop_arg[%d];\n\tconst int64_t *%s_dim = hop_dim[%d];\n"
		         "\tint64_t %s_n = lanes", a->use || d->unknown ? "" : "const ", c_type[a->dtype],
		         a->name, i, a->name, i, a->name);
		for (int r = 0; r < a->rank; r++)
			hop_putf(o, " * hop_dim[%d][%d]", i, r);
		hop_putf(o, ";\n\t(void)%s, (void)%s_dim, (void)%s_n;\n", a->name, a->name, a->name);
	}
}

static void put_c(hop_buf *o, const hop_kernel_def *d)
{
	hop_put(o, "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
	        "#include <string.h>\n");
	hop_putf(o, "int %s(void *const *hop_arg, const int64_t *const *hop_dim, int64_t lanes);\n",
	         d->name);
	if (d->body) {
		hop_putf(o, "int %s(void *const *hop_arg, const int64_t *const *hop_dim, int64_t lanes)\n{\n"
		         "\t(void)hop_arg, (void)hop_dim, (void)lanes;\n", d->name);
		put_args(o, d);
		hop_put(o, "\t{\n");
	}
	put_line(o, d);
	hop_put(o, d->body ? d->body : d->c);
	hop_put(o, d->body ? "\n\t}\n\treturn 0;\n}\n" : "\n");
}

/* ---- code ---- */

/* Code in memory and who lets go of it. */
struct loaded {
	hop_mem           mem;
	const hop_target *t;
	hop_image         image;
};

static void unload(void *p)
{
	struct loaded *l = p;
	hop_mem mem = l->mem;
	l->t->unload(&l->image);
	hop_raw_free(&mem, l, sizeof *l);
}

static hop_status load(hop_env *e, const char *target, const char *text, size_t n,
                       hop_user_kernel *k)
{
	struct loaded l = { .mem = e->mem }, *kept;
	HOP_TRY(hop_target_pick(e, target, &l.t));
	if (hop_target_take(e, l.t, text, n, k->name, &l.image))
		return hop_note(e, 0, "in the source of kernel %s", k->name);
	kept = hop_raw_try(&e->mem, sizeof *kept);
	if (!kept) {
		l.t->unload(&l.image);
		return hop_fail(e, 0, HOP_ENOMEM, "kernel %s: no memory for its code", k->name);
	}
	*kept = l;
	k->image = kept;
	k->unload = unload;
	k->fn = *(hop_kernel_fn **)(void *)&l.image.entry;
	return HOP_OK;
}

static hop_status from_c(hop_env *e, const hop_kernel_def *d, hop_user_kernel *k)
{
	hop_buf text;
	hop_buf_open(&text, e);
	put_c(&text, d);
	hop_status st = load(e, "c", text.s, text.n, k);
	char *kept = st ? NULL : hop_raw_try(&e->mem, text.n + 1);
	if (kept)
		k->c = memcpy(kept, text.s, text.n + 1);
	else if (!st)
		st = hop_fail(e, 0, HOP_ENOMEM, "kernel %s: no memory for its source", d->name);
	hop_buf_free(&text);
	return st;
}

static hop_status make_code(hop_env *e, const hop_kernel_def *d, hop_user_kernel *k)
{
	k->fn = d->fn;
	if (d->fn)
		return HOP_OK;
	if (d->llvm)
		return load(e, "llvm", d->llvm, d->llvm_size ? d->llvm_size : strlen(d->llvm), k);
	return from_c(e, d, k);
}

static hop_status add(hop_env *e, const hop_kernel_def *d)
{
	hop_frame f;
	HOP_TRY(check(e, d));
	hop_user_kernel *k = hop_kernel_new(e, d->narg);
	if (HOP_GUARD(e, &f)) {
		hop_kernel_drop(k);
		return hop_guard_nomem(e, &f);
	}
	declare(e, d, k);
	hop_status st = make_code(e, d, k);
	if (!st)
		st = hop_kernel_keep(e, k, d->unknown);
	hop_guard_end(e, &f);
	if (st)
		hop_kernel_drop(k);
	return st;
}

hop_status hop_kernel_add(hop_ctx *c, const hop_kernel_def *def)
{
	hop_kernel_def d;
	hop_env e;
	hop_frame f;
	hop_status st;
	if (!c)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "kernel", def, &d, sizeof d));
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		st = add(&e, &d);
		hop_guard_end(&e, &f);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}
