/* cc.c -- run the C compiler without a shell, in a directory of its own that is removed whatever
 * happens. Nothing here takes the exit for "no memory", which would leave the directory behind.
 * Does not look at the C text. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/c/cc.h"

extern char **environ;

enum { PATH = 512, WORDS = 64, SAID = 600 };

static const char *compiler(void)
{
	const char *own = getenv("HOP_CC");
	return own && *own ? own : "cc";
}

static const char *more_flags(void)
{
	const char *own = getenv("HOP_CFLAGS");
	return own ? own : "";
}

/* ---- the command ---- */

typedef struct command {
	const char *word[WORDS + 1];
	int         n;
	char        name[PATH], bits[40], level[8], own[1024];
} command;

/* What is wanted: a shared object for this process, or an object for whoever links it. */
enum kind { SHARED, OBJECT };

static void word(command *c, const char *s)
{
	if (c->n < WORDS)
		c->word[c->n++] = s;
}

/* Sums may be fused with products, as LLVM does; errno is nobody's. */
static void make_command(command *c, const hop_target_opts *o, enum kind k, const char *in,
                         const char *out)
{
	char *next;
	*c = (command){ 0 };
	snprintf(c->name, sizeof c->name, o->triple ? "%s-gcc" : "%s",
	         o->triple ? o->triple : compiler());
	word(c, c->name);
	word(c, "-std=c11");
	snprintf(c->level, sizeof c->level, "-O%d", o->level ? o->level : 3);
	word(c, k == SHARED && hop_look() & HOP_LOOK_GDB ? "-Og" : c->level);
	if (k == SHARED && hop_look() & HOP_LOOK_GDB)
		word(c, "-g");
#if defined(__x86_64__)
	if (!o->triple)
		word(c, "-march=native");
	if (o->vector_bits) {
		snprintf(c->bits, sizeof c->bits, "-mprefer-vector-width=%d", o->vector_bits);
		word(c, c->bits);
	}
#endif
	word(c, "-ffp-contract=fast");
	word(c, "-fno-math-errno");
	word(c, "-fno-trapping-math");
	word(c, "-w");
	word(c, k == SHARED ? "-shared" : "-c");
	word(c, "-fPIC");
	snprintf(c->own, sizeof c->own, "%s", more_flags());
	for (char *s = strtok_r(c->own, " \t", &next); s; s = strtok_r(NULL, " \t", &next))
		word(c, s);
	word(c, "-o");
	word(c, out);
	word(c, in);
	if (k == SHARED)
		word(c, "-lm");
}

