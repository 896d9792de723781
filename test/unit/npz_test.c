/* npz_test.c -- .npz files: round trips, archives that others write, and archives that are refused:
 * one wrong number each. Against Python's zipfile they are held by scripts/check_files. */
#include "file_rig.h"

#include <sys/stat.h>

#include "io/inflate.h"
#include "io/npy.h"

/* ---- archives by hand ---- */

/* The archive, and where the records of its members are. */
struct archive {
	char   s[4096];
	size_t n, header[4], row[4], end;
};

static void put(struct archive *z, const void *p, size_t n)
{
	assert_true(z->n + n <= sizeof z->s);
	if (n)
		memcpy(z->s + z->n, p, n);
	z->n += n;
}

static void num(struct archive *z, uint64_t v, int n)
{
	for (; n--; v >>= 8)
		put(z, &(char){ (char)v }, 1);
}

struct member {
	const char *name;
	const char *packed;            /* deflated; or NULL, and then it is stored */
	size_t      npacked;
	const char *data;
	size_t      n;
};

static uint32_t crc_of(const void *p, size_t n)
{
	static hop_crc c;
	hop_crc_init(&c);
	return hop_crc_of(&c, 0, p, n);
}

static void head(struct archive *z, const struct member *m)
{
	num(z, 20, 2);
	num(z, 0, 2);
	num(z, m->packed ? 8 : 0, 2);
	num(z, 0x00210000, 4);
	num(z, crc_of(m->data, m->n), 4);
	num(z, m->packed ? m->npacked : m->n, 4);
	num(z, m->n, 4);
	num(z, strlen(m->name), 2);
	num(z, 0, 2);
}

static void build(struct archive *z, int n, const struct member *m)
{
	*z = (struct archive){ 0 };
	for (int i = 0; i < n; i++) {
		z->header[i] = z->n;
		put(z, "PK\3\4", 4);
		head(z, &m[i]);
		put(z, m[i].name, strlen(m[i].name));
		put(z, m[i].packed ? m[i].packed : m[i].data, m[i].packed ? m[i].npacked : m[i].n);
	}
	size_t dir = z->n;
	for (int i = 0; i < n; i++) {
		z->row[i] = z->n;
		put(z, "PK\1\2\24\0", 6);
		head(z, &m[i]);
		num(z, 0, 6);
		num(z, 0, 4);
		num(z, z->header[i], 4);
		put(z, m[i].name, strlen(m[i].name));
	}
	z->end = z->n;
	put(z, "PK\5\6\0\0\0\0", 8);
	num(z, (uint64_t)n, 2);
	num(z, (uint64_t)n, 2);
	num(z, z->end - dir, 4);
	num(z, dir, 4);
	num(z, 0, 2);
}

#define NPY(shape) "\x93NUMPY\x01\x00\x38\x00{'descr': '<i4', 'fortran_order': False, 'shape': " \
	shape "}\n"
static const char one[] = NPY("(1,)") "\7\0\0", two[] = NPY("(2,)") "\1\0\0\0\2\0\0";
#define ONE { "a.npy", NULL, 0, one, sizeof one }
#define TWO { "b.npy", NULL, 0, two, sizeof two }

static void good(struct archive *z)
{
	build(z, 2, (struct member[]){ ONE, TWO });
}

static void by_hand(void **state)
{
	struct archive z;
	hop_file *f;
	hop_array *a, *b;
	(void)state;
	good(&z);
	if (open_bytes(z.s, z.n, &f))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_file_count(f), 2);
	assert_string_equal(hop_file_path(f), "file");
	assert_string_equal(hop_file_name(f, 1), "b");
	assert_int_equal(hop_file_find(f, "b"), 1);
	assert_int_equal(hop_file_find(f, "c"), -1);
	assert_int_equal(hop_file_find(f, NULL), -1);
	if (hop_file_get(f, "b", &b))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_array_count(b), 2);
	assert_true(hop_array_at(b, 1) == 2);
	said(hop_file_get(f, "c", &a), HOP_EVALUE, "there is no array c");
	assert_null(a);
	assert_int_equal(hop_file_array(f, 2, &a), HOP_EUSE);
	assert_int_equal(hop_file_array(f, -1, &a), HOP_EUSE);
	assert_null(hop_file_name(f, 2));
	hop_file_close(f);
	assert_true(hop_array_at(b, 0) == 1);
	hop_array_release(b);
	every_length(z.s, z.n);
	every_byte(z.s, z.n);
	build(&z, 0, NULL);
	assert_int_equal(open_bytes(z.s, z.n, &f), HOP_OK);
	assert_int_equal(hop_file_count(f), 0);
	hop_file_close(f);
	hop_file_close(NULL);
	assert_int_equal(hop_file_count(NULL), 0);
}

