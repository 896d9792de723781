/* inflate.c -- the deflate format, read: blocks of literal bytes and of copies of what was written
 * before, as Huffman codes. Any bytes are fine; both sides are checked at each step. */
#include "io/inflate.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 15, NLITERAL = 288, NDISTANCE = 32, NCODE = 19, FAST = 9 };

/* Packed bytes, read from the lowest bit on. What was taken beyond the end shows in `over`. */
struct stream {
	const unsigned char *p, *end;
	uint64_t             bits;
	int                  nbit;
	int                  over;      /* bits that were not there */
	unsigned char       *to;
	size_t               at, size;
};

/* Canonical codes: those of one length are consecutive numbers, first[] the first of them. fast
 * has the answer for codes of up to FAST bits: symbol * 16 + length; 0 = longer, or none. */
struct huffman {
	uint16_t count[LONGEST + 1];
	uint16_t symbol[NLITERAL];
	uint16_t fast[1 << FAST];
};

/* ---- bits ---- */

static void fill(struct stream *s)
{
	while (s->nbit <= 56) {
		if (s->p < s->end)
			s->bits |= (uint64_t)*s->p++ << s->nbit;
		else
			s->over += 8;
		s->nbit += 8;
	}
}

/* At most 16 after a fill, 32 in all. */
static unsigned take(struct stream *s, int n)
{
	if (s->nbit < n)
		fill(s);
	unsigned v = (unsigned)(s->bits & (((uint64_t)1 << n) - 1));
	s->bits >>= n;
	s->nbit -= n;
	return v;
}

/* Were bits used that are not there? */
static bool past_end(const struct stream *s)
{
	return s->nbit < s->over;
}

/* ---- codes ---- */

static unsigned reversed(unsigned v, int n)
{
	unsigned r = 0;
	while (n--) {
		r = r << 1 | (v & 1);
		v >>= 1;
	}
	return r;
}

/* From the lengths of the codes of n symbols. A set of codes must use all there are, except that
 * one code alone may have one bit, and that there may be none. */
static bool make(struct huffman *h, const uint8_t *length, int n)
{
	uint16_t next[LONGEST + 2] = { 0 }, code[LONGEST + 2] = { 0 };
	int left = 1, used = 0;
	memset(h, 0, sizeof *h);
	for (int i = 0; i < n; i++)
		h->count[length[i]]++;
	used = n - h->count[0];
	h->count[0] = 0;
	for (int k = 1; k <= LONGEST; k++) {
		left = left * 2 - h->count[k];
		if (left < 0)
			return false;
		next[k + 1] = (uint16_t)(next[k] + h->count[k]);
		code[k + 1] = (uint16_t)((code[k] + h->count[k]) << 1);
	}
	if (left && used && !(used == 1 && h->count[1] == 1))
		return false;
	for (int i = 0; i < n; i++) {
		int k = length[i];
		if (!k)
			continue;
		unsigned c = reversed(code[k]++, k);
		h->symbol[next[k]++] = (uint16_t)i;
		for (unsigned at = c; k <= FAST && at < 1 << FAST; at += 1u << k)
			h->fast[at] = (uint16_t)(i * 16 + k);
	}
	return true;
}

/* The next symbol; -1 when the bits are no code. */
static int decode(struct stream *s, const struct huffman *h)
{
	if (s->nbit < LONGEST)
		fill(s);
	unsigned quick = h->fast[s->bits & ((1 << FAST) - 1)];
	if (quick) {
		s->bits >>= quick & 15;
		s->nbit -= (int)(quick & 15);
		return (int)(quick >> 4);
	}
	int code = 0, first = 0, index = 0;
	for (int k = 1; k <= LONGEST; k++) {
		code |= (int)(s->bits >> (k - 1) & 1);
		if (code - first < h->count[k]) {
			s->bits >>= k;
			s->nbit -= k;
			return h->symbol[index + code - first];
		}
		index += h->count[k];
		first = (first + h->count[k]) << 1;
		code <<= 1;
	}
	return -1;
}

/* ---- blocks ---- */

static bool copy_back(struct stream *s, size_t length, size_t distance)
{
	if (distance > s->at || length > s->size - s->at)
		return false;
	unsigned char *to = s->to + s->at, *from = to - distance;
	if (distance >= length) {
		memcpy(to, from, length);
	} else {
		for (size_t i = 0; i < length; i++)      /* it may read what it has just written */
			to[i] = from[i];
	}
	s->at += length;
	return true;
}

