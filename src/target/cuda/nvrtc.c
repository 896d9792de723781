/* nvrtc.c -- open NVRTC, and text to cubin by it. It stays loaded for the life of the process. */
#include "target/cuda/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "target/find.h"

typedef void *program;

static struct nvrtc {
	int (*nvrtcVersion)(int *major, int *minor);
	int (*nvrtcCreateProgram)(program *out, const char *text, const char *name, int nheader,
	                          const char *const *header, const char *const *header_name);
	int (*nvrtcCompileProgram)(program p, int n, const char *const *option);
	int (*nvrtcGetCUBINSize)(program p, size_t *out);
	int (*nvrtcGetCUBIN)(program p, char *out);
	int (*nvrtcGetProgramLogSize)(program p, size_t *out);
	int (*nvrtcGetProgramLog)(program p, char *out);
	int (*nvrtcDestroyProgram)(program *p);
	const char *(*nvrtcGetErrorString)(int error);
} rt;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;
static char why[256];

/* ---- opening ---- */

static const char *name(int i)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" };
	const char *own = getenv("HOP_NVRTC");
	if (own && *own)
		return i ? NULL : own;
	return (size_t)i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* It looks for its tables by a bare name, also when it was opened by a path: those beside it. */
static void open_tables(const char *path)
{
	char pattern[4096];
	const char *slash = strrchr(path, '/');
	glob_t g;
	if (!slash)
		return;
	snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - path), path);
	if (!glob(pattern, 0, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
		globfree(&g);
	}
}

