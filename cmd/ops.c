/* ops.c -- hop ops: what the tables say of ops, scalar operations and dtypes, as names or as JSON.
 * All of it is read from ops.def, hops.def, sops.def and dtypes.def: nothing is known by name. */
#include "cmd.h"

#include "loop/loop.h"

#include <stdio.h>

/* Numbers, lists and names need no escapes: the tables hold C identifiers. */
static void number(const char *key, int v)
{
	if (v < 0)
		printf("\"%s\": null, ", key);
	else
		printf("\"%s\": %d, ", key, v);
}

static void put_flags(int flags)
{
	static const struct { int flag; const char *word; } word[] = {
		{ HOP_F_P, "pure" }, { HOP_F_C, "commutative" }, { HOP_F_L, "linear" },
		{ HOP_F_E, "elementwise" }, { HOP_F_F, "for floats" }, { HOP_F_V, "view" },
		{ HOP_F_H, "heavy" }, { HOP_F_R, "holds bodies" }, { HOP_F_U, "may run for ever" },
		{ HOP_F_X, "effect" }, { HOP_F_O, "only looks" }, { HOP_F_G, "for gradients, where it stands" },
	};
	bool some = false;
	printf("\"flags\": [");
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (flags & word[i].flag) {
			printf("%s\"%s\"", some ? ", " : "", word[i].word);
			some = true;
		}
	printf("]");
}

static void put_attrs(const hop_opinfo *o)
{
	static const char *const kind[] = {
#define K(n, t) [HOP_AK_##n] = #n,
		HOP_ATTR_KINDS(K)
#undef K
	};
	printf("\"attrs\": [");
	for (int i = 0; i < o->nfield; i++)
		printf("%s{ \"name\": \"%s\", \"kind\": \"%s\", \"optional\": %s }", i ? ", " : "",
		       o->field[i].name, kind[o->field[i].kind],
		       o->field[i].may_lack ? "true" : "false");
	printf("]");
}

/* The second row of an operator, its signature and those of its bodies, as hops.def has them. */
static void put_second(int op)
{
	static const struct { int op; const char *head, *name, *when, *in, *out; } row[] = {
#define HOP_HOP(name, active, fwd, bwd) \
		{ HOP_OP_##name, "\"active\": \"" #active "\", \"fwd\": \"" #fwd "\", \"bwd\": \"" \
		                 #bwd "\"", "", "", "", "" },
#define HOP_SIG(name, in, out) { HOP_OP_##name, NULL, "", "", #in, #out },
#define HOP_BODY(name, body, when, in, out) { HOP_OP_##name, NULL, #body, #when, #in, #out },
#include "ir/hops.def"
#undef HOP_HOP
#undef HOP_SIG
#undef HOP_BODY
	};
	bool some = false;
	printf("{ ");
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		if (row[i].op != op)
			continue;
		if (row[i].head)
			printf("%s", row[i].head);
		else if (!*row[i].name)
			printf(", \"in\": \"%s\", \"out\": \"%s\",\n        \"bodies\": [", row[i].in,
			       row[i].out);
		else
			printf("%s{ \"name\": \"%s\", \"when\": \"%s\", \"in\": \"%s\", \"out\": \"%s\" }",
			       some ? ", " : "", row[i].name, row[i].when, row[i].in, row[i].out);
		some |= *row[i].name != '\0';
	}
	printf("] }");
}

static void put_op(int op)
{
	static const char *const column[] = { "infer", "eval", "jvp", "vjp", "batch", "lower" };
	const hop_opinfo *o = &hop_optab[op];
	printf("    { \"name\": \"%s\", ", o->name);
	number("in", o->nin);
	number("out", o->nout);
	put_flags(o->flags);
	printf(",\n      ");
	put_attrs(o);
	printf(",\n     ");
	for (int i = 0; i < 6; i++)
		printf(" \"%s\": \"%s\",", column[i], o->cell[i]);
	printf("\n      \"operator\": ");
	if (o->flags & HOP_F_R)
		put_second(op);
	else
		printf("null");
	printf(" }");
}

/* Who emits it: also an op of that name, lowerings alone, or neither without an address. */
static void put_sop(int s)
{
	static const char *const from[HOP_NSOP] = {
#define HOP_SOP(name, in, on, cost) [HOP_SOP_##name] = "op",
#define HOP_SOP_IN(name, in, on, cost) [HOP_SOP_##name] = "lowering",
#define HOP_SOP_MEM(name, in, on, cost) [HOP_SOP_##name] = "memory",
#include "loop/sops.def"
	};
	static const struct { int on; const char *word; } on[] = {
		{ HOP_ON_B, "bool" }, { HOP_ON_I, "int" }, { HOP_ON_F, "float" }
	};
	bool some = false;
	printf("    { \"name\": \"%s\", ", hop_soptab[s].name);
	number("in", hop_soptab[s].in);
	number("cost", hop_soptab[s].cost);
	printf("\"from\": \"%s\", \"on\": [", from[s]);
	for (int i = 0; i < 3; i++)
		if (hop_soptab[s].on & on[i].on) {
			printf("%s\"%s\"", some ? ", " : "", on[i].word);
			some = true;
		}
	printf("] }");
}

static void put_dtype(hop_dtype d)
{
	static const char *const word[] = { [HOP_DC_BOOL] = "bool", [HOP_DC_INT] = "int",
	                                    [HOP_DC_FLOAT] = "float" };
	printf("    { \"name\": \"%s\", \"class\": \"%s\", \"bytes\": %zu, \"computes\": \"%s\", "
	       "\"differentiable\": %s }", hop_dtype_name(d), word[hop_dtype_class(d)],
	       hop_dtype_bytes(d), hop_dtype_name(hop_dtype_computes(d)),
	       hop_dtype_diff(d) ? "true" : "false");
}

static void put_json(void)
{
	printf("{\n  \"ops\": [\n");
	for (int op = 1; op < HOP_NOPS; op++) {
		put_op(op);
		printf(op + 1 < HOP_NOPS ? ",\n" : "\n");
	}
	printf("  ],\n  \"sops\": [\n");
	for (int s = 1; s < HOP_NSOP; s++) {
		put_sop(s);
		printf(s + 1 < HOP_NSOP ? ",\n" : "\n");
	}
	printf("  ],\n  \"dtypes\": [\n");
	for (int d = 0; d < HOP_NDTYPE; d++) {
		put_dtype((hop_dtype)d);
		printf(d + 1 < HOP_NDTYPE ? ",\n" : "\n");
	}
	printf("  ]\n}\n");
}

hop_status cmd_ops(cmd *c)
{
	bool json = false;
	while (cmd_more(c))
		if (cmd_flag(c, "--json"))
			json = true;
		else
			HOP_TRY(cmd_other(c));
	if (c->file || c->graph)
		return hop_fail(c->env, 0, HOP_EUSE, "ops: reads no file, it prints the tables");
	if (json)
		put_json();
	for (int op = 1; !json && op < HOP_NOPS; op++)
		puts(hop_optab[op].name);
	return HOP_OK;
}
