/* target.c -- CUDA as a target: one text a program, compiled by NVRTC, run by the driver. Neither is
 * opened before it is needed, and from the cache NVRTC never is. */
#include <stdlib.h>
#include <string.h>

#include "target/cuda/image.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/pieces.h"

/* Bytes of a trip from which on a loop's trips are kernels of their own: what two copies of a state of
 * 24 MB are. HOP_CUDA_LOOPS says another number; nests that move as much are large then. A driver that
 * knows no loops in graphs has none. */
enum { TRIP = 48 << 20 };

static int64_t trip_bytes(int64_t *out_small)
{
	const char *own = getenv("HOP_CUDA_LOOPS");
	int64_t n = own && *own ? strtoll(own, NULL, 10) : TRIP;
	*out_small = own && *own && n > 0 && n < 4096 ? n : 0;
	return hop_cuda_loops() ? n : 0;
}

bool hop_cuda_early(void)
{
	const char *own = getenv("HOP_CUDA_EARLY");
	const hop_cu *cu;
	hop_cuda *d;
	if (!own || !*own || *own == '0')
		return false;
	return hop_cu_open(&cu) || (cu->graph_edge && (hop_cuda_open(&d) || d->major >= 9));
}

/* What most devices have, whichever is there: the numbers decide bits of sums. */
static hop_status machine(hop_env *e, const hop_target_opts *o, hop_machine *out_m)
{
	(void)e;
	(void)o;
	*out_m = (hop_machine){ .blocks = 128, .warp = 32, .shared = 96 << 10 };
	out_m->loops = trip_bytes(&out_m->small);
	return HOP_OK;
}

/* ---- text and cubin ---- */

hop_status hop_cuda_emit_text(hop_env *e, const hop_prog *p, const char *name, hop_buf *out)
{
	hop_cuda_needs needs = { 0 };
	return hop_cuda_text(e, p, name, out, HOP_NEWN(&e->tmp, hop_cuda_kernel, p->nfunc), &needs);
}

hop_status hop_cuda_emit_cubin(hop_env *e, const hop_prog *p, const char *name, hop_buf *out)
{
	hop_bytes cubin;
	hop_buf text;
	char arch[16];
	hop_cuda_arch(arch);
	hop_buf_open(&text, e);
	hop_status st = hop_cuda_emit_text(e, p, name, &text);
	if (!st)
		st = hop_cuda_cubins(e, 1, &text, arch, &cubin);
	hop_buf_free(&text);
	if (st)
		return st;
	hop_frame f;
	if (HOP_GUARD(e, &f)) {
		hop_cuda_cubins_free(e, 1, &cubin);
		return hop_guard_nomem(e, &f);
	}
	hop_putn(out, cubin.p, cubin.n);
	hop_guard_end(e, &f);
	hop_cuda_cubins_free(e, 1, &cubin);
	return HOP_OK;
}

/* n texts as a program, and they are closed. */
static hop_status finish(hop_env *e, int n, hop_buf *text, int nfunc, const hop_cuda_kernel *kernel,
                         const hop_cuda_needs *needs, hop_bytes *out_b)
{
	hop_bytes cubin[HOP_BESIDE];
	char arch[16];
	hop_cuda_arch(arch);
	hop_status st = hop_cuda_cubins(e, n, text, arch, cubin);
	for (int i = 0; i < n; i++)
		hop_buf_free(&text[i]);
	if (st)
		return st;
	st = hop_cuda_pack(e, nfunc, kernel, needs, arch, n, cubin, out_b);
	hop_cuda_cubins_free(e, n, cubin);
	return st;
}

static hop_status compile(hop_env *e, const hop_prog *p, const hop_machine *m,
                          const hop_target_opts *o, hop_bytes *out_b)
{
	hop_cuda_kernel *kernel = HOP_NEWN(&e->tmp, hop_cuda_kernel, p->nfunc);
	hop_cuda_needs needs = { 0 };
	hop_buf text[HOP_BESIDE];
	int n, most = o && o->parts ? o->parts : hop_beside_threads(e);
	(void)m;
	HOP_TRY(hop_cuda_pieces(e, p, "hop_main", most, kernel, &needs, text, &n));
	return finish(e, n, text, p->nfunc, kernel, &needs, out_b);
}

static hop_status take(hop_env *e, const char *text, size_t n, const char *entry, hop_bytes *out_b)
{
	hop_cuda_needs none = { 0 };
	hop_buf copy;
	(void)entry;
	hop_buf_open(&copy, e);                        /* which ends in a zero */
	hop_putn(&copy, text, n);
	return finish(e, 1, &copy, 0, NULL, &none, out_b);
}

/* ---- for the cache ---- */

static void setting(hop_buf *out)
{
	const char *own = getenv("HOP_NVRTC");
	char arch[16];
	int64_t small;
	hop_cuda_arch(arch);
	hop_putf(out, "cuda %s %s %s %lld%s\n", arch, hop_nvrtc_setting(), own ? own : "",
	         (long long)trip_bytes(&small), hop_cuda_early() ? " early" : "");
}

static hop_hash maker(hop_env *e, bool opened)
{
	return hop_nvrtc_id(e, opened);
}

/* ---- ahead of time ---- */

static hop_status write_none(hop_env *e, int n, const hop_prog *const *p, const char *const *name,
                             const hop_machine *m, const hop_target_opts *o, hop_buf *out)
{
	(void)n;
	(void)p;
	(void)name;
	(void)m;
	(void)o;
	(void)out;
	return hop_fail(e, 0, HOP_EREFUSED, "target cuda writes no programs that run without hop");
}

const hop_target hop_target_cuda = {
	.name = "cuda", .what = "CUDA C, by NVRTC, on the NVIDIA device of this machine",
	.machine = machine, .compile = compile, .take = take, .load = hop_cuda_load,
	.unload = hop_cuda_unload, .launch = hop_cuda_launch_image, .setting = setting, .maker = maker,
	.mem = &hop_cuda_memory, .write = write_none,
};