/* Its exit status; -1 when it did not end by itself. */
static int wait_for(pid_t pid)
{
	int st;
	while (waitpid(pid, &st, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

/* What it says goes to the file `log`. Gives 0, its status, or minus the number of an error. */
static int run(const command *c, const char *log)
{
	posix_spawn_file_actions_t fa;
	pid_t pid;
	int   err = posix_spawn_file_actions_init(&fa);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&fa, 1, 2);
	if (!err)
		err = posix_spawnp(&pid, c->word[0], &fa, NULL, (char *const *)c->word, environ);
	posix_spawn_file_actions_destroy(&fa);
	return err ? -err : wait_for(pid);
}

/* ---- files ---- */

static bool write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wbe");
	bool  ok = f && fwrite(p, 1, n, f) == n;
	return f && !fclose(f) && ok;
}

static hop_status read_file(hop_env *e, const char *path, size_t room, hop_bytes *out_b)
{
	struct stat st;
	FILE *f = fopen(path, "rbe");
	bool  ok = f && !fstat(fileno(f), &st) && st.st_size > 0;

	*out_b = (hop_bytes){ 0 };
	if (ok && !(out_b->p = hop_raw_try(&e->mem, (size_t)st.st_size + room))) {
		fclose(f);
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for a program");
	}
	if (ok) {
		out_b->n = (size_t)st.st_size + room;
		ok = fread(out_b->p, 1, out_b->n - room, f) == out_b->n - room;
	}
	if (f)
		fclose(f);
	if (ok)
		return HOP_OK;
	hop_raw_free(&e->mem, out_b->p, out_b->n);
	return hop_fail(e, 0, HOP_ETARGET, "%s: gave no program", compiler());
}

static hop_status complain(hop_env *e, const command *c, const char *log, int rc)
{
	char   said[SAID + 1] = "";
	FILE  *f = rc < 0 ? NULL : fopen(log, "rbe");
	size_t n = f ? fread(said, 1, SAID, f) : 0;

	if (f)
		fclose(f);
	said[n] = 0;
	while (n && said[n - 1] == '\n')
		said[--n] = 0;
	if (rc < -1)
		return hop_fail(e, 0, HOP_ETARGET, "%s: the C compiler cannot be run: %s", c->name,
		                strerror(-rc));
	return hop_fail(e, 0, HOP_ETARGET, "%s: the C compiler failed%s%s", c->name, n ? ":\n" : "",
	                said);
}

static hop_status build(hop_env *e, const hop_buf *text, const hop_target_opts *o, enum kind k,
                        const char *dir, size_t room, hop_bytes *out_b)
{
	char    in[PATH], out[PATH], log[PATH];
	command c;
	int     rc;

	snprintf(in, sizeof in, "%s/program.c", dir);
	snprintf(out, sizeof out, "%s/program.so", dir);
	snprintf(log, sizeof log, "%s/log", dir);
	hop_status st = HOP_OK;
	if (!write_file(in, text->s, text->n)) {
		st = hop_fail(e, 0, HOP_ETARGET, "%s: cannot be written: %s", in, strerror(errno));
	} else {
		make_command(&c, o, k, in, out);
		rc = run(&c, log);
		st = rc ? complain(e, &c, log, rc) : read_file(e, out, room, out_b);
	}
	unlink(in);
	unlink(out);
	unlink(log);
	return st;
}

static hop_status in_dir(hop_env *e, const hop_buf *text, const hop_target_opts *o, enum kind k,
                         size_t room, hop_bytes *out_b)
{
	const char *tmp = getenv("TMPDIR");
	char        dir[PATH - 32];

	tmp = tmp && *tmp && strlen(tmp) < sizeof dir - 16 ? tmp : "/tmp";
	snprintf(dir, sizeof dir, "%s/hop-XXXXXX", tmp);
	if (!mkdtemp(dir))
		return hop_fail(e, 0, HOP_ETARGET, "%s: no directory for a program: %s", tmp,
		                strerror(errno));
	hop_status st = build(e, text, o, k, dir, room, out_b);
	rmdir(dir);
	return st;
}

hop_status hop_cc_shared(hop_env *e, const hop_buf *text, const hop_target_opts *o, size_t room,
                         hop_bytes *out_b)
{
	return in_dir(e, text, o, SHARED, room, out_b);
}

hop_status hop_cc_object(hop_env *e, const hop_buf *text, const hop_target_opts *o,
                         hop_bytes *out_b)
{
	return in_dir(e, text, o, OBJECT, 0, out_b);
}

/* ---- which compiler it is ---- */

static bool find(const char *name, struct stat *st)
{
	const char *path = getenv("PATH");
	char        file[PATH * 2];

	if (strchr(name, '/'))
		return !stat(name, st);
	for (path = path ? path : ""; *path;) {
		size_t n = strcspn(path, ":");

		snprintf(file, sizeof file, "%.*s/%s", (int)n, path, name);
		if (!access(file, X_OK) && !stat(file, st))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

hop_hash hop_cc_id(void)
{
	struct stat st;
	if (!find(compiler(), &st))
		return (hop_hash){ 0 };
	uint64_t id[] = { (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
	                  (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec };
	return hop_hash_bytes(id, sizeof id);
}

void hop_cc_setting(hop_buf *out)
{
	hop_putf(out, "cc %s %s\n", compiler(), more_flags());
}
