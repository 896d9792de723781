/* calls.c -- what every public constructor says to wrong arguments, each message once: those that
 * differ in a number are one. Prints; the golden file test/golden/messages/calls.txt holds what. */
#include "support/say.h"
#include "support/wrong_calls.h"

#include <unistd.h>

enum { MOST = 40 };
static char *said[NCTOR][MOST];

/* Equal but for numbers? */
static bool alike(const char *x, const char *y)
{
	static const char number[] = "-0123456789";
	for (;;) {
		x += strspn(x, number);
		y += strspn(y, number);
		if (*x != *y || !*x)
			return *x == *y;
		x++, y++;
	}
}

/* Keep what is new. */
static void agree(struct one o, bool must, const char *what, int64_t number)
{
	char text[MESSAGE], plain[MESSAGE];
	hop_array *out;
	int c = (int)(o.c - ctors), n = 0;
	(void)must, (void)what, (void)number;
	hop_status st = run(&o, false, &out, text);
	hop_array_release(out);
	if (!st)
		return;
	say_plain(text, plain);
	while (n < MOST && said[c][n] && !alike(said[c][n], plain))
		n++;
	if (n < MOST && !said[c][n])
		said[c][n] = strdup(plain);
}

static void finish(void)
{
}

int main(void)
{
	void *none = NULL;
	if (up(&none))
		return 1;
	FILE *out = fdopen(dup(1), "w");
	if (!out || !freopen("/dev/null", "w", stdout))        /* what hop_print says */
		return 1;
	right_calls(&none);
	bad_values(&none);
	other_values(&none);
	axes(&none);
	sizes(&none);
	ranks_and_lists(&none);
	dtypes_and_kinds(&none);
	for (int c = 0; c < NCTOR; c++) {
		fprintf(out, "[%s]\n", ctors[c].name);
		for (int n = 0; n < MOST && said[c][n]; n++) {
			fprintf(out, "%s\n", said[c][n]);
			free(said[c][n]);
		}
	}
	fclose(out);
	return down(&none);
}
