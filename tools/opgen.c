/* opgen.c -- prints what follows from the rows of ops.def for callers.
 *   opgen ops    include/hop/ops.h: friendly constructors of the rows that work element by
 *                element and have no attributes; those of other rows are written by hand
 *   opgen rows   include/hop/rows.h: a raw constructor for every row
 *   opgen code   src/trace/rows.c: the functions of both
 * Run: make docs */
#include <stdio.h>
#include <string.h>

struct row { const char *name, *flags, *attrs; int nin; };

static const struct row rows[] = {
#define HOP_OP(name, in, out, flags, attrs, ...) { #name, #flags, #attrs, in },
#include "ir/ops.def"
#undef HOP_OP
};
enum { NROW = sizeof rows / sizeof rows[0] };

static const char begin[] =
	"#ifdef __cplusplus\n"
	"extern \"C\" {\n"
	"#endif\n\n";
static const char end[] = "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";

/* ---- element by element ---- */

static const char *const arg[] = { "", "x", "x, y", "p, x, y" };
static const char *const par[] = { "", "hop_value x", "hop_value x, hop_value y",
                                   "hop_value p, hop_value x, hop_value y" };

static int is_point(const struct row *r)
{
	return strchr(r->flags, 'E') && !*r->attrs;
}

static void print_ops(void)
{
	printf("/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. Element by element;\n"
	       " * operands are promoted and broadcast as in PyTorch. */\n"
	       "#ifndef HOP_OPS_H\n#define HOP_OPS_H\n\n#include \"hop/types.h\"\n\n%s", begin);
	for (const struct row *r = rows; r < rows + NROW; r++)
		if (is_point(r))
			printf("hop_value hop_at_%s(hop_trace *t, const char *file, int line,\n"
			       "                    %s);\n"
			       "#define hop_%s(t, %s) hop_at_%s(t, __FILE__, __LINE__, %s)\n",
			       r->name, par[r->nin], r->name, arg[r->nin], r->name, arg[r->nin]);
	printf("%s", end);
}

/* ---- raw ---- */

/* An attribute as parameters, and as the record that src/trace/raw.c reads. %s: its name. */
static const struct { const char *kind, *param, *record; } kinds[] = {
	{ "int",    "int64_t %s",                        ".i = %s" },
	{ "bool",   "bool %s",                           ".i = %s" },
	{ "f64",    "double %s",                         ".f = %s" },
	{ "dtype",  "hop_dtype %s",                      ".i = (int64_t)%s" },
	{ "mode",   "int %s",                            ".i = %s" },
	{ "ints",   "int n%s, const int64_t *%s",        ".i = n%s, .p = %s" },
	{ "size",   "hop_dim %s",                        ".d = %s" },
	{ "length", "hop_dim %s",                        ".d = %s" },
	{ "sizes",  "int n%s, const hop_dim *%s",        ".i = n%s, .p = %s" },
	{ "sargs",  "int n%s, const hop_dim *%s",        ".i = n%s, .p = %s" },
	{ "sym",    "bool %s",                           ".i = %s" },
	{ "str",    "const char *%s",                    ".p = %s" },
	{ "data",   "const hop_array *%s",               ".p = %s" },
	{ "graph",  "const hop_fn *%s",                  ".p = %s" },
	{ "graphs", "int n%s, const hop_fn *const *%s",  ".i = n%s, .p = %s" },
};

/* The next attribute in *at: its name, and what kind of it there is. */
static int next(const char **at, char *name, size_t *kind)
{
	char k[16];
	int used = 0;
	const char *p = strpbrk(*at, "AD");
	if (!p || sscanf(p + 1, "(%15[a-z0-9_], %31[a-z0-9_])%n", k, name, &used) != 2)
		return 0;
	*at = p + 1 + used;
	for (*kind = 0; strcmp(kinds[*kind].kind, k); ++*kind)
		;
	return 1;
}

static void print_head(const struct row *r)
{
	const char *at = r->attrs;
	char name[32];
	size_t k;
	printf("int hop_op_%s(hop_trace *t, const char *file, int line, int nin,\n"
	       "                const hop_value *in, int cap, hop_value *out", r->name);
	while (next(&at, name, &k)) {
		printf(",\n                ");
		printf(kinds[k].param, name, name);
	}
	printf(")");
}

static void print_rows(void)
{
	printf("/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. For tools: a\n"
	       " * constructor for every row of the table, with operands, attributes and results as\n"
	       " * the graph has them (docs/ops.md): nothing is promoted or broadcast. Each gives the\n"
	       " * number of results, 0 after a failure. A function that is a body captures no arrays\n"
	       " * and writes no inputs. A mode is one of enum hop_scatter_mode; sym: bind a size. */\n"
	       "#ifndef HOP_ROWS_H\n#define HOP_ROWS_H\n\n#include \"hop/fn.h\"\n\n%s", begin);
	for (const struct row *r = rows; r < rows + NROW; r++) {
		print_head(r);
		printf(";\n");
	}
	printf("%s", end);
}

static void print_code(void)
{
	printf("/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. Constructors. */\n"
	       "#include \"trace/raw.h\"\n#include \"hop/ops.h\"\n#include \"hop/rows.h\"\n");
	for (const struct row *r = rows; r < rows + NROW; r++)
		if (is_point(r))
			printf("\nhop_value hop_at_%s(hop_trace *t, const char *file, int line,\n"
			       "                    %s)\n{\n"
			       "\treturn hop_at_point(t, file, line, HOP_OP_%s, %d, (hop_value[]){ %s });\n"
			       "}\n", r->name, par[r->nin], r->name, r->nin, arg[r->nin]);
	for (const struct row *r = rows; r < rows + NROW; r++) {
		const char *at = r->attrs;
		char name[32];
		size_t k;
		printf("\n");
		print_head(r);
		printf("\n{\n\tconst hop_raw a[] = {");
		while (next(&at, name, &k)) {
			printf("\n\t\t{ ");
			printf(kinds[k].record, name, name);
			printf(" },");
		}
		printf("\n\t\t{ .i = 0 } };\n"
		       "\treturn hop_raw_op(t, file, line, HOP_OP_%s, a, nin, in, cap, out);\n}\n",
		       r->name);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "ops";
	if (!strcmp(what, "rows"))
		print_rows();
	else if (!strcmp(what, "code"))
		print_code();
	else
		print_ops();
	return 0;
}
