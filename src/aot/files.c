/* files.c -- a header and an object, or a header and C, from graphs: compiles them, puts the parts
 * together and writes both files, or neither. What stands in them is written elsewhere. */
#include "aot/aot.h"

#include <stdio.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/pipeline.h"
#include "io/file.h"
#include "loop/lower.h"
#include "target/target.h"

#include "aot/rt_types.h"

/* ---- texts of ours ---- */

/* They have the numbers of hop under names of their own. */
#define SAME(name) _Static_assert((int)HOP_AOT_##name == (int)HOP_##name, "rt_types.h");
SAME(OK) SAME(ENOMEM) SAME(ESHAPE) SAME(EVALUE) SAME(EUSE) SAME(EASSERT) SAME(EIO) SAME(ECANCELED)
#define HOP_DTYPE(name, ...) _Static_assert((int)HOP_AOT_##name == (int)HOP_##name, "rt_types.h");
#include "ir/dtypes.def"
#undef SAME

static const char text_abi[] = {
#include "target/abi.h.inc"
	0
};
static const char text_types[] = {
#include "aot/rt_types.h.inc"
	0
};
static const char text_run[] = {
#include "aot/rt_run.h.inc"
	0
};
static const char text_effect[] = {
#include "aot/rt_effect.h.inc"
	0
};

/* ---- programs ---- */

static hop_status lower(const hop_aot *a, const hop_aot_want *want, const hop_machine *m,
                        hop_aot_fn *f)
{
	hop_env *e = a->env;
	const hop_graph *opt;
	f->from = want->name;
	HOP_TRY(hop_results_widen(e, want->g, &f->g));
	HOP_TRY(hop_pipeline_mute(e, f->g, &opt));
	HOP_TRY(hop_pipeline_run(e, opt, false, &opt));
	HOP_TRY(hop_lower_graph(e, opt, &(hop_lower_opts){ .machine = m }, &f->prog));
	HOP_TRY(hop_prog_verify(e, f->prog));
	HOP_TRY(hop_aot_may_call(a, f->prog));
	f->tests = f->g->nsym || f->prog->nentry;
	return HOP_OK;
}

static hop_status lower_all(hop_aot *a, const hop_aot_want *want, const hop_machine *m)
{
	for (int i = 0; i < a->n; i++)
		if (lower(a, &want[i], m, &a->fn[i]))
			return hop_note(a->env, 0, "building @%s", want[i].name);
	return HOP_OK;
}

/* What the target makes of them. */
static hop_status code(hop_aot *a, const hop_target *t, const hop_machine *m,
                       const hop_target_opts *to, hop_buf *out)
{
	const hop_prog **p = HOP_NEWN(&a->env->tmp, const hop_prog *, a->n);
	const char **name = HOP_NEWN(&a->env->tmp, const char *, a->n);
	for (int i = 0; i < a->n; i++) {
		p[i] = a->fn[i].prog;
		name[i] = hop_aot_fmt(a->env, "%s_raw", a->fn[i].name);
	}
	return t->write(a->env, a->n, p, name, m, to, out);
}

/* ---- the header ---- */

