/* zip.c -- the directory of a zip archive. It stands at the end, and says of each member where its
 * header is and how long its bytes are; the header there says it again. Both must agree, and
 * members must lie one behind the other without a gap. Does not unpack. */
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"
#include "io/utf8.h"

enum { END = 22, END64 = 56, LOCATOR = 20, HEADER = 30, ROW = 46, MOST_COMMENT = 65535 };
enum { ENCRYPTED = 1, DESCRIPTOR = 8, UTF8 = 1 << 11, KNOWN = 6 | DESCRIPTOR | UTF8 };
enum { STORED = 0, DEFLATED = 8, EXTRA64 = 1 };
#define ALL16 0xffffu
#define ALL32 0xffffffffu

struct archive {
	hop_env    *env;
	hop_arena  *arena;
	const char *path, *p;
	size_t      n;
	uint64_t    count, dir, dirend;        /* members; where the directory is */
};

static hop_status bad(struct archive *z, const char *what)
{
	return hop_fail(z->env, 0, HOP_EPARSE, "%s: not a good zip archive: %s", z->path, what);
}

static hop_status bad_member(struct archive *z, const char *name, const char *what)
{
	return hop_fail(z->env, 0, HOP_EPARSE, "%s: not a good zip archive: %s: %s", z->path, name,
	                what);
}

static uint64_t get(struct archive *z, uint64_t at, int n)
{
	return hop_get_le(z->p + at, n);
}

static bool signed_as(struct archive *z, uint64_t at, const char *two)
{
	return z->p[at] == 'P' && z->p[at + 1] == 'K' && !memcmp(z->p + at + 2, two, 2);
}

/* ---- the end of the archive: where the directory is ---- */

/* One of the short record's numbers: it says the same as the long one, or that it cannot. */
static bool agrees(uint64_t shorter, uint64_t longer, uint64_t cannot)
{
	return shorter == longer || shorter == cannot;
}

static hop_status find_end64(struct archive *z, uint64_t end, uint64_t size)
{
	uint64_t at = get(z, end - LOCATOR + 8, 8);
	if (get(z, end - LOCATOR + 4, 4) || get(z, end - LOCATOR + 16, 4) > 1)
		return bad(z, "it is one of several");
	if (at > end - LOCATOR || end - LOCATOR - at < END64 || !signed_as(z, at, "\6\6") ||
	    get(z, at + 4, 8) != end - LOCATOR - at - 12)
		return bad(z, "the end of its directory is not where it should be");
	uint64_t count = get(z, at + 32, 8), bytes = get(z, at + 40, 8), dir = get(z, at + 48, 8);
	if (get(z, at + 16, 4) || get(z, at + 20, 4) || get(z, at + 24, 8) != count)
		return bad(z, "it is one of several");
	if (!agrees(z->count, count, ALL16) || !agrees(size, bytes, ALL32) ||
	    !agrees(z->dir, dir, ALL32))
		return bad(z, "it has two ends, which disagree");
	z->count = count;
	z->dir = dir;
	z->dirend = at;
	return dir > at || bytes != at - dir ? bad(z, "its directory is not where it should be")
	                                     : HOP_OK;
}

/* The last place that can be the end: a comment may follow, up to the end of the file. */
static hop_status find_end(struct archive *z)
{
	uint64_t last = z->n < END ? 0 : z->n - END, at = last;
	if (z->n < END)
		return bad(z, "it is cut off");
	while (!(signed_as(z, at, "\5\6") && get(z, at + 20, 2) == last - at)) {
		if (!at || last - at == MOST_COMMENT)
			return bad(z, "it has no directory, or is cut off");
		at--;
	}
	uint64_t size = get(z, at + 12, 4);
	z->count = get(z, at + 10, 2);
	z->dir = get(z, at + 16, 4);
	z->dirend = at;
	if (get(z, at + 4, 2) || get(z, at + 6, 2) || get(z, at + 8, 2) != z->count)
		return bad(z, "it is one of several");
	if (at >= LOCATOR && signed_as(z, at - LOCATOR, "\6\7"))
		return find_end64(z, at, size);
	if (z->dir > at || size != at - z->dir)
		return bad(z, "its directory is not where it should be");
	return HOP_OK;
}

