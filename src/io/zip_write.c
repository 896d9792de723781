/* zip_write.c -- zip archives written in one go: headers, directory, checksums. Every number that
 * may need 64 bits has them, so that there is one form for archives of any size. Packs nothing. */
#include "io/zip.h"

#include <string.h>

enum { VERSION = 45, UTF8 = 1 << 11, ALIGN = 64 };
enum { EXTRA64 = 1, EXTRA_ALIGN = 0xd935 };       /* the latter as Android's tools have it */

/* ---- checksums: eight bytes at a time, by tables ---- */

void hop_crc_init(hop_crc *c)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;
		for (int k = 0; k < 8; k++)
			v = v & 1 ? v >> 1 ^ 0xedb88320u : v >> 1;
		c->t[0][i] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			c->t[k][i] = c->t[k - 1][i] >> 8 ^ c->t[0][c->t[k - 1][i] & 255];
}

uint32_t hop_crc_of(const hop_crc *c, uint32_t sum, const void *from, size_t n)
{
	const unsigned char *p = from;
	uint32_t v = ~sum;
	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a = v ^ (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		                  (uint32_t)p[3] << 24);
		v = c->t[7][a & 255] ^ c->t[6][a >> 8 & 255] ^ c->t[5][a >> 16 & 255] ^
		    c->t[4][a >> 24] ^ c->t[3][p[4]] ^ c->t[2][p[5]] ^ c->t[1][p[6]] ^ c->t[0][p[7]];
	}
	while (n--)
		v = v >> 8 ^ c->t[0][(v ^ *p++) & 255];
	return ~v;
}

/* ---- records ---- */

static void put_le(hop_buf *b, uint64_t v, int n)
{
	for (; n--; v >>= 8)
		hop_putc(b, (char)(v & 255));
}

static void put_same(hop_buf *b, const char *name, uint32_t crc, uint64_t nextra)
{
	unsigned flags = 0;
	for (const char *s = name; *s; s++)
		flags |= *s & 0x80 ? UTF8 : 0;
	put_le(b, VERSION, 2);
	put_le(b, flags, 2);
	put_le(b, 0, 2);                           /* stored */
	put_le(b, 0, 2);                           /* the first day that there is */
	put_le(b, 0x21, 2);
	put_le(b, crc, 4);
	put_le(b, 0xffffffff, 4);
	put_le(b, 0xffffffff, 4);
	put_le(b, strlen(name), 2);
	put_le(b, nextra, 2);
}

void hop_zip_open(hop_zip_writer *w, hop_out *out)
{
	*w = (hop_zip_writer){ .out = out };
	hop_buf_open(&w->directory, out->env);
}

void hop_zip_member_begin(hop_zip_writer *w, const char *name, uint64_t size, uint32_t crc)
{
	hop_buf h, *d = &w->directory;
	uint64_t at = w->out->n, before = at + 30 + strlen(name) + 20 + 6;
	uint64_t pad = (ALIGN - before % ALIGN) % ALIGN;
	hop_buf_open(&h, w->out->env);
	hop_putn(&h, "PK\3\4", 4);
	put_same(&h, name, crc, 20 + 6 + pad);
	hop_put(&h, name);
	put_le(&h, EXTRA64, 2);
	put_le(&h, 16, 2);
	put_le(&h, size, 8);
	put_le(&h, size, 8);
	put_le(&h, EXTRA_ALIGN, 2);
	put_le(&h, 2 + pad, 2);
	put_le(&h, ALIGN, 2);
	for (uint64_t i = 0; i < pad; i++)
		hop_putc(&h, 0);
	hop_out_put(w->out, h.s, h.n);
	hop_buf_free(&h);
	hop_putn(d, "PK\1\2", 4);
	put_le(d, 3 << 8 | VERSION, 2);            /* made on Unix */
	put_same(d, name, crc, 28);
	put_le(d, 0, 2 + 2 + 2);                   /* no comment, this archive, binary */
	put_le(d, (uint64_t)0100644 << 16, 4);     /* a file for all to read */
	put_le(d, 0xffffffff, 4);
	hop_put(d, name);
	put_le(d, EXTRA64, 2);
	put_le(d, 24, 2);
	put_le(d, size, 8);
	put_le(d, size, 8);
	put_le(d, at, 8);
	w->n++;
}

/* An archive of nothing is the last record alone, without 64 bits: it is what readers look for. */
static void put_end(hop_buf *b, uint64_t n, uint64_t at, uint64_t bytes)
{
	uint64_t all = n ? UINT64_MAX : 0;
	if (n) {
		hop_putn(b, "PK\6\6", 4);
		put_le(b, 44, 8);
		put_le(b, 3 << 8 | VERSION, 2);
		put_le(b, VERSION, 2);
		put_le(b, 0, 4 + 4);
		put_le(b, n, 8);
		put_le(b, n, 8);
		put_le(b, bytes, 8);
		put_le(b, at, 8);
		hop_putn(b, "PK\6\7", 4);
		put_le(b, 0, 4);
		put_le(b, at + bytes, 8);
		put_le(b, 1, 4);
	}
	hop_putn(b, "PK\5\6", 4);
	put_le(b, 0, 2 + 2);
	put_le(b, all, 2 + 2);
	put_le(b, all, 4);
	put_le(b, all, 4);
	put_le(b, 0, 2);
}

void hop_zip_close(hop_zip_writer *w)
{
	hop_buf b, *d = &w->directory;
	uint64_t at = w->out->n;
	hop_out_put(w->out, d->n ? d->s : "", d->n);
	hop_buf_open(&b, w->out->env);
	put_end(&b, w->n, at, d->n);
	hop_out_put(w->out, b.s, b.n);
	hop_buf_free(&b);
	hop_buf_free(d);
}
