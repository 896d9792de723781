/* say.h -- messages as golden files hold them: the whole text, with user lines as the file alone,
 * which stay when a line is added. Lines themselves are tested elsewhere. */
#ifndef SAY_H
#define SAY_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "../dir/file.c:12: error" becomes "file.c: error". out has room for as much as text. */
static inline void say_plain(const char *text, char *out)
{
	size_t n = 0;
	for (const char *s = text; *s; ) {
		size_t word = strcspn(s, " \n");
		const char *colon = memchr(s, ':', word);
		bool line = colon && isdigit((unsigned char)colon[1]) && word && s[word - 1] == ':';
		for (const char *p = s; line && p < colon; p++)
			if (*p == '/')
				s = p + 1, word = strcspn(s, " \n");
		size_t keep = line ? (size_t)(colon - s) : word;
		memcpy(out + n, s, keep);
		n += keep;
		if (line)
			out[n++] = ':';
		s += word;
		if (*s)
			out[n++] = *s++;
	}
	out[n] = 0;
}

/* One message under its name. */
static inline void say(const char *name, const char *text)
{
	char plain[8000];
	if (strlen(text) >= sizeof plain)
		text = "(too long)";
	say_plain(text, plain);
	printf("[%s]\n%s\n", name, plain);
}

#endif
