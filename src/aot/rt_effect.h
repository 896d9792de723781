/* Prints and asserts of programs that hop built ahead of time: lane by lane, to the hook, or to
 * stdout and stderr where there is <stdio.h>, as hop itself would write them. Allocates nothing.
 * Text of hop, copied into what it writes when a program has effects. */
#ifndef HOP_AOT_EFFECT
#define HOP_AOT_EFFECT

#ifndef HOP_AOT_STDIO
#define HOP_AOT_STDIO __STDC_HOSTED__        /* -DHOP_AOT_STDIO=0: only the hook */
#endif

HOP_AOT_FN hop_aot_operand hop_aot_arg(enum hop_aot_dtype dtype, int rank, const int64_t *dim,
                                       const void *data)
{
	hop_aot_operand a;
	a.dtype = dtype;
	a.rank = rank;
	a.dim = dim;
	a.data = data;
	return a;
}

HOP_AOT_FN int hop_aot_bytes(enum hop_aot_dtype d)
{
	return d == HOP_AOT_bool ? 1 : d == HOP_AOT_bf16 || d == HOP_AOT_f16 ? 2 :
	       d == HOP_AOT_i32 || d == HOP_AOT_f32 ? 4 : 8;
}

HOP_AOT_FN int64_t hop_aot_elements(int rank, const int64_t *dim)
{
	int64_t n = 1;
	int i;
	for (i = 0; i < rank; i++)
		n *= dim[i];
	return n;
}

/* ---- text ---- */

#if HOP_AOT_STDIO
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HOP_AOT_FN double hop_aot_power(int e)              /* 2^e, normal */
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double v;
	memcpy(&v, &bits, 8);
	return v;
}

/* The nearest float of so many bits of exponent and mantissa, ties to even; v is normal. */
HOP_AOT_FN double hop_aot_round(double v, int exp, int man)
{
	uint64_t bits, m, half, rest;
	int e, least = 2 - (1 << (exp - 1)), drop;
	memcpy(&bits, &v, 8);
	e = (int)(bits >> 52 & 2047) - 1023;
	drop = 52 - man + (e < least ? least - e : 0);
	if (!drop || v == 0)
		return v;
	if (drop > 53)
		return 0;
	m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
	rest = m & (((uint64_t)1 << drop) - 1);
	half = (uint64_t)1 << (drop - 1);
	m = (m >> drop) + (rest > half || (rest == half && (m >> drop & 1)));
	v = (double)m * hop_aot_power(e - 52 + drop);
	return bits >> 63 ? -v : v;
}

HOP_AOT_FN double hop_aot_unpack(uint16_t x, int exp, int man)
{
	int e = x >> man & ((1 << exp) - 1), m = x & ((1 << man) - 1), bias = (1 << (exp - 1)) - 1;
	double v = e ? ((1 << man) + m) * hop_aot_power(e - bias - man)
	             : m * hop_aot_power(1 - bias - man);
	if (e == (1 << exp) - 1)
		v = m ? (double)strtod("nan", NULL) : strtod("inf", NULL);
	return x >> 15 ? -v : v;
}

/* The fewest digits that read back. The locale's point becomes a point. */
HOP_AOT_FN void hop_aot_put_float(FILE *to, double v, int exp, int man)
{
	char s[64];
	int digits, most = (man + 1) * 30103 / 100000 + 2, ex, mark = 0;
	const char *p;
	if (v != v || v - v != 0) {
		fputs(v != v ? "nan" : v < 0 ? "-inf" : "inf", to);
		return;
	}
	for (digits = 1; digits <= most; digits++) {
		double back;
		snprintf(s, sizeof s, "%.*e", digits - 1, v);
		back = man > 23 ? strtod(s, NULL) : (double)strtof(s, NULL);
		if ((man > 22 ? back : hop_aot_round(back, exp, man)) == v)
			break;
	}
	ex = atoi(strchr(s, 'e') + 1);
	if (ex >= 0 && ex < (man > 23 ? 16 : 7) && digits <= ex)
		digits = ex + 1;
	snprintf(s, sizeof s, "%.*g", digits < 17 ? digits : 17, v);
	for (p = s; *p; p++) {
		if (strchr("0123456789+-e", *p)) {
			mark |= *p == 'e';
			putc(*p, to);
		} else if (!mark) {
			mark = 1;
			putc('.', to);
		}
	}
	if (!mark)
		fputs(".0", to);
}

HOP_AOT_FN void hop_aot_put_element(FILE *to, const hop_aot_operand *a, int64_t i)
{
	switch (a->dtype) {
	case HOP_AOT_bool: fputs(((const uint8_t *)a->data)[i] ? "true" : "false", to); break;
	case HOP_AOT_i32: fprintf(to, "%ld", (long)((const int32_t *)a->data)[i]); break;
	case HOP_AOT_i64: fprintf(to, "%lld", (long long)((const int64_t *)a->data)[i]); break;
	case HOP_AOT_f32: hop_aot_put_float(to, (double)((const float *)a->data)[i], 8, 23); break;
	case HOP_AOT_f64: hop_aot_put_float(to, ((const double *)a->data)[i], 11, 52); break;
	case HOP_AOT_bf16:
		hop_aot_put_float(to, hop_aot_unpack(((const uint16_t *)a->data)[i], 8, 7), 8, 7);
		break;
	case HOP_AOT_f16:
		hop_aot_put_float(to, hop_aot_unpack(((const uint16_t *)a->data)[i], 5, 10), 5, 10);
		break;
	}
}

