/* tensors.c -- the header of a .safetensors file: a length, then JSON of one shape. It is read by a
 * parser of that shape alone, which has no use for depth. Reads no other JSON. */
#include "io/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"
#include "io/utf8.h"

enum { LENGTH = 8, MOST = 100000000 };      /* bytes of a header, by the format's own rule */

/* The dtypes of the format and their bits. */
static const struct row { const char *name; int bits; } rows[] = {
	{ "BOOL", 8 }, { "U8", 8 }, { "I8", 8 }, { "U16", 16 }, { "I16", 16 }, { "U32", 32 },
	{ "I32", 32 }, { "U64", 64 }, { "I64", 64 }, { "F16", 16 }, { "BF16", 16 }, { "F32", 32 },
	{ "F64", 64 }, { "C64", 64 }, { "F8_E4M3", 8 }, { "F8_E5M2", 8 }, { "F8_E8M0", 8 },
	{ "F6_E2M3", 6 }, { "F6_E3M2", 6 }, { "F4", 4 },
};

struct reader {
	hop_env    *env;
	hop_arena  *arena;
	const char *path, *p, *end;
	size_t      n, cap;
	hop_tensor *tensor;
	bool        had_metadata;
};

static hop_status bad(struct reader *r, const char *what)
{
	return hop_fail(r->env, 0, HOP_EPARSE, "%s: not a good .safetensors file: %s", r->path, what);
}

static hop_status bad_tensor(struct reader *r, const char *name, const char *what)
{
	return hop_fail(r->env, 0, HOP_EPARSE, "%s: not a good .safetensors file: %s: %s", r->path,
	                name, what);
}

/* ---- words ---- */

static bool next_is(struct reader *r, char c)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
		r->p++;
	return r->p < r->end && *r->p == c;
}

static bool eat(struct reader *r, char c)
{
	bool is = next_is(r, c);
	r->p += is;
	return is;
}

/* Four hexadecimal digits; -1 when they are none. */
static long hex4(struct reader *r)
{
	long v = 0;
	if (r->end - r->p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *r->p++;
		int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		        c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static void put_utf8(hop_buf *b, long v)
{
	if (v < 0x80) {
		hop_putc(b, (char)v);
		return;
	}
	int more = v < 0x800 ? 1 : v < 0x10000 ? 2 : 3;
	hop_putc(b, (char)(0xff00 >> (more + 1) | v >> 6 * more));
	while (more--)
		hop_putc(b, (char)(0x80 | (v >> 6 * more & 0x3f)));
}

/* What follows a backslash. */
static bool escape(struct reader *r, hop_buf *b)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (r->p == r->end)
		return false;
	char c = *r->p++;
	const char *at = c ? strchr(from, c) : NULL;
	if (at) {
		hop_putc(b, to[at - from]);
		return true;
	}
	long v = c == 'u' ? hex4(r) : -1, low = 0;
	if (v >= 0xd800 && v < 0xdc00) {                   /* the first half of a pair */
		bool pair = r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'u';
		r->p += pair ? 2 : 0;
		low = pair ? hex4(r) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
	} else if (v >= 0xdc00 && v < 0xe000) {
		return false;
	}
	if (v < 0)
		return false;
	put_utf8(b, v);
	return true;
}

/* A string into b, which is open. False when it is none. */
static bool string(struct reader *r, hop_buf *b)
{
	if (!eat(r, '"'))
		return false;
	while (r->p < r->end && *r->p != '"') {
		unsigned char c = (unsigned char)*r->p++;
		if (c < 0x20 || (c == '\\' && !escape(r, b)))
			return false;
		if (c != '\\')
			hop_putc(b, (char)c);
	}
	return eat(r, '"');
}

/* A string of the arena, of a name or a word; NULL after a failure. */
static const char *name(struct reader *r, const char *what)
{
	hop_buf b;
	const char *s = NULL;
	hop_buf_open(&b, r->env);
	if (!string(r, &b))
		bad(r, what);
	else if (!hop_name_ok(b.n ? b.s : "", b.n))
		bad(r, "a name is not UTF-8, or has control characters");
	else
		s = hop_arena_str(r->arena, b.n ? b.s : "", b.n);
	hop_buf_free(&b);
	return s;
}

static bool number(struct reader *r, uint64_t *out)
{
	next_is(r, 0);
	const char *from = r->p;
	uint64_t v = 0;
	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*r->p - '0'), &v))
			return false;
	*out = v;
	return r->p > from && (*from != '0' || r->p - from == 1);
}

