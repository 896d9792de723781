/* aot_test.c -- functions written ahead of time from C: the public door, what it refuses, what it
 * leaves behind, and code of another machine, which is not run here. What the files compute is
 * scripts/check_build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hop/hop.h"
#include "target/llvm/elf.h"

/* ---- a folder, a context whose memory ends when we say so, two functions ---- */

typedef struct site {
	char     dir[64], path[96];
	hop_ctx *c;
	hop_fn  *f[2];
	long     live, left;           /* bytes; allocations until there are no more, < 0 = any */
} site;

static void *counted(void *user, void *p, size_t osize, size_t nsize)
{
	site *s = user;
	if (nsize && s->left == 0)
		return NULL;
	if (nsize && s->left > 0)
		s->left--;
	s->live += (long)nsize - (p ? (long)osize : 0);
	if (nsize)
		return realloc(p, nsize);
	free(p);
	return NULL;
}

static const char text[] =
	"hop 1\n"
	"graph @f<n: 1..9>(%0: f32[n], %1: f32[3]) {\n"
	"  %2 = tanh %0\n"
	"  %3 = sum %1 {axes = [0]}\n"
	"  %4 = broadcast %3 {dims = [n], axes = []}\n"
	"  %5 = add %2, %4\n"
	"  return %5\n"
	"}\n"
	"graph @g(%0: f64[4]) {\n"
	"  %1 = sin %0\n"
	"  print %1 {text = \"{}\"}\n"
	"  return %1\n"
	"}\n";
static const char *const names[] = { "f", "g" };

