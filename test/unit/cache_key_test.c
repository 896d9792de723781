/* cache_key_test.c -- what decides a cached object: the program, the options, the build
 * of hop however the process was started, the build of LLVM whether it was opened or not.
 * A build is played by a copy of this program with some bytes changed: called with a
 * word, it prints its key, or compiles and says where the code came from. */
#include "base/object.h"
#include "cache_rig.h"

static const char marker[] = "a constant of this program";

static bool same(hop_hash a, hop_hash b)
{
	return hop_hash_eq(a, b);
}

/* ---- one process ---- */

static hop_hash key_of(rig *r, const hop_target_opts *o)
{
	const hop_target *t;
	hop_machine m;
	assert_int_equal(hop_target_pick(&r->e, "llvm", &t), HOP_OK);
	assert_int_equal(t->machine(&r->e, o, &m), HOP_OK);
	return hop_cache_key(&r->e, t, &r->p, &m, o);
}

static hop_hash key(double scale, const hop_target_opts *o)
{
	hop_hash h;
	rig      r;

	build_scale(&r, scale);
	h = key_of(&r, o ? o : &r.opts);
	rig_down(&r);
	return h;
}

static void test_options(void **state)
{
	static const hop_target_opts other[] = {
		{ .level = 2 }, { .vector_bits = 128 }, { .no_threads = true }, { .parts = 2 },
	};
	enum { N = sizeof other / sizeof *other };
	hop_hash k[N + 3];

	(void)state;
	k[N] = key(2, NULL);
	assert_true(same(k[N], key(2, NULL)));
	assert_true(same(k[N], key(2, &(hop_target_opts){ .no_cache = true })));
	k[N + 1] = key(3, NULL);                     /* another program */
	setenv("HOP_LLVM", "/nowhere/libLLVM.so", 1);
	k[N + 2] = key(2, NULL);
	unsetenv("HOP_LLVM");
	for (int i = 0; i < N; i++)
		k[i] = key(2, &other[i]);
	for (int i = 0; i < N + 3; i++)
		for (int j = 0; j < i; j++)
			assert_false(same(k[i], k[j]));
	assert_false(same(hop_cache_key_maker(k[0], k[1]), hop_cache_key_maker(k[0], k[2])));
	assert_false(same(hop_cache_key_maker(k[0], k[1]), hop_cache_key_maker(k[2], k[1])));
}

/* What is expected before LLVM is opened is what is found when it is: otherwise nothing
 * would ever be found in the cache. */
static void test_expected(void **state)
{
	site    *s = *state;
	hop_hash before = hop_llvm_expected(&s->r.e), opened;

	assert_true(before.lo && before.hi);
	assert_false(use(2));
	opened = hop_llvm_opened();
	assert_true(same(before, opened));
	assert_true(same(before, hop_llvm_expected(&s->r.e)));
	assert_true(use(2));
	setenv("HOP_LLVM", "/nowhere/libLLVM.so", 1);
	assert_true(same(hop_llvm_expected(&s->r.e), (hop_hash){ 0, 0 }));
	setenv("HOP_LLVM", "libLLVM-of-nobody.so", 1);
	assert_true(same(hop_llvm_expected(&s->r.e), (hop_hash){ 0, 0 }));
	setenv("HOP_LLVM", "/etc/passwd", 1);
	assert_true(same(hop_llvm_expected(&s->r.e), (hop_hash){ 0, 0 }));
}

/* ---- copies of this program ---- */

typedef struct image {
	unsigned char *p;
	size_t         n;
} image;

static image read_self(void)
{
	int         fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	image       m;

	assert_int_equal(fstat(fd, &st), 0);
	m = (image){ malloc((size_t)st.st_size), (size_t)st.st_size };
	for (size_t k = 0; k < m.n;) {
		ssize_t r = read(fd, m.p + k, m.n - k);

		assert_true(r > 0);
		k += (size_t)r;
	}
	close(fd);
	return m;
}

static void write_image(const image *m, const char *path)
{
	FILE *f;

	unlink(path);                                /* it may be running */
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(m->p, 1, m->n, f), m->n);
	fclose(f);
	chmod(path, 0755);
}

/* The note of the build id: its three numbers, its name; the id follows. */
static unsigned char *note(const image *m)
{
	static const unsigned char head[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N',
	                                      'U', 0 };
	unsigned char *p = memmem(m->p, m->n, head, sizeof head);

	assert_non_null(p);
	return p;
}

/* What a program says. file is looked for in PATH when it has no slash. */
static void ask(const char *path, const char *file, const char *word, char *out,
                size_t cap)
{
	char *args[] = { (char *)(uintptr_t)file, (char *)(uintptr_t)word, NULL };
	int   pipes[2], st;
	pid_t pid;
	FILE *f;

	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		setenv("PATH", path, 1);
		execvp(file, args);
		_exit(127);
	}
	close(pipes[1]);
	f = fdopen(pipes[0], "r");
	assert_non_null(f);
	if (!fgets(out, (int)cap, f))
		*out = 0;
	fclose(f);
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_int_equal(st, 0);
}

