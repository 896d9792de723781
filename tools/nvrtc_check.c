/* nvrtc_check [-a ARCH] [-o FILE] [-q] [-f | -m] [-g N] FILE.cu...  -- compile CUDA texts by NVRTC as
 * the CUDA target does, and say for each kernel what it takes: registers, bytes of local memory, spills,
 * shared memory. -f: as far as PTX, and that as fast as may be: what is no CUDA C is found nine times
 * as fast. -m: to the end, with less effort: twice as fast. -g: N texts at once, which saves what a text
 * costs however small it is; where that fails each is compiled alone, so that the right one is blamed.
 * -q: the kernels together. Needs no device. The library is $HOP_NVRTC, or the one that the system
 * finds. It does not link or run. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program program;
static struct {
	int         (*create)(program **p, const char *text, const char *name, int n, const char *const *h,
	                      const char *const *hn);
	int         (*compile)(program *p, int n, const char *const *options);
	int         (*log_size)(program *p, size_t *n);
	int         (*log)(program *p, char *s);
	int         (*cubin_size)(program *p, size_t *n);
	int         (*cubin)(program *p, char *s);
	int         (*destroy)(program **p);
	const char *(*why)(int code);
} nvrtc;

static int totals[4];          /* kernels, most registers, kernels that spill, all registers */

static void find(void *lib, const char *name, void *where)
{
	*(void **)where = dlsym(lib, name);
	if (!*(void **)where) {
		fprintf(stderr, "nvrtc_check: the library has no %s\n", name);
		exit(2);
	}
}
/* NVRTC opens libnvrtc-builtins by name alone: one that lies beside it is opened first, so that it is
 * found. */
static void open_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	char pattern[4096];
	glob_t g;

	if (!slash)
		return;
	snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - path), path);
	if (!glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++)
			dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
	globfree(&g);
}
static void open_library(void)
{
	const char *path = getenv("HOP_NVRTC");

	if (path)
		open_beside(path);
	void *lib = dlopen(path ? path : "libnvrtc.so", RTLD_NOW);

	if (!lib && !path)
		lib = dlopen("libnvrtc.so.13", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "skipped: NVRTC not there (%s)\n", dlerror());
		exit(3);
	}
	find(lib, "nvrtcCreateProgram", &nvrtc.create);
	find(lib, "nvrtcCompileProgram", &nvrtc.compile);
	find(lib, "nvrtcGetProgramLogSize", &nvrtc.log_size);
	find(lib, "nvrtcGetProgramLog", &nvrtc.log);
	find(lib, "nvrtcGetCUBINSize", &nvrtc.cubin_size);
	find(lib, "nvrtcGetCUBIN", &nvrtc.cubin);
	find(lib, "nvrtcDestroyProgram", &nvrtc.destroy);
	find(lib, "nvrtcGetErrorString", &nvrtc.why);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0, room = 1 << 16, got;
	char *s = malloc(room);

	if (!f || !s) {
		perror(path);
		exit(2);
	}
	while ((got = fread(s + n, 1, room - n - 1, f)) > 0)
		if ((n += got) + 1 == room && !(s = realloc(s, room *= 2)))
			exit(2);
	s[n] = 0;
	fclose(f);
	return s;
}

/* The assembler's report: a name, then spills, then registers, a line each. */
static void report(char *log, int quiet)
{
	char name[256] = "?", *at;
	int spills = 0, regs;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		if ((at = strstr(line, "Function properties for "))) {
			snprintf(name, sizeof name, "%s", at + 24);
		} else if ((at = strstr(line, "Compiling entry function '"))) {
			snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 26, "'"), at + 26);
		} else if ((at = strstr(line, "bytes stack frame"))) {
			char *spill = strstr(at, ", ");
			spills = spill ? atoi(spill + 2) : 0;
			while (at > line && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
				at--;
			if (!quiet)
				printf("  %s: %s", name, at + strspn(at, " "));
		} else if ((at = strstr(line, "Used "))) {
			regs = atoi(at + 5);
			totals[0]++;
			totals[1] = regs > totals[1] ? regs : totals[1];
			totals[2] += spills > 0;
			totals[3] += regs;
			if (!quiet)
				printf("; %s\n", at);
			spills = 0;
		} else if (!quiet && !strstr(line, "ptxas info")) {
			printf("  %s\n", line);
		}
	}
}

