/* npy.c -- NumPy's .npy: a magic, a version, a Python dict as header, the elements.
 * Reads no pickles and no structured dtypes, and takes nothing on trust: a byte that NumPy
 * would not have written there is refused, also where Python would read over it. */
#include "io/npy.h"

#include <string.h>

/* What NumPy writes before a dtype: elements of one byte have no order. */
static char order_of(hop_dtype d)
{
	uint16_t one = 1;
	return hop_dtype_bytes(d) == 1 ? '|' : *(unsigned char *)&one ? '<' : '>';
}

/* The header's text, read from the left. Between its tokens are blanks and nothing else. */
struct head {
	hop_env    *env;
	const char *name;
	const char *p, *end;
};

static hop_status bad(struct head *h, const char *what)
{
	return hop_fail(h->env, 0, HOP_EPARSE, "%s: not a .npy file: %s", h->name, what);
}

static bool next_is(struct head *h, char c)
{
	while (h->p < h->end && *h->p == ' ')
		h->p++;
	return h->p < h->end && *h->p == c;
}

static bool eat(struct head *h, char c)
{
	bool is = next_is(h, c);
	h->p += is;
	return is;
}

static bool eat_word(struct head *h, const char *word)
{
	size_t n = strlen(word);
	if (!next_is(h, *word) || (size_t)(h->end - h->p) < n || memcmp(h->p, word, n))
		return false;
	h->p += n;
	return true;
}

/* 'text' or "text" of printable characters without escapes; false when there is none. */
static bool quoted(struct head *h, const char **s, size_t *n)
{
	if (!next_is(h, '\'') && !next_is(h, '"'))
		return false;
	char q = *h->p++;
	*s = h->p;
	while (h->p < h->end && *h->p != q && *h->p >= ' ' && *h->p <= '~' && *h->p != '\\')
		h->p++;
	*n = (size_t)(h->p - *s);
	return eat(h, q);
}

static bool is(const char *s, size_t n, const char *t)
{
	return strlen(t) == n && !memcmp(s, t, n);
}

static hop_status descr(struct head *h, hop_npy *a)
{
	const char *s;
	size_t n;
	if (!quoted(h, &s, &n) || n < 3)
		return bad(h, "descr is no simple dtype");
	int shown = (int)(n < 32 ? n : 32);
	for (int d = 0; d < HOP_NDTYPE; d++) {
		if (!is(s + 1, n - 1, hop_dtab[d].npy))
			continue;
		a->dtype = (hop_dtype)d;
		if (hop_dtab[d].npy[0] == 'V' && (*s == '|' || *s == order_of(a->dtype)))
			return HOP_OK;             /* bytes as they are, by either name */
		a->swapped = *s != order_of(a->dtype);
		if (!a->swapped || (order_of(a->dtype) != '|' && (*s == '<' || *s == '>')))
			return HOP_OK;
		break;
	}
	hop_buf all;
	hop_buf_open(&all, h->env);
	hop_dtype_list(&all);
	hop_status st = hop_fail(h->env, 0, HOP_ETYPE, "%s: dtype %.*s: hop reads %.*s", h->name,
	                         shown, s, (int)all.n, all.s);
	hop_buf_free(&all);
	return st;
}

static hop_status order(struct head *h, hop_npy *a)
{
	a->fortran = eat_word(h, "True");
	if (!a->fortran && !eat_word(h, "False"))
		return bad(h, "fortran_order is neither True nor False");
	return HOP_OK;
}

static hop_status dimension(struct head *h, int64_t *out)
{
	const char *from = h->p;
	int64_t v = 0;
	for (; h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++) {
		v = v * 10 + (*h->p - '0');
		if (v > HOP_SIZE_MAX)
			return bad(h, "a dimension is too large");
	}
	if (h->p == from || (*from == '0' && h->p - from > 1))
		return bad(h, "a dimension is no number");
	*out = v;
	return HOP_OK;
}

/* A tuple: of one element only with a comma behind it, as Python has it. */
static hop_status shape(struct head *h, hop_npy *a)
{
	if (!eat(h, '('))
		return bad(h, "shape is no tuple");
	for (bool more = true; !eat(h, ')'); more = eat(h, ',')) {
		if (!more)
			return bad(h, "shape does not end");
		if (a->rank == HOP_MAXRANK)
			return bad(h, "too many dimensions");
		HOP_TRY(dimension(h, &a->dim[a->rank]));
		if (++a->rank == 1 && !next_is(h, ','))
			return bad(h, "shape is no tuple");
	}
	return HOP_OK;
}

