/* recompute.c -- regions that are computed again on the way back: what is saved is what was asked
 * for, by names, lists, a policy or a budget, and the numbers are the same. Bytes are those of
 * values that cross from the forward to the backward half, and those that compiled code says it
 * needs. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- what crosses ---- */

/* Bytes of the values that the forward half gives beside the results of f; *out_n: how many. */
static int64_t crossing(hop_fn *f, double budget, int *out_n)
{
	hop_fn *fwd, *bwd;
	hop_spec s;
	int wrt = 0;
	int64_t bytes = 0;
	ok(hop_split(f, 1, &wrt, budget, &fwd, &bwd));
	for (int i = hop_fn_nout(f); i < hop_fn_nout(fwd); i++) {
		must(hop_fn_out_type(fwd, i, &s));
		int64_t n = s.dtype == HOP_f64 || s.dtype == HOP_i64 ? 8 : s.dtype == HOP_bool ? 1 : 2;
		for (int d = 0; d < s.rank; d++)
			n *= s.dim[d];
		bytes += n;
	}
	*out_n = hop_fn_nout(fwd) - hop_fn_nout(f);
	hop_fn_release(fwd);
	hop_fn_release(bwd);
	return bytes;
}

/* The same of a body; and what the report says is that. */
static int64_t saves(hop_body *body, void *user, double budget, int nin, const tensor *in, int *out_n)
{
	hop_fn *f = captured(body, user, nin, in);
	hop_saved r = { .size = sizeof r };
	int wrt = 0, n;
	int64_t bytes = crossing(f, budget, &n), said = 0;
	ok(hop_saved_report(f, 1, &wrt, budget, &r));
	must(r.bytes == bytes);
	for (int i = 0; i < r.nsaved + r.nagain; i++) {
		must(r.value[i].saved == (i < r.nsaved) && r.value[i].op && r.value[i].type);
		said += i < r.nsaved ? r.value[i].bytes : 0;
	}
	must(said == bytes && strstr(r.text, "saved"));
	hop_saved_free(&r);
	hop_fn_release(f);
	if (out_n)
		*out_n = n;
	return bytes;
}

/* Bytes that the compiled gradient for input 0 works in. */
static int64_t room(hop_body *body, void *user, int nin, const tensor *in)
{
	hop_fn *f = captured(body, user, nin, in), *d;
	hop_exec *x;
	hop_arg a[MAXLIST] = { { .data = NULL } };
	hop_array *v[MAXLIST];
	int wrt = 0;
	ok(hop_grad(f, 1, &wrt, &d));
	ok(hop_compile(d, NULL, &x));
	for (int i = 0; i < nin; i++) {
		v[i] = array_of(&in[i]);
		a[i].data = hop_array_data(v[i]);
	}
	int64_t n = hop_exec_workspace(x, a);
	for (int i = 0; i < nin; i++)
		hop_array_release(v[i]);
	hop_exec_release(x);
	hop_fn_release(f);
	hop_fn_release(d);
	must(n >= 0);
	return n;
}

/* ---- programs ---- */

enum { PLAIN, WHOLE, NESTED, IN_LOOP, IN_BRANCH, NKIND };
struct net {
	int kind, layers;
	bool random, prints, writes;
	const hop_checkpoint_opts *opts;
};

static hop_value bend(hop_trace *t, const struct net *o, hop_value h, hop_value key, int i)
{
	if (o->prints)
		hop_print(t, "layer {}", 1, (hop_value[]){ hop_i(t, i) });
	if (o->random) {
		hop_dim n = hop_dim_of(t, h, 0);
		hop_value u = hop_uniform(t, hop_fold_in(t, key, hop_i(t, i)), HOP_f64, 1, &n);
		h = hop_select(t, hop_lt(t, u, hop_f(t, 0.5)), h, hop_mulf(t, h, 0.25));
	}
	if (o->writes) {
		hop_value buf = hop_clone(t, h);
		hop_mul_(t, hop_narrow(t, buf, 0, 0, 1), hop_f(t, 0.9));
		h = hop_add(t, buf, h);
	}
	return hop_exp(t, hop_sin(t, hop_name(t, hop_mulf(t, h, 0.5), "scaled")));
}

