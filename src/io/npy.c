/* npy.c -- NumPy's .npy: a magic, a version, a Python dict as header, the elements.
 * Reads no pickles, no structured dtypes, and never trusts a number in the file. */
#include "io/npy.h"

#include <string.h>

static const struct { const char *descr; hop_dtype d; } dtypes[] = {
	{ "b1", HOP_bool }, { "i4", HOP_i32 }, { "i8", HOP_i64 }, { "f4", HOP_f32 },
	{ "f8", HOP_f64 },
};

static bool big_endian(void)
{
	uint16_t one = 1;
	return !*(unsigned char *)&one;
}

/* The header's text, read from the left. */
struct head {
	hop_env    *env;
	const char *name;
	const char *p, *end;
};

static hop_status bad(struct head *h, const char *what)
{
	return hop_fail(h->env, 0, HOP_EPARSE, "%s: not a .npy file: %s", h->name, what);
}

static void space(struct head *h)
{
	while (h->p < h->end && (*h->p == ' ' || *h->p == '\n' || *h->p == '\t'))
		h->p++;
}

static bool eat(struct head *h, char c)
{
	space(h);
	if (h->p == h->end || *h->p != c)
		return false;
	h->p++;
	return true;
}

/* 'text' or "text"; false when there is none. */
static bool quoted(struct head *h, const char **s, size_t *n)
{
	space(h);
	if (h->p == h->end || (*h->p != '\'' && *h->p != '"'))
		return false;
	char q = *h->p++;
	*s = h->p;
	while (h->p < h->end && *h->p != q)
		h->p++;
	*n = (size_t)(h->p - *s);
	if (h->p == h->end)
		return false;
	h->p++;
	return true;
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
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
		if (!strchr("<>|=", *s) || !is(s + 1, n - 1, dtypes[i].descr))
			continue;
		a->dtype = dtypes[i].d;
		a->swapped = (*s == '>') != big_endian() && (*s == '>' || *s == '<');
		return HOP_OK;
	}
	return hop_fail(h->env, 0, HOP_ETYPE, "%s: dtype %.*s: hop reads bool, i32, i64, f32, "
	                "f64", h->name, (int)(n < 32 ? n : 32), s);
}

static hop_status order(struct head *h, hop_npy *a)
{
	space(h);
	size_t left = (size_t)(h->end - h->p);
	a->fortran = left >= 4 && !memcmp(h->p, "True", 4);
	if (!a->fortran && (left < 5 || memcmp(h->p, "False", 5)))
		return bad(h, "fortran_order is neither True nor False");
	h->p += a->fortran ? 4 : 5;
	return HOP_OK;
}

static hop_status shape(struct head *h, hop_npy *a)
{
	if (!eat(h, '('))
		return bad(h, "shape is no tuple");
	while (!eat(h, ')')) {
		int64_t v = 0;
		const char *from = h->p;
		for (; h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++)
			if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
			    __builtin_add_overflow(v, (int64_t)(*h->p - '0'), &v))
				return bad(h, "a dimension is too large");
		if (h->p == from)
			return bad(h, "a dimension is no number");
		if (a->rank == HOP_MAXRANK)
			return bad(h, "too many dimensions");
		a->dim[a->rank++] = v;
		if (!eat(h, ',') && (h->p == h->end || *h->p != ')'))
			return bad(h, "shape does not end");
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
	while (!eat(h, '}')) {
		const char *s;
		size_t n;
		unsigned i = 0;
		if (!quoted(h, &s, &n) || !eat(h, ':'))
			return bad(h, "the header is no dict");
		while (i < 3 && !is(s, n, part[i].key))
			i++;
		if (i == 3 || seen & 1u << i)
			return bad(h, "the header has an unknown or a second key");
		seen |= 1u << i;
		HOP_TRY(part[i].read(h, a));
		if (!eat(h, ',') && (h->p == h->end || *h->p != '}'))
			return bad(h, "the header does not end");
	}
	return seen == 7 ? HOP_OK : bad(h, "the header lacks a key");
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
	out->count = 1;
	bool large = false, empty = false;
	for (int i = 0; i < out->rank; i++) {
		empty |= !out->dim[i];
		large |= out->dim[i] > HOP_SIZE_MAX ||
		         __builtin_mul_overflow(out->count, out->dim[i] + !out->dim[i], &out->count);
	}
	if (empty)
		out->count = 0;
	size_t w = hop_dtype_bytes(out->dtype), have = n - at - len;
	if (large || (uint64_t)out->count > have / w)
		return bad(&h, "the elements are cut off");
	out->bytes = (const char *)s + at + len;
	return HOP_OK;
}

static void copy_elem(const hop_npy *a, char *to, const char *from, size_t w)
{
	for (size_t k = 0; k < w; k++)
		to[k] = from[a->swapped ? w - 1 - k : k];
	if (a->dtype == HOP_bool)
		*to = *from != 0;
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
		copy_elem(a, (char *)to + (size_t)i * w, a->bytes + (size_t)from * w, w);
		for (int k = a->rank - 1; k >= 0; k--) {
			from += stride[k];
			if (++at[k] < a->dim[k])
				break;
			from -= stride[k] * a->dim[k];
			at[k] = 0;
		}
	}
}

void hop_npy_write(hop_buf *b, hop_dtype d, int rank, const int64_t *dim,
                   const void *data)
{
	const char *descr = "";
	int64_t count = 1;
	hop_buf h;
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].d == d)
			descr = dtypes[i].descr;
	hop_buf_open(&h, b->env);
	hop_putf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
	         d == HOP_bool ? '|' : big_endian() ? '>' : '<', descr);
	for (int i = 0; i < rank; i++) {
		hop_putf(&h, "%s%lld", i ? ", " : "", (long long)dim[i]);
		count *= dim[i];
	}
	hop_put(&h, rank == 1 ? ",), }" : "), }");
	while ((10 + h.n + 1) % 64)               /* the elements start aligned */
		hop_putc(&h, ' ');
	hop_putc(&h, '\n');
	hop_putn(b, "\x93NUMPY\x01\x00", 8);
	hop_putc(b, (char)(h.n & 255));
	hop_putc(b, (char)(h.n >> 8));
	hop_putn(b, h.s, h.n);
	hop_buf_free(&h);
	hop_putn(b, data, (size_t)count * hop_dtype_bytes(d));
}