static hop_status dict(struct head *h, hop_npy *a)
{
	static const struct {
		const char *key;
		hop_status (*read)(struct head *h, hop_npy *a);
	} part[] = { { "descr", descr }, { "fortran_order", order }, { "shape", shape } };
	unsigned seen = 0;
	if (!eat(h, '{'))
		return bad(h, "the header is no dict");
	for (bool more = true; !eat(h, '}'); more = eat(h, ',')) {
		const char *s;
		size_t n;
		unsigned i = 0;
		if (!more)
			return bad(h, "the header does not end");
		if (!quoted(h, &s, &n) || !eat(h, ':'))
			return bad(h, "the header is no dict");
		while (i < 3 && !is(s, n, part[i].key))
			i++;
		if (i == 3 || seen & 1u << i)
			return bad(h, "the header has an unknown or a second key");
		seen |= 1u << i;
		HOP_TRY(part[i].read(h, a));
	}
	if (seen != 7)
		return bad(h, "the header lacks a key");
	if (!next_is(h, '\n') || h->end - h->p != 1)
		return bad(h, "the header has more than a dict, blanks and the end of the line");
	return HOP_OK;
}

/* The number of elements; false when a product does not fit. A size of 0 hides no other. */
static bool count(hop_npy *a)
{
	int64_t n = 1;
	a->count = 1;
	for (int i = 0; i < a->rank; i++) {
		if (a->dim[i] && __builtin_mul_overflow(n, a->dim[i], &n))
			return false;
		a->count *= a->dim[i] != 0;
	}
	a->count *= n;
	return n <= HOP_SIZE_MAX;
}

hop_status hop_npy_read(hop_env *e, const char *name, const void *p, size_t n,
                        hop_npy *out)
{
	const unsigned char *s = p;
	struct head h = { .env = e, .name = name };
	*out = (hop_npy){ 0 };
	if (n < 10 || memcmp(s, "\x93NUMPY", 6))
		return bad(&h, "it does not begin with the magic");
	if (s[6] < 1 || s[6] > 3 || s[7])
		return bad(&h, "its version is none of 1.0, 2.0, 3.0");
	size_t at = s[6] == 1 ? 10 : 12, len = s[8] | (size_t)s[9] << 8;
	if (n < at)
		return bad(&h, "the header is cut off");
	if (s[6] > 1)
		len |= (size_t)s[10] << 16 | (size_t)s[11] << 24;
	if (len > n - at)
		return bad(&h, "the header is cut off");
	h.p = (const char *)s + at;
	h.end = h.p + len;
	HOP_TRY(dict(&h, out));
	if (!count(out))
		return bad(&h, "its shape has more elements than there can be");
	size_t want = (size_t)out->count * hop_dtype_bytes(out->dtype), have = n - at - len;
	if (want != have)
		return hop_fail(e, 0, HOP_EPARSE, "%s: not a .npy file: its shape needs %zu bytes of "
		                "elements, there are %zu", name, want, have);
	out->bytes = (const char *)s + at + len;
	return HOP_OK;
}

static void copy_elem(char *to, const char *from, size_t w, bool swapped)
{
	for (size_t k = 0; k < w; k++)
		to[k] = from[swapped ? w - 1 - k : k];
}

void hop_npy_copy(const hop_npy *a, void *to)
{
	size_t w = hop_dtype_bytes(a->dtype);
	int64_t stride[HOP_MAXRANK], at[HOP_MAXRANK] = { 0 }, step = 1, from = 0;
	for (int i = 0; i < a->rank; i++) {
		int k = a->fortran ? i : a->rank - 1 - i;
		stride[k] = step;
		step *= a->dim[k];
	}
	for (int64_t i = 0; i < a->count; i++) {
		copy_elem((char *)to + (size_t)i * w, a->bytes + (size_t)from * w, w, a->swapped);
		for (int k = a->rank - 1; k >= 0; k--) {
			from += stride[k];
			if (++at[k] < a->dim[k])
				break;
			from -= stride[k] * a->dim[k];
			at[k] = 0;
		}
	}
	for (int64_t i = 0; hop_dtype_bool(a->dtype) && i < a->count; i++)
		((char *)to)[i] = ((char *)to)[i] != 0;
}

void hop_npy_head(hop_buf *b, hop_dtype d, int rank, const int64_t *dim)
{
	hop_buf h;
	hop_buf_open(&h, b->env);
	hop_putf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order_of(d),
	         hop_dtype_row(d)->npy);
	for (int i = 0; i < rank; i++)
		hop_putf(&h, "%s%lld", i ? ", " : "", (long long)dim[i]);
	hop_put(&h, rank == 1 ? ",), }" : "), }");
	while ((10 + h.n + 1) % 64)               /* the elements start aligned */
		hop_putc(&h, ' ');
	hop_putc(&h, '\n');
	hop_putn(b, "\x93NUMPY\x01\x00", 8);
	hop_putc(b, (char)(h.n & 255));
	hop_putc(b, (char)(h.n >> 8));
	hop_putn(b, h.s, h.n);
	hop_buf_free(&h);
}

void hop_npy_write(hop_buf *b, hop_dtype d, int rank, const int64_t *dim, const void *data)
{
	int64_t count = 1;
	for (int i = 0; i < rank; i++)
		count *= dim[i];
	hop_npy_head(b, d, rank, dim);
	hop_putn(b, data, (size_t)count * hop_dtype_bytes(d));
}
