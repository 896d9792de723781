/* nvrtc.c -- NVRTC for a device that is emulated: the host's C++ compiler makes an object of a text,
 * behind text.hpp. What is compiled is the text that a device would get; how fast it runs is not
 * asked. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/inside.h"

enum { NVRTC_SUCCESS = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_INPUT = 3, NVRTC_COMPILATION = 6 };

static const char header[] = {
#include "emu.h.inc"
#include "text.hpp.inc"
	0
};

typedef struct program { char *text, *object, *log; size_t nobject; } program;

static char *read_whole(const char *path, size_t *out_n)
{
	FILE *f = fopen(path, "rb");
	char *s = NULL;
	long n = -1;

	if (f && !fseek(f, 0, SEEK_END))
		n = ftell(f);
	if (n >= 0 && (s = malloc(n + 1))) {
		rewind(f);
		n = (long)fread(s, 1, n, f);
		s[n] = 0;
		*out_n = (size_t)n;
	}
	if (f)
		fclose(f);
	return s;
}

/* ---- kernels ---- */

/* How many bytes a parameter of this type has: addresses and long ones 8. */
static int width(const char *s, const char *end)
{
	static const char *const wide[] = { "*", "long", "64", "hop_word", "double" };

	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
		size_t n = strlen(wide[i]);
		for (const char *at = s; at + n <= end; at++)
			if (!memcmp(at, wide[i], n))
				return 8;
	}
	return 4;
}
/* A word a kernel, so that launches know how to hand over what they are given. */
static void put_params(FILE *f, const char *text)
{
	for (const char *s = text; (s = strstr(s, "__global__")); ) {
		const char *open = strchr(s, '('), *bounds = strstr(s, "__launch_bounds__");
		if (bounds && open && bounds < open) {
			open = strchr(open, ')');
			open = open ? strchr(open, '(') : NULL;
		}
		const char *end = open ? strchr(open, ')') : NULL, *name;
		s += 10;
		if (!end)
			continue;
		for (name = open; isalnum((unsigned char)name[-1]) || name[-1] == '_'; name--)
			;
		fprintf(f, "extern \"C\" const char hop_emu_params_%.*s[] = \"", (int)(open - name), name);
		for (const char *p = open + 1; p < end; ) {
			const char *stop = memchr(p, ',', end - p);
			stop = stop ? stop : end;
			fprintf(f, "%d", width(p, stop));
			p = stop + 1;
		}
		fprintf(f, "\";\n");
	}
}
static int write_text(const program *p, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return NVRTC_INVALID_INPUT;
	fputs(header, f);
	fprintf(f, "#line 1 \"%s\"\n", emu_settings()->keep ? path : "program.cu");
	fputs(p->text, f);
	put_params(f, p->text);
	return fclose(f) ? NVRTC_INVALID_INPUT : NVRTC_SUCCESS;
}

/* ---- compiling ---- */

static int compile(program *p, const char *dir, const char *stem)
{
	char in[600], out[600], log[600], command[4000];
	size_t n;

	snprintf(in, sizeof in, "%s/%s.cu", dir, stem);
	snprintf(out, sizeof out, "%s/%s.so", dir, stem);
	snprintf(log, sizeof log, "%s/%s.log", dir, stem);
	int code = write_text(p, in);
	if (code)
		return code;
	const char *check = emu_settings()->check ?
	                    "-fsanitize=thread --param tsan-distinguish-volatile=1" : "";
	snprintf(command, sizeof command, "%s -std=c++17 -x c++ -w -O0 -g1 -fPIC -shared -nostdlib "
	         "-fno-exceptions -fno-rtti -fwrapv -fno-strict-aliasing -ffp-contract=off %s -o %s %s "
	         "-Wl,-z,defs -lm -lc >%s 2>&1", emu_settings()->cxx, check, out, in, log);
	code = system(command) ? NVRTC_COMPILATION : NVRTC_SUCCESS;
	p->log = read_whole(log, &n);
	if (!code && !(p->object = read_whole(out, &p->nobject)))
		code = NVRTC_OUT_OF_MEMORY;
	if (!emu_settings()->keep) {
		unlink(in);
		unlink(out);
		unlink(log);
	}
	return code;
}
static unsigned long long hash(const char *s)
{
	unsigned long long h = 0xcbf29ce484222325u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3u;
	return h;
}
/* Equal ones once; the name is there when all of it is. */
static int put_aside(program *p, const char *dir)
{
	char path[600], name[640];

	snprintf(path, sizeof path, "%s/%016llx.cu", dir, hash(p->text));
	snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
	FILE *f = fopen(name, "w");
	if (!f || fputs(p->text, f) < 0 || fclose(f) || rename(name, path))
		return NVRTC_INVALID_INPUT;
	p->log = strdup("error: texts are kept, not compiled");
	return NVRTC_COMPILATION;
}

int nvrtcCompileProgram(program *p, int n, const char *const *options)
{
	char dir[512], stem[64];

	(void)n, (void)options;
	if (emu_settings()->texts)
		return put_aside(p, emu_settings()->texts);
	snprintf(stem, sizeof stem, "emu-%016llx", hash(p->text));
	if (emu_settings()->keep)
		return compile(p, emu_settings()->keep, stem);
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof dir, "%s/emu-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return NVRTC_INVALID_INPUT;
	int code = compile(p, dir, stem);
	rmdir(dir);
	return code;
}

int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 0;
	return NVRTC_SUCCESS;
}
int nvrtcCreateProgram(program **out, const char *text, const char *name, int n,
                       const char *const *headers, const char *const *names)
{
	(void)name, (void)headers, (void)names;
	if (n)
		return NVRTC_INVALID_INPUT;
	*out = calloc(1, sizeof **out);
	if (!*out || !((*out)->text = strdup(text)))
		return NVRTC_OUT_OF_MEMORY;
	return NVRTC_SUCCESS;
}
int nvrtcDestroyProgram(program **p)
{
	free((*p)->text);
	free((*p)->object);
	free((*p)->log);
	free(*p);
	*p = NULL;
	return NVRTC_SUCCESS;
}
int nvrtcGetCUBINSize(program *p, size_t *out)
{
	*out = p->nobject;
	return NVRTC_SUCCESS;
}
int nvrtcGetCUBIN(program *p, char *out)
{
	memcpy(out, p->object, p->nobject);
	return NVRTC_SUCCESS;
}
int nvrtcGetProgramLogSize(program *p, size_t *out)
{
	*out = p->log ? strlen(p->log) + 1 : 1;
	return NVRTC_SUCCESS;
}
int nvrtcGetProgramLog(program *p, char *out)
{
	strcpy(out, p->log ? p->log : "");
	return NVRTC_SUCCESS;
}
const char *nvrtcGetErrorString(int code)
{
	return code == NVRTC_COMPILATION ? "the host's compiler failed" : code ? "an error" : "no error";
}