static bool coded(struct stream *s, const struct huffman *lit, const struct huffman *dist)
{
	static const uint16_t length[] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31,
		35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
	static const uint8_t lbits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
		4, 4, 4, 4, 5, 5, 5, 5, 0 };
	static const uint16_t distance[] = { 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193,
		257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 };
	for (;;) {
		int c = decode(s, lit);
		if (c < 0 || c > 285 || past_end(s))
			return false;
		if (c == 256)
			return true;
		if (c < 256) {
			if (s->at == s->size)
				return false;
			s->to[s->at++] = (unsigned char)c;
			continue;
		}
		size_t n = length[c - 257] + take(s, lbits[c - 257]);
		int d = decode(s, dist);
		if (d < 0 || d > 29)
			return false;
		size_t back = distance[d] + take(s, d < 2 ? 0 : d / 2 - 1);
		if (past_end(s) || !copy_back(s, n, back))
			return false;
	}
}

static bool fixed(struct stream *s)
{
	struct huffman lit, dist;
	uint8_t length[NLITERAL];
	for (int i = 0; i < NLITERAL; i++)
		length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	make(&lit, length, NLITERAL);
	memset(length, 5, NDISTANCE);
	make(&dist, length, NDISTANCE);
	return coded(s, &lit, &dist);
}

/* Lengths of codes are themselves written as codes, with three words for runs. */
static bool lengths(struct stream *s, const struct huffman *h, uint8_t *length, int n)
{
	for (int i = 0; i < n;) {
		int c = decode(s, h), run = 1;
		uint8_t v = (uint8_t)c;
		if (c < 0 || c > 18 || past_end(s))
			return false;
		if (c == 16) {
			if (!i)
				return false;
			v = length[i - 1];
			run = 3 + (int)take(s, 2);
		} else if (c > 16) {
			v = 0;
			run = c == 17 ? 3 + (int)take(s, 3) : 11 + (int)take(s, 7);
		}
		if (run > n - i)
			return false;
		memset(length + i, v, (size_t)run);
		i += run;
	}
	return true;
}

static bool dynamic(struct stream *s)
{
	static const uint8_t order[NCODE] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2,
		14, 1, 15 };
	struct huffman lit, dist;
	uint8_t length[NLITERAL + NDISTANCE] = { 0 };
	int nlit = 257 + (int)take(s, 5), ndist = 1 + (int)take(s, 5), ncode = 4 + (int)take(s, 4);
	if (nlit > 286 || ndist > 30)
		return false;
	for (int i = 0; i < ncode; i++)
		length[order[i]] = (uint8_t)take(s, 3);
	if (!make(&lit, length, NCODE))
		return false;
	memset(length, 0, sizeof length);
	if (!lengths(s, &lit, length, nlit + ndist) || !length[256])
		return false;
	return make(&lit, length, nlit) && make(&dist, length + nlit, ndist) &&
	       coded(s, &lit, &dist);
}

/* Bytes as they are, from the next whole byte on. */
static bool plain(struct stream *s)
{
	take(s, s->nbit & 7);
	unsigned n = take(s, 16), not_n = take(s, 16);
	if (past_end(s) || n != (not_n ^ 0xffff))
		return false;
	for (s->nbit -= s->over; s->nbit > 0; s->nbit -= 8)      /* what was read ahead goes back */
		s->p--;
	s->bits = 0;
	s->nbit = s->over = 0;
	if (n > (size_t)(s->end - s->p) || n > s->size - s->at)
		return false;
	if (n)
		memcpy(s->to + s->at, s->p, n);
	s->p += n;
	s->at += n;
	return true;
}

bool hop_inflate(const void *from, size_t n, void *to, size_t size)
{
	struct stream s = { .p = from, .end = (const unsigned char *)from + n, .to = to,
	                    .size = size };
	for (bool last = false; !last;) {
		last = take(&s, 1);
		unsigned kind = take(&s, 2);
		bool ok = kind == 0 ? plain(&s) : kind == 1 ? fixed(&s) : kind == 2 && dynamic(&s);
		if (!ok || past_end(&s))
			return false;
	}
	return s.at == s.size && s.p == s.end && s.nbit - s.over < 8;
}