/* One number of a good archive is another. */
enum where { AT, END, ROW0, ROW1, HEADER0, HEADER1 };

static void wrong_numbers(void **state)
{
	static const struct { enum where where; size_t at; int n; uint64_t v; const char *words; } c[] = {
		{ END, 4, 2, 1, "one of several" }, { END, 6, 2, 1, "one of several" },
		{ END, 8, 2, 1, "one of several" }, { END, 10, 2, 3, "one of several" },
		{ END, 8, 4, 0x10001, "more than it says" }, { END, 8, 4, 0x30003, "directory is cut off" },
		{ END, 8, 4, 0xffffffff, "directory is cut off" },
		{ END, 12, 4, 0, "not where it should be" }, { END, 12, 4, 0xffffffff, "not where" },
		{ END, 16, 4, 0, "not where it should be" }, { END, 16, 4, 0xffffffff, "not where" },
		{ END, 20, 2, 1, "no directory, or is cut off" },
		{ ROW0, 0, 1, 0, "directory is cut off" }, { ROW0, 28, 2, 60000, "directory is cut off" },
		{ ROW0, 30, 2, 60000, "directory is cut off" }, { ROW0, 32, 2, 60000, "is cut off" },
		{ ROW0, 28, 2, 4, "another name" }, { ROW1, 30, 2, 1, "directory is cut off" },
		{ ROW0, 8, 2, 1, "a.npy: it is encrypted" }, { ROW0, 8, 2, 1 << 5, "packed in another" },
		{ ROW0, 8, 2, 1 << 13, "packed in another way" }, { ROW0, 10, 2, 12, "packed in another" },
		{ ROW0, 34, 2, 1, "in another archive" }, { ROW0, 16, 4, 1, "disagree" },
		{ ROW0, 20, 4, 1, "two lengths" }, { ROW0, 24, 4, 1, "two lengths" },
		{ ROW0, 20, 8, 0xffffffffffffffff, "extra field" }, { ROW0, 42, 4, 0xffffffff, "extra" },
		{ ROW0, 20, 8, 0x0000ffff0000ffff, "reaches past the directory" },
		{ ROW0, 42, 4, 1, "not where it should be" }, { ROW1, 42, 4, 0, "another name" },
		{ ROW0, 42, 4, 0x7fffffff, "not where it should be" }, { ROW0, 46, 1, 'b', "another name" },
		{ ROW0, 46, 1, 0, "not UTF-8" }, { ROW0, 46, 1, '\n', "control characters" },
		{ ROW0, 46, 1, 0x80, "not UTF-8" }, { ROW0, 46, 2, 0xa9c3, "old code page" },
		{ ROW0, 28, 2, 0, "or is empty" },
		{ HEADER0, 0, 1, 0, "neither an .npz" }, { HEADER1, 3, 1, 0, "not where it should be" },
		{ HEADER1, 26, 2, 60000, "reaches past the directory" },
		{ HEADER1, 28, 2, 60000, "reaches past the directory" },
		{ HEADER1, 26, 2, 4, "another name" }, { HEADER1, 30, 1, 'c', "another name" },
		{ HEADER1, 28, 2, 1, "past the directory" }, { HEADER0, 28, 2, 2, "extra field" },
		{ HEADER0, 14, 4, 1, "disagree" }, { HEADER0, 18, 4, 1, "disagree" },
		{ HEADER0, 22, 4, 1, "disagree" }, { HEADER0, 8, 2, 8, "disagree" },
		{ HEADER0, 6, 2, 8, "disagree" }, { HEADER0, 22, 4, 0xffffffff, "extra field" },
		{ HEADER0, 35 + 66, 1, 5, "checksum is wrong" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		struct archive z;
		good(&z);
		size_t from[] = { 0, z.end, z.row[0], z.row[1], z.header[0], z.header[1] };
		for (int k = 0; k < c[i].n; k++)
			z.s[from[c[i].where] + c[i].at + (size_t)k] = (char)(c[i].v >> 8 * k);
		hop_status st = take_all(z.s, z.n);
		if (st != HOP_EPARSE || !strstr(hop_message(ctx), c[i].words))
			fail_msg("case %zu: %d: %s lacks: %s", i, st, hop_message(ctx), c[i].words);
	}
}

/* Members that lie in each other, with gaps, twice, and what is no member. */
static void wrong_places(void **state)
{
	struct archive z;
	(void)state;
	good(&z);
	memmove(z.s + 1, z.s, z.n);
	z.s[0] = 'x';
	refused(z.s, z.n + 1, "neither an .npz");
	build(&z, 2, (struct member[]){ ONE, ONE });
	refused(z.s, z.n, "a.npy: two members have this name");
	build(&z, 1, (struct member[]){ { "a.txt", NULL, 0, one, sizeof one } });
	refused(z.s, z.n, "a.txt is no .npy");
	build(&z, 1, (struct member[]){ { ".npy", NULL, 0, one, sizeof one } });
	refused(z.s, z.n, ".npy is no .npy");
	build(&z, 1, (struct member[]){ { "a.npy", NULL, 0, one, sizeof one - 1 } });
	refused(z.s, z.n, "needs 4 bytes of elements, there are 3");
	assert_non_null(strstr(hop_message(ctx), "in file"));
	build(&z, 1, (struct member[]){ { "a.npy", NULL, 0, "", 0 } });
	refused(z.s, z.n, "a.npy: not a .npy file");
	/* the first member's bytes are a whole member: two rows for what is one inside the other */
	struct archive inner;
	build(&inner, 1, (struct member[]){ TWO });
	build(&z, 2, (struct member[]){ { "a.npy", NULL, 0, inner.s, inner.row[0] }, TWO });
	size_t at = z.header[0] + 35;
	for (int k = 0; k < 4; k++)
		z.s[z.row[1] + 42 + (size_t)k] = (char)(at >> 8 * k);
	refused(z.s, z.n, "overlaps with another");
	/* a row less: its member belongs to nobody */
	good(&z);
	memmove(z.s + z.row[1], z.s + z.end, z.n - z.end);
	z.n -= z.end - z.row[1];
	z.end = z.row[1];
	z.s[z.end + 8] = z.s[z.end + 10] = 1;
	z.s[z.end + 12] = (char)(z.row[1] - z.row[0]);
	refused(z.s, z.n, "a.npy: bytes behind it belong to no member");
	good(&z);
	memmove(z.s + z.row[0], z.s + z.row[1], z.n - z.row[1]);
	z.n -= z.row[1] - z.row[0];
	z.end -= z.row[1] - z.row[0];
	z.s[z.end + 8] = z.s[z.end + 10] = 1;
	z.s[z.end + 12] = (char)(z.end - z.row[0]);
	refused(z.s, z.n, "b.npy: there are bytes before it that belong to no member");
	refused(one, sizeof one, "put it into an .npz");
	refused("", 0, "neither an .npz");
	refused("PK\5\6", 4, "it is cut off");
}

/* ---- unpacking ---- */

static const char fixed[] = "\313\310\057\120\310\100\305\212";

static void inflate(void **state)
{
	static const struct { const char *s; size_t n; } bad[] = {
		{ "", 0 }, { "\7", 1 }, { "\3", 1 },                       /* no such block; cut off */
		{ "\1\5\0\372\377hell", 9 }, { "\1\5\0\372\376hello", 10 }, /* short; wrong complement */
		{ "\0\5\0\372\377hello", 10 },                             /* no last block */
		{ "\1\5\0\372\377hello!", 11 },                            /* more than it needs */
		{ "\1\6\0\371\377hello!", 11 },                            /* too much for its place */
		{ "\1\4\0\373\377hell", 9 },                               /* too little */
		{ "\5\340\201\0\0\0\0\0", 8 }, { "\375\377\377\377\377\377", 6 },
		{ "\113\4\2\0", 4 }, { "\143\300\0", 3 },
	};
	char to[20];
	(void)state;
	assert_true(hop_inflate("\3\0", 2, to, 0));
	assert_true(hop_inflate("\1\5\0\372\377hello", 10, to, 5));
	assert_memory_equal(to, "hello", 5);
	assert_true(hop_inflate("\0\2\0\375\377he\1\3\0\374\377llo", 15, to, 5));
	assert_memory_equal(to, "hello", 5);
	assert_true(hop_inflate(fixed, sizeof fixed, to, 20));
	assert_memory_equal(to, "hop hop hop hop hop!", 20);
	for (size_t k = 0; k < 20; k++)
		assert_false(hop_inflate(fixed, sizeof fixed, to, k));
	for (size_t k = 0; k < sizeof fixed; k++)
		assert_false(hop_inflate(fixed, k, to, 20));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (hop_inflate(bad[i].s, bad[i].n, to, 5))
			fail_msg("stream %zu unpacks", i);
}

static void packed(void **state)
{
	struct archive z;
	char block[200] = { 1, (char)sizeof one, 0, (char)~sizeof one, (char)0xff };
	struct member m = { "a.npy", block, sizeof one + 5, one, sizeof one };
	hop_file *f;
	hop_array *a;
	(void)state;
	memcpy(block + 5, one, sizeof one);
	build(&z, 1, &m);
	if (open_bytes(z.s, z.n, &f) || hop_file_get(f, "a", &a))
		fail_msg("%s", hop_message(ctx));
	hop_file_close(f);
	assert_true(hop_array_at(a, 0) == 7);
	hop_array_release(a);
	every_length(z.s, z.n);
	every_byte(z.s, z.n);
	block[0] = 7;
	build(&z, 1, &m);
	refused(z.s, z.n, "a.npy: it does not unpack");
	block[0] = 1;
	build(&z, 1, &m);                                  /* says that it is huge */
	for (size_t k = 0; k < 2; k++)
		memcpy(z.s + (k ? z.row[0] + 24 : z.header[0] + 22), "\377\377\377\177", 4);
	refused(z.s, z.n, "so few bytes cannot hold 2147483647");
}

/* ---- files ---- */

static void saved(void **state)
{
	(void)state;
	round_trip("x.npz");
}

/* Through a pipe, which cannot be mapped and does not know its size; and from what never ends. */
static void streams(void **state)
{
	struct archive z;
	char path[120], pipe[120], line[300];
	hop_file *f;
	hop_array *a;
	(void)state;
	good(&z);
	snprintf(path, sizeof path, "%s", in_folder("x"));
	snprintf(pipe, sizeof pipe, "%s", in_folder("pipe"));
	write_file(path, z.s, z.n);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	snprintf(line, sizeof line, "cat %s >%s &", path, pipe);
	assert_int_equal(system(line), 0);
	if (hop_file_load(ctx, pipe, NULL, &f) || hop_file_get(f, "b", &a))
		fail_msg("%s", hop_message(ctx));
	assert_true(hop_array_at(a, 1) == 2);
	hop_array_release(a);
	hop_file_close(f);
	unlink(pipe);
	unlink(path);
	said(hop_file_load(ctx, "/dev/zero", NULL, &f), HOP_EIO, "is no plain file");
}

static void bad_saves(void **state)
{
	hop_array *a[2] = { array(HOP_f32, 0, NULL, NULL), array(HOP_f32, 0, NULL, NULL) };
	hop_array *lack[2] = { a[0], NULL };
	hop_file *f;
	char path[120];
	(void)state;
	snprintf(path, sizeof path, "%s", in_folder("x.npz"));
#define SAVE(...) hop_file_save(ctx, path, 2, (const char *[]){ __VA_ARGS__ }, a)
	said(SAVE("x", "x"), HOP_EVALUE, "two arrays are called x");
	said(SAVE("x", ""), HOP_EVALUE, "name of array 1 is empty");
	said(SAVE("x\n", "y"), HOP_EVALUE, "name of array 0");
	said(SAVE("x", "\xff"), HOP_EVALUE, "not UTF-8");
	said(SAVE("x", NULL), HOP_EUSE, "array 1 or its name is missing");
	said(hop_file_save(ctx, path, 2, (const char *[]){ "x", "y" }, lack), HOP_EUSE, "array 1 or its");
	said(hop_file_save(ctx, "x.zip", 2, (const char *[]){ "x", "y" }, a), HOP_EVALUE, "ends in .npz");
	said(hop_file_save(ctx, "/nowhere/x.npz", 2, (const char *[]){ "x", "y" }, a), HOP_EIO,
	     "No such file");
	said(hop_file_save(ctx, in_folder("x.safetensors"), 2,
	                   (const char *[]){ "x", "__metadata__" }, a), HOP_EVALUE, "__metadata__");
	assert_int_equal(hop_file_save(ctx, path, 1, NULL, a), HOP_EUSE);
	assert_int_equal(hop_file_save(NULL, path, 0, NULL, NULL), HOP_EUSE);
	said(hop_file_load(ctx, path, NULL, &f), HOP_EIO, "No such file");
	assert_null(f);
	said(hop_file_load(ctx, folder, NULL, &f), HOP_EIO, "s a directory");
	hop_file_opts o = { .size = 0 };
	said(hop_file_load(ctx, path, &o, &f), HOP_EVALUE, "0 bytes");
	assert_int_equal(SAVE("x", "y"), HOP_OK);
	assert_int_equal(hop_file_load(ctx, path, NULL, &f), HOP_OK);
	assert_int_equal(hop_file_save(ctx, path, 0, NULL, NULL), HOP_OK);   /* replaced: f is the old */
	assert_int_equal(hop_file_count(f), 2);
	hop_array *x;
	assert_int_equal(hop_file_get(f, "x", &x), HOP_OK);
	hop_array_release(x);
	hop_file_close(f);
	write_file(path, "", 0);
	said(hop_file_load(ctx, path, NULL, &f), HOP_EPARSE, "neither an .npz");
	unlink(path);
	hop_array_release(a[0]);
	hop_array_release(a[1]);
#undef SAVE
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand), cmocka_unit_test(wrong_numbers),
		cmocka_unit_test(wrong_places), cmocka_unit_test(inflate), cmocka_unit_test(packed),
		cmocka_unit_test(saved), cmocka_unit_test(streams), cmocka_unit_test(bad_saves),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}

#undef NPY
#undef ONE
#undef TWO
