/* emit.c -- loop programs to CUDA C: statements and functions. A statement outside of loops that are
 * shared is run by every thread with the same values; what it stores one of them stores. Decides
 * nothing about who does what: the schedule has. */
#include <stdlib.h>
#include <string.h>

#include "target/cuda/emit.h"

void hop_cuda_refuse(hop_cuemit *e, const hop_stmt *s, const char *why)
{
	if (!e->cu->st)
		e->cu->st = hop_fail(e->env, s->loc, HOP_ETARGET, "cuda: %s", why);
}

/* ---- operations ---- */

bool hop_cuda_alone(const hop_cuemit *e)
{
	return e->cu->last || e->cu->func[e->index].alone;
}

const char *hop_cuda_one(const hop_cuemit *e)
{
	return hop_cuda_alone(e) ? "true" : "false";
}

const char *hop_cuda_first(const hop_cuemit *e)
{
	switch (e->cu->who) {
	case HOP_WHO_TEAM:  return hop_cuda_alone(e) ? "hop_first_block()" : "hop_first_team()";
	case HOP_WHO_BLOCK: return "hop_first_block()";
	case HOP_WHO_WARP:  return "hop_first_warp()";
	default:            return NULL;
	}
}

void hop_cuda_define(hop_cuemit *e, hop_reg r, hop_dtype d, const char *value)
{
	if (e->cu->high) {
		hop_c_line(e, "r%d = %s;", r, value);
		hop_cuda_keep(e, r, d);
		return;
	}
	if (e->cu->lot) {
		hop_cuda_lot_define(e, r, hop_c_type(d), d, value);
		return;
	}
	hop_c_line(e, "const %s r%d%s = %s;", hop_c_type(d), r, e->cu->copy, value);
	hop_c_set(e, r, d, hop_c_text(e, "r%d%s", r, e->cu->copy));
}

static const char *both(hop_cuemit *e, const char *a, const char *b)
{
	return a && b ? hop_c_text(e, strstr(a, "||") ? "(%s) && %s" : "%s && %s", a, b) : a ? a : b;
}

/* One more than the most that a register can be; 0 = not known. */
static double bound(const hop_cuemit *e, hop_reg r)
{
	const char *t = e->reg[r];
	if (e->cu->most[r])
		return (double)e->cu->most[r];
	return t && t[0] && !t[strspn(t, "0123456789")] ? strtod(t, NULL) + 1 : 0;
}

/* Positions are divided in 32 bits, where they fit: 64 take ten times as long. */
static bool emit_narrow(hop_cuemit *e, const hop_stmt *s)
{
	double      a, b, most = 0;
	const char *t, *x, *y;
	if (s->na != 2 || s->dtype != HOP_i64 || e->cu->high)
		return false;
	a = bound(e, s->a[0]);
	b = bound(e, s->a[1]);
	x = hop_c_reg(e, s->a[0]);
	y = hop_c_reg(e, s->a[1]);
	switch (s->sop) {
	case HOP_SOP_add: most = a + b - 1; t = hop_c_text(e, "%s + %s", x, y); break;
	case HOP_SOP_mul: most = (a - 1) * (b - 1) + 1; t = hop_c_text(e, "%s * %s", x, y); break;
	case HOP_SOP_div: most = a; t = hop_c_text(e, "(int)((uint32_t)%s / %su)", x, y); break;
	case HOP_SOP_rem: most = b - 1; t = hop_c_text(e, "(int)((uint32_t)%s %% %su)", x, y); break;
	default: return false;
	}
	if (!a || !b || most >= 1 << 30 || a >= 1 << 30 || b >= 1 << 30)
		return false;
	if ((s->sop == HOP_SOP_div || s->sop == HOP_SOP_rem) && (e->cu->most[s->a[1]] || b < 2))
		return false;                      /* it may be by 0 */
	if (e->cu->lot) {
		hop_cuda_lot_define(e, s->dst, "int", HOP_i64, t);
	} else {
		hop_c_line(e, "const int r%d%s = %s;", s->dst, e->cu->copy, t);
		hop_c_set(e, s->dst, HOP_i64, hop_c_text(e, "r%d%s", s->dst, e->cu->copy));
	}
	e->cu->most[s->dst] = most < 1 ? 1 : (int64_t)most;
	return true;
}

