/* opgen.c -- prints include/hop/ops.h: the public constructors of the rows of ops.def that
 * work element by element and have no attributes. Rows with attributes have thin
 * constructors written by hand (shape.h): their attributes are internal types.
 * Run: cc -Isrc tools/opgen.c -o opgen && ./opgen >include/hop/ops.h */
#include <stdio.h>
#include <string.h>

struct row { const char *name, *flags, *attrs; int nin; };

static const struct row rows[] = {
#define HOP_OP(name, in, out, flags, attrs, ...) { #name, #flags, #attrs, in },
#include "ir/ops.def"
#undef HOP_OP
};

static const char head[] =
	"/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. Element by element;\n"
	" * operands are promoted and broadcast as in PyTorch. */\n"
	"#ifndef HOP_OPS_H\n"
	"#define HOP_OPS_H\n\n"
	"#include \"hop/types.h\"\n\n"
	"#ifdef __cplusplus\n"
	"extern \"C\" {\n"
	"#endif\n\n";

int main(void)
{
	static const char *const arg[] = { "", "x", "x, y", "p, x, y" };
	static const char *const par[] = { "", "hop_value x", "hop_value x, hop_value y",
	                                   "hop_value p, hop_value x, hop_value y" };
	fputs(head, stdout);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];
		if (!strchr(r->flags, 'E') || *r->attrs)
			continue;
		printf("hop_value hop_op_%s(hop_trace *t, const char *file, int line,\n"
		       "                    %s);\n", r->name, par[r->nin]);
		printf("#define hop_%s(t, %s) hop_op_%s(t, __FILE__, __LINE__, %s)\n", r->name,
		       arg[r->nin], r->name, arg[r->nin]);
	}
	fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", stdout);
	return 0;
}