/* x, key: layers, each or all of them computed again as the struct says. */
BODY(net)
{
	const struct net *o = user;
	hop_value h = in[0];
	for (int i = 0; i < o->layers; i++) {
		switch (o->kind) {
		case PLAIN:
			h = bend(t, o, h, in[1], i);
			break;
		case WHOLE:
			HOP_CHECKPOINT(t, o->opts, h)
				h = bend(t, o, h, in[1], i);
			break;
		case NESTED:
			HOP_CHECKPOINT(t, o->opts, h) {
				HOP_CHECKPOINT(t, NULL, h)
					h = bend(t, o, h, in[1], i);
				h = hop_mulf(t, hop_mulf(t, h, 2), 0.5);
			}
			break;
		case IN_LOOP:
			HOP_FOR(t, k, 1, h)
				HOP_CHECKPOINT(t, o->opts, h)
					h = bend(t, o, h, in[1], i);
			break;
		case IN_BRANCH:
			HOP_IF(t, hop_lt(t, hop_sum_all(t, h), hop_f(t, 1e9)), h) {
				HOP_CHECKPOINT(t, o->opts, h)
					h = bend(t, o, h, in[1], i);
			} else {
				h = hop_mulf(t, h, 2);
			}
			break;
		}
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, h, h)));
}

