/* utf8.c -- the bytes that are UTF-8, and the names among them. Converts nothing. */
#include "io/utf8.h"

/* The next character; -1 when the bytes are none. */
static long next(const unsigned char **p, const unsigned char *end)
{
	static const long least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned c = *(*p)++;
	int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : -1;
	long v = more > 0 ? c & (0x3fu >> more) : c;
	if (more < 0 || more > end - *p)
		return -1;
	for (int k = 0; k < more; k++, (*p)++) {
		if ((**p & 0xc0) != 0x80)
			return -1;
		v = v << 6 | (**p & 0x3f);
	}
	return v < least[more] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? -1 : v;
}

static bool check(const char *s, size_t n, bool name)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;
	while (p < end) {
		long v = next(&p, end);
		if (v < 0 || (name && (v < 0x20 || (v >= 0x7f && v < 0xa0))))
			return false;
	}
	return true;
}

bool hop_utf8_ok(const char *s, size_t n)
{
	return check(s, n, false);
}

bool hop_name_ok(const char *s, size_t n)
{
	return check(s, n, true);
}