static void emit_op(hop_cuemit *e, const hop_stmt *s)
{
	const char *t;
	if (emit_narrow(e, s) || (e->cu->lot && hop_cuda_lot_div(e, s)))
		return;
	if (e->cu->lot && s->sop == HOP_SOP_load && hop_cuda_lot_load(e, s))
		return;
	if (s->sop == HOP_SOP_load) {
		const char *mask = both(e, e->cu->guard, s->na ? hop_c_reg(e, s->a[0]) : NULL);
		t = hop_cuda_value(e, &s->u.addr);
		if (mask)
			t = hop_c_text(e, strstr(mask, "||") ? "(%s) ? %s : 0" : "%s ? %s : 0", mask, t);
	} else if (s->sop == HOP_SOP_count) {
		t = hop_c_text(e, "hop_count(&%s)", hop_cuda_at(e, &s->u.addr));
	} else {
		t = hop_c_value(e, s);
	}
	if (t)
		hop_cuda_define(e, s->dst, (hop_dtype)s->dtype, t);
}

/* What each thread has for itself, or each block, one of all would not do. */
static const char *storer(hop_cuemit *e, const hop_addr *a)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	if (b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_LOCAL || b->space == HOP_SPACE_OWN))
		return NULL;
	if (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_SHARED && e->cu->who == HOP_WHO_TEAM)
		return "hop_first_block()";
	return hop_cuda_first(e);
}

static void emit_store(hop_cuemit *e, const hop_stmt *s)
{
	const char *mask = both(e, e->cu->guard, storer(e, &s->u.addr));
	mask = both(e, mask, s->na > 1 ? hop_c_reg(e, s->a[1]) : NULL);
	if (e->cu->lot && hop_cuda_lot_store(e, s))
		return;
	hop_cuda_lot_open(e, 1);
	if (mask)
		hop_c_line(e, "if (%s)", mask);
	e->indent += mask != NULL;
	if (e->f->buf[s->u.addr.buf].decides)
		hop_c_line(e, "hop_decide(state, &%s, loop, %s);", hop_cuda_at(e, &s->u.addr),
		           hop_c_reg(e, s->a[0]));
	else
		hop_c_line(e, "%s = %s;", hop_cuda_at(e, &s->u.addr), hop_c_reg(e, s->a[0]));
	e->indent -= mask != NULL;
	hop_cuda_lot_close(e);
}

/* ---- what a block shares: a word, two rows of reductions, then what a tile wants ---- */

enum { SAID = 16, ROW = 8 * HOP_CUDA_WARP, TILE_ALIGN = 128 };

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static const char *scratch_at(hop_cuemit *e, int64_t from, int64_t bytes)
{
	hop_cufunc *me = &e->cu->func[e->index];
	me->scratch = larger(me->scratch, from + bytes - me->shared);
	return hop_c_text(e, "hop_shared + %lld", (long long)from);
}

const char *hop_cuda_word(hop_cuemit *e)
{
	return scratch_at(e, e->cu->func[e->index].shared, SAID);
}

const char *hop_cuda_row(hop_cuemit *e)
{
	const hop_cufunc *me = &e->cu->func[e->index];
	e->cu->row = true;
	return hop_c_text(e, "%s + row * %d", scratch_at(e, me->shared + SAID, 2 * ROW * me->rows),
	                  ROW * me->rows);
}

const char *hop_cuda_scratch(hop_cuemit *e, int64_t bytes)
{
	const hop_cufunc *me = &e->cu->func[e->index];
	int64_t           from = me->shared + SAID + 2 * ROW * me->rows;
	return scratch_at(e, (from + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN, bytes);
}

/* ---- control flow ---- */

void hop_cuda_barrier(hop_cuemit *e, int which)
{
	switch ((enum hop_barrier)which) {
	case HOP_BARRIER_WARP:
		hop_c_line(e, "hop_barrier_warp();");
		break;
	case HOP_BARRIER_BLOCK:
		hop_c_line(e, "hop_barrier_block();");
		break;
	case HOP_BARRIER_TEAM:
		hop_c_line(e, hop_cuda_alone(e) ? "hop_barrier_block();" : "hop_barrier_team(state);");
		break;
	case HOP_BARRIER_LAST:
		hop_c_line(e, "if (!hop_is_last(state, %s))", hop_cuda_word(e));
		hop_c_line(e, e->f->level == HOP_LEVEL_KERNEL ? "\treturn;" : "\treturn 0;");
		e->cu->last = true;
		break;
	case HOP_BARRIER_LAST_Y:
		hop_c_line(e, "if (!hop_is_last_y(state, %s))", hop_cuda_word(e));
		hop_c_line(e, e->f->level == HOP_LEVEL_KERNEL ? "\treturn;" : "\treturn 0;");
	}
}

static void emit_plain(hop_cuemit *e, const hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_OP:
		if (s->sop == HOP_SOP_store)
			emit_store(e, s);
		else
			emit_op(e, s);
		break;
	case HOP_L_LOOP:
		hop_cuda_loop(e, s);
		break;
	case HOP_L_TILE:
		hop_cuda_tile(e, s);
		break;
	case HOP_L_IF:
		hop_c_if(e, s, hop_cuda_block);
		break;
	case HOP_L_WHILE:
		hop_cuda_while(e, s);
		break;
	case HOP_L_CALL:
		hop_cuda_call(e, s);
		break;
	case HOP_L_GROW:
		hop_cuda_grow(e, s);
		break;
	case HOP_L_EFFECT:
		hop_cuda_effect(e, s);
		break;
	case HOP_L_CHECK:
		hop_cuda_check(e, s);
		break;
	case HOP_L_BARRIER:
		hop_cuda_barrier(e, s->callee);
	}
}