BODY(net_back)
{
	hop_value out[2];
	hop_grad_at(t, net, user, 2, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

/* The gradient in three numbers, interpreted: by hop_grad, or by halves under a budget. */
static void bits(struct net o, double budget, double g[3])
{
	tensor in[2] = { F(0.3, 1, -0.7), I0(7) };
	hop_fn *f = captured(net, &o, 2, in), *d, *b = NULL;
	hop_array *a[2 + 64], *y[64];
	hop_run_opts *ro = HOP_RUN_OPTS(.interpret = true);
	double one = 1;
	int wrt = 0, n = 2;
	for (int i = 0; i < 2; i++)
		a[i] = array_of(&in[i]);
	if (budget < 0) {
		ok(hop_grad(f, 1, &wrt, &d));
		ok(hop_call_with(d, 2, a, 2, y, ro));
	} else {
		ok(hop_split(f, 1, &wrt, budget, &d, &b));
		int m = hop_fn_nout(d);
		must(m < 60);
		ok(hop_call_with(d, 2, a, m, y, ro));
		memcpy(a + 2, y, (size_t)m * sizeof *a);
		ok(hop_array_new(ctx, HOP_f64, 0, NULL, &one, &a[2 + m]));
		n = m + 3;
		ok(hop_call_with(b, n, a, 1, &y[1], ro));
		y[0] = hop_array_retain(a[2]);
	}
	memcpy(g, hop_array_data(y[1]), 3 * sizeof *g);
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
	for (int i = 0; i < 2; i++)
		hop_array_release(y[i]);
	hop_fn_release(f);
	hop_fn_release(d);
	hop_fn_release(b);
}

/* However it is computed again, the gradient is the one that keeps everything, to the bit: the
 * interpreter computes the same, in the same order. */
static void same(struct net o)
{
	double plain[3], g[3];
	const double budget[] = { -1, 0, 0.5, 1 };
	int kind = o.kind;
	o.kind = PLAIN;
	bits(o, -1, plain);
	o.kind = kind;
	for (int i = 0; i < 4; i++) {
		bits(o, budget[i], g);
		for (int k = 0; k < 3; k++)
			must(g[k] == plain[k]);
	}
}

static void every_way(struct net o)
{
	same(o);
	slopes(net, &o, LIST(F(0.3, 1, -0.7), I0(7)), WRT(0));
	slopes2(net, &o, LIST(F(0.3, 1, -0.7), I0(7)), WRT(0));
	lanes(net_back, &o, LIST(F2(2, 3, 0.3, 1, -0.7, 1, 0.2, 0.3), I(7, 8)), AXES(0, 0));
}

PITFALL(311, "checkpoints in checkpoints, loops and branches, one after another")
{
	for (int k = WHOLE; k < NKIND; k++)
		every_way((struct net){ .kind = k, .layers = 2 });
}

PITFALL(312, "random numbers of a checkpoint come again, at every budget")
{
	for (int k = WHOLE; k < NKIND; k++)
		every_way((struct net){ .kind = k, .layers = 2, .random = true });
}

PITFALL(313, "a checkpoint writes in place")
{
	for (int k = WHOLE; k < NKIND; k++)
		every_way((struct net){ .kind = k, .layers = 2, .writes = true });
}

PITFALL(314, "what a checkpoint says is said once")
{
	for (int k = WHOLE; k < NKIND; k++) {
		struct net o = { .kind = k, .layers = 2, .prints = true };
		prints(net, &o, LIST(F(0.3, 1), I0(7)), "layer 0\nlayer 1\n");
		prints(net_back, &o, LIST(F(0.3, 1), I0(7)), "layer 0\nlayer 1\n");
	}
}

PITFALL(315, "what stands between two checkpoints is saved once, and nothing inside")
{
	struct net o = { .kind = WHOLE, .layers = 12 };
	tensor in[2] = { tensor_of(HOP_f64, 1, 100, 0, 0, NULL), I0(7) };
	int n;
	must(saves(net, &o, 1, 2, in, &n) == 12 * 800 && n == 12);       /* all but the input */
	o.kind = NESTED;
	must(saves(net, &o, 1, 2, in, &n) == 12 * 800 && n == 12);
	must(saves(net, &o, 0, 2, in, &n) == 0 && n == 0);
}

PITFALL(316, "no pass puts together again what is computed twice: compiled code needs less memory")
{
	enum { ROW = 8 * 10000 };
	struct net o = { .kind = PLAIN, .layers = 12 };
	tensor in[2] = { tensor_of(HOP_f64, 1, 10000, 0, 0, NULL), I0(7) };
	o.opts = HOP_CHECKPOINT_OPTS(.must_save = "all");
	o.kind = WHOLE;
	int64_t all = room(net, &o, 2, in);
	o.opts = NULL;
	int64_t few = room(net, &o, 2, in);
	must(all >= 24 * ROW && few >= 11 * ROW && few <= 17 * ROW);
	/* the sine is computed by either half, the exponential in each: cse has merged none of it */
	must(times("= sin ", TRAINED_OPTIMISED, net, &o, LIST(F(0.3, 1), I0(7))) == 2);
}

PITFALL(317, "twelve layers that are checkpoints are one body, forward and backward")
{
	struct net o = { .kind = WHOLE, .layers = 12 };
	must(times("body(", CAPTURED, net, &o, LIST(F(0.3, 1), I0(7))) <= 1);
	must(times("= sin ", TRAINED_OPTIMISED, net, &o, LIST(F(0.3, 1), I0(7))) == 2);
	must(times("= cos ", TRAINED_OPTIMISED, net, &o, LIST(F(0.3, 1), I0(7))) == 1);
}

/* ---- policies ---- */

struct asked { int n; char ops[400]; hop_saving how; const char *which; };

static hop_saving policy(void *user, const hop_save_query *q)
{
	struct asked *a = user;
	must(q->index == a->n++);
	must(q->rank == 1 && q->dim[0] == 100 && q->bytes == 800);
	strcat(strcat(a->ops, q->op), q->name ? "!" : " ");
	return !strcmp(q->op, a->which) ? a->how : HOP_SAVING_FREE;
}

PITFALL(318, "a policy is asked once about each op, in an order that does not change; must is must")
{
	static const struct { hop_saving how; const char *which; int rows; } say[] = {
		{ HOP_MUST_SAVE, "sin", 2 }, { HOP_PREFER_SAVE, "exp", 1 }, { HOP_SAVING_FREE, "", 1 },
		{ HOP_MUST_SAVE, "mul", 2 }, { HOP_MUST_RECOMPUTE, "mul", 1 },
	};
	tensor in[2] = { tensor_of(HOP_f64, 1, 100, 0, 0, NULL), I0(7) };
	for (int i = 0; i < 5; i++) {
		struct asked a = { .how = say[i].how, .which = say[i].which };
		struct net o = { .kind = WHOLE, .layers = 1 };
		o.opts = HOP_CHECKPOINT_OPTS(.policy = policy, .policy_user = &a);
		hop_fn *f = captured(net, &o, 2, in);
		must(a.n == 3 && !strcmp(a.ops, "mul!sin exp "));
		int n;
		must(crossing(f, 1, &n) == say[i].rows * 800);       /* the result of the layer is read */
		hop_fn_release(f);
	}
}

static hop_saving wrong_policy(void *user, const hop_save_query *q)
{
	(void)user, (void)q;
	return (hop_saving)9;
}

PITFALL(319, "lists say what is saved: by name, by op, by class; what they cannot say is refused")
{
	static const struct { const char *must, *again; int rows; } list[] = {
		{ "sin", NULL, 2 }, { ":scaled", NULL, 2 }, { " exp , sin", NULL, 1 },
		{ "elementwise", "exp", 2 },
		{ "all", ":scaled", 1 }, { "heavy, reductions, random, operators", NULL, 1 },
		{ ":another", NULL, 1 }, { NULL, "all", 1 },
	};
	tensor in[2] = { tensor_of(HOP_f64, 1, 100, 0, 0, NULL), I0(7) };
	struct net o = { .kind = WHOLE, .layers = 1 };
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		int n;
		o.opts = HOP_CHECKPOINT_OPTS(.must_save = list[i].must, .must_recompute = list[i].again);
		int64_t bytes = saves(net, &o, 1, 2, in, &n);
		if (bytes < list[i].rows * 800 || bytes > (list[i].rows + 1) * 800)
			fail("list %d: %d bytes", (int)i, (int)bytes);
		slopes(net, &o, LIST(F(0.3, 1), I0(7)), WRT(0));
	}
	o.opts = HOP_CHECKPOINT_OPTS(.must_save = "softmax");
	refuses(net, &o, LIST(F(0.3), I0(7)), HOP_EVALUE,
	        "checkpoint: must_save: softmax is no word of a policy: there are names of ops (hop ops), "
	        "the classes heavy, reductions, elementwise, random, operators and all, and names of values "
	        "behind a colon");
	o.opts = HOP_CHECKPOINT_OPTS(.must_save = "sin,exp", .prefer_recompute = "exp");
	refuses(net, &o, LIST(F(0.3), I0(7)), HOP_EVALUE,
	        "checkpoint: exp is in must_save and in prefer_recompute");
	o.opts = HOP_CHECKPOINT_OPTS(.budget = 1.5);
	refuses(net, &o, LIST(F(0.3), I0(7)), HOP_EVALUE,
	        "checkpoint: a budget of 1.5: it must be from 0 to 1");
	o.opts = HOP_CHECKPOINT_OPTS(.policy = wrong_policy);
	refuses_capture(net, &o, LIST(F(0.3), I0(7)), HOP_EVALUE,
	                "checkpoint: the policy said 9 of mul (question 0): there is no such hop_saving");
}

PITFALL(320, "a checkpoint has a budget of its own")
{
	tensor in[2] = { tensor_of(HOP_f64, 1, 100, 0, 0, NULL), I0(7) };
	struct net o = { .kind = WHOLE, .layers = 4 };
	o.opts = HOP_CHECKPOINT_OPTS(.budget = 1, .prefer_save = "sin,mul");
	int64_t all = saves(net, &o, 1, 2, in, NULL), half;
	o.opts = HOP_CHECKPOINT_OPTS(.budget = 0.5, .prefer_save = "sin,mul");
	half = saves(net, &o, 1, 2, in, NULL);
	must(all > half && half >= 4 * 800);
	every_way(o);
}

PITFALL(321, "names and policies cost nothing: compiled code is the same")
{
	struct net o = { .kind = WHOLE, .layers = 2, .opts = HOP_CHECKPOINT_OPTS(.must_save = "all") };
	char *with = inside(LOWERED, net, &o, LIST(F(0.3, 1), I0(7)));
	o.opts = NULL;
	char *without = inside(LOWERED, net, &o, LIST(F(0.3, 1), I0(7)));
	must(!strcmp(with, without) && !strstr(with, "name"));
	must(times("name", OPTIMISED, net, &o, LIST(F(0.3, 1), I0(7))) == 0);
	must(times("checkpoint", OPTIMISED, net, &o, LIST(F(0.3, 1), I0(7))) == 0);
	free(with);
	free(without);
}

BODY(twice_inside)
{
	hop_value y = hop_exp(t, hop_sin(t, in[0]));
	hop_return(t, y, y, in[0]);
}

BODY(twice)
{
	hop_value out[3];
	hop_checkpoint(t, twice_inside, NULL, NULL, 1, in, 3, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_mul(t, out[0], out[1]), out[2])));
}

