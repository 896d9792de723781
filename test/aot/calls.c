/* calls.c -- functions built ahead of time called rightly and wrongly: every status, hook and size
 * function. Linked with test/aot/values.hop under the name aot; compiles as C11 and as C++17. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot.h"

static int failed;

static void check(int ok, int line, const char *what)
{
	if (ok)
		return;
	failed = 1;
	printf("FAIL calls.c:%d: %s\n", line, what);
}
#define CHECK(x) check(x, __LINE__, #x)

static union { unsigned char byte[1 << 20]; double align[1 << 17]; } memory;

static void *workspace(void)
{
	uintptr_t at = ((uintptr_t)memory.byte + 63) / 64 * 64;
	return (void *)at;
}

/* ---- hooks ---- */

typedef struct seen {
	int     effects, grows, frees, forks, stop_at;
	int64_t live;
	char    text[64], file[64];
	int     kind, line, narg, nlane;
	int64_t lane, value;
} seen;

static void *grow(void *user, void *p, int64_t old, int64_t bytes)
{
	seen *s = (seen *)user;
	s->live += bytes - old;
	if (bytes)
		s->grows++;
	else
		s->frees++;
	if (s->stop_at && s->grows >= s->stop_at) {
		s->live -= bytes - old;
		return NULL;
	}
	if (bytes)
		return realloc(p, (size_t)bytes);
	free(p);
	return NULL;
}

static int effect(void *user, const hop_aot_effect *e)
{
	seen *s = (seen *)user;
	s->effects++;
	s->kind = e->kind;
	s->line = e->line;
	s->narg = e->narg;
	s->nlane = e->nlane;
	s->lane = e->nlane ? e->lane[0] : -1;
	if (e->narg && e->arg[0].dtype == HOP_AOT_i64)
		s->value = ((const int64_t *)e->arg[0].data)[0];
	snprintf(s->text, sizeof s->text, "%s", e->text);
	snprintf(s->file, sizeof s->file, "%s", e->file ? e->file : "");
	return s->stop_at && s->effects >= s->stop_at;
}

static void parallel(void *user, void (*body)(void *arg, int64_t begin, int64_t end), void *arg,
                     int64_t n)
{
	((seen *)user)->forks++;
	body(arg, 0, n / 2);
	body(arg, n / 2, n);
}

static hop_aot_hooks hooks_of(seen *s)
{
	hop_aot_hooks h;
	memset(&h, 0, sizeof h);
	memset(s, 0, sizeof *s);
	h.user = s;
	return h;
}

/* ---- tests ---- */

static void sizes(void)
{
	double x[6] = { 1, 2, 3, 4, 5, 6 }, y[7] = { 1, 0, 0, 0, 0, 0, 1 }, out[6], s;
	CHECK(aot_sizes(x, y, x, out, &s, 2, 3, workspace(), NULL) == HOP_AOT_OK);
	CHECK(s == 2 && out[5] == 24);
	CHECK(aot_sizes(NULL, y, NULL, NULL, &s, 0, 3, workspace(), NULL) == HOP_AOT_OK);
	CHECK(aot_sizes(x, y, x, NULL, &s, 2, 3, workspace(), NULL) == HOP_AOT_EUSE);
	CHECK(aot_sizes(NULL, y, x, out, &s, 2, 3, workspace(), NULL) == HOP_AOT_EUSE);
	CHECK(aot_sizes(x, y, x, out, &s, 65, 3, workspace(), NULL) == HOP_AOT_ESHAPE);
	CHECK(aot_sizes(x, y, x, out, &s, 2, -1, workspace(), NULL) == HOP_AOT_ESHAPE);
	CHECK(aot_sizes_workspace(65, 3) == -1 && aot_sizes_workspace(2, 3) >= 0);
	CHECK(aot_sizes_out0_count(2, 3) == 6 && aot_sizes_out0_count(0, 0) == 0);
	CHECK(aot_sizes_out0_count(2, 99) == -1);
	CHECK(!strcmp(aot_sizes_why(65, 3), "n is outside 0..64") && !aot_sizes_why(2, 3));
}

static void checks(void)
{
	float x[8] = { 1, 2, 3 }, out[8];
	CHECK(aot_agree(x, x, out, 3, 3, workspace(), NULL) == HOP_AOT_OK && out[2] == 6);
	CHECK(aot_agree(x, x, out, 3, 4, workspace(), NULL) == HOP_AOT_ESHAPE);
	CHECK(aot_agree_workspace(3, 4) == -1);
	CHECK(strstr(aot_agree_why(3, 4), "add: ") && !aot_agree_why(8, 8));
	CHECK(aot_product_workspace(INT64_MAX) == -1 && aot_product_why(INT64_C(1) << 47));
}

static void exact_sizes(void)
{
	int64_t n = 2, born = -1;
	int32_t x[4] = { 1, 2, 3, 4 }, r[4];
	CHECK(aot_exact_out0_count(4) == 4);
	CHECK(aot_exact(&n, x, r, &born, 4, workspace(), NULL) == HOP_AOT_OK);
	CHECK(born == 2 && r[0] == 1 && r[1] == 4 && r[2] == 0 && r[3] == 0);
	n = 9;
	CHECK(aot_exact(&n, x, r, &born, 4, workspace(), NULL) == HOP_AOT_OK);
	CHECK(born == 4 && r[3] == 16);
}

static void local_sizes(void)
{
	int32_t x[4] = { 1, 1, 1, 1 }, r = 0;
	int64_t n = 4;
	seen s;
	hop_aot_hooks h = hooks_of(&s);
	h.effect = effect;
	CHECK(aot_local(&n, x, &r, 4, workspace(), &h) == HOP_AOT_OK && r == 10 && !s.effects);
	n = 3;
	CHECK(aot_local(&n, x, &r, 4, workspace(), &h) == HOP_AOT_ESHAPE);
	CHECK(s.effects == 1 && s.kind == HOP_AOT_SIZES);
}

