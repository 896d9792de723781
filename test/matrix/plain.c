/* Cells: eager, captured, text, symbolic sizes. Derivatives are in transforms.c. */
#include <string.h>

#include "text/text.h"
#include "support/subject.h"

enum { N = 3 };
static const double points[2][N] = { { 0.3, -0.2, 0.5 }, { -0.4, 0.1, -0.6 } };
static const double K = 0.35;

/* Both points through a captured function, or eagerly. */
static int values(hop_ctx *c, int op, bool eager)
{
	subject s = { .n = 1, .ops = { op } };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	hop_fn *f = NULL;
	int bad = 0;

	if (!eager && cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture"))
		return 1;
	for (int p = 0; p < 2; p++) {
		hop_array *a[2] = { subject_vec(c, N, points[p]), subject_num(c, K) }, *y = NULL;
		double want[N];

		subject_ref(&s, N, points[p], K, want);
		if (eager)
			bad += cell_ok(c, hop_eager_call(c, subject_body, &s, 2, a, 1, &y), "eager");
		else
			bad += cell_ok(c, hop_call(f, 2, a, 1, &y), "call");
		bad += cell_near("value", N, want, y, 1e-12);
		hop_array_release(a[0]), hop_array_release(a[1]), hop_array_release(y);
	}
	hop_fn_release(f);
	return bad;
}

static int eager(hop_ctx *c, int op, int arg)
{
	(void)arg;
	return values(c, op, true);
}

static int captured(hop_ctx *c, int op, int arg)
{
	(void)arg;
	return values(c, op, false);
}

/* Parse what was printed, print it again. */
static int reparse(hop_ctx *c, const char *text)
{
	hop_env e;
	hop_frame fr;
	hop_module *m;
	volatile int bad = 0;             /* read after a jump */

	hop_env_init(&e, c, (hop_mem){ hop_alloc_default, NULL });
	if (HOP_GUARD(&e, &fr))
		return cell_bad("no memory");
	if (hop_module_parse(&e, text, strlen(text), "text", &m)) {
		bad = cell_bad("what was printed does not parse: %.*s\n%s", (int)e.diag.len,
		               e.diag.text ? e.diag.text : "", text);
	} else {
		hop_buf b;

		hop_buf_open(&b, &e);
		hop_entries_print(&b, m->n, m->entry, 0);
		if (b.n != strlen(text) || memcmp(b.s, text, b.n))
			bad = cell_bad("printed:\n%s\nthen:\n%.*s", text, (int)b.n, b.s);
		hop_buf_free(&b);
		hop_module_free(m, &e.mem);
	}
	hop_guard_end(&e, &fr);
	hop_env_fini(&e);
	return bad;
}

/* What the operator is in the text: of a mode, what it leaves there. */
static const char *word_of(int op)
{
	return op == OP_NO_GRAD ? "stop_gradient" : op == OP_AUTOCAST ? "bf16" : cell_op[op];
}

static int text(hop_ctx *c, int op, int arg)
{
	subject s = { .n = 1, .ops = { op } };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	hop_fn *f;

	(void)arg;
	if (cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture"))
		return 1;
	const char *t = hop_fn_text(f);
	int bad = t && strstr(t, word_of(op)) ? reparse(c, t) : cell_bad("no text");
	hop_fn_release(f);
	return bad;
}

static int symbolic(hop_ctx *c, int op, int arg)
{
	static const double x[7] = { 0.3, -0.2, 0.5, 0.1, -0.6, 0.2, 0.05 };
	subject s = { .n = 1, .ops = { op } };
	hop_spec in[2] = { hop_spec_sym(hop_spec1(HOP_f64, 0), 0, "s", 0, 64),
	                   hop_spec0(HOP_f64) };
	hop_fn *f;
	int bad = 0;

	(void)arg;
	if (cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture"))
		return 1;
	for (int n = 1; n <= 7; n += 2) {
		hop_array *a[2] = { subject_vec(c, n, x), subject_num(c, K) }, *y = NULL;
		double want[7];

		subject_ref(&s, n, x, K, want);
		bad += cell_ok(c, hop_call(f, 2, a, 1, &y), "call");
		bad += cell_near("value", n, want, y, 1e-12);
		hop_array_release(a[0]), hop_array_release(a[1]), hop_array_release(y);
	}
	hop_fn_release(f);
	return bad;
}

int main(void)
{
	int bad = 0;

	for (int op = 0; op < NOPERATOR; op++) {
		bad += cell_run(op, "eager", eager, NOPERATOR);
		bad += cell_run(op, "captured", captured, NOPERATOR);
		bad += cell_run(op, "text", text, NOPERATOR);
		bad += cell_run(op, "symbolic", symbolic, NOPERATOR);
	}
	return bad != 0;
}