PITFALL(322, "a checkpoint returns a value twice, and its input")
{
	slopes(twice, NULL, LIST(F(0.5, 2)), WRT(0));
	slopes2(twice, NULL, LIST(F(0.5, 2)), WRT(0));
}

static void halved(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, in[0], 0.5));
}

/* x: with a hook on what is saved, or without. */
BODY(hooked)
{
	hop_value h = in[0];
	for (int i = 0; i < 3; i++)
		HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.must_save = "sin"), h) {
			h = hop_sin(t, h);
			if (user)
				hop_hook(t, h, halved, NULL);
			h = hop_exp(t, h);
		}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(325, "a hook on a value costs no bytes: it is saved once")
{
	int on = 1;
	double g = 1, x = 0.4, h = x;
	for (int i = 0; i < 3; i++) {
		g *= 0.5 * cos(h) * exp(sin(h));
		h = exp(sin(h));
	}
	gradient(hooked, &on, LIST(F(x)), WRT(0), LIST(F(g)));
	int64_t with = saves(hooked, &on, 1, LIST(F(0.4, 1, 2)), NULL);
	must(with == saves(hooked, NULL, 1, LIST(F(0.4, 1, 2)), NULL));
}

/* ---- packing ---- */

struct squeeze { bool prints, outside; int way; };

