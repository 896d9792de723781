/* strict.c -- one program of strict.def in the three modes: what is said, or the graph. Prints; the
 * golden files of test/golden/strict hold what. Without a name, the names. */
#include "support/say.h"
#include "support/strict_block.h"

static const struct { const char *name; hop_body *f; } programs[] = {
#define STRICT(name) { #name, name },
#include "support/strict.def"
#undef STRICT
};

static const struct { const char *name; enum hop_strict level; } modes[] = {
	{ "normal", HOP_STRICT_OFF }, { "strict", HOP_STRICT_GRAD }, { "no_grad", HOP_STRICT_NO_GRAD },
};

/* The first mode that accepts shows the graph; those after it must give the same. */
static int show(hop_body *f)
{
	char first[8000] = "", said[8000] = "";
	int rc = 0;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		hop_ctx *c;
		hop_fn *fn = NULL;
		if (hop_ctx_new(HOP_CTX_OPTS(.strict = modes[i].level), &c))
			return 1;
		hop_status st = hop_capture_tree(c, f, NULL, &strict_in_tree, NULL, &fn);
		const char *text = st ? hop_message(c) : hop_fn_text(fn);
		char plain[8000];
		if (strlen(text) >= sizeof plain)
			text = "(too long)";
		say_plain(text, plain);
		if (st && !strcmp(said, plain)) {
			printf("%s: refused, in the same words\n", modes[i].name);
		} else if (st) {
			printf("%s: refused\n%s\n", modes[i].name, plain);
			strcpy(said, plain);
		} else if (!*first) {
			printf("%s: accepted\n%s", modes[i].name, plain);
			strcpy(first, plain);
		} else {
			rc |= strcmp(first, plain) != 0;
			printf("%s: accepted, %s graph\n", modes[i].name, rc ? "ANOTHER" : "the same");
		}
		hop_fn_release(fn);
		hop_ctx_free(c);
	}
	return rc;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		if (argc < 2)
			puts(programs[i].name);
		else if (!strcmp(argv[1], programs[i].name))
			return show(programs[i].f);
	}
	return argc > 1;
}
