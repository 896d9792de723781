/* file_rig.h -- bytes as files of arrays, with what must be said when they are refused. */
#ifndef FILE_RIG_H
#define FILE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "ctx/ctx.h"
#include "hop/hop.h"
#include "io/store.h"

static hop_ctx *ctx;
static char folder[] = "/tmp/hop_file_rig.XXXXXX";

static inline int rig_up(void **state)
{
	(void)state;
	return !mkdtemp(folder) || hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static inline int rig_down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return rmdir(folder);              /* tests remove what they made */
}

/* A path in the folder; each call gives the same memory. */
static inline const char *in_folder(const char *name)
{
	static char path[100];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static inline void said(hop_status st, hop_status want, const char *words)
{
	if (st != want || !strstr(hop_message(ctx), words))
		fail_msg("%d: %s lacks: %s", st, hop_message(ctx), words);
}

/* Open bytes, in a block that ends where they do. */
static inline hop_status open_bytes(const void *p, size_t n, hop_file **out)
{
	hop_mem m = hop_ctx_mem(ctx);
	hop_bytes *b = hop_bytes_new(&m, n);
	assert_non_null(b);
	memcpy(b->p, p, n);
	hop_status st = hop_store_open(ctx, "file", b, false, out);
	hop_bytes_release(b);
	return st;
}

/* Open them and take every array: the first failure of all that. */
static inline hop_status take_all(const void *p, size_t n)
{
	hop_file *f;
	hop_status st = open_bytes(p, n, &f);
	for (int i = 0; !st && i < hop_file_count(f); i++) {
		hop_array *a;
		st = hop_file_array(f, i, &a);
		hop_array_release(a);
	}
	hop_file_close(f);
	return st;
}

static inline void refused(const void *p, size_t n, const char *words)
{
	said(take_all(p, n), HOP_EPARSE, words);
}

static inline hop_array *array(hop_dtype d, int rank, const int64_t *dim, const void *data)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, d, rank, dim, data, &a), HOP_OK);
	return a;
}

static inline void same_array(const hop_array *a, const hop_array *b)
{
	assert_int_equal(a->dtype, b->dtype);
	assert_int_equal(a->rank, b->rank);
	for (int i = 0; i < a->rank; i++)
		assert_int_equal(a->dim[i], b->dim[i]);
	for (int64_t i = 0; i < a->count; i++)
		assert_true(hop_array_at(a, i) == hop_array_at(b, i));
}

enum { NALL = HOP_NDTYPE + 3 };

/* One array of each dtype, a scalar, one without elements, and one with strides. */
static inline void make_all(const char **name, hop_array **a)
{
	static const char *const names[] = { "bool", "i32", "i64", "f32", "f64", "bf16", "f16" };
	static const double strided[6] = { 1, 2, 3, 4, 5, 6 };
	_Static_assert(sizeof names / sizeof *names == HOP_NDTYPE, "a name a dtype");
	for (int d = 0; d < HOP_NDTYPE; d++) {
		name[d] = names[d];
		a[d] = array((hop_dtype)d, 2, (int64_t[]){ 3, d + 1 }, NULL);
		for (int64_t i = 0; i < a[d]->count; i++)
			hop_array_set_f(a[d], i, d ? (double)i - 2 : (double)(i % 2));
	}
	name[HOP_NDTYPE] = "a scalar";
	a[HOP_NDTYPE] = array(HOP_f64, 0, NULL, strided);
	name[HOP_NDTYPE + 1] = "nothing/\xc3\xa9";
	a[HOP_NDTYPE + 1] = array(HOP_i32, 3, (int64_t[]){ 4, 0, 2 }, NULL);
	name[HOP_NDTYPE + 2] = "layer[2].w";
	assert_int_equal(hop_array_adopt_strided(ctx, HOP_f64, 2, (int64_t[]){ 3, 2 },
	                                         (int64_t[]){ 1, 3 }, (void *)(uintptr_t)strided, true,
	                                         NULL, NULL, &a[HOP_NDTYPE + 2]), HOP_OK);
}

/* Saved and loaded, mapped and read: the same; none is a copy but the bools. */
static inline void round_trip(const char *file)
{
	const char *name[NALL], *path = in_folder(file);
	hop_array *a[NALL], *got;
	make_all(name, a);
	if (hop_file_save(ctx, path, NALL, name, a))
		fail_msg("%s", hop_message(ctx));
	for (int copy = 0; copy < 2; copy++) {
		hop_file *f;
		hop_array *kept = NULL;
		if (hop_file_load(ctx, path, HOP_FILE_OPTS(.copy = copy), &f))
			fail_msg("%s", hop_message(ctx));
		assert_int_equal(hop_file_count(f), NALL);
		for (int i = 0; i < NALL; i++) {
			assert_string_equal(hop_file_name(f, i), name[i]);
			if (hop_file_get(f, name[i], &got))
				fail_msg("%s", hop_message(ctx));
			same_array(got, a[i]);
			assert_int_equal(got->drop == hop_bytes_release, i != HOP_bool);
			if (i == HOP_f32)
				kept = hop_array_retain(got);
			hop_array_release(got);
		}
		hop_file_close(f);
		same_array(kept, a[HOP_f32]);                  /* it outlives the file */
		*(float *)kept->data = 99;                     /* ours alone: the next load sees nothing */
		hop_array_release(kept);
	}
	for (int i = 0; i < NALL; i++)
		hop_array_release(a[i]);
	unlink(path);
}

/* A part of a good file may not be one; a changed byte may, but nothing crashes. */
static inline void every_length(const char *p, size_t n)
{
	assert_int_equal(take_all(p, n), HOP_OK);
	for (size_t k = 0; k < n; k++)
		if (!take_all(p, k))
			fail_msg("%zu bytes of %zu are read", k, n);
}

static inline void every_byte(const char *p, size_t n)
{
	char *s = malloc(n);
	assert_non_null(s);
	for (size_t k = 0; k < n; k++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(s, p, n);
			s[k] = (char)(s[k] ^ 1 << bit);
			hop_status st = take_all(s, n);
			if (st && !*hop_message(ctx))
				fail_msg("byte %zu: status %d without a message", k, st);
		}
	free(s);
}

static inline char *read_file(const char *path, size_t *out_n)
{
	FILE *f = fopen(path, "rb");
	char *s = malloc(1 << 16);
	assert_true(f && s);
	*out_n = fread(s, 1, 1 << 16, f);
	fclose(f);
	return s;
}

static inline void write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

#endif