BODY(squeeze)
{
	const struct squeeze *s = user;
	if (s->prints)
		hop_print(t, "packed", 0, NULL);
	hop_return(t, hop_cast(t, in[0], HOP_bf16));
}

BODY(stretch)
{
	const struct squeeze *s = user;
	if (s->prints)
		hop_print(t, "unpacked", 0, NULL);
	hop_return(t, hop_cast(t, in[0], HOP_f64));
}

/* x: exact in 16 bits; what is packed is what was asked for, by a name or by the options. */
BODY(packing)
{
	struct squeeze *s = user;
	hop_value h = in[0];
	if (s->way == 0) {
		h = hop_pack(t, hop_mul(t, h, h), squeeze, stretch, s);
		h = hop_name_as(t, h, "square", HOP_MUST_SAVE);
		h = hop_mul(t, h, hop_mul(t, h, h));
	} else {
		hop_checkpoint_opts o = { .size = sizeof o, .must_save = "mul", .pack = squeeze,
			                      .unpack = stretch, .pack_user = s };
		HOP_CHECKPOINT(t, &o, h) {
			h = hop_mul(t, h, h);
			h = hop_sin(t, h);
		}
	}
	hop_return(t, hop_sum_all(t, h));
}

BODY(packing_back)
{
	hop_value out[2];
	hop_grad_at(t, packing, user, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(323, "what is saved is packed, and unpacked once: a quarter of the bytes")
{
	struct squeeze s = { 0 };
	const double x[4] = { 0.5, 1, -2, 1.5 };
	double g[4], c[4];
	tensor in[1] = { tensor_of(HOP_f64, 1, 4, 0, 0, x) };
	for (int i = 0; i < 4; i++) {
		g[i] = 6 * pow(x[i], 5);
		c[i] = cos(x[i] * x[i]) * 2 * x[i];
	}
	gradient(packing, &s, 1, in, WRT(0), LIST(tensor_of(HOP_f64, 1, 4, 0, 0, g)));
	must(saves(packing, &s, 1, 1, in, NULL) == 4 * 2);
	s.way = 1;
	gradient(packing, &s, 1, in, WRT(0), LIST(tensor_of(HOP_f64, 1, 4, 0, 0, c)));
	must(saves(packing, &s, 1, 1, in, NULL) == 4 * 2);
	for (s.way = 0; s.way < 2; s.way++) {
		lanes(packing_back, &s, LIST(F2(2, 2, 0.5, 1, -2, 1.5)), AXES(0));
		s.prints = true;
		prints(packing, &s, 1, in, "");
		prints(packing_back, &s, 1, in, "packed\nunpacked\n");
		s.prints = false;
	}
}

BODY(unpack_outside)
{
	hop_return(t, hop_add(t, hop_cast(t, in[0], HOP_f64), *(hop_value *)user));
}

BODY(cast_only)
{
	hop_return(t, hop_cast(t, in[0], HOP_bf16));
}

BODY(outside)
{
	hop_value y = hop_exp(t, in[0]);
	hop_return(t, hop_pack(t, y, cast_only, unpack_outside, (void *)(uintptr_t)&in[0]));
}

BODY(no_return)
{
	hop_return(t, hop_pack(t, in[0], cast_only, cast_only, NULL));
}

PITFALL(324, "unpack has what pack returned, and gives what was packed")
{
	refuses_capture(outside, NULL, LIST(F(0.3)), HOP_EREFUSED,
	                "pack: unpack uses a value from outside: it runs in the backward half, and has what "
	                "pack returned: let pack return it");
	refuses_capture(no_return, NULL, LIST(F(0.3)), HOP_ETYPE,
	                "packed: operand 0 is f64[1] in the node, but bf16[1] in what unpack gives");
}

PITFALL(326, "checkpoints and packing of sizes that only a run knows")
{
	struct squeeze s = { 0 };
	for (int k = WHOLE; k < NKIND; k++) {
		struct net o = { .kind = k, .layers = 2, .random = true };
		slopes(net, &o, LIST(UNKNOWN(F(0.3, 1, -0.7), "n"), I0(7)), WRT(0));
		slopes(net, &o, LIST(UNKNOWN(F(0.3), "n"), I0(7)), WRT(0));
	}
	for (s.way = 0; s.way < 2; s.way++) {
		gives(packing_back, &s, LIST(UNKNOWN(F(0.5), "n")),
		      LIST(F(s.way ? cos(0.25) : 6 * pow(0.5, 5))));
		gives(packing_back, &s, LIST(UNKNOWN(F(0.5, 1), "n")),
		      LIST(F(s.way ? cos(0.25) : 6 * pow(0.5, 5), s.way ? 2 * cos(1) : 6)));
	}
}
