/* emit_row.c -- loops over threads that use what each keeps in registers (SPACE_OWN): all rounds of a
 * thread stand side by side, statement by statement, each in an array that becomes registers. So all
 * that a statement loads is asked for before the next one waits for any of it, pieces of memory come in
 * one access where they lie together, and a division by what is the same for all is prepared once. */
#include <string.h>

#include "target/cuda/emit.h"

enum { HELD = 32,                /* values of all rounds at once that a thread has room for */
       ACCESS = 16 };            /* bytes of the widest access */

static int wide_of(const hop_stmt *s)
{
	return s->bind.width > 1 ? s->bind.width : 1;
}

int hop_cuda_rounds(const hop_cuemit *e, const hop_stmt *s)
{
	int64_t v = wide_of(s), all = e->f->team.threads * v;
	return (int)((hop_cuda_known(s) + all - 1) / all * v);
}

const char *hop_cuda_round(hop_cuemit *e, const hop_stmt *s, const char *base, const char *q)
{
	int v = wide_of(s), t = e->f->team.threads;
	return v > 1 ? hop_c_text(e, "(%s + %s / %d * %d + %s %% %d)", base, q, v, t * v, q, v)
	             : hop_c_text(e, "(%s + %s * %d)", base, q, t);
}

/* ---- how many rounds at once ---- */

static bool is_own(const hop_cuemit *e, const hop_addr *a)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	return b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_OWN || b->space == HOP_SPACE_LOCAL);
}

/* Values of a round that are held together: loads, and both sides of a division. */
static int held(const hop_cuemit *e, const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += s->sop == HOP_SOP_load ? !is_own(e, &s->u.addr) : s->sop == HOP_SOP_div ? 2 : 0;
	return n;
}

static int lot_of(const hop_cuemit *e, const hop_stmt *s, int rounds)
{
	int v = wide_of(s), each = held(e, &s->body);
	for (int n = 1; rounds / n >= 4; n++)
		if (rounds % n == 0 && rounds / n % v == 0 && (rounds / n * each <= HELD || rounds / n == 4))
			return rounds / n;
	return rounds;
}

/* ---- statements ---- */

static bool is_many(const char *text)
{
	return strstr(text, "k_") != NULL;
}

void hop_cuda_lot_open(hop_cuemit *e, int step)
{
	if (!e->cu->lot)
		return;
	hop_c_line(e, "HOP_UNROLL");
	hop_c_open(e, step > 1 ? "for (int k_ = 0; k_ < %d; k_ += %d)" : "for (int k_ = 0; k_ < %d; k_++)",
	           e->cu->lot, step);
}

void hop_cuda_lot_close(hop_cuemit *e)
{
	if (e->cu->lot)
		hop_c_close(e);
}

static void declare(hop_cuemit *e, hop_reg r, const char *type, hop_dtype d, bool zero)
{
	hop_c_line(e, "%s r%d[%d]%s;", type, r, e->cu->lot, zero ? " = { 0 }" : "");
	hop_c_set(e, r, d, hop_c_text(e, "r%d[k_]", r));
}

void hop_cuda_lot_define(hop_cuemit *e, hop_reg r, const char *type, hop_dtype d, const char *value)
{
	declare(e, r, type, d, false);
	hop_cuda_lot_open(e, 1);
	hop_c_line(e, "r%d[k_] = %s;", r, value);
	hop_cuda_lot_close(e);
}

/* How many elements one access may have, where the loop's variable counts them; 1: it does not. Those
 * before the first of a row are a multiple of it; that the buffer begins well is asked while running. */
static int piece_of(const hop_cuemit *e, const hop_addr *a)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	int             t = hop_addr_term(a, e->cu->lot_var), v = e->cu->lot_wide;
	int             most = ACCESS / (int)hop_dtype_bytes(b->dtype);

	if (v < 2 || t < 0 || is_own(e, a) || (b->kind != HOP_BUF_PARAM && b->kind != HOP_BUF_TEMP) ||
	    !hop_size_is(a->term[t].stride, 1) || !hop_size_const(a->offset) || a->offset.k % v ||
	    hop_size_nsym(b->offset) > e->f->nsym)
		return 1;
	for (int i = 0; i < a->nterm; i++) {
		const char *r = e->reg[a->term[i].reg];        /* none: the body has it later */
		hop_size    st = a->term[i].stride;
		if (i != t && (!hop_size_const(st) || st.k % v || !r || is_many(r)))
			return 1;
	}
	return v < most ? v : most;
}

/* A line for each of the lot, or for each n-th. */
static void for_each(hop_cuemit *e, int n, const char *line)
{
	hop_cuda_lot_open(e, n);
	if (e->cu->guard)
		hop_c_line(e, "if (%s)", e->cu->guard);
	hop_c_line(e, "%s%s", e->cu->guard ? "\t" : "", line);
	hop_cuda_lot_close(e);
}

/* Where all buffers begin well, by pieces. */
static void by_pieces(hop_cuemit *e, int buf, int n, const char *piece, const char *one)
{
	e->cu->packed[buf] = e->cu->even = true;
	hop_c_open(e, "if (HOP_LIKELY(even))");
	for_each(e, n, piece);
	hop_c_close(e);
	hop_c_open(e, "else");
	for_each(e, 1, one);
	hop_c_close(e);
}