/* ---- one member ---- */

/* What a row of the directory, or a header, says. */
struct says {
	unsigned flags, method;
	uint32_t crc;
	uint64_t packed, size, header;
};

/* Numbers of 64 bits stand in a field behind the name, those that are needed, in this order. */
static bool extra64(struct archive *z, uint64_t at, uint64_t end, struct says *s)
{
	uint64_t *want[3];
	int n = 0;
	if (s->size == ALL32)
		want[n++] = &s->size;
	if (s->packed == ALL32)
		want[n++] = &s->packed;
	if (s->header == ALL32)
		want[n++] = &s->header;
	bool found = false;
	while (end - at >= 4) {
		uint64_t id = get(z, at, 2), len = get(z, at + 2, 2);
		at += 4;
		if (len > end - at)
			return false;
		if (id == EXTRA64) {
			if (found || len < (uint64_t)n * 8)
				return false;
			found = true;
			for (int i = 0; i < n; i++)
				*want[i] = get(z, at + (uint64_t)i * 8, 8);
		}
		at += len;
	}
	return at == end && (found || !n);
}

static bool same_or_later(uint64_t here, uint64_t there, bool later)
{
	return here == there || (later && !here);
}

/* The member's own header: it must say what the directory says, or, where its length was not known
 * when it was written, nothing. */
static hop_status read_header(struct archive *z, hop_zip_member *m, const struct says *row)
{
	uint64_t at = m->header;
	if (at > z->dir || z->dir - at < HEADER || !signed_as(z, at, "\3\4"))
		return bad_member(z, m->name, "its header is not where it should be");
	struct says s = { .flags = (unsigned)get(z, at + 6, 2), .method = (unsigned)get(z, at + 8, 2),
	                  .crc = (uint32_t)get(z, at + 14, 4), .packed = get(z, at + 18, 4),
	                  .size = get(z, at + 22, 4) };
	uint64_t nname = get(z, at + 26, 2), nextra = get(z, at + 28, 2), name = at + HEADER;
	if (nname + nextra > z->dir - name || m->packed > z->dir - name - nname - nextra)
		return bad_member(z, m->name, "it reaches past the directory");
	if (nname != strlen(m->name) || memcmp(z->p + name, m->name, nname))
		return bad_member(z, m->name, "its header has another name");
	if (!extra64(z, name + nname, name + nname + nextra, &s))
		return bad_member(z, m->name, "an extra field of its header is cut off");
	bool later = s.flags & DESCRIPTOR;
	if (s.flags != row->flags || s.method != row->method ||
	    !same_or_later(s.crc, row->crc, later) || !same_or_later(s.packed, m->packed, later) ||
	    !same_or_later(s.size, m->size, later))
		return bad_member(z, m->name, "its header and the directory disagree");
	m->at = name + nname + nextra;
	m->end = m->at + m->packed;
	return HOP_OK;
}

/* A record behind the bytes of a member says once more what they are. Its numbers may have 32 or
 * 64 bits, with and without a signature: only one of the four can be what lies before `next`. */
static bool descriptor(struct archive *z, const hop_zip_member *m, uint64_t next)
{
	uint64_t n = next - m->end, at = m->end, w = n >= 20 ? 8 : 4;
	if (n != 12 && n != 16 && n != 20 && n != 24)
		return false;
	if (n == 16 || n == 24) {
		if (!signed_as(z, at, "\7\10"))
			return false;
		at += 4;
	}
	return get(z, at, 4) == m->crc && get(z, at + 4, (int)w) == m->packed &&
	       get(z, at + 4 + w, (int)w) == m->size;
}