/* ---- one tensor ---- */

static hop_status dtype(struct reader *r, hop_tensor *t)
{
	const char *s = name(r, "a dtype is no string");
	if (!s)
		return r->env->diag.st;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && !t->dtype; i++)
		if (!strcmp(rows[i].name, s))
			t->dtype = rows[i].name;
	return t->dtype ? HOP_OK : hop_fail(r->env, 0, HOP_ETYPE, "%s: %s: there is no dtype %.32s",
	                                    r->path, t->name, s);
}

static hop_status shape(struct reader *r, hop_tensor *t)
{
	int64_t dim[HOP_MAXRANK];
	uint64_t v;
	if (!eat(r, '['))
		return bad_tensor(r, t->name, "its shape is no list");
	if (eat(r, ']'))
		return HOP_OK;
	do {
		if (t->rank == HOP_MAXRANK)
			return bad_tensor(r, t->name, "it has more axes than hop can have");
		if (!number(r, &v) || v > (uint64_t)HOP_SIZE_MAX)
			return bad_tensor(r, t->name, "a size is no number, or too large");
		dim[t->rank++] = (int64_t)v;
	} while (eat(r, ','));
	t->dim = hop_arena_dup(r->arena, dim, (size_t)t->rank * sizeof *dim);
	return eat(r, ']') ? HOP_OK : bad_tensor(r, t->name, "its shape does not end");
}

static hop_status offsets(struct reader *r, hop_tensor *t)
{
	if (!eat(r, '[') || !number(r, &t->from) || !eat(r, ',') || !number(r, &t->to) ||
	    !eat(r, ']') || t->from > t->to)
		return bad_tensor(r, t->name, "its data_offsets are no two numbers in order");
	return HOP_OK;
}

/* Its elements need exactly the bytes that it has. A size of 0 hides no other. */
static hop_status measure(struct reader *r, hop_tensor *t)
{
	int64_t n = 1;
	uint64_t bits;
	int each = 0;
	t->count = 1;
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] && (__builtin_mul_overflow(n, t->dim[i], &n) || n > HOP_SIZE_MAX))
			return bad_tensor(r, t->name, "it has more elements than there can be");
		t->count *= t->dim[i] != 0;
	}
	t->count *= n;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, t->dtype))
			each = rows[i].bits;
	bits = (uint64_t)t->count * (uint64_t)each;
	if (bits % 8 || bits / 8 != t->to - t->from)
		return hop_fail(r->env, 0, HOP_EPARSE, "%s: not a good .safetensors file: %s: its shape "
		                "needs %llu bytes, it has %llu", r->path, t->name,
		                (unsigned long long)(bits / 8), (unsigned long long)(t->to - t->from));
	return HOP_OK;
}

static hop_status tensor(struct reader *r, hop_tensor *t)
{
	static const struct {
		const char *key;
		hop_status (*read)(struct reader *r, hop_tensor *t);
	} part[] = { { "dtype", dtype }, { "shape", shape }, { "data_offsets", offsets } };
	unsigned seen = 0;
	if (!eat(r, '{'))
		return bad_tensor(r, t->name, "what is said of it is no object");
	do {
		unsigned i = 0;
		hop_buf key;
		hop_buf_open(&key, r->env);
		bool is = string(r, &key) && eat(r, ':');
		while (is && i < 3 && (key.n != strlen(part[i].key) || memcmp(key.s, part[i].key, key.n)))
			i++;
		hop_buf_free(&key);
		if (!is)
			return bad_tensor(r, t->name, "what is said of it is no object");
		if (i == 3 || seen & 1u << i)
			return bad_tensor(r, t->name, "it has an unknown or a second key");
		seen |= 1u << i;
		HOP_TRY(part[i].read(r, t));
	} while (eat(r, ','));
	if (!eat(r, '}') || seen != 7)
		return bad_tensor(r, t->name, "a key is lacking");
	return measure(r, t);
}

/* Strings for people: read over. */
static hop_status metadata(struct reader *r)
{
	if (!eat(r, '{'))
		return bad(r, "__metadata__ is no object");
	if (eat(r, '}'))
		return HOP_OK;
	do {
		hop_buf b;
		hop_buf_open(&b, r->env);
		bool is = string(r, &b) && eat(r, ':') && string(r, &b);
		is = is && hop_utf8_ok(b.n ? b.s : "", b.n);
		hop_buf_free(&b);
		if (!is)
			return bad(r, "__metadata__ holds more than strings of UTF-8");
	} while (eat(r, ','));
	return eat(r, '}') ? HOP_OK : bad(r, "__metadata__ does not end");
}

