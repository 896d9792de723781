/* cmd.h -- what the subcommands of `hop` share: options, the loaded file, its graph. */
#ifndef HOP_CMD_H
#define HOP_CMD_H

#include "interp/interp.h"
#include "text/text.h"

/* One run of the command. */
typedef struct cmd {
	hop_env     *env;
	const char  *name;             /* of the subcommand */
	int          argc;             /* what follows it */
	char       **argv;
	int          next;
	const char  *file;             /* NULL or "-" = standard input */
	bool         used_stdin;       /* it can be read once */
	const char  *graph;            /* --graph, without @; NULL = the last one */
	/* Owned, and let go by main: the exit for "no memory" goes past whoever made them. */
	hop_buf          text;
	hop_module      *m;
	hop_interp       ip;
	struct hop_exec *exec;
	struct hop_prog *prog;
	hop_record      *record;
} cmd;

typedef hop_status cmd_fn(cmd *c);
cmd_fn cmd_run, cmd_check, cmd_show, cmd_opt, cmd_bench, cmd_ops, cmd_build, cmd_devices;

/* Reading options: while (cmd_more(c)) if (cmd_flag(c, "--x")) ... else if
 * (cmd_value(c, "--y", &s)) ... else HOP_TRY(cmd_other(c)); */
bool       cmd_more(const cmd *c);
bool       cmd_flag(cmd *c, const char *name);
/* --y value or --y=value; a missing value is NULL, which cmd_need refuses. */
bool       cmd_value(cmd *c, const char *name, const char **out);
hop_status cmd_need(cmd *c, const char *name, const char *value);
hop_status cmd_number(cmd *c, const char *name, const char *value, int64_t lo, int64_t hi,
                      int64_t *out);
/* --graph, the file, or a complaint. */
hop_status cmd_other(cmd *c);

/* The most bytes of a text and of an array: what never ends must be refused somewhere. */
#define CMD_TEXT_MAX  ((size_t)1 << 28)
#define CMD_ARRAY_MAX ((size_t)1 << 32)
/* Append a file to b; "-" is standard input, for one file only. */
hop_status cmd_read(cmd *c, const char *path, size_t most, hop_buf *b);

/* Read, parse and verify the file; the graph that was asked for. */
hop_status cmd_load(cmd *c);
hop_status cmd_pick(cmd *c, hop_graph **out_g);
/* Passes by name, comma between them; verified after each. */
hop_status cmd_passes(cmd *c, const char *names, const hop_graph **g);

/* Graphs as text to standard output; g under the name of the graph that was picked. */
void       cmd_print(cmd *c, uint32_t n, const hop_named *entry, int flags);
void       cmd_print_picked(cmd *c, const hop_graph *g, int flags);

/* shared.c: the bodies under these graphs, how many use each, and what keeps those apart that are
 * nearly equal; to standard output. */
void       cmd_shared(cmd *c, uint32_t n, const hop_named *root);

/* devices.c: the target whose code runs on a device of this name; NULL = the usual one. */
hop_status cmd_target_of(cmd *c, const char *device, const char **out_target);
/* A graph as the scheduled program of a target, NULL = the usual one; and that as CUDA C without its
 * head. */
hop_status cmd_lower_for(cmd *c, const hop_graph *g, const char *target, struct hop_prog **out_p);
hop_status cmd_cuda_text(cmd *c, const struct hop_prog *p, hop_buf *out);
/* Each to PATH.cu or PATH.cubin; if there are several, to PATH.NAME.cu. */
hop_status cmd_write_cuda(cmd *c, int n, const char *const *name, const hop_graph *const *g, bool cubin,
                          const char *path);

/* What the reverse of g saves; budget: NULL, or a number as text. */
hop_status cmd_saved(cmd *c, const hop_graph *g, const char *budget);

/* ---- running, for run and bench ---- */

enum { CMD_MAXSIZE = 64 };

/* Where inputs come from: files, or numbers made from the seed, with sizes as given. */
typedef struct cmd_inputs {
	const char **file;             /* [nfile] .npy, one a parameter */
	uint32_t     nfile;
	const char  *size[CMD_MAXSIZE];    /* name=value */
	int          nsize;
	int64_t      seed;
} cmd_inputs;

/* Tensors for the parameters of g, and the values of its size parameters. */
hop_status cmd_make_inputs(cmd *c, const hop_graph *g, const cmd_inputs *from,
                           hop_array ***out_in, int64_t **out_syms);
/* True when the option was one of --in --size --seed; *st is its status. */
bool       cmd_input_option(cmd *c, cmd_inputs *in, hop_status *st);

#endif