/* Nothing may be declared between points to go on at: what holds none gets braces. */
static void emit_low(hop_cuemit *e, const hop_stmt *s)
{
	struct hop_cuda *cu = e->cu;
	hop_c_brace(e);
	cu->high = false;
	cu->result = true;
	emit_plain(e, s);
	cu->result = false;
	cu->high = true;
	hop_c_close(e);
}

/* It belongs to the part that is being written. */
static bool is_now(const hop_cuemit *e, const hop_stmt *s)
{
	bool store = s->kind == HOP_L_OP && s->sop == HOP_SOP_store;
	switch (e->cu->part) {
	case HOP_CU_VALUES: return !store;
	case HOP_CU_LOADS:  return !store && e->cu->early[s->dst];
	case HOP_CU_REST:   return !store && !e->cu->early[s->dst];
	case HOP_CU_STORES: return store;
	default:            return true;
	}
}

static void emit_stmt(hop_cuemit *e, const hop_stmt *s)
{
	e->cu->pos += e->cu->high;
	if (hop_c_is_dead(e, s) || !is_now(e, s) ||
	    (e->cu->lot && s->sop == HOP_SOP_load && e->cu->loaded[s->dst]))
		return;
	if (!hop_c_is_silent(s) && !e->cu->quiet)
		hop_c_comment(e, s->loc);
	if (e->cu->high && s->kind != HOP_L_OP && s->kind != HOP_L_BARRIER &&
	    !hop_cuda_leaves(e->p, e->cu->func, s))
		emit_low(e, s);
	else
		emit_plain(e, s);
	if (s->kind != HOP_L_OP)
		e->cu->met = s->kind == HOP_L_BARRIER && s->callee != HOP_BARRIER_WARP;
}

void hop_cuda_all(hop_cuemit *e, const hop_block *b, bool high)
{
	bool was = e->cu->high;
	e->cu->high = high;
	e->cu->met = false;                    /* a loop may come here from its end */
	for (const hop_stmt *s = b->first; s; s = s->next) {
		const hop_stmt *last = hop_cuda_calls(e, s);
		if (last)
			s = last;
		else
			emit_stmt(e, s);
	}
	e->cu->high = was;
}

void hop_cuda_block(hop_cuemit *e, const hop_block *b)
{
	int n = e->cu->nscope;
	hop_cuda_all(e, b, e->cu->high && hop_cuda_block_leaves(e->p, e->cu->func, b));
	e->cu->nscope = n;
}

/* ---- functions ---- */

/* Blocks that a multiprocessor should have room for: of rows that are kept in registers three or four
 * times 256 threads, if they may well fit, so that some load while others compute. */
static int least_blocks(const hop_lfunc *f)
{
	enum { ROOM = 768, FULL = 1024, MOST = 256, WORDS = 64 };
	int64_t words = 0, t = f->team.threads;
	for (int i = 0; i < f->nbuf; i++) {
		const hop_lbuf *b = &f->buf[i];
		int64_t         n = (int64_t)hop_dtype_bytes(b->dtype);
		if (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_OWN)
			words += (b->count.k + t - 1) / t * (n > 4 ? n / 4 : 1);
	}
	if (!words || words > WORDS || t > MOST || f->team.resident || hop_size_is(f->team.blocks[0], 1))
		return hop_cuda_gemm_least(f);
	return (words > WORDS / 2 ? ROOM : FULL) / f->team.threads;
}

