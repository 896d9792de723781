/* emit_addr.c -- buffers and elements as CUDA C: bases are 64 bits, an index is 32 where all of it is
 * known to be small. Sizes and constants are target/c's. Checks no bounds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "target/cuda/emit.h"

/* A constant that stands in the text; equal pointers are equal data. */
struct hop_cudata { const void *data; int64_t n; hop_dtype dtype; int func, buf; bool given; };

static const char *factor(hop_cuemit *e, const char *t)
{
	return strchr(t, ' ') ? hop_c_text(e, "(%s)", t) : t;
}

/* ---- names ---- */

static void use(void *user, hop_addr *a, bool write)
{
	bool *used = user;
	(void)write;
	used[a->buf] = true;
}

static void find_used(hop_cuemit *e)
{
	for (hop_stmt *s = e->f->body.first; s; s = s->next)
		hop_stmt_all_addrs((hop_lfunc *)(uintptr_t)e->f, s, use, e->used);
	for (int i = 0; i < e->f->nlocal; i++)
		e->used[e->f->local[i]] = e->cu->touched[e->f->local[i]] = true;
}

static const char *data_name(hop_cuemit *e, int f, int b)
{
	return hop_c_text(e, "%s_c%d_%d", e->name, f, b);
}

/* The text of a constant, which is put to o where it is met first. */
static const char *data_of(hop_cuemit *e, int i, hop_buf *o, bool given)
{
	struct hop_cuda   *cu = e->cu;
	const hop_lbuf    *b = &e->f->buf[i];
	struct hop_cudata *d = cu->data;

	for (int k = 0; !given && k < cu->ndata; k++, d++) {
		if (d->data != b->data || d->n != b->count.k || d->dtype != b->dtype)
			continue;
		const char *name = data_name(e, d->func, d->buf);
		if (cu->with)
			hop_cuda_together(cu->with, e->index, d->given ? e->p->nfunc : d->func);
		return d->given ? hop_c_text(e, "((const %s *)%s)", hop_c_mem(e, b->dtype), name) : name;
	}
	cu->data[cu->ndata++] = (struct hop_cudata){ b->data, b->count.k, b->dtype, e->index, i, given };
	e->base[i] = data_name(e, e->index, i);
	hop_c_put_data(e, o, i, given ? "HOP_GIVEN" : "HOP_DATA", given);
	return e->base[i];
}

void hop_cuda_room(hop_cuemit *e)
{
	int n = 0;
	for (int i = 0; i < e->p->nfunc; i++)
		for (int k = 0; k < e->p->func[i].nbuf; k++)
			n += e->p->func[i].buf[k].kind == HOP_BUF_CONST;
	e->cu->data = HOP_NEWN(&e->env->tmp, struct hop_cudata, n + 1);
}

/* A size of it is bound while running: so is where it is. */
static bool is_late(const hop_cuemit *e, const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && hop_size_nsym(b->offset) > e->f->nsym;
}

/* Word i of the record, an address. A compiler may take it to be in any space, shared memory too, and
 * look at each access which it is; what the host gives a kernel is in one. */
static const char *word(hop_cuemit *e, int i)
{
	bool kernel = e->f->level == HOP_LEVEL_KERNEL;
	return hop_c_text(e, kernel ? "hop_global(w[%d])" : "w[%d]", i);
}

static const char *space(hop_cuemit *e, const hop_lbuf *b)
{
	switch (b->space) {
	case HOP_SPACE_RESULT:  return hop_c_text(e, "(char *)%s", word(e, 1 + e->f->nsym + b->index));
	case HOP_SPACE_SHARED:  return "hop_shared";
	case HOP_SPACE_SCRATCH: return "state->scratch";
	default:                return hop_c_text(e, "(char *)%s", word(e, 0));
	}
}

static const char *where(hop_cuemit *e, const hop_lbuf *b)
{
	const char *t = hop_c_mem(e, b->dtype);
	if (b->kind == HOP_BUF_PARAM)
		return hop_c_text(e, "(%s%s *)%s", b->is_written ? "" : "const ", t,
		                  word(e, 1 + e->f->nsym + b->index));
	if (b->kind == HOP_BUF_TAPE)
		return hop_c_text(e, "(%s *)state->tape[%d].ptr", t, b->index);
	if (hop_size_is(b->offset, 0))
		return hop_c_text(e, "(%s *)%s", t, space(e, b));
	return hop_c_text(e, "(%s *)(%s + %s)", t, space(e, b), factor(e, hop_c_size(e, b->offset)));
}

static const char *name_of(hop_cuemit *e, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	bool            in = b->index < e->f->nin;
	if (b->kind != HOP_BUF_PARAM)
		return hop_c_text(e, "t%d", i);
	for (int j = 0; j < i; j++)
		if (e->f->buf[j].kind == HOP_BUF_PARAM && e->f->buf[j].index == b->index)
			return hop_c_text(e, "p%d_%d", b->index, i);
	return hop_c_text(e, "%c%d", in ? 'p' : 'o', in ? b->index : b->index - e->f->nin);
}

void hop_cuda_bases(hop_cuemit *e, hop_buf *o)
{
	find_used(e);
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->used[i] && !is_late(e, &e->f->buf[i]))
			e->base[i] = e->f->buf[i].kind == HOP_BUF_CONST ? data_of(e, i, o, false) : name_of(e, i);
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->used[i] && !e->base[i])
			e->base[i] = hop_c_text(e, "(%s)", where(e, &e->f->buf[i]));
}