static void *open_lib(void)
{
	const char *n;
	void *h = NULL;
	for (int i = 0; !h && (n = name(i)); i++) {
		open_tables(n);
		h = dlopen(n, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	}
	return h;
}

static bool find(void *h, const char *symbol, void **out)
{
	*out = dlsym(h, symbol);
	if (!*out)
		snprintf(why, sizeof why, "NVRTC has no function %s: it is too old", symbol);
	return *out != NULL;
}

static bool fill(void)
{
	void *h = open_lib();
	if (!h) {
		const char *what = dlerror();
		snprintf(why, sizeof why, "there is no NVRTC, which compiles CUDA C (HOP_NVRTC names it): %s",
		         what ? what : "it does not open");
		return false;
	}
#define FIND(f) find(h, #f, (void **)&rt.f)
	return FIND(nvrtcVersion) && FIND(nvrtcCreateProgram) && FIND(nvrtcCompileProgram) &&
	       FIND(nvrtcGetCUBINSize) && FIND(nvrtcGetCUBIN) && FIND(nvrtcGetProgramLogSize) &&
	       FIND(nvrtcGetProgramLog) && FIND(nvrtcDestroyProgram) && FIND(nvrtcGetErrorString);
#undef FIND
}

static const char *load(void)
{
	hop_nofork_begin();
	pthread_mutex_lock(&lock);
	if (!is_open)
		is_open = fill();
	pthread_mutex_unlock(&lock);
	hop_nofork_end();
	return is_open ? NULL : why;
}

/* To look for the file takes longer than all the rest of loading from the cache: the first answer is
 * kept, and what it was the answer to. No lock: who took the place writes, others look again. */
static hop_hash expected(hop_env *e)
{
	static _Atomic uint64_t asked;                 /* 0 = nothing, BUSY = being written */
	static hop_hash answer;
	enum { BUSY = 1 };
	const char *own = getenv("HOP_NVRTC");
	uint64_t ask = hop_hash_bytes(own ? own : "", own ? strlen(own) : 0).lo | 2, none = 0;
	if (atomic_load_explicit(&asked, memory_order_acquire) == ask)
		return answer;
	hop_hash id = hop_library_expected(e, name);
	if ((id.lo || id.hi) && atomic_compare_exchange_strong(&asked, &none, BUSY)) {
		answer = id;
		atomic_store_explicit(&asked, ask, memory_order_release);
	}
	return id;
}

hop_hash hop_nvrtc_id(hop_env *e, bool opened)
{
	if (!opened)
		return expected(e);
	return load() ? (hop_hash){ 0, 0 } : hop_library_opened(*(void **)&rt.nvrtcVersion);
}

const char *hop_nvrtc_setting(void)
{
	return "--minimal";
}

/* ---- compiling ---- */

/* Line k of the text, from 1 on, without the spaces it begins with. */
static int line_at(const char *text, size_t n, int k, const char **out)
{
	const char *p = text, *end = text + n, *stop;
	for (; k > 1 && p < end; k--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	stop = memchr(p, '\n', (size_t)(end - p));
	*out = p;
	return (int)((stop ? stop : end) - p);
}

/* "NAME(LINE): error: ..." is how NVRTC speaks, others "NAME:LINE:": the first error, and the line it
 * means. */
static hop_status blame(hop_env *e, const char *log, const char *text, size_t n)
{
	const char *at = strstr(log, "error"), *line;
	int k = 0;
	while (at && at > log && at[-1] != '\n')
		at--;
	at = at ? at : log;
	const char *where = at + strcspn(at, "(:\n");
	if (*where)
		k = atoi(where + 1);
	hop_status st = hop_fail(e, 0, HOP_ETARGET, "NVRTC: %.*s", (int)strcspn(at, "\n"), at);
	if (k > 0) {
		int len = line_at(text, n, k, &line);
		hop_note(e, 0, "line %d: %.*s", k, len < 200 ? len : 200, line);
	}
	return st;
}

static hop_status refuse(hop_env *e, program p, int error, const char *text, size_t n)
{
	size_t size = 0;
	char *log;
	if (rt.nvrtcGetProgramLogSize(p, &size) || size < 2 || !(log = hop_raw_try(&e->mem, size + 1)))
		return hop_fail(e, 0, HOP_ETARGET, "NVRTC: %s", rt.nvrtcGetErrorString(error));
	log[0] = log[size] = 0;
	rt.nvrtcGetProgramLog(p, log);
	hop_status st = blame(e, log, text, n);
	hop_raw_free(&e->mem, log, size + 1);
	return st;
}

/* The cubin, by the hook: no exit for want of memory may be taken while NVRTC holds a program. */
static hop_status result(hop_env *e, program p, hop_bytes *out)
{
	int error = rt.nvrtcGetCUBINSize(p, &out->n);
	if (!error && !out->n)
		return hop_fail(e, 0, HOP_ETARGET, "NVRTC gave no cubin");
	out->p = error ? NULL : hop_raw_try(&e->mem, out->n);
	if (!error && !out->p)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for a cubin");
	if (!error)
		error = rt.nvrtcGetCUBIN(p, out->p);
	return error ? hop_fail(e, 0, HOP_ETARGET, "NVRTC: %s", rt.nvrtcGetErrorString(error)) : HOP_OK;
}

hop_status hop_nvrtc_open(hop_env *e)
{
	const char *missing = load();
	return missing ? hop_fail(e, 0, HOP_ETARGET, "%s", missing) : HOP_OK;
}

hop_status hop_nvrtc_cubin(hop_env *e, const char *text, size_t n, const char *arch, hop_bytes *out)
{
	char of[32];
	/* --split-compile works on several kernels at once; in 13.0 it was seen to wait for itself without
	 * end, and to fail to read what it wrote, once in some hundred texts: see pieces.c */
	const char *option[] = { "--minimal", of };
	program p = NULL;
	*out = (hop_bytes){ 0 };
	snprintf(of, sizeof of, "-arch=%s", arch);
	int error = rt.nvrtcCreateProgram(&p, text, "program.cu", 0, NULL, NULL);
	if (error)
		return hop_fail(e, 0, HOP_ETARGET, "NVRTC: %s", rt.nvrtcGetErrorString(error));
	error = rt.nvrtcCompileProgram(p, 2, option);
	hop_status st = error ? refuse(e, p, error, text, n) : result(e, p, out);
	rt.nvrtcDestroyProgram(&p);
	if (st) {
		hop_raw_free(&e->mem, out->p, out->n);
		*out = (hop_bytes){ 0 };
	}
	return st;
}