/* What several call is compiled once: a compiler would put all of it into each of them. So is what makes
 * records: inlined, it may find them in the place of the record that it reads (NVRTC 13.0 takes the two
 * for one). */
static void put_head(hop_buf *o, const hop_prog *p, const hop_cufunc *func, const char *name, int i)
{
	const hop_lfunc *f = &p->func[i];
	if (f->level == HOP_LEVEL_KERNEL)
		hop_putf(o, "extern \"C\" __global__ void __launch_bounds__(%d, %d) %s_%d("
		            "const hop_word *table, "
		            "unsigned rec,\n\t\tunsigned at, hop_state *state%s)", f->team.threads,
		         least_blocks(f), name, i, func[i].tells ? ", hop_word loop" : "");
	else
		hop_putf(o, "static __device__ %sint %s_%d(const hop_word *rec, hop_state *state)",
		         func[i].sites > 1 || func[i].makes ? "__noinline__ " : "", name, i);
}

/* The name, and for kernels who runs it. */
static void put_title(hop_cuemit *e, hop_buf *o)
{
	const hop_team *t = &e->f->team;
	bool            named = e->f->name && *e->f->name;
	if (!named && e->f->level != HOP_LEVEL_KERNEL)
		return;
	hop_put(o, "/*");
	if (named) {
		hop_put(o, " @");
		hop_c_put_name(o, e->f->name);
	}
	if (e->f->level == HOP_LEVEL_KERNEL) {
		hop_put(o, named ? ": " : " ");
		for (int i = 0; i < 3; i++)
			if (!i || !(hop_size_is(t->blocks[i], 1) || hop_size_is(t->blocks[i], 0))) {
				hop_put(o, i ? " x (" : "(");
				hop_size_print(o, t->blocks[i], NULL, 0);
				hop_put(o, ")");
			}
		hop_putf(o, " blocks of %d threads%s", t->threads, t->resident ? ", at once" : "");
	}
	hop_put(o, " */\n");
}

/* Whether all that is accessed by pieces begins where one may. */
static void put_even(hop_cuemit *e, hop_buf *o)
{
	const char *sep = "";
	hop_put(o, "\tconst bool even = ((");
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->cu->packed[i]) {
			hop_putf(o, "%s(hop_word)%s", sep, e->base[i]);
			sep = " | ";
		}
	hop_put(o, ") & 15) == 0;\n");
}

/* What every function begins with. */
static void put_start(hop_cuemit *e, const char *when, hop_buf *o)
{
	const hop_cufunc *me = &e->cu->func[e->index];
	bool              kernel = e->f->level == HOP_LEVEL_KERNEL;

	if (kernel && e->cu->waits)
		hop_put(o, "\thop_early();\n");
	if (kernel && me->tells)
		hop_put(o, "\tif (hop_is_over(state, loop))\n\t\treturn;\n");
	else if (kernel && e->cu->looks && !when)
		hop_put(o, "\tif (state->code)\n\t\treturn;\n");
	hop_cuda_declare(e, o);
	if (when && me->tells)                 /* a branch of an earlier trip may have been taken */
		hop_putf(o, "\tif (!%s) {\n\t\tif (hop_first_team())\n\t\t\thop_tell(state, loop, false);\n"
		            "\t\treturn;\n\t}\n", when);
	else if (when)                         /* both are on their way at once */
		hop_putf(o, "\tif ((state->code != 0) | !%s)\n\t\treturn;\n", when);
	if (e->cu->row)
		hop_put(o, "\tint row = 0;\n");
	if (e->cu->even)
		put_even(e, o);
	if (e->cu->polls)
		hop_put(o, "\tunsigned trips = 0;\n");
	if (e->cu->watches)
		hop_put(o, "\tunsigned steps = 0;\n");
	if (e->cu->status)
		hop_put(o, "\tint st;\n");
	for (int i = 0; i < e->cu->ntop; i++)
		hop_putf(o, "\t%s r%d;\n", hop_c_type((hop_dtype)e->dtype[e->cu->top[i]]), e->cu->top[i]);
	if (me->leaves && e->cu->resume->n) {
		hop_put(o, "\n\tif (state->saved) {\n"
		           "\t\tconst hop_word *const top = state->save + state->saved - 1;\n"
		           "\t\tswitch ((int)*top) {\n");
		hop_putn(o, e->cu->resume->s, e->cu->resume->n);
		hop_put(o, "\t\t}\n\t}\n");
	}
	hop_put(o, "\n");
}

