/* main.c -- the `hop` program: finds the subcommand, gives it a context, prints its
 * failure. What a subcommand does is in the file of its name. */
#include "cmd.h"

#include "driver/compile.h"
#include "loop/lower.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>


static const struct { const char *name; cmd_fn *run; const char *help; } sub[] = {
	{ "run", cmd_run,
	  "run [FILE] [--in x.npy]... [--out PREFIX] [--size s=4]... [--seed N] [--interp]\n"
	  "        [--device=NAME] [-p PASS,...] [--nan[=nan|inf|any]] [--watch NAME]... [--progress]\n"
	  "    run a graph and print its results; inputs come from .npy files, one --in a\n"
	  "    parameter, or are made from the seed; sizes are then the least allowed unless\n"
	  "    given. --out writes PREFIX.0.npy and so on. --interp: by the interpreter.\n"
	  "    --device: compiled for it and run on it: cpu, cuda; `hop devices`. -p: after these\n"
	  "    passes. --nan: fail where a NaN or infinity that reaches a result was made;\n"
	  "    nan: only NaN; any: at the first of either, whether or not it reaches one.\n"
	  "    --watch: also what watches of this name recorded; --out writes PREFIX.NAME.npy, and\n"
	  "    the trips of the loops around it to PREFIX.NAME.trips.npy.\n"
	  "    --progress: how far loops are that say so (hop_progress), on standard error" },
	{ "check", cmd_check,
	  "check [FILE]\n"
	  "    read the text, infer, verify; say how much is there" },
	{ "show", cmd_show,
	  "show [FILE] [--after=PASS] [--machine=M] [--locs] [--copies] [--shared]\n"
	  "        [--regions] [--saved [--budget=B]]\n"
	  "  hop show [FILE] --html [-p PASS,PASS...] [-o PAGE.html]\n"
	  "    print the text canonically; --after: the graph as it is after that pass of a\n"
	  "    compilation, or, for lower, the loop program, for schedule the same bound to a\n"
	  "    machine: this one, or none, sse, avx2, avx512, neon, cuda; for c the program as C without\n"
	  "    its head; for device the loop program as a device is to run it, for cuda the same as\n"
	  "    CUDA C without its head; --locs: end lines with where they come from; --copies: every\n"
	  "    copy, with its bytes and the reason; --shared: which bodies are one, for how many\n"
	  "    callers, and what keeps those apart that are nearly equal; --regions: the functions\n"
	  "    that are compiled, the places that call each, and its loop nests; --saved: what the\n"
	  "    reverse pass keeps of the forward pass and what it computes again, with the reasons,\n"
	  "    under a budget from 0, nothing, to 1, all that is dear; --html: a page for a browser,\n"
	  "    one file: nested graphs that unfold, before and after every pass of a compilation,\n"
	  "    behind those of -p" },
	{ "opt", cmd_opt,
	  "opt -p PASS,PASS... [FILE]\n"
	  "    apply passes by name and print; `hop opt --list` names them. Transforms take\n"
	  "    arguments: 'vmap(axis=[0,none],n=8),jacrev(wrt=[0,2])'" },
	{ "build", cmd_build,
	  "build [FILE] -o PATH [--emit=obj|c|cuda|cubin] [--target=llvm|c] [--triple=TRIPLE]\n"
	  "        [--threads] [--entry=@name[:PASS,...]]... [-p PASS,...]\n"
	  "    write PATH.o or PATH.c, and PATH.h: programs ahead of time, which need neither hop\n"
	  "    nor LLVM. Entries are the graphs that no other one calls, unless given; @f:grad is\n"
	  "    @f after that pass, PATH_f_grad in C; @f:grad(wrt=0) is PATH_f_grad_wrt_0. Without\n"
	  "    a triple it is code for this very processor. Objects of --target=c are made by\n"
	  "    HOP_CC, else cc; for a triple by TRIPLE-gcc. --threads: loops call the hook\n"
	  "    `parallel`. docs/embedding.md. --emit=cuda: PATH.cu, CUDA C; --emit=cubin: PATH.cubin,\n"
	  "    what NVRTC makes of it for HOP_CUDA_ARCH. Neither needs a device; several entries are\n"
	  "    PATH.NAME.cu. They are to be read, and looked at with other tools" },
	{ "bench", cmd_bench,
	  "bench [FILE] [--reps N] [--threads N] [--device=NAME] [options of run]\n"
	  "    run a graph many times; print the least and the median time. On a device, its inputs\n"
	  "    and results are there" },
	{ "devices", cmd_devices,
	  "devices [TARGET]\n"
	  "    name the targets, which make code, and the devices that they run it on, or why there\n"
	  "    is none; or one of them" },
	{ "ops", cmd_ops,
	  "ops [--json]\n"
	  "    name the ops; --json: all that the tables say of them, and of the scalar\n"
	  "    operations that a target must know. null operands or results: any number" },
};
enum { NSUB = sizeof sub / sizeof *sub };

