/* opts.c -- options: from callers that were built with older headers, and from the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"

size_t hop_opts_size(const void *given)
{
	size_t n;
	memcpy(&n, given, sizeof n);
	return n;
}

bool hop_opts_take(const void *given, void *out, size_t ours)
{
	size_t n = given ? hop_opts_size(given) : 0;
	memset(out, 0, ours);
	if (given && (n < sizeof n || n > ours))
		return false;
	if (given)
		memcpy(out, given, n);
	return true;
}

hop_status hop_opts_read(hop_ctx *c, const char *op, const void *given, void *out, size_t ours)
{
	char text[200];
	if (hop_opts_take(given, out, ours))
		return HOP_OK;
	snprintf(text, sizeof text, "error: " HOP_OPTS_BAD, op, hop_opts_size(given), ours);
	if (c)
		hop_ctx_set_message(c, &(hop_diag){ .st = HOP_EVALUE, .text = text, .len = strlen(text) });
	return HOP_EVALUE;
}

bool hop_nan_read(const char *word, hop_nan *out)
{
	static const struct { const char *word; hop_nan nan; } known[] = {
		{ "", HOP_NAN_OFF }, { "0", HOP_NAN_OFF }, { "1", HOP_NAN_INF },
		{ "nan", HOP_NAN_ONLY }, { "inf", HOP_NAN_INF }, { "any", HOP_NAN_ANY },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(word, known[i].word)) {
			*out = known[i].nan;
			return true;
		}
	return false;
}

bool hop_check_asked(const char *word)
{
	return hop_has_word(getenv("HOP_CHECK"), word);
}

/* A word that is none of ours asks for something: for all there is. */
enum hop_strict hop_strict_asked(void)
{
	const char *s = getenv("HOP_STRICT");
	if (!s || !*s || !strcmp(s, "0"))
		return HOP_STRICT_OFF;
	return strcmp(s, "no_grad") ? HOP_STRICT_GRAD : HOP_STRICT_NO_GRAD;
}