static void put_open(hop_buf *o)
{
	hop_put(o, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
}

static void put_close(hop_buf *o)
{
	hop_put(o, "\n#ifdef __cplusplus\n}\n#endif\n");
}

static void put_glue(hop_aot *a, hop_buf *o)
{
	bool says = false;
	for (int i = 0; i < a->n; i++)
		says |= a->fn[i].prog->neffect || a->fn[i].prog->ncheck;
	hop_putf(o, "\n%s", text_run);
	if (says)
		hop_putf(o, "\n%s", text_effect);
	put_open(o);
	hop_aot_kernels(a, o);
	for (int i = 0; i < a->n; i++)
		hop_putf(o, "\nint %s_raw(void *const *params, const int64_t *syms, void *workspace,\n"
		         "\tstruct hop_rt *rt);\n", a->fn[i].name);
	for (int i = 0; i < a->n; i++)
		hop_aot_glue(a, &a->fn[i], o);
	put_close(o);
}

static void put_first(hop_aot *a, hop_buf *o)
{
	hop_putf(o, "/* Written by hop %s. Every function gives 0 or a status, which hop_aot_text puts into "
	         "words.\n * Inputs and results are dense, row-major and do not overlap; bf16 and f16 are "
	         "their bits.\n * Nothing is allocated; hooks may be NULL.", HOP_VERSION);
	if (!a->in_c)
		hop_putf(o, " The code is in the object beside, which\n * needs nothing but libm. For symbols "
		         "that other languages find, compile one file that includes\n * this header after\n"
		         " *\t#define %s_API", a->macro);
	hop_putf(o, " */\n#ifndef %s_H\n#define %s_H\n\n%s", a->macro, a->macro, text_types);
}

static void put_header(hop_aot *a, hop_buf *o)
{
	put_first(a, o);
	if (!a->in_c)
		hop_putf(o, "\n#ifndef %s_API\n#define %s_API static inline\n#endif\n", a->macro, a->macro);
	put_open(o);
	for (int i = 0; i < a->n; i++)
		hop_aot_declare(a, &a->fn[i], o);
	put_close(o);
	if (!a->in_c) {
		hop_putf(o, "\n/* ---- how they are called ---- */\n\n%s", text_abi);
		put_glue(a, o);
	}
	hop_put(o, "#endif\n");
}

/* ---- the files ---- */

/* The second may fail for want of memory, too: then the first goes again. */
static hop_status write_both(hop_env *e, const char *path, const char *ext, const hop_buf *header,
                             const hop_buf *body)
{
	const char *h = hop_aot_fmt(e, "%s.h", path), *b = hop_aot_fmt(e, "%s.%s", path, ext);
	hop_status st;
	hop_frame f;
	HOP_TRY(hop_file_write(e, b, body->s, body->n));
	if (HOP_GUARD(e, &f)) {
		st = hop_guard_nomem(e, &f);
	} else {
		st = hop_file_write(e, h, header->s, header->n);
		hop_guard_end(e, &f);
	}
	if (st)
		remove(b);
	return st;
}

/* The file beside the header: an object as it came, or C with what belongs around it. */
static hop_status put_body(hop_aot *a, const hop_target *t, const hop_target_opts *to, bool emit_c,
                           const hop_buf *header, const hop_buf *made, hop_buf *out)
{
	hop_buf text;
	hop_status st = HOP_OK;
	if (!a->in_c) {
		hop_putn(out, made->s, made->n);
		return HOP_OK;
	}
	hop_buf_open(&text, a->env);
	if (emit_c)
		hop_putf(&text, "/* Written by hop %s: how the functions of the header are computed. */\n"
		         "#include \"%s.h\"\n\n", HOP_VERSION, a->file);
	else
		hop_putn(&text, header->s, header->n);
	hop_putf(&text, "%s\n", text_abi);
	hop_putn(&text, made->s, made->n);
	put_glue(a, &text);
	hop_aot_sources(a, &text);
	if (emit_c)
		hop_putn(out, text.s, text.n);
	else
		st = t->object(a->env, &text, to, out);
	hop_buf_free(&text);
	return st;
}

static hop_status write_all(hop_aot *a, const hop_target *t, const hop_machine *m,
                            const hop_target_opts *to, const char *path, bool emit_c)
{
	hop_buf header, made, body;
	hop_buf_open(&header, a->env);
	hop_buf_open(&made, a->env);
	hop_buf_open(&body, a->env);
	hop_status st = code(a, t, m, to, &made);
	if (!st) {
		put_header(a, &header);
		st = put_body(a, t, to, emit_c, &header, &made, &body);
	}
	if (!st)
		st = write_both(a->env, path, emit_c ? "c" : "o", &header, &body);
	hop_buf_free(&body);
	hop_buf_free(&made);
	hop_buf_free(&header);
	return st;
}

static hop_status pick(hop_env *e, const hop_aot_opts *o, const hop_target **out_t)
{
	HOP_TRY(hop_target_pick(e, o->target ? o->target : o->emit_c ? "c" : "llvm", out_t));
	if (o->emit_c && !(*out_t)->object)
		return hop_fail(e, 0, HOP_EUSE, "build: target %s writes objects, not C", (*out_t)->name);
	return HOP_OK;
}

static hop_status build(hop_aot *a, const hop_aot_want *want, const char *path,
                        const hop_aot_opts *o)
{
	hop_target_opts to = { .no_threads = !o->threads, .parts = 1, .ahead = true, .triple = o->triple };
	const hop_target *t;
	hop_machine m;
	if (!a->n)
		return hop_fail(a->env, 0, HOP_EUSE, "build: there is no function to build");
	HOP_TRY(pick(a->env, o, &t));
	a->in_c = t->object;
	HOP_TRY(t->machine(a->env, &to, &m));
	HOP_TRY(lower_all(a, want, &m));
	HOP_TRY(hop_aot_names(a, want, path));
	return write_all(a, t, &m, &to, path, o->emit_c);
}

/* No memory inside must not lose the programs. */
hop_status hop_aot_files(hop_env *e, int n, const hop_aot_want *want, const char *path,
                         const hop_aot_opts *o)
{
	static const hop_aot_opts none;
	hop_aot a = { .env = e, .n = n, .fn = HOP_NEWN(&e->tmp, hop_aot_fn, n) };
	hop_frame f;
	hop_status st;
	if (HOP_GUARD(e, &f)) {
		st = hop_guard_nomem(e, &f);
	} else {
		st = build(&a, want, path, o ? o : &none);
		hop_guard_end(e, &f);
	}
	for (int i = 0; i < n; i++)
		hop_prog_free(a.fn[i].prog, &e->mem);
	return st;
}