static void begin_func(hop_cuemit *e, int i, hop_buf *body)
{
	struct hop_cuda *cu = e->cu;
	int              n = e->p->func[i].nreg + 1 + HOP_C_OWN;
	hop_arena       *a = &e->env->tmp;

	*e = (hop_cuemit){ .env = e->env, .p = e->p, .name = e->name, .f = &e->p->func[i], .index = i,
	                   .o = body, .indent = 1, .cu = cu };
	*cu = (struct hop_cuda){ .func = cu->func, .needs = cu->needs, .st = cu->st, .looks = cu->looks,
	                         .waits = cu->waits,
	                         .data = cu->data, .ndata = cu->ndata, .with = cu->with,
	                         .resume = cu->resume, .copy = "" };
	e->reg = HOP_NEWN(a, const char *, n);
	e->dtype = HOP_NEWN(a, uint8_t, n);
	e->base = HOP_NEWN(a, const char *, e->f->nbuf + 1);
	e->used = HOP_NEWN(a, bool, e->f->nbuf + 1);
	e->sym = HOP_NEWN(a, bool, e->f->nsym + 1);
	cu->most = HOP_NEWN(a, int64_t, n);
	cu->touched = HOP_NEWN(a, bool, e->f->nbuf + 1);
	cu->packed = HOP_NEWN(a, bool, e->f->nbuf + 1);
	cu->loaded = HOP_NEWN(a, bool, n);
	cu->round = HOP_NEWN(a, const char *, n);
	cu->top = HOP_NEWN(a, hop_reg, n);
	cu->scope = HOP_NEWN(a, hop_reg, n);
	cu->who = (enum hop_who)(cu->func[i].calls ? cu->func[i].calls - 1 : 0);
	if (e->f->level == HOP_LEVEL_THREAD)
		cu->who = HOP_WHO_ONE;
}

/* A trip that there is not: see hop_lfunc.when. */
static const char *when_text(hop_cuemit *e)
{
	hop_addr a = { .buf = e->f->when - 1, .offset = hop_size_int(0) };
	return e->f->when ? hop_cuda_at(e, &a) : NULL;
}

static void emit_func(hop_cuemit *e, int i, hop_buf *out)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	hop_buf  body, head, resume;

	hop_buf_open(&resume, e->env);
	hop_buf_open(&head, e->env);
	hop_buf_open(&body, e->env);
	e->cu->resume = &resume;
	begin_func(e, i, &body);
	hop_c_live(e);
	hop_cuda_lasts(e);
	hop_put(out, "\n");
	hop_cuda_bases(e, out);
	const char *when = when_text(e);
	e->cu->high = e->cu->func[i].leaves;
	hop_cuda_block(e, &e->f->body);
	if (e->f->level != HOP_LEVEL_KERNEL)
		hop_c_line(e, "return 0;");
	e->cu->func[i].save = e->cu->own + e->cu->below;
	put_start(e, when, &head);
	put_title(e, out);
	put_head(out, e->p, e->cu->func, e->name, i);
	hop_put(out, "\n{\n");
	if (e->f->level == HOP_LEVEL_KERNEL)
		hop_put(out, "\tconst hop_word *const w = table + rec;\n");
	else
		hop_put(out, "\tconst hop_word *const w = rec;\n");
	hop_putn(out, head.s, head.n);
	hop_putn(out, body.s ? body.s : "", body.n);
	hop_put(out, "}\n");
	hop_buf_free(&body);
	hop_buf_free(&head);
	hop_buf_free(&resume);
	hop_rewind(&e->env->tmp, m);
}

/* ---- programs ---- */

/* Bytes that function i and what it calls need of what a block shares. */
static int64_t shared_of(const hop_prog *p, const hop_cufunc *func, const hop_block *b, int i,
                         bool *done)
{
	int64_t n = 0;
	if (i >= 0) {
		if (done[i])
			return 0;
		done[i] = true;
		n = func[i].scratch ? func[i].shared + func[i].scratch : p->func[i].shared;
		b = &p->func[i].body;
	}
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
		if (s->kind == HOP_L_CALL)
			n = larger(n, shared_of(p, func, NULL, s->callee, done));
		for (int q = 0; q < k; q++)
			n = larger(n, shared_of(p, func, sub[q], -1, done));
	}
	return n;
}

