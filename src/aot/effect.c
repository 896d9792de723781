/* effect.c -- what code asks while it runs: prints, asserts, and conditions on sizes that only the
 * program knows. Operands and words are written here; rt_effect.h says them. */
#include "aot/aot.h"

#include "ir/build.h"

/* Size symbols of whichever function asks: the array that it gives. */
static const char *const *array_syms(hop_env *e, int n)
{
	const char **s = HOP_NEWN(&e->tmp, const char *, n);
	for (int i = 0; i < n; i++)
		s[i] = hop_aot_fmt(e, "hop_syms[%d]", i);
	return s;
}

/* hop_e = { kind, text, place }. */
static void put_what(hop_buf *o, const char *kind, const char *text, hop_loc loc)
{
	const char *file = NULL;
	int line = 0;
	hop_loc in;
	hop_putf(o, "\t\thop_e.kind = HOP_AOT_%s;\n\t\thop_e.text = ", kind);
	hop_aot_put_str(o, text);
	hop_put(o, ";\n\t\thop_e.file = ");
	if (hop_loc_read(o->env->ctx, loc, &file, &line, &in))
		hop_aot_put_str(o, file);
	else
		hop_put(o, "NULL");
	hop_putf(o, ";\n\t\thop_e.line = %d;\n", line);
}

static void put_dims(hop_buf *o, const hop_leffect *f)
{
	int n = 0;
	for (int i = 0; i < f->narg; i++)
		for (int k = 0; k < f->type[i]->rank; k++) {
			hop_size d = f->type[i]->dim[k];
			hop_putf(o, "\t\thop_dim[%d] = ", n++);
			hop_aot_put_size(o, d, array_syms(o->env, hop_size_nsym(d)));
			hop_put(o, ";\n");
		}
}

static void put_all_dims(hop_buf *o, const hop_leffect *f)
{
	int n = 0;
	for (int i = 0; i < f->narg; i++)
		n += f->type[i]->rank;
	hop_putf(o, "\t\tint64_t hop_dim[%d] = { 0 };\n", n ? n : 1);
	put_dims(o, f);
}

static void put_operands(hop_buf *o, const hop_leffect *f)
{
	int n = 0;
	hop_putf(o, "\t\thop_aot_operand hop_in[%d], hop_one[%d];\n", f->narg, f->narg);
	put_all_dims(o, f);
	for (int i = 0; i < f->narg; i++) {
		hop_putf(o, "\t\thop_in[%d] = hop_aot_arg(HOP_AOT_%s, %d, hop_dim + %d, hop_args[%d]);\n", i,
		         hop_dtype_name((hop_dtype)f->type[i]->dtype), f->type[i]->rank, n, i);
		n += f->type[i]->rank;
	}
}

static void put_effect(hop_buf *o, int id, const hop_leffect *f)
{
	hop_putf(o, "\tcase %d: {\n", id);
	if (f->foreign) {
		put_all_dims(o, f);
		hop_aot_put_kernel(o, f);
		return;
	}
	if (f->narg)
		put_operands(o, f);
	put_what(o, f->is_assert ? "ASSERT" : "PRINT", f->text, f->loc);
	hop_putf(o, "\t\treturn hop_aot_act(hop_rt, hop_e, %d, %d, %s);\n\t}\n", f->has_when, f->narg,
	         f->narg ? "hop_in, hop_one" : "NULL, NULL");
}

/* The sides of a check are shown by its words in any order, or not at all. */
static int shown(const hop_check *c, int side[2])
{
	int n = 0;
	for (const char *s = c->what; *s; s++)
		if (n < 2 && s[0] == '{' && (s[1] == '0' || s[1] == '1') && s[2] == '}')
			side[n++] = s[1] - '0';
	return n;
}

static void put_check(hop_buf *o, int id, const hop_check *c)
{
	const char *const *sym = array_syms(o->env, hop_check_waits(c));
	int side[2], n = shown(c, side);
	hop_buf text;
	hop_putf(o, "\tcase %d: {\n\t\tint64_t hop_v[2];\n\t\thop_aot_operand hop_in[2];\n"
	         "\t\thop_v[0] = ", id);
	hop_aot_put_size(o, c->a, sym);
	hop_put(o, ";\n\t\thop_v[1] = ");
	hop_aot_put_size(o, c->b, sym);
	hop_putf(o, ";\n\t\tif (!hop_bad && hop_v[0] %s hop_v[1])\n\t\t\treturn 0;\n",
	         c->rel == HOP_EQ ? "==" : "<=");
	hop_buf_open(&text, o->env);
	hop_check_put(&text, c, (const char *const[]){ "{}", "{}" });
	put_what(o, "SIZES", text.s, c->loc);
	hop_buf_free(&text);
	for (int i = 0; i < n; i++)
		hop_putf(o, "\t\thop_in[%d] = hop_aot_arg(HOP_AOT_i64, 0, hop_v, &hop_v[%d]);\n", i, side[i]);
	hop_putf(o, "\t\thop_e.nlane = 0;\n\t\thop_e.lane = NULL;\n\t\thop_e.narg = %d;\n"
	         "\t\thop_e.arg = hop_in;\n\t\treturn hop_aot_tell(hop_rt, &hop_e);\n\t}\n", n);
}

void hop_aot_effects(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_prog *p = f->prog;
	const char *head = "\n{\n\thop_aot_effect hop_e;\n\tint hop_bad = 0;\n\t(void)hop_bad;\n"
	                   "\t(void)hop_syms;\n\tswitch (hop_id) {\n";
	const char *tail = "\tdefault:\n\t\treturn 0;\n\t}\n}\n";
	(void)a;
	if (p->neffect) {
		hop_putf(o, "\nstatic inline int %s_effect(struct hop_rt *hop_rt, int hop_id, "
		         "void *const *hop_args,\n\tconst int64_t *hop_syms)%s", f->name, head);
		for (int i = 0; i < p->neffect; i++)
			put_effect(o, i, &p->effect[i]);
		hop_put(o, tail);
	}
	if (p->ncheck) {
		hop_putf(o, "\nstatic inline int %s_check(struct hop_rt *hop_rt, int hop_id, "
		         "const int64_t *hop_syms)%s", f->name, head);
		for (int i = 0; i < p->ncheck; i++)
			put_check(o, i, &p->check[i].c);
		hop_put(o, tail);
	}
}