static int help(FILE *to, const char *name)
{
	bool any = false;
	for (int i = 0; i < NSUB; i++)
		any |= name && !strcmp(name, sub[i].name);
	if (!any)
		fputs("hop captures, transforms, compiles and runs tensor programs with bodies.\n\n",
		      to);
	for (int i = 0; i < NSUB; i++)
		if (!any || !strcmp(name, sub[i].name))
			fprintf(to, "  hop %s\n", sub[i].help);
	if (!any)
		fputs("  hop --help [COMMAND], hop --version\n", to);
	fputs("\nFILE is text that begins with `hop 1` (docs/ir.md); none or - is standard "
	      "input.\n--graph @name chooses a graph, else it is the last one.\n", to);
	return to == stderr ? 2 : 0;
}

/* Ctrl-C stops a run, which then says so; the second one stops us. A signal handler has
 * nothing but statics to reach. */
static hop_cancel interrupted;

static void interrupt(int sig)
{
	signal(sig, SIG_DFL);
	hop_cancel_set(&interrupted);
}

/* Status to exit code; the message is the command's only other output. */
static int report(const hop_env *e, hop_status st)
{
	fflush(stdout);
	if (!st && (ferror(stdout) || fflush(stdout))) {
		fputs("hop: standard output could not be written\n", stderr);
		return 1;
	}
	if (!st)
		return 0;
	fprintf(stderr, "%s\n", e->diag.text ? e->diag.text :
	        st == HOP_ENOMEM ? "error: no memory" : "error");
	return st == HOP_ECANCELED ? 128 + SIGINT : 1;
}

static int go(cmd_fn *run, cmd *c)
{
	hop_ctx *ctx;
	hop_env e;
	hop_frame f;
	hop_status st = hop_ctx_new(NULL, &ctx);
	if (st) {
		fputs(st == HOP_ENOMEM ? "error: no memory\n" :
		      "error: HOP_NAN must be nan, inf, any, 1 for inf, or 0\n", stderr);
		return 1;
	}
	hop_env_init(&e, ctx, hop_ctx_mem(ctx));
	c->env = &e;
	hop_interp_init(&c->ip, &e);
	c->ip.cancel = &interrupted;
	signal(SIGINT, interrupt);
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		hop_buf_open(&c->text, &e);
		st = run(c);
		hop_buf_free(&c->text);
		hop_guard_end(&e, &f);
	}
	int rc = report(&e, st);
	hop_exec_release(c->exec);
	hop_record_free(c->record);
	if (c->prog)
		hop_prog_free(c->prog, &e.mem);
	hop_interp_fini(&c->ip);
	hop_module_free(c->m, &e.mem);
	hop_env_fini(&e);
	hop_ctx_free(ctx);
	return rc;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (!strcmp(name, "--version")) {
		printf("hop %s\n", hop_version());
		return 0;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "help"))
		return help(stdout, argc > 2 ? argv[2] : NULL);
	for (int i = 0; i < NSUB; i++) {
		if (strcmp(name, sub[i].name))
			continue;
		for (int k = 2; k < argc; k++)
			if (!strcmp(argv[k], "--help"))
				return help(stdout, name);
		cmd c = { .name = name, .argc = argc - 2, .argv = argv + 2 };
		return go(sub[i].run, &c);
	}
	if (*name)
		fprintf(stderr, "error: hop has no command %s\n\n", name);
	return help(stderr, NULL);
}
