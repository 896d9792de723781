/* parse_fuzz.c -- any bytes as text or as .npy: no crash, no leak, and what reads must
 * verify, print, read back as the same graphs and print the same. Built with HOP_LIBFUZZER
 * it is a libFuzzer target; else a program: parse_fuzz COUNT SEED FILE... makes COUNT
 * mutations of the files. Runs no graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"
#include "text/text.h"

static void must(bool ok, const char *what, const hop_env *e)
{
	if (ok)
		return;
	fprintf(stderr, "parse_fuzz: %s: %s\n", what, e->diag.text ? e->diag.text : "");
	abort();
}

static void npy(hop_env *e, const uint8_t *p, size_t n)
{
	hop_npy a;
	if (hop_npy_read(e, "x.npy", p, n, &a))
		return;
	void *to = hop_arena_alloc(&e->tmp, (size_t)a.count * hop_dtype_bytes(a.dtype) + 1);
	hop_npy_copy(&a, to);
}

static void text(hop_env *e, const uint8_t *p, size_t n)
{
	hop_module *m, *again;
	if (hop_module_parse(e, (const char *)p, n, "x.hop", &m)) {
		must(e->diag.st, "a failure without status", e);
		return;
	}
	hop_buf one, two;
	hop_buf_open(&one, e);
	hop_buf_open(&two, e);
	for (uint32_t i = 0; i < m->n; i++)
		must(!hop_verify(e, m->entry[i].g), "does not verify", e);
	hop_entries_print(&one, m->n, m->entry, 0);
	must(!hop_module_parse(e, one.s, one.n, "y.hop", &again), "printed text does not read",
	     e);
	hop_entries_print(&two, again->n, again->entry, 0);
	if (one.n != two.n || memcmp(one.s, two.s, one.n)) {
		fprintf(stderr, "%s----\n%s", one.s, two.s);
		must(false, "prints differently the second time", e);
	}
	hop_buf_free(&two);
	hop_buf_free(&one);
	hop_module_free(again, &e->mem);
	hop_module_free(m, &e->mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	if (hop_ctx_new(NULL, &c))
		abort();
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f)) {
		hop_status st = hop_guard_nomem(&e, &f);
		must(st == HOP_ENOMEM, "jumped", &e);
	} else {
		if (n && *p == 0x93)
			npy(&e, p, n);
		else
			text(&e, p, n);
		hop_guard_end(&e, &f);
	}
	hop_env_fini(&e);
	hop_ctx_free(c);
	return 0;
}

#ifndef HOP_LIBFUZZER

/* Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

enum { MOST = 1 << 16 };

static size_t mutate(uint8_t *b, size_t n, const uint8_t *other, size_t on, uint64_t *s)
{
	static const char *const word[] = {
		"%0", "%1", "{", "}", "[", "]", "(", ")", "=", ",", "->", ": f32[4]", "s", "-1",
		"9223372036854775807", "0", "return", "axes", "min(s,2)", "/", "graph @f", "\"",
	};
	for (uint64_t k = 1 + draw(s) % 4; k--;) {
		size_t at = n ? draw(s) % (n + 1) : 0, len = draw(s) % 24;
		const char *w = word[draw(s) % (sizeof word / sizeof *word)];
		switch (draw(s) % 5) {
		case 0:                                     /* another byte */
			if (at < n)
				b[at] = (uint8_t)draw(s);
			break;
		case 1:                                     /* a piece less */
			len = len > n - at ? n - at : len;
			memmove(b + at, b + at + len, n - at - len);
			n -= len;
			break;
		case 2:                                     /* a word more */
			len = strlen(w);
			if (n + len > MOST)
				break;
			memmove(b + at + len, b + at, n - at);
			memcpy(b + at, w, len);
			n += len;
			break;
		case 3:                                     /* a piece of another file */
			len = len > on ? on : len;
			if (n + len > MOST)
				break;
			memmove(b + at + len, b + at, n - at);
			memcpy(b + at, other + draw(s) % (on - len + 1), len);
			n += len;
			break;
		case 4:                                     /* a piece twice */
			len = len > n - at ? n - at : len;
			if (n + len > MOST)
				break;
			memmove(b + at + len, b + at, n - at);
			n += len;
			break;
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "parse_fuzz COUNT SEED FILE...\n");
		return 2;
	}
	long count = strtol(argv[1], NULL, 10);
	uint64_t s = strtoull(argv[2], NULL, 10) * 2 + 1;
	int nfile = argc - 3;
	uint8_t **file = calloc((size_t)nfile, sizeof *file);
	size_t *len = calloc((size_t)nfile, sizeof *len);
	uint8_t *b = malloc(MOST);
	if (!file || !len || !b)
		return 1;
	for (int i = 0; i < nfile; i++) {
		FILE *f = fopen(argv[3 + i], "rb");
		if (!f || !(file[i] = malloc(MOST)))
			return 1;
		len[i] = fread(file[i], 1, MOST, f);
		fclose(f);
		LLVMFuzzerTestOneInput(file[i], len[i]);
	}
	for (long i = 0; i < count; i++) {
		int k = (int)(draw(&s) % (uint64_t)nfile), o = (int)(draw(&s) % (uint64_t)nfile);
		memcpy(b, file[k], len[k]);
		LLVMFuzzerTestOneInput(b, mutate(b, len[k], file[o], len[o], &s));
	}
	for (int i = 0; i < nfile; i++)
		free(file[i]);
	free(file);
	free(len);
	free(b);
	printf("%ld passed, 0 failed\n", count);
	return 0;
}

#endif