/* Its answer, which must not depend on how it is started. */
static void answer(const site *s, const char *word, char *out)
{
	char full[160], other[64];

	snprintf(full, sizeof full, "%s/probe", s->top);
	ask(s->top, "probe", word, out, 64);
	ask("/usr/bin:/bin", full, word, other, sizeof other);
	if (!strcmp(word, "key"))
		assert_string_equal(out, other);
}

static void test_builds(void **state)
{
	site *s = *state;
	image m = read_self();
	char  probe[160], k[4][64];

	snprintf(probe, sizeof probe, "%s/probe", s->top);
	write_image(&m, probe);
	answer(s, "key", k[0]);
	note(&m)[20] ^= 0x55;                        /* another build */
	write_image(&m, probe);
	answer(s, "key", k[1]);
	note(&m)[8] = 9;                             /* a build without an id */
	write_image(&m, probe);
	answer(s, "key", k[2]);
	unsigned char *c = memmem(m.p, m.n, marker, sizeof marker);
	assert_non_null(c);
	*c ^= 1;                                     /* and another one */
	write_image(&m, probe);
	answer(s, "key", k[3]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(strlen(k[i]), 33);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(k[i], k[j]);
	}
	free(m.p);
}

/* An upgraded program does not run the code of the one before it. */
static void test_upgrade(void **state)
{
	site *s = *state;
	image m = read_self();
	char  probe[160], path[160], from[64];

	snprintf(probe, sizeof probe, "%s/probe", s->top);
	snprintf(path, sizeof path, "%s:/usr/bin:/bin", s->top);
	for (int i = 0; i < 2; i++) {
		note(&m)[16 + i] ^= 0x55;
		write_image(&m, probe);
		ask(path, "probe", "use", from, sizeof from);
		assert_string_equal(from, "compiled\n");
		ask(path, "probe", "use", from, sizeof from);
		assert_string_equal(from, "cached\n");
		ask("/usr/bin:/bin", probe, "use", from, sizeof from);
		assert_string_equal(from, "cached\n");
	}
	free(m.p);
}

/* ---- builds of LLVM: a copy of this program stands for one ---- */

static void test_llvm_file(void **state)
{
	site    *s = *state;
	image    m = read_self();
	char     lib[160];
	hop_hash k[4], self, file;

	snprintf(lib, sizeof lib, "%s/libLLVM.so.19.1", s->top);
	setenv("HOP_LLVM", lib, 1);
	write_image(&m, lib);
	k[0] = hop_llvm_expected(&s->r.e);
	assert_true(hop_object_id(marker, &self));
	assert_true(same(k[0], self));               /* in memory as on disk */
	assert_true(hop_object_file(lib, &file));
	assert_true(same(k[0], file));
	note(&m)[20] ^= 0x55;
	write_image(&m, lib);
	k[1] = hop_llvm_expected(&s->r.e);
	note(&m)[8] = 9;
	write_image(&m, lib);
	k[2] = hop_llvm_expected(&s->r.e);
	assert_true(same(k[2], hop_llvm_expected(&s->r.e)));
	write_image(&m, lib);                        /* the same again, but a new file */
	utimensat(AT_FDCWD, lib, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0);
	k[3] = hop_llvm_expected(&s->r.e);
	for (int i = 0; i < 4; i++) {
		assert_true(k[i].lo && k[i].hi);
		for (int j = 0; j < i; j++)
			assert_false(same(k[i], k[j]));
	}
	for (size_t n = 0; n < 4096; n += 64) {      /* cut short: refused or told apart */
		assert_int_equal(truncate(lib, (off_t)n), 0);
		hop_object_file(lib, &file);
		write_image(&m, lib);
	}
	free(m.p);
}

/* The loader would take another LLVM from LD_LIBRARY_PATH, so another one is expected. */
static void test_llvm_path(void **state)
{
	site *s = *state;
	image m = read_self();
	char  probe[160], lib[160], plain[64], there[64];

	snprintf(probe, sizeof probe, "%s/probe", s->top);
	snprintf(lib, sizeof lib, "%s/libLLVM.so.19.1", s->top);
	write_image(&m, probe);
	ask(s->top, "probe", "llvm", plain, sizeof plain);
	write_image(&m, lib);
	ask(s->top, "probe", "llvm", there, sizeof there);
	assert_string_equal(plain, there);           /* not on the loader's way */
	setenv("LD_LIBRARY_PATH", s->top, 1);
	ask(s->top, "probe", "llvm", there, sizeof there);
	unsetenv("LD_LIBRARY_PATH");
	assert_string_not_equal(plain, there);
	free(m.p);
}

/* ---- the copies' side ---- */

static void print(hop_hash h)
{
	printf("%016llx%016llx\n", (unsigned long long)h.hi, (unsigned long long)h.lo);
}

static int probe(const char *word)
{
	rig r;

	if (!strcmp(word, "use")) {
		puts(use(2) ? "cached" : "compiled");
		return 0;
	}
	build_scale(&r, 2);
	print(!strcmp(word, "key") ? key_of(&r, &r.opts) :
	                             hop_llvm_expected(&r.e));
	rig_down(&r);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		site_test(test_options), site_test(test_expected), site_test(test_builds),
		site_test(test_upgrade), site_test(test_llvm_file), site_test(test_llvm_path),
	};

	if (argc > 1)
		return probe(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