static hop_status read_row(struct archive *z, uint64_t *at, hop_zip_member *m, bool *out_later)
{
	uint64_t p = *at, left = z->dirend - p;
	if (left < ROW || !signed_as(z, p, "\1\2"))
		return bad(z, "its directory is cut off");
	struct says s = { .flags = (unsigned)get(z, p + 8, 2), .method = (unsigned)get(z, p + 10, 2),
	                  .crc = (uint32_t)get(z, p + 16, 4), .packed = get(z, p + 20, 4),
	                  .size = get(z, p + 24, 4), .header = get(z, p + 42, 4) };
	uint64_t nname = get(z, p + 28, 2), nextra = get(z, p + 30, 2), ncomment = get(z, p + 32, 2);
	if (nname + nextra + ncomment > left - ROW)
		return bad(z, "its directory is cut off");
	const char *name = z->p + p + ROW;
	m->name = hop_arena_str(z->arena, name, nname);
	if (!nname || !hop_name_ok(m->name, nname))
		return bad(z, "a name is not UTF-8, or has control characters, or is empty");
	for (uint64_t i = 0; i < nname && !(s.flags & UTF8); i++)
		if (m->name[i] & 0x80)
			return bad(z, "a name is in an old code page: write it as UTF-8");
	if (get(z, p + 34, 2))
		return bad_member(z, m->name, "it is in another archive");
	if (s.flags & ENCRYPTED)
		return bad_member(z, m->name, "it is encrypted");
	if (s.flags & ~(unsigned)KNOWN || (s.method != STORED && s.method != DEFLATED))
		return bad_member(z, m->name, "it is packed in another way than stored or deflate");
	if (!extra64(z, p + ROW + nname, p + ROW + nname + nextra, &s))
		return bad_member(z, m->name, "an extra field of the directory is cut off");
	if (s.method == STORED && s.packed != s.size)
		return bad_member(z, m->name, "it is stored, and has two lengths");
	m->packed = s.packed;
	m->size = s.size;
	m->crc = s.crc;
	m->header = s.header;
	m->deflated = s.method == DEFLATED;
	*out_later = s.flags & DESCRIPTOR;
	*at = p + ROW + nname + nextra + ncomment;
	return read_header(z, m, &s);
}

/* ---- all of them ---- */

struct place {
	const hop_zip_member *m;
	bool                  later;       /* a descriptor follows */
};

static int by_place(const void *a, const void *b)
{
	uint64_t x = ((const struct place *)a)->m->header, y = ((const struct place *)b)->m->header;
	return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->m->name, ((const struct place *)b)->m->name);
}

static hop_status side_by_side(struct archive *z, struct place *s, size_t n)
{
	uint64_t at = 0;
	qsort(s, n, sizeof *s, by_place);
	for (size_t i = 0; i < n; i++) {
		const hop_zip_member *m = s[i].m;
		uint64_t next = i + 1 < n ? s[i + 1].m->header : z->dir;
		if (m->header != at)
			return bad_member(z, m->name, "there are bytes before it that belong to no member");
		if (next < m->end)
			return bad_member(z, m->name, "it overlaps with another");
		if (s[i].later ? !descriptor(z, m, next) : next != m->end)
			return bad_member(z, m->name, "bytes behind it belong to no member");
		at = next;
	}
	return at == z->dir ? HOP_OK : bad(z, "bytes before the directory belong to no member");
}

static hop_status names_differ(struct archive *z, struct place *s, size_t n)
{
	qsort(s, n, sizeof *s, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(s[i - 1].m->name, s[i].m->name))
			return bad_member(z, s[i].m->name, "two members have this name");
	return HOP_OK;
}

hop_status hop_zip_read(hop_env *e, hop_arena *a, const char *path, const void *p, size_t n,
                        hop_zip *out)
{
	struct archive z = { .env = e, .arena = a, .path = path, .p = p, .n = n };
	*out = (hop_zip){ 0 };
	HOP_TRY(find_end(&z));
	if (z.count > (z.dirend - z.dir) / ROW)
		return bad(&z, "its directory is cut off");
	size_t count = (size_t)z.count;
	hop_zip_member *m = HOP_NEWN(a, hop_zip_member, count);
	struct place *s = HOP_NEWN(&e->tmp, struct place, count);
	uint64_t at = z.dir;
	for (size_t i = 0; i < count; i++) {
		s[i].m = &m[i];
		HOP_TRY(read_row(&z, &at, &m[i], &s[i].later));
	}
	if (at != z.dirend)
		return bad(&z, "its directory has more than it says");
	HOP_TRY(side_by_side(&z, s, count));
	HOP_TRY(names_differ(&z, s, count));
	*out = (hop_zip){ count, m };
	return HOP_OK;
}

#undef ALL16
#undef ALL32