/* ---- all of them ---- */

static hop_status entry(struct reader *r)
{
	const char *s = name(r, "its header is no object, or cut off");
	if (!s)
		return r->env->diag.st;
	if (!eat(r, ':'))
		return bad(r, "its header is no object, or cut off");
	if (!strcmp(s, "__metadata__")) {
		if (r->had_metadata)
			return bad(r, "it has __metadata__ twice");
		r->had_metadata = true;
		return metadata(r);
	}
	if (!*s)
		return bad(r, "a tensor has an empty name");
	r->tensor = hop_arena_grow(&r->env->tmp, r->tensor, sizeof *r->tensor, r->n + 1, &r->cap);
	hop_tensor *t = &r->tensor[r->n++];
	*t = (hop_tensor){ .name = s };
	return tensor(r, t);
}

static hop_status entries(struct reader *r)
{
	if (!eat(r, '{'))
		return bad(r, "its header is no object");
	if (!next_is(r, '}'))
		do
			HOP_TRY(entry(r));
		while (eat(r, ','));
	if (!eat(r, '}'))
		return bad(r, "its header does not end");
	for (; r->p < r->end; r->p++)
		if (*r->p != ' ')
			return bad(r, "its header has more than one object and blanks");
	return HOP_OK;
}

static int by_place(const void *a, const void *b)
{
	const hop_tensor *x = *(hop_tensor *const *)a, *y = *(hop_tensor *const *)b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
	                          : (x->to > y->to) - (x->to < y->to);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(hop_tensor *const *)a)->name, (*(hop_tensor *const *)b)->name);
}

/* Every byte behind the header belongs to one tensor. */
static hop_status places(struct reader *r, uint64_t bytes)
{
	hop_tensor **s = HOP_NEWN(&r->env->tmp, hop_tensor *, r->n);
	uint64_t at = 0;
	for (size_t i = 0; i < r->n; i++)
		s[i] = &r->tensor[i];
	qsort(s, r->n, sizeof *s, by_place);
	for (size_t i = 0; i < r->n; i++) {
		if (s[i]->from != at)
			return bad_tensor(r, s[i]->name, s[i]->from < at ? "it overlaps with another"
			                  : "there are bytes before it that belong to no tensor");
		at = s[i]->to;
		if (at > bytes)
			return bad_tensor(r, s[i]->name, "it reaches past the end of the file");
	}
	if (at != bytes)
		return bad(r, "there are bytes at its end that belong to no tensor");
	qsort(s, r->n, sizeof *s, by_name);
	for (size_t i = 1; i < r->n; i++)
		if (!strcmp(s[i - 1]->name, s[i]->name))
			return bad_tensor(r, s[i]->name, "two tensors have this name");
	return HOP_OK;
}

hop_status hop_tensors_read(hop_env *e, hop_arena *a, const char *path, const void *p, size_t n,
                            hop_tensors *out)
{
	struct reader r = { .env = e, .arena = a, .path = path };
	*out = (hop_tensors){ 0 };
	uint64_t len = n < LENGTH ? 0 : hop_get_le(p, LENGTH);
	if (n < LENGTH || len > n - LENGTH)
		return bad(&r, "its header is cut off");
	if (len > MOST)
		return bad(&r, "its header is longer than 100 MB");
	r.p = hop_arena_dup(&e->tmp, (const char *)p + LENGTH, len);     /* the file may change */
	r.end = r.p + len;
	if (!len || *r.p != '{')
		return bad(&r, "its header does not begin with {");
	HOP_TRY(entries(&r));
	HOP_TRY(places(&r, n - LENGTH - len));
	out->tensor = hop_arena_dup(a, r.tensor, r.n * sizeof *r.tensor);
	out->n = r.n;
	for (size_t i = 0; i < r.n; i++) {
		out->tensor[i].from += LENGTH + len;
		out->tensor[i].to += LENGTH + len;
	}
	return HOP_OK;
}

void hop_put_json(hop_buf *b, const char *s)
{
	hop_putc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			hop_putc(b, '\\');
		hop_putc(b, *s);
	}
	hop_putc(b, '"');
}
