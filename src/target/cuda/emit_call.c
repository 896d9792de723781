/* emit_call.c -- calls of functions inside a kernel: the caller makes a record (state.h) in local
 * memory. Calls of kernels are the host's. */
#include "target/cuda/emit.h"

/* What the callee gives if it does not end: this function leaves, or is done. */
static void stop_if(hop_cuemit *e, const hop_stmt *s, const char *call, int point)
{
	const hop_cufunc *c = &e->cu->func[s->callee];
	if (!c->ends) {
		hop_c_line(e, "%s;", call);
		return;
	}
	hop_c_open(e, "if (%s)", hop_cuda_failed(e, call));
	hop_cuda_quit(e, point, "st");
	hop_c_close(e);
}

static const char *frame_of(hop_cuemit *e, const hop_stmt *s)
{
	return hop_size_is(s->frame, 0) ? "w[0]" :
	       hop_c_text(e, "w[0] + (hop_word)(%s)", hop_c_size(e, s->frame));
}

/* Where an argument is, of our own record and a number of bytes; false: that is not all. */
static bool is_fixed(const hop_cuemit *e, const hop_addr *a, int *out_word, int64_t *out_bytes)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	bool            frame = b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_FRAME;
	bool            result = b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_RESULT;
	if (a->nterm || !hop_size_const(a->offset) || !(frame || result || b->kind == HOP_BUF_PARAM) ||
	    (b->kind == HOP_BUF_TEMP && !hop_size_const(b->offset)))
		return false;
	*out_word = frame ? 0 : 1 + e->f->nsym + b->index;
	*out_bytes = a->offset.k * (int64_t)hop_dtype_bytes(b->dtype) +
	             (b->kind == HOP_BUF_TEMP ? b->offset.k : 0);
	return true;
}

/* How the record of a call is made is data: a word of our own and bytes, for each word. A compiler takes
 * its time for statements. false: sizes make it more than that. */
static bool is_by_data(const hop_cuemit *e, const hop_stmt *s)
{
	int     word;
	int64_t bytes;
	bool    ok = !s->is_part && !s->nsize && hop_size_const(s->frame);
	for (int i = 0; ok && i < s->narg; i++)
		ok = is_fixed(e, &s->args[i], &word, &bytes);
	return ok;
}

static void put_data(hop_cuemit *e, const hop_stmt *s)
{
	int     word = 0;
	int64_t bytes = 0;
	hop_c_line(e, "\t0, %lld,", (long long)s->frame.k);
	for (int i = 0; i < s->narg; i++) {
		is_fixed(e, &s->args[i], &word, &bytes);
		hop_c_line(e, "\t%d, %lld,", word, (long long)bytes);
	}
}

/* One of several calls that are alike. */
static bool call_by_data(hop_cuemit *e, const hop_stmt *s, int point)
{
	int n = 1 + s->narg;
	if (e->cu->func[s->callee].sites < 2 || !is_by_data(e, s))
		return false;
	hop_c_brace(e);
	hop_c_line(e, "static const hop_word how[%d] = {", 2 * n);
	put_data(e, s);
	hop_c_line(e, "};");
	hop_c_line(e, "hop_word a[%d];", n);
	hop_c_line(e, "hop_record(a, w, how, %d);", n);
	stop_if(e, s, hop_c_text(e, "%s_%d(a, state)", e->name, s->callee), point);
	hop_c_close(e);
	return true;
}

static void call_with(hop_cuemit *e, const hop_stmt *s, int point)
{
	if (call_by_data(e, s, point))
		return;
	hop_c_brace(e);
	hop_c_line(e, "const hop_word a[%d] = {", 1 + s->nsize + s->narg);
	hop_c_line(e, "\t%s,", frame_of(e, s));
	for (int i = 0; i < s->nsize; i++)
		hop_c_line(e, "\t(hop_word)(%s),", hop_c_size(e, s->sizes[i]));
	for (int i = 0; i < s->narg; i++)
		hop_c_line(e, "\t%s,", hop_cuda_ptr(e, &s->args[i]));
	hop_c_line(e, "};");
	stop_if(e, s, hop_c_text(e, "%s_%d(a, state)", e->name, s->callee), point);
	hop_c_close(e);
}

/* Rows of block reductions are the same in the callee: whoever is still reading is waited for. */
void hop_cuda_call(hop_cuemit *e, const hop_stmt *s)
{
	const hop_cufunc *c = &e->cu->func[s->callee];
	bool              together = e->p->func[s->callee].level == HOP_LEVEL_TEAM;
	int               point = together && c->leaves ? hop_cuda_point(e) : 0;

	if (together && c->meets && !e->cu->met)
		hop_c_line(e, "hop_barrier_block();");
	if (s->is_part)
		stop_if(e, s, hop_c_text(e, "%s_%d(w, state)", e->name, s->callee), point);
	else
		call_with(e, s, point);
	if (together && c->meets)
		hop_c_line(e, "hop_barrier_block();");
	if (c->save > e->cu->below)
		e->cu->below = c->save;
}

/* ---- calls one after the other ---- */

/* The barrier between a call and the next, the same behind each. */
static bool is_followed(const hop_stmt *s, int which)
{
	return s->next && s->next->kind == HOP_L_BARRIER && s->next->callee == which;
}

static bool is_alike(const hop_cuemit *e, const hop_stmt *s, const hop_stmt *first)
{
	return s && s->kind == HOP_L_CALL && s->callee == first->callee && is_by_data(e, s) &&
	       is_followed(s, first->next->callee);
}

/* A layer that is there many times costs its compiler as much as one that is there twice. */
const hop_stmt *hop_cuda_calls(hop_cuemit *e, const hop_stmt *first)
{
	enum { FEW = 4 };
	const hop_stmt *last = NULL;
	int             n = 0, words = 1 + first->narg;

	if (first->kind != HOP_L_CALL || e->cu->high || e->cu->func[first->callee].ends ||
	    !(is_followed(first, HOP_BARRIER_BLOCK) || is_followed(first, HOP_BARRIER_TEAM)))
		return NULL;
	for (const hop_stmt *s = first; is_alike(e, s, first); s = last->next, n++)
		last = s->next;
	if (n < FEW)
		return NULL;
	hop_c_comment(e, first->loc);
	if (e->cu->func[first->callee].meets && !e->cu->met)
		hop_c_line(e, "hop_barrier_block();");
	hop_c_brace(e);
	hop_c_line(e, "static const hop_word how[%d][%d] = {", n, 2 * words);
	for (const hop_stmt *s = first; s != last->next; s = s->next->next) {
		hop_c_line(e, s == first ? "{" : "}, {");
		put_data(e, s);
	}
	hop_c_line(e, "} };");
	hop_c_line(e, "HOP_UNROLL_BY(1)");
	hop_c_open(e, "for (int call = 0; call < %d; call++)", n);
	hop_c_line(e, "hop_word a[%d];", words);
	hop_c_line(e, "hop_record(a, w, how[call], %d);", words);
	hop_c_line(e, "%s_%d(a, state);", e->name, first->callee);
	hop_cuda_barrier(e, last->callee);
	hop_c_close(e);
	hop_c_close(e);
	e->cu->met = true;
	return last;
}
