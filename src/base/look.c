/* look.c -- words in lists of the environment, and who is to see compiled code by them. What that
 * costs is elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

bool hop_has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	while (list && *list) {
		size_t n = strcspn(list, ",");
		if (n == len && !memcmp(list, word, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

int hop_look(void)
{
	const char *perf = getenv("HOP_PERF");
	int look = hop_has_word(getenv("HOP_DEBUG"), "gdb") ? HOP_LOOK_GDB : 0;
	return perf && *perf && strcmp(perf, "0") ? look | HOP_LOOK_PERF : look;
}