/* Axis k and those inside it, `count` elements from `at` on; edge > 0: only so many at either end
 * of a long axis. */
HOP_AOT_FN void hop_aot_put_axis(FILE *to, const hop_aot_operand *a, int k, int64_t at,
                                 int64_t count, int edge)
{
	int64_t i, n, below;
	if (k == a->rank) {
		hop_aot_put_element(to, a, at);
		return;
	}
	n = a->dim[k];
	below = n ? count / n : 0;
	putc('[', to);
	for (i = 0; i < n; i++) {
		if (i)
			fputs(", ", to);
		if (edge && i == edge && n > 2 * edge) {
			fputs("..., ", to);
			i = n - edge;
		}
		hop_aot_put_axis(to, a, k + 1, at + i * below, below, edge);
	}
	putc(']', to);
}

HOP_AOT_FN int hop_aot_say(const hop_aot_effect *e)
{
	FILE *to = e->kind == HOP_AOT_PRINT ? stdout : stderr;
	const hop_aot_operand *a = e->arg;
	const char *s;
	int i;
	if (e->kind != HOP_AOT_PRINT && e->file)
		fprintf(to, "%s:%d: ", e->file, e->line);
	if (e->kind != HOP_AOT_PRINT)
		fputs(e->kind == HOP_AOT_ASSERT ? "error: assert: " : "error: ", to);
	for (i = 0; i < e->nlane; i++)
		fprintf(to, i ? ",%lld" : "lane %lld", (long long)e->lane[i]);
	if (e->nlane)
		fputs(": ", to);
	for (s = e->text; *s; s++) {
		if (s[0] == '{' && s[1] == '}') {
			int64_t n = hop_aot_elements(a->rank, a->dim);
			hop_aot_put_axis(to, a, 0, 0, n, n <= 1000 ? 0 : a->rank <= 3 ? 3 : 1);
			a++;
			s++;
		} else {
			putc(*s, to);
		}
	}
	return putc('\n', to) == EOF;
}
#endif

/* ---- acting ---- */

HOP_AOT_FN int hop_aot_tell(struct hop_rt *rt, const hop_aot_effect *e)
{
	const hop_aot_hooks *h = ((hop_aot_call *)rt->user)->hooks;
	int rc = 0;
	if (h && h->effect)
		rc = h->effect(h->user, e);
#if HOP_AOT_STDIO
	else
		rc = hop_aot_say(e);
#endif
	if (e->kind == HOP_AOT_PRINT)
		return rc ? hop_aot_fail(rt, HOP_AOT_EIO) : 0;
	return hop_aot_fail(rt, e->kind == HOP_AOT_ASSERT ? HOP_AOT_EASSERT : HOP_AOT_ESHAPE);
}

HOP_AOT_FN int hop_aot_all(const hop_aot_operand *a)
{
	int64_t i, n = hop_aot_elements(a->rank, a->dim);
	for (i = 0; i < n; i++)
		if (!((const uint8_t *)a->data)[i])
			return 0;
	return 1;
}

/* The effect in every lane that acts. With `when`, the last of the n operands says which, and its
 * axes lead all others. one: room for n operands. */
HOP_AOT_FN int hop_aot_act(struct hop_rt *rt, hop_aot_effect e, int when, int n,
                           const hop_aot_operand *arg, hop_aot_operand *one)
{
	const hop_aot_operand *w = when ? &arg[n - 1] : NULL;
	int64_t lane, at[16], lanes = w ? hop_aot_elements(w->rank, w->dim) : 1;
	int i, rc, lead = w ? w->rank : 0, is_assert = e.kind == HOP_AOT_ASSERT;
	e.nlane = lead;
	e.lane = at;
	e.narg = n - (w != NULL) - is_assert;
	e.arg = one + is_assert;
	for (lane = 0; lane < lanes; lane++) {
		int64_t left = lane;
		if (w && !((const uint8_t *)w->data)[lane])
			continue;
		for (i = lead; i-- > 0; left /= w->dim[i])
			at[i] = left % w->dim[i];
		for (i = 0; i < n - (w != NULL); i++) {
			one[i] = hop_aot_arg(arg[i].dtype, arg[i].rank - lead, arg[i].dim + lead, NULL);
			one[i].data = (const char *)arg[i].data + lane * hop_aot_bytes(arg[i].dtype) *
			              hop_aot_elements(one[i].rank, one[i].dim);
		}
		if (is_assert && hop_aot_all(&one[0]))
			continue;
		rc = hop_aot_tell(rt, &e);
		if (rc)
			return rc;
	}
	return 0;
}
#endif