static void trails(void)
{
	double x = 0.5, k = 0.25, y[4], want;
	seen s;
	hop_aot_hooks h = hooks_of(&s);
	CHECK(aot_grows(&x, &k, y, workspace(), NULL) == HOP_AOT_OK);
	want = y[0];
	CHECK(aot_grows_grad(&x, &k, &y[0], &y[1], &y[2], workspace(), NULL) == HOP_AOT_ENOMEM);
	h.grow = grow;
	CHECK(aot_grows_grad(&x, &k, &y[0], &y[1], &y[2], workspace(), &h) == HOP_AOT_OK);
	CHECK(y[0] == want && s.grows > 0 && s.frees > 0 && s.live == 0);
	h = hooks_of(&s);
	h.grow = grow;
	s.stop_at = 1;
	CHECK(aot_grows_grad(&x, &k, &y[0], &y[1], &y[2], workspace(), &h) == HOP_AOT_ENOMEM);
	CHECK(s.live == 0);
}

static void effects(void)
{
	float x[3] = { 1, 2, 3 }, t[3];
	double d = 2.5, r;
	uint8_t p = 1;
	uint16_t half[2] = { 0x3c00, 0x4000 }, brain = 0x3f80;
	int64_t k = 7, a;
	seen s;
	hop_aot_hooks h = hooks_of(&s);
	h.effect = effect;
	CHECK(aot_says(x, &k, &p, half, &brain, t, &a, workspace(), &h) == HOP_AOT_OK);
	CHECK(s.effects == 5 && s.kind == HOP_AOT_PRINT && !strcmp(s.text, "trip {}") && s.value == 8);
	CHECK(t[2] == 9 && a == 9 && strstr(s.file, "values.hop") && s.line > 0);
	s.effects = 0;
	s.stop_at = 2;
	CHECK(aot_says(x, &k, &p, half, &brain, t, &a, workspace(), &h) == HOP_AOT_EIO);
	CHECK(s.effects == 2);
	h = hooks_of(&s);
	h.effect = effect;
	CHECK(aot_never(&d, &r, workspace(), &h) == HOP_AOT_EASSERT);
	CHECK(s.effects == 1 && s.kind == HOP_AOT_ASSERT && s.narg == 1);
	CHECK(strstr(s.text, "\"quoted\" and 100% ?\?/ wrong") != NULL);
}

static void lanes(void)
{
	double x[6] = { 1, 1, -1, -2, 3, -4 }, r[3];
	seen s;
	hop_aot_hooks h = hooks_of(&s);
	h.effect = effect;
	CHECK(aot_lanes_vmap_any(x, r, 3, workspace(), &h) == HOP_AOT_OK);
	CHECK(r[0] == 2 && r[1] == 3 && r[2] == 1);
	CHECK(s.effects == 2 && s.nlane == 1 && s.lane == 2);
}

static void cancel(void)
{
	double x = 0.5, k = 0.25, y;
	int flag = 1;
	seen s;
	hop_aot_hooks h = hooks_of(&s);
	h.cancel = &flag;
	CHECK(aot_grows(&x, &k, &y, workspace(), &h) == HOP_AOT_ECANCELED);
	flag = 0;
	CHECK(aot_grows(&x, &k, &y, workspace(), &h) == HOP_AOT_OK);
}

static void alignment(void)
{
	static float x[64 * 37], w[37 * 19], t[64 * 19], s[64];
	char *ws = (char *)workspace();
	CHECK(aot_product(x, w, t, s, 64, ws, NULL) == HOP_AOT_OK);
	if (aot_product_workspace(64)) {
		CHECK(aot_product(x, w, t, s, 64, ws + 8, NULL) == HOP_AOT_EUSE);
		CHECK(aot_product(x, w, t, s, 64, NULL, NULL) == HOP_AOT_EUSE);
	}
	CHECK(!strcmp(hop_aot_text(HOP_AOT_EUSE), "a pointer is missing, or the workspace is not aligned "
	              "to 64 bytes") && !strcmp(hop_aot_text(77), "unknown status"));
}

static void threads(void)
{
#ifdef AOT_THREADS
	static float x[4096 * 37], w[37 * 19], t[4096 * 19], s[4096], t1[4096 * 19], s1[4096];
	seen n;
	hop_aot_hooks h = hooks_of(&n);
	for (int i = 0; i < 4096 * 37; i++)
		x[i] = (float)(i % 19) / 19;
	for (int i = 0; i < 37 * 19; i++)
		w[i] = (float)(i % 7) / 7;
	h.parallel = parallel;
	CHECK(aot_product_workspace(4096) <= (int64_t)sizeof memory - 64);
	CHECK(aot_product(x, w, t, s, 4096, workspace(), &h) == HOP_AOT_OK && n.forks > 0);
	CHECK(aot_product(x, w, t1, s1, 4096, workspace(), NULL) == HOP_AOT_OK);
	CHECK(!memcmp(t, t1, sizeof t) && !memcmp(s, s1, sizeof s));
#else
	(void)parallel;
#endif
}

int main(void)
{
	CHECK(sizeof memory > AOT_FLOATS_WORKSPACE + 64 && AOT_FLOATS_OUT0_COUNT == 7);
	sizes();
	checks();
	local_sizes();
	exact_sizes();
	trails();
	effects();
	lanes();
	cancel();
	alignment();
	threads();
	return failed;
}