static void write_cubin(program *p, const char *path)
{
	FILE *f = fopen(path, "wb");
	size_t n;

	if (!f || nvrtc.cubin_size(p, &n)) {
		perror(path);
		return;
	}
	char *s = malloc(n);
	if (s && !nvrtc.cubin(p, s))
		fwrite(s, 1, n, f);
	free(s);
	fclose(f);
}

/* ---- compiling ---- */

static struct {
	const char *arch, *out;
	int         quiet, fast, middle, group;
} opt = { .arch = "sm_90a", .group = 1 };

/* Texts behind each other, each in a namespace of its own: C names would meet. */
static char *join(char **path, int n)
{
	size_t size = 1, used = 0;
	char *all = NULL;

	for (int i = 0; i < n; i++) {
		char *text = read_file(path[i]);
		for (char *at = text; n > 1 && (at = strstr(at, "extern \"C\" ")); )
			memset(at, ' ', strlen("extern \"C\" "));
		size += strlen(text) + 64;
		if (!(all = realloc(all, size)))
			exit(2);
		used += (size_t)sprintf(all + used, n > 1 ? "namespace n%d {\n" : "", i);
		used += (size_t)sprintf(all + used, "%s", text);
		used += (size_t)sprintf(all + used, n > 1 ? "\n}\n" : "");
		free(text);
	}
	return all;
}

static void tell(program *p, const char *name, int rc)
{
	size_t n;

	if (rc || !opt.quiet)
		printf("%s: %s\n", name, rc ? nvrtc.why(rc) : "compiles");
	if (nvrtc.log_size(p, &n) || n < 2)
		return;
	char *log = calloc(1, n + 1);
	nvrtc.log(p, log);
	report(log, opt.quiet && !rc);                 /* a text that does not compile says why */
	free(log);
}

/* 0 where they compile. Of several that do not nothing is said: see `check`. */
static int compile(char **path, int n)
{
	const char *split = getenv("NVRTC_SPLIT") ? "--split-compile=0" : "--split-compile=1";
	char arch[64], *text = join(path, n);
	const char *how = opt.fast ? "--Ofast-compile=max" : "--ptxas-options=-v";
	const char *options[] = { "--minimal", split, arch, how, "--Ofast-compile=mid" };
	program *p;

	snprintf(arch, sizeof arch, "-arch=%s%s", opt.fast ? "compute_" : "", opt.arch + (opt.fast ? 3 : 0));
	int rc = nvrtc.create(&p, text, path[0], 0, NULL, NULL);
	if (!rc) {
		rc = nvrtc.compile(p, opt.middle ? 5 : 4, options);
		if (!rc || n == 1)
			tell(p, path[0], rc);
		if (!rc && opt.out)
			write_cubin(p, opt.out);
		nvrtc.destroy(&p);
	}
	free(text);
	return rc != 0;
}

/* How many of them do not compile. */
static int check(char **path, int n)
{
	int bad = compile(path, n);

	if (!bad || n == 1)
		return bad;
	bad = 0;
	for (int i = 0; i < n; i++)
		bad += compile(path + i, 1);
	return bad;
}

int main(int argc, char **argv)
{
	const char *arch = getenv("HOP_CUDA_ARCH");
	int bad = 0, n = 0;

	if (arch && !strncmp(arch, "sm_", 3))
		opt.arch = arch;
	open_library();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-a") && i + 1 < argc)
			opt.arch = argv[++i];
		else if (!strcmp(argv[i], "-o") && i + 1 < argc)
			opt.out = argv[++i];
		else if (!strcmp(argv[i], "-g") && i + 1 < argc)
			opt.group = atoi(argv[++i]) > 1 ? atoi(argv[i]) : 1;
		else if (!strcmp(argv[i], "-q"))
			opt.quiet = 1;
		else if (!strcmp(argv[i], "-f"))
			opt.fast = 1;
		else if (!strcmp(argv[i], "-m"))
			opt.middle = 1;
		else
			argv[n++] = argv[i];
	}
	for (int i = 0; i < n; i += opt.group)
		bad += check(argv + i, n - i < opt.group ? n - i : opt.group);
	if (!opt.fast)
		printf("%d kernels, at most %d registers, %d together; %d spill\n", totals[0], totals[1],
		       totals[3], totals[2]);
	printf("%d passed, %d failed\n", n - bad, bad);
	return bad != 0;
}