static void describe(hop_cuemit *e, hop_cuda_kernel *kernel)
{
	const hop_prog *p = e->p;
	for (int i = 0; i < p->nfunc; i++) {
		if (p->func[i].level != HOP_LEVEL_KERNEL)
			continue;
		hop_mark m = hop_mark_at(&e->env->tmp);
		bool    *done = HOP_NEWN(&e->env->tmp, bool, p->nfunc);
		kernel[i] = (hop_cuda_kernel){ .shared = shared_of(p, e->cu->func, NULL, i, done),
		                               .looks = e->cu->looks, .leaves = e->cu->func[i].leaves,
		                               .cancels = (e->cu->func[i].polls && e->cu->func[i].ends) ||
		                                          e->cu->func[i].watches,
		                               .early = e->cu->waits };
		hop_rewind(&e->env->tmp, m);
	}
}

static hop_status check_levels(hop_env *e, const hop_prog *p)
{
	for (int i = 0; i < p->nfunc; i++)
		if (p->func[i].level == HOP_LEVEL_WHOLE)
			return hop_fail(e, 0, HOP_ETARGET, "cuda: function %d is not scheduled for a device", i);
	return HOP_OK;
}

/* Callees come after their callers in a program and before them in the text: they are declared first. */
static void emit_all_funcs(hop_cuemit *e, hop_buf *out, hop_cuda_slices *at)
{
	const hop_prog *p = e->p;
	int             given = p->nfunc;
	for (int i = 0; i < p->nfunc; i++)
		if (p->func[i].level == HOP_LEVEL_TEAM || p->func[i].level == HOP_LEVEL_THREAD) {
			at->head[i].from = out->n;
			put_head(out, p, e->cu->func, e->name, i);
			hop_put(out, ";\n");
			at->head[i].to = out->n;
		}
	at->body[given].from = out->n;
	for (int i = 0; i < p->nfunc; i++)
		if (p->func[i].level == HOP_LEVEL_HOST)
			hop_cuda_given(e, i, out);
	at->body[given].to = out->n;
	for (int i = p->nfunc - 1; i >= 0 && !e->cu->st; i--)
		if (p->func[i].level != HOP_LEVEL_HOST) {
			at->body[i].from = out->n;
			emit_func(e, i, out);
			at->body[i].to = out->n;
		}
}

hop_status hop_cuda_prog(hop_env *env, const hop_prog *p, const char *name, hop_buf *out,
                         hop_cuda_kernel *kernel, hop_cuda_needs *needs, hop_cuda_slices *at)
{
	hop_mark        m = hop_mark_at(&env->tmp);
	hop_cufunc     *func = HOP_NEWN(&env->tmp, hop_cufunc, p->nfunc);
	struct hop_cuda cu = { .func = func, .needs = needs, .waits = hop_cuda_early() };
	hop_cuemit      e = { .env = env, .p = p, .name = name, .cu = &cu };
	hop_cuda_slices none = { 0 };
	hop_status      st = check_levels(env, p);

	if (!at) {
		at = &none;
		none.head = HOP_NEWN(&env->tmp, hop_cuda_slice, p->nfunc + 1);
		none.body = HOP_NEWN(&env->tmp, hop_cuda_slice, p->nfunc + 1);
	}
	cu.with = at->with;
	if (!st)
		st = hop_cuda_analyse(env, p, func);
	if (st) {
		hop_rewind(&env->tmp, m);
		return st;
	}
	for (int i = 0; i < p->nfunc; i++)
		cu.looks |= func[i].ends;
	hop_cuda_room(&e);
	emit_all_funcs(&e, out, at);
	for (int i = 0; i < p->nfunc; i++)
		needs->save = larger(needs->save, func[i].save);
	describe(&e, kernel);
	hop_rewind(&env->tmp, m);
	return cu.st;
}

hop_status hop_cuda_text(hop_env *e, const hop_prog *p, const char *name, hop_buf *out,
                         hop_cuda_kernel *kernel, hop_cuda_needs *needs)
{
	hop_buf    text;
	hop_status st;

	hop_buf_open(&text, e);
	st = hop_cuda_prog(e, p, name, &text, kernel, needs, NULL);
	if (!st) {
		hop_cuda_prelude(e, &text, out);
		hop_putn(out, text.s ? text.s : "", text.n);
	}
	hop_buf_free(&text);
	return st;
}
