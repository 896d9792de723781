/* float.c -- floats of any number of bits: rounding to them, and their shortest text, which
 * does not depend on the locale of the process: numbers always have a point. No arithmetic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* The last place of v, or of the least normal number, is scaled to 1; rint rounds ties to even. */
double hop_float_round(double v, int exp, int man)
{
	int bias = (1 << (exp - 1)) - 1, e;
	if (isnan(v) || isinf(v) || v == 0)
		return v;
	frexp(v, &e);
	e = e - 1 < 1 - bias ? 1 - bias - man : e - 1 - man;
	v = ldexp(rint(ldexp(v, -e)), e);
	return fabs(v) > ldexp(2 - ldexp(1, -man), bias) ? copysign(INFINITY, v) : v;
}

/* By strtof as long as that will do: a number is rounded from its text once. */
static bool reads_back(const char *s, double v, int exp, int man)
{
	double x = man > 23 ? strtod(s, NULL) : (double)strtof(s, NULL);
	return hop_float_round(x, exp, man) == v;
}

/* Fewest digits first; then, for exponents where all digits are exact anyway, written
 * out instead of with an exponent. */
void hop_put_float(hop_buf *b, double v, int exp, int man)
{
	if (isnan(v)) {
		hop_put(b, "nan");
		return;
	}
	if (isinf(v)) {
		hop_put(b, v < 0 ? "-inf" : "inf");
		return;
	}
	char s[64];
	int digits = 1, most = (man + 1) * 30103 / 100000 + 2;
	for (; digits <= most; digits++) {
		snprintf(s, sizeof s, "%.*e", digits - 1, v);
		if (reads_back(s, v, exp, man))
			break;
	}
	int ex = atoi(strchr(s, 'e') + 1);
	int prec = digits;
	if (ex >= 0 && ex < (man > 23 ? 16 : 7) && prec <= ex)
		prec = ex + 1;
	snprintf(s, sizeof s, "%.*g", prec < 17 ? prec : 17, v);
	bool mark = false;
	for (const char *p = s; *p; p++) {
		if (strchr("0123456789+-e", *p)) {
			mark |= *p == 'e';
			hop_putc(b, *p);
		} else if (!mark) {         /* the locale's point, of one byte or more */
			mark = true;
			hop_putc(b, '.');
		}
	}
	if (!mark)
		hop_put(b, ".0");
}
