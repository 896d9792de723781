/* pipeline.c -- the list of passes on one page. Knows no pass from the inside. */
#include "driver/pipeline.h"

#include <string.h>

static const hop_pass passes[] = {
	{ NULL, NULL, false, NULL }
};

const hop_pass *hop_pass_at(size_t i)
{
	size_t n = sizeof passes / sizeof *passes - 1;
	return i < n ? &passes[i] : NULL;
}

const hop_pass *hop_pass_find(const char *name)
{
	for (size_t i = 0; hop_pass_at(i); i++)
		if (!strcmp(hop_pass_at(i)->name, name))
			return hop_pass_at(i);
	return NULL;
}