static void give(hop_cuemit *e, const hop_addr *a, hop_buf *o)
{
	if (e->f->buf[a->buf].kind == HOP_BUF_CONST && !e->base[a->buf])
		data_of(e, a->buf, o, true);
}

static void give_list(hop_cuemit *e, const hop_block *b, hop_buf *o)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_addr *a;
		for (int k = 0; (a = hop_stmt_addr(s, k)); k++)
			give(e, a, o);
		give_list(e, &s->body, o);
	}
}

void hop_cuda_given(hop_cuemit *e, int i, hop_buf *o)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	e->f = &e->p->func[i];
	e->index = i;
	e->base = HOP_NEWN(&e->env->tmp, const char *, e->f->nbuf + 1);
	e->used = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf + 1);
	give_list(e, &e->f->body, o);
	hop_rewind(&e->env->tmp, m);
}

/* ---- what stands before a body ---- */

static void declare(hop_cuemit *e, hop_buf *o, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	const char     *t = hop_c_mem(e, b->dtype);
	bool            in = b->kind == HOP_BUF_PARAM && !b->is_written;

	if (b->kind == HOP_BUF_CONST || is_late(e, b))
		return;
	if (b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_LOCAL || b->space == HOP_SPACE_OWN)) {
		int     threads = b->space == HOP_SPACE_OWN ? e->f->team.threads : 1;
		int64_t n = (b->count.k + threads - 1) / threads;
		n = n > 4 ? (n + 3) / 4 * 4 : n;       /* those that lie together may be one thread's */
		hop_putf(o, "\t%s %s[%" PRId64 "];\n", t, e->base[i], n > 0 ? n : 1);
	} else {
		hop_putf(o, "\t%s%s *const %s = %s;\n", in ? "const " : "", t, e->base[i], where(e, b));
	}
}

/* Addresses before symbols in memory, but they may need them. */
void hop_cuda_declare(hop_cuemit *e, hop_buf *o)
{
	hop_buf b;
	hop_buf_open(&b, e->env);
	for (int i = 0; i < e->f->nbuf; i++)
		if (e->used[i] && e->cu->touched[i])
			declare(e, &b, i);
	for (int i = 0; i < e->f->nsym; i++)
		if (e->sym[i])
			hop_putf(o, "\tconst int64_t s%d = (int64_t)w[%d];\n", i, 1 + i);
	hop_putn(o, b.s ? b.s : "", b.n);
	hop_buf_free(&b);
}

/* ---- elements ---- */

enum { NARROW = 1 << 30 };

static bool is_number(const char *t)
{
	return t[strspn(t, "(-0123456789)")] == 0;
}

/* All of it stays below 2^30, whatever the order of additions. */
static bool is_narrow(const hop_cuemit *e, const hop_addr *a)
{
	double all = 0;
	if (!hop_size_const(a->offset))
		return false;
	all = (double)(a->offset.k < 0 ? -a->offset.k : a->offset.k);
	for (int i = 0; i < a->nterm; i++) {
		hop_size    st = a->term[i].stride;
		const char *r = hop_c_reg(e, a->term[i].reg);
		double      most = (double)e->cu->most[a->term[i].reg];
		if (!hop_size_const(st))
			return false;
		if (!most && is_number(r))
			most = llabs(strtoll(r + (*r == '('), NULL, 10)) + 1.0;
		if (!most)
			return false;
		all += most * (double)(st.k < 0 ? -st.k : st.k);
	}
	return all < NARROW;
}

const char *hop_cuda_index(hop_cuemit *e, const hop_addr *a)
{
	bool        narrow = is_narrow(e, a);
	const char *t = "";
	for (int i = 0; i < a->nterm; i++) {
		hop_reg     q = a->term[i].reg;
		hop_size    st = a->term[i].stride;
		const char *r = hop_c_reg(e, q), *m = r;

		if (hop_size_is(st, 0) || !strcmp(r, "0"))
			continue;
		if (!narrow && hop_size_const(st) && (e->cu->most[q] || is_number(r)))
			m = r = hop_c_text(e, "(int64_t)%s", r);
		if (!hop_size_is(st, 1))
			m = hop_c_text(e, "%s * %s", r, factor(e, hop_c_size(e, st)));
		t = hop_c_text(e, "%s%s%s", t, *t ? " + " : "", m);
	}
	if (!*t)
		return hop_c_size(e, a->offset);
	return hop_size_is(a->offset, 0) ? t : hop_c_text(e, "%s + %s", t, hop_c_size(e, a->offset));
}

const char *hop_cuda_at(hop_cuemit *e, const hop_addr *a)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	e->cu->touched[a->buf] = true;
	if (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_OWN) {
		HOP_ASSERT(a->nterm == 1 && e->cu->round[a->term[0].reg]);
		return hop_c_text(e, "%s[%s]", hop_c_base(e, a->buf), e->cu->round[a->term[0].reg]);
	}
	return hop_c_text(e, "%s[%s]", hop_c_base(e, a->buf), hop_cuda_index(e, a));
}

const char *hop_cuda_ptr(hop_cuemit *e, const hop_addr *a)
{
	const char *i = hop_cuda_index(e, a), *b = hop_c_base(e, a->buf);
	e->cu->touched[a->buf] = true;
	return strcmp(i, "0") ? hop_c_text(e, "(hop_word)(%s + %s)", b, factor(e, i)) :
	                        hop_c_text(e, "(hop_word)%s", b);
}

const char *hop_cuda_value(hop_cuemit *e, const hop_addr *a)
{
	const char *t = hop_cuda_at(e, a);
	return hop_dtype_bool(e->f->buf[a->buf].dtype) ? hop_c_text(e, "%s != 0", t) : t;
}