bool hop_cuda_lot_load(hop_cuemit *e, const hop_stmt *s)
{
	const hop_addr *a = &s->u.addr;
	int             n = s->na ? 1 : piece_of(e, a);
	if (n < 2)
		return false;
	const char *from = hop_c_text(e, "%s + (%s)", hop_c_base(e, a->buf), hop_cuda_index(e, a));
	const char *one = hop_c_text(e, "r%d[k_] = %s;", s->dst, hop_cuda_value(e, a));
	declare(e, s->dst, hop_c_type((hop_dtype)s->dtype), (hop_dtype)s->dtype, e->cu->guard != NULL);
	by_pieces(e, a->buf, n, hop_c_text(e, "hop_get<%d>(r%d + k_, %s);", n, s->dst, from), one);
	return true;
}

bool hop_cuda_lot_store(hop_cuemit *e, const hop_stmt *s)
{
	const hop_addr *a = &s->u.addr;
	int             n = s->na > 1 ? 1 : piece_of(e, a);
	const char     *v = hop_c_reg(e, s->a[0]);
	if (n < 2 || strcmp(v, hop_c_text(e, "r%d[k_]", s->a[0])) != 0)
		return false;
	const char *to = hop_c_text(e, "%s + (%s)", hop_c_base(e, a->buf), hop_cuda_index(e, a));
	const char *one = hop_c_text(e, "%s = %s;", hop_cuda_at(e, a), v);
	by_pieces(e, a->buf, n, hop_c_text(e, "hop_set<%d>(%s, r%d + k_);", n, to, s->a[0]), one);
	return true;
}

/* Rounded as ever: where the quick way may not be, all are done again. */
bool hop_cuda_lot_div(hop_cuemit *e, const hop_stmt *s)
{
	const char *x, *y;
	if (s->sop != HOP_SOP_div || s->dtype != HOP_f32)
		return false;
	x = hop_c_reg(e, s->a[0]);
	y = hop_c_reg(e, s->a[1]);
	if (!is_many(x) || is_many(y))
		return false;
	declare(e, s->dst, "float", HOP_f32, false);
	hop_c_brace(e);
	hop_c_line(e, "const float by = hop_by_f32(%s);", y);
	hop_c_line(e, "uint32_t low = hop_by_low(%s);", y);
	hop_c_line(e, "float odd = 0;");
	hop_cuda_lot_open(e, 1);
	hop_c_line(e, "r%d[k_] = hop_over_f32(%s, %s, by, &low, &odd);", s->dst, x, y);
	hop_cuda_lot_close(e);
	hop_c_open(e, "if (HOP_RARELY(hop_is_odd(low, odd)))");
	hop_cuda_lot_open(e, 1);
	hop_c_line(e, "r%d[k_] = %s / %s;", s->dst, x, y);
	hop_cuda_lot_close(e);
	hop_c_close(e);
	hop_c_close(e);
	return true;
}

/* ---- loops ---- */

static bool meets(const hop_cuemit *e, const hop_stmt *from, const hop_stmt *load)
{
	for (; from != load; from = from->next)
		if (from->sop == HOP_SOP_store && hop_cuda_meet(e->f, from->u.addr.buf, load->u.addr.buf))
			return true;
	return false;
}

/* What memory has for the lot is asked for before anything is computed, unless the body writes it or
 * says where it is. */
static void load_early(hop_cuemit *e, const hop_stmt *loop)
{
	for (const hop_stmt *s = loop->body.first; s; s = s->next)
		if (s->sop == HOP_SOP_load && !is_own(e, &s->u.addr) && !s->na && e->uses[s->dst] &&
		    piece_of(e, &s->u.addr) > 1 && !meets(e, loop->body.first, s))
			e->cu->loaded[s->dst] = hop_cuda_lot_load(e, s);
}

bool hop_cuda_lot(hop_cuemit *e, const hop_stmt *s, const char *v, const char *at)
{
	struct hop_cuda *cu = e->cu;
	int              n = hop_cuda_rounds(e, s), lot = lot_of(e, s, n);
	int              all = e->f->team.threads * wide_of(s);
	const char      *q = lot < n ? "(b_ + k_)" : "k_";
	int64_t          known = hop_cuda_known(s);

	if (n < 2 || s->bind.ordered || cu->high || cu->lot || cu->part != HOP_CU_ALL ||
	    !hop_cuda_is_simple(&s->body))
		return false;
	if (lot < n) {
		hop_c_line(e, "HOP_UNROLL");
		hop_c_open(e, "for (int b_ = 0; b_ < %d; b_ += %d)", n, lot);
	} else {
		hop_c_brace(e);
	}
	if (wide_of(s) > 1)
		hop_c_line(e, "const int %s = hop_thread() * %d;", v, wide_of(s));
	else
		hop_c_line(e, "const int %s = hop_thread();", v);
	hop_c_set(e, s->dst, HOP_i64, hop_cuda_round(e, s, v, q));
	cu->round[s->dst] = q;
	cu->lot = lot;
	cu->lot_var = s->dst;
	cu->lot_wide = wide_of(s);
	if (known % all)
		cu->guard = hop_c_text(e, "(%s / %d + 1) * %d <= %lld || %s < %lld", q, wide_of(s), all,
		                       (long long)known, hop_c_reg(e, s->dst), (long long)known);
	load_early(e, s);
	hop_cuda_pass(e, s, at);
	cu->guard = NULL;
	cu->lot = 0;
	hop_c_close(e);
	return true;
}