static void up(site *s)
{
	hop_ctx_opts o = { .size = sizeof o, .alloc = counted, .user = s };
	memset(s, 0, sizeof *s);
	s->left = -1;
	snprintf(s->dir, sizeof s->dir, "/tmp/hop-aot-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof s->path, "%s/model", s->dir);
	assert_int_equal(hop_ctx_new(&o, &s->c), HOP_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(hop_fn_parse(s->c, text, sizeof text - 1, names[i], &s->f[i]), HOP_OK);
}

/* How many files there are; they are removed. */
static int clear(const site *s)
{
	DIR *d = opendir(s->dir);
	char path[400];
	int n = 0;
	assert_non_null(d);
	for (struct dirent *x; (x = readdir(d)); ) {
		if (x->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", s->dir, x->d_name);
		remove(path);
		n++;
	}
	closedir(d);
	return n;
}

static void down(site *s)
{
	hop_fn_release(s->f[0]);
	hop_fn_release(s->f[1]);
	hop_ctx_free(s->c);
	assert_int_equal(s->live, 0);
	clear(s);
	assert_int_equal(rmdir(s->dir), 0);
}

static char *contents(const site *s, const char *name, size_t *out_n)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", s->dir, name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	char *p = malloc(1 << 20);
	assert_non_null(p);
	*out_n = fread(p, 1, (1 << 20) - 1, f);
	p[*out_n] = 0;
	fclose(f);
	return p;
}

static void has(const site *s, const char *name, const char *words)
{
	size_t n;
	char *p = contents(s, name, &n);
	if (!strstr(p, words))
		fail_msg("%s does not have: %s", name, words);
	free(p);
}

static void refused(site *s, hop_status st, hop_status want, const char *words)
{
	assert_int_equal(st, want);
	if (!strstr(hop_message(s->c), words))
		fail_msg("said: %s", hop_message(s->c));
	assert_int_equal(clear(s), 0);
}

/* ---- tests ---- */

static void test_writes(void **state)
{
	site s;
	size_t n;
	(void)state;
	up(&s);
	assert_int_equal(hop_aot_write(s.c, 2, s.f, names, s.path, NULL), HOP_OK);
	has(&s, "model.h", "MODEL_API int model_f(const float *in0, const float *in1, float *out0,");
	has(&s, "model.h", "#define MODEL_G_OUT0_COUNT 4");
	char *o = contents(&s, "model.o", &n);
	assert_memory_equal(o, "\177ELF", 4);
	free(o);
	assert_int_equal(clear(&s), 2);
	hop_aot_opts c = { .size = sizeof c, .emit_c = true };
	assert_int_equal(hop_aot_write(s.c, 1, s.f, names, s.path, &c), HOP_OK);
	has(&s, "model.c", "int model_f_raw(void *const *params");
	has(&s, "model.h", "\nint model_f(const float *in0");
	assert_int_equal(clear(&s), 2);
	down(&s);
}

static void capturing(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_add(t, in[0], hop_use(t, user)));
}

static void test_refuses(void **state)
{
	static const char *const twice[] = { "f", "f" };
	site s;
	hop_aot_opts o = { .size = 0 };
	hop_array *a;
	hop_fn *h;
	hop_spec spec = hop_spec0(HOP_f64);
	(void)state;
	up(&s);
	refused(&s, hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_EVALUE, "they have 0 bytes");
	o.size = sizeof o + 8;
	refused(&s, hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_EVALUE, "is the most this");
	o = (hop_aot_opts){ .size = sizeof o, .target = "nosuch" };
	refused(&s, hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_EVALUE, "there is no 'nosuch'");
	o = (hop_aot_opts){ .size = sizeof o, .triple = "nosuch" };
	refused(&s, hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_ETARGET, "no code for nosuch");
	o = (hop_aot_opts){ .size = sizeof o, .target = "llvm", .emit_c = true };
	refused(&s, hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_EUSE, "writes objects, not C");
	refused(&s, hop_aot_write(s.c, 2, s.f, twice, s.path, NULL), HOP_EVALUE, "model_f in C");
	refused(&s, hop_aot_write(s.c, 0, NULL, NULL, s.path, NULL), HOP_EUSE, "no function to build");
	refused(&s, hop_aot_write(s.c, 1, s.f, names, "/nosuch/model", NULL), HOP_EIO, "/nosuch/model.o");
	assert_int_equal(hop_aot_write(s.c, 1, NULL, names, s.path, NULL), HOP_EUSE);
	assert_int_equal(hop_aot_write(s.c, 1, s.f, names, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_array_new(s.c, HOP_f64, 0, NULL, NULL, &a), HOP_OK);
	assert_int_equal(hop_capture(s.c, capturing, a, 1, &spec, &h), HOP_OK);
	refused(&s, hop_aot_write(s.c, 1, &h, names, s.path, NULL), HOP_EREFUSED, "f captured 1 array");
	hop_fn_release(h);
	hop_array_release(a);
	down(&s);
}

/* The header cannot be written: the object that was is gone again. */
static void test_half(void **state)
{
	site s;
	char dir[128];
	(void)state;
	up(&s);
	snprintf(dir, sizeof dir, "%s.h", s.path);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(hop_aot_write(s.c, 1, s.f, names, s.path, NULL), HOP_EIO);
	assert_int_equal(clear(&s), 1);
	down(&s);
}

/* Whichever allocation fails: that status, no file, and nothing lost (down looks). */
static void test_no_memory(void **state)
{
	site s;
	hop_aot_opts o = { .size = sizeof o, .emit_c = true };
	hop_status st = HOP_ENOMEM;
	int n = 0;
	(void)state;
	up(&s);
	for (; st == HOP_ENOMEM && n < 20000; n++) {
		s.left = n;
		st = hop_aot_write(s.c, 2, s.f, names, s.path, &o);
		s.left = -1;
		assert_int_equal(clear(&s), st ? 0 : 2);
	}
	assert_int_equal(st, HOP_OK);
	assert_true(n > 10);
	down(&s);
}

/* An object of another machine is refused in words, not run: hop then says that it interprets. */
static void test_other_machine(void **state)
{
	site s;
	hop_image image;
	hop_aot_opts o = { .size = sizeof o, .triple = "aarch64-linux-gnu" };
	size_t n;
	(void)state;
	up(&s);
	assert_int_equal(hop_aot_write(s.c, 1, s.f, names, s.path, &o), HOP_OK);
	char *p = contents(&s, "model.o", &n);
	uint64_t size = n, room = 8 + (n + 7) / 8 * 8;
	char *list = calloc(1, room);
	assert_non_null(list);
	memcpy(list, &size, 8);
	memcpy(list + 8, p, n);
	assert_int_equal(p[18], 183 - 256);                 /* EM_AARCH64 */
	const char *why = hop_elf_load(list, room, "model_f_raw", &image);
	assert_non_null(why);
	assert_non_null(strstr(why, "code for another machine"));
	free(list);
	free(p);
	down(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_other_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
