/* load.c -- bytes of a compiled program to an image on the device: the module, and of the program what a
 * run must know. Does not run it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"
#include "target/cuda/image.h"

/* ---- bytes ---- */

typedef struct header {
	char     magic[8];
	char     arch[16];
	int64_t  save, request, ring;
	uint64_t nfunc, cubins;        /* descriptions, then so many bytes */
} header;

typedef struct desc { int64_t shared; int32_t flags, piece; } desc;
typedef struct length { uint64_t n, nothing; } length;         /* of the cubin behind it */
_Static_assert(sizeof(header) % 16 == 0 && sizeof(desc) == 16 && sizeof(length) == 16, "all is aligned");
static const char magic[8] = "hopcu02";

static bool is_whole(const hop_bytes *b)
{
	hop_hash h;
	header t;
	if (b->n < sizeof t + sizeof h)
		return false;
	memcpy(&t, b->p, sizeof t);
	h = hop_hash_bytes(b->p, b->n - sizeof h);
	return !memcmp((char *)b->p + b->n - sizeof h, &h, sizeof h) &&
	       !memcmp(t.magic, magic, sizeof magic) && t.nfunc < b->n / sizeof(desc) &&
	       b->n == sizeof t + t.nfunc * sizeof(desc) + t.cubins + sizeof h;
}

static size_t padded(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

hop_status hop_cuda_pack(hop_env *e, int nfunc, const hop_cuda_kernel *kernel,
                         const hop_cuda_needs *needs, const char *arch, int n, const hop_bytes *cubin,
                         hop_bytes *out_b)
{
	header h = { .save = needs->save, .request = needs->request, .ring = needs->ring,
		     .nfunc = (uint64_t)nfunc };
	for (int i = 0; i < n; i++)
		h.cubins += sizeof(length) + padded(cubin[i].n);
	size_t bytes = sizeof h + (size_t)nfunc * sizeof(desc) + h.cubins;
	char *p = hop_raw_try(&e->mem, bytes + sizeof(hop_hash));
	if (!p)
		return hop_fail(e, 0, HOP_ENOMEM, "no memory for a program");
	char *to = p + sizeof h;
	memset(p, 0, bytes);
	memcpy(h.magic, magic, sizeof magic);
	snprintf(h.arch, sizeof h.arch, "%s", arch);
	memcpy(p, &h, sizeof h);
	for (int i = 0; i < nfunc; i++, to += sizeof(desc)) {
		desc d = { kernel[i].shared,
		           kernel[i].looks | kernel[i].cancels << 1 | kernel[i].leaves << 2 |
		           kernel[i].early << 3, kernel[i].piece };
		memcpy(to, &d, sizeof d);
	}
	for (int i = 0; i < n; i++, to += padded(cubin[i - 1].n)) {
		length l = { cubin[i].n, 0 };
		memcpy(to, &l, sizeof l);
		memcpy(to += sizeof l, cubin[i].p, cubin[i].n);
	}
	hop_hash seal = hop_hash_bytes(p, bytes);
	memcpy(p + bytes, &seal, sizeof seal);
	*out_b = (hop_bytes){ p, bytes + sizeof seal };
	return HOP_OK;
}

/* ---- the program ---- */

static hop_status odd(hop_env *e, const hop_lfunc *f, const char *what)
{
	return hop_fail(e, 0, HOP_ETARGET, "cuda: the list of %s has %s, which this target cannot run",
	                f->name, what);
}

/* A constant has no address before the module is there: its name is kept until then. */
hop_status hop_cuda_copy_arg(hop_env *e, const hop_lfunc *f, const hop_addr *a, hop_cuda_arg *out)
{
	const hop_lbuf *b = &f->buf[a->buf];
	*out = (hop_cuda_arg){ .index = b->index, .elem = (int64_t)hop_dtype_bytes(b->dtype),
		               .offset = { hop_size_int(0), a->offset } };
	if (b->kind == HOP_BUF_PARAM || (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_RESULT))
		out->base = HOP_BASE_PARAM;
	else if (b->kind == HOP_BUF_TAPE)
		out->base = HOP_BASE_TAPE;
	else if (b->kind == HOP_BUF_CONST)
		out->index = a->buf;
	else if (b->space == HOP_SPACE_FRAME)
		out->base = HOP_BASE_FRAME;
	else if (b->space == HOP_SPACE_SCRATCH)
		out->base = HOP_BASE_SCRATCH;
	else
		return odd(e, f, "memory of a kernel");
	if (b->kind == HOP_BUF_TEMP)
		out->offset[0] = b->offset;
	return HOP_OK;
}

static hop_status copy_list(hop_env *e, hop_cuda_image *i, const hop_prog *p, const hop_lfunc *f,
                            const hop_block *b, hop_cuda_call **out, int *out_n);

static hop_status copy_call(hop_env *e, hop_cuda_image *i, const hop_prog *p, const hop_lfunc *f,
                            const hop_stmt *s, hop_cuda_call *out)
{
	if (s->kind == HOP_L_TILE)
		return odd(e, f, s->tile->of->name);
	if (s->kind == HOP_L_WHILE) {
		*out = (hop_cuda_call){ .each = s->once ? 0 : s->bind.each ? s->bind.each : 1,
			                .trips = s->extent };
		return copy_list(e, i, p, f, &s->body, &out->body, &out->nbody);
	}
	if (s->kind != HOP_L_CALL)
		return odd(e, f, "a statement that is no call");
	if (p->func[s->callee].level != HOP_LEVEL_KERNEL && p->func[s->callee].level != HOP_LEVEL_HOST)
		return odd(e, f, "a call of what only kernels call");
	*out = (hop_cuda_call){ .callee = s->callee, .is_part = s->is_part, .frame = s->frame };
	if (s->is_part)
		return HOP_OK;
	out->sizes = HOP_NEWN(&i->a, hop_size, s->nsize);
	if (s->nsize)
		memcpy(out->sizes, s->sizes, sizeof *s->sizes * (size_t)s->nsize);
	out->narg = s->narg;
	out->arg = HOP_NEWN(&i->a, hop_cuda_arg, s->narg);
	for (int k = 0; k < s->narg; k++) {
		if (s->args[k].nterm)
			return odd(e, f, "an address that depends on registers");
		HOP_TRY(hop_cuda_copy_arg(e, f, &s->args[k], &out->arg[k]));
	}
	return HOP_OK;
}

static hop_status copy_list(hop_env *e, hop_cuda_image *i, const hop_prog *p, const hop_lfunc *f,
                            const hop_block *b, hop_cuda_call **out, int *out_n)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n++;
	*out = HOP_NEWN(&i->a, hop_cuda_call, n);
	*out_n = n;
	n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		HOP_TRY(copy_call(e, i, p, f, s, *out + n++));
	return HOP_OK;
}

static hop_status copy_func(hop_env *e, hop_cuda_image *i, const hop_prog *p, int k)
{
	const hop_lfunc *f = &p->func[k];
	hop_cuda_func *to = &i->func[k];
	*to = (hop_cuda_func){ .name = hop_arena_str(&i->a, f->name, strlen(f->name)), .level = f->level,
		               .nsym = f->nsym, .nparam = f->nin + f->nout, .scratch = f->scratch,
		               .team = f->team, .is = to->is };
	if (f->level == HOP_LEVEL_KERNEL)
		to->product = hop_cuda_product_of(e, i, f);
	if (f->level != HOP_LEVEL_HOST)
		return HOP_OK;
	return copy_list(e, i, p, f, &f->body, &to->call, &to->ncall);
}

static void copy_params(hop_cuda_image *i, const hop_lfunc *f)
{
	i->nparam = f->nin + f->nout;
	i->param = HOP_NEWN(&i->a, hop_cuda_param, i->nparam);
	for (const hop_lbuf *b = f->buf; b < f->buf + f->nbuf; b++) {
		int k = b->index;
		bool out = k >= f->nin;
		if (b->kind != HOP_BUF_PARAM)
			continue;
		i->param[k] = (hop_cuda_param){ b->count, (int64_t)hop_dtype_bytes(b->dtype),
			                        out ? b->alias : 0, !out, out || b->is_written };
	}
}

static void copy_effects(hop_cuda_image *i, const hop_prog *p)
{
	i->neffect = p->neffect;
	i->effect = HOP_NEWN(&i->a, hop_cuda_effect, p->neffect);
	for (int k = 0; k < p->neffect; k++) {
		const hop_leffect *f = &p->effect[k];
		const hop_type **t = HOP_NEWN(&i->a, const hop_type *, f->narg);
		if (f->type && f->narg)
			memcpy(t, f->type, sizeof *t * (size_t)f->narg);
		i->effect[k] = (hop_cuda_effect){ f->narg, f->nin, f->is_progress, f->type ? t : NULL };
	}
}

static hop_status copy_program(hop_env *e, hop_cuda_image *i, const hop_prog *p, const hop_bytes *b)
{
	const desc *d = (const desc *)(const void *)((const char *)b->p + sizeof(header));
	if (p->func[0].level != HOP_LEVEL_HOST && p->func[0].level != HOP_LEVEL_KERNEL)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: function %s is not cut into kernels", p->func[0].name);
	i->nfunc = p->nfunc;
	i->nsym = p->func[0].nsym;
	i->ntape = p->ntape;
	i->frame = p->func[0].frame;
	i->func = HOP_NEWN(&i->a, hop_cuda_func, p->nfunc);
	for (int k = 0; k < p->nfunc; k++) {
		i->func[k].is = (hop_cuda_kernel){ .shared = d[k].shared, .looks = d[k].flags & 1,
			                           .cancels = d[k].flags >> 1 & 1,
			                           .leaves = d[k].flags >> 2 & 1,
			                           .early = d[k].flags >> 3 & 1 && i->d->cu->graph_edge };
		i->early |= i->func[k].is.early;
		HOP_TRY(copy_func(e, i, p, k));
	}
	copy_params(i, &p->func[0]);
	copy_effects(i, p);
	return HOP_OK;
}

/* ---- the module. From here on nothing jumps ---- */

static hop_status driver_says(hop_env *e, hop_cuda_image *i, int error, const char *what)
{
	return hop_fail(e, 0, error == HOP_CU_NOMEM ? HOP_ENOMEM : HOP_ETARGET, "cuda: %s: %s", what,
	                hop_cuda_said(i->d, error, what));
}

/* Blocks that are there at once, when they wait for each other. */
static hop_status find_room(hop_env *e, hop_cuda_image *i, hop_cuda_func *f)
{
	int each = 0, error;
	error = i->d->cu->occupancy(&each, f->function, f->team.threads, (size_t)f->is.shared);
	if (error)
		return driver_says(e, i, error, f->name);
	f->room = each * i->d->sms;
	if (!i->d->together || !f->room)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: the device has no room for blocks of %s, which "
		                "wait for each other", f->name);
	return HOP_OK;
}

static hop_status find_kernel(hop_env *e, hop_cuda_image *i, int k, int64_t piece, const char *entry)
{
	enum { PLAIN = 48 << 10 };             /* bytes that need not be asked for */
	const hop_cu *cu = i->d->cu;
	hop_cuda_func *f = &i->func[k];
	char name[256];
	int most = 0;
	snprintf(name, sizeof name, "%s_%d", entry, k);
	if (piece < 0 || piece >= i->nmodule)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: the compiled program is damaged");
	int error = cu->module_function(&f->function, i->module[piece], name);
	if (error)
		return driver_says(e, i, error, name);
	if (f->is.shared > i->d->shared)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: kernel %s shares %lld bytes, the device has %lld",
		                f->name, (long long)f->is.shared, (long long)i->d->shared);
	if (f->is.shared > PLAIN)
		error = cu->function_set(f->function, HOP_CU_FUNC_SHARED, (int)f->is.shared);
	if (!error)
		error = cu->function_attribute(&most, HOP_CU_FUNC_THREADS, f->function);
	if (error)
		return driver_says(e, i, error, name);
	if (f->team.threads > most)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: kernel %s has %d threads a block, with its "
		                "registers there can be %d", f->name, f->team.threads, most);
	return f->team.resident ? find_room(e, i, f) : HOP_OK;
}

/* Constants that lists hand on. */
static hop_status find_constants(hop_env *e, hop_cuda_image *i, int k, const char *entry,
                                 const hop_cuda_call *call, int ncall)
{
	char name[256];
	for (int c = 0; c < ncall; c++) {
		HOP_TRY(find_constants(e, i, k, entry, call[c].body, call[c].nbody));
		for (int j = 0; j < call[c].narg; j++) {
			hop_cuda_arg *a = &call[c].arg[j];
			size_t n;
			if (a->base)
				continue;
			snprintf(name, sizeof name, "%s_c%d_%d", entry, k, a->index);
			int error = i->d->cu->module_global(&a->fixed, &n, i->module[0], name);
			if (error)
				return driver_says(e, i, error, name);
		}
	}
	return HOP_OK;
}

/* Each behind its length. */
static hop_status open_modules(hop_env *e, hop_cuda_image *i, const char *p, const char *end)
{
	length l;
	for (; end - p >= (ptrdiff_t)sizeof l && i->nmodule < HOP_BESIDE; p += padded(l.n)) {
		memcpy(&l, p, sizeof l);
		p += sizeof l;
		if (l.n > (uint64_t)(end - p))
			break;
		int error = i->d->cu->module_load(&i->module[i->nmodule], p);
		if (error)
			return driver_says(e, i, error, "loading the program");
		i->nmodule++;
	}
	if (p != end || !i->nmodule)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: the compiled program is damaged");
	return HOP_OK;
}

static hop_status open_program(hop_env *e, hop_cuda_image *i, const hop_bytes *b, const char *entry)
{
	header h;
	memcpy(&h, b->p, sizeof h);
	const desc *d = (const desc *)(const void *)((const char *)b->p + sizeof h);
	const char *cubins = (const char *)(d + h.nfunc);
	HOP_TRY(open_modules(e, i, cubins, cubins + h.cubins));
	for (int k = 0; k < i->nfunc; k++) {
		if (i->func[k].level == HOP_LEVEL_KERNEL)
			HOP_TRY(find_kernel(e, i, k, d[k].piece, entry));
		HOP_TRY(find_constants(e, i, k, entry, i->func[k].call, i->func[k].ncall));
	}
	return HOP_OK;
}

/* ---- images ---- */

/* The generation of the device that a context came to know: what it compiled is of that one. A context
 * that comes new to a device that broke gets a new one. */
static hop_status join(hop_env *e, hop_cuda *d, unsigned *out_gen)
{
	static const char name[] = "cuda";
	const unsigned *gen = hop_ctx_owned(e->ctx, HOP_OWN_DEVICE, name, sizeof name - 1);
	const char *why = gen ? NULL : hop_cuda_renew(d);
	if (!gen && !why) {
		gen = hop_ctx_intern(e, HOP_IN_NAME, &d->gen, sizeof d->gen, sizeof d->gen);
		hop_ctx_own(e, HOP_OWN_DEVICE, name, (void *)(uintptr_t)gen, NULL);
	}
	if (!why)
		why = hop_cuda_unfit(d, *gen);
	if (why)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: %s", why);
	*out_gen = *gen;
	return HOP_OK;
}

static void drop_idle(void *user)
{
	hop_cuda_image *i = user;
	pthread_mutex_lock(&i->lock);
	for (hop_cuda_slot *s = i->idle; s; s = s->next) {
		for (int t = 0; t < i->ntape; t++)
			hop_cuda_tape_drop(i, &s->tape[t]);
		s->dropped = i->ntape > 0;
	}
	pthread_mutex_unlock(&i->lock);
}

/* b is whole and for this device. */
static hop_status make(hop_env *e, hop_cuda *d, unsigned gen, const hop_bytes *b, const hop_prog *p,
                       const char *entry, hop_cuda_image *i)
{
	const char *careful = getenv("HOP_CUDA_WAIT");
	header h;
	memcpy(&h, b->p, sizeof h);
	*i = (hop_cuda_image){ .mem = e->mem, .d = d, .gen = gen,
		               .needs = { h.save, h.request, h.ring != 0 },
		               .careful = careful && *careful && *careful != '0' };
	hop_arena_open(&i->a, e);
	i->name = hop_arena_str(&i->a, entry, strlen(entry));
	hop_status st = p ? copy_program(e, i, p, b) : HOP_OK;
	hop_arena_seal(&i->a);
	if (st)
		return st;
	bool entered = hop_cuda_enter(d);
	st = open_program(e, i, b, entry);
	hop_cuda_leave(d, entered);
	return st;
}

static void drop(hop_cuda_image *i)
{
	if (i->nmodule && !hop_cuda_unfit(i->d, i->gen)) {
		bool entered = hop_cuda_enter(i->d);
		for (int k = 0; k < i->nmodule; k++)
			i->d->cu->module_unload(i->module[k]);
		hop_cuda_leave(i->d, entered);
	}
	hop_arena_free(&i->a, &i->mem);
}

/* Of a text that a user wrote: the entry is the kernel. */
static hop_status find_entry(hop_env *e, hop_cuda_image *i, const char *entry, hop_image *out_i)
{
	bool entered = hop_cuda_enter(i->d);
	int error = i->d->cu->module_function(&out_i->entry, i->module[0], entry);
	hop_cuda_leave(i->d, entered);
	return error ? driver_says(e, i, error, entry) : HOP_OK;
}

hop_status hop_cuda_load(hop_env *e, const hop_bytes *b, const hop_prog *p, const char *entry,
                         hop_image *out_i)
{
	hop_cuda_image i, *kept;
	hop_cuda *d;
	unsigned gen = 0;
	char arch[16];
	*out_i = (hop_image){ 0 };
	if (!is_whole(b) || ((const header *)b->p)->nfunc != (p ? (uint64_t)p->nfunc : 0))
		return hop_fail(e, 0, HOP_ETARGET, "cuda: the compiled program is damaged");
	const char *why = hop_cuda_open(&d);
	if (why)
		return hop_fail(e, 0, HOP_ETARGET, "cuda: %s", why);
	hop_cuda_arch(arch);
	if (strncmp(arch, ((const header *)b->p)->arch, sizeof arch))
		return hop_fail(e, 0, HOP_ETARGET, "cuda: the program is for %.16s, the device is %s",
		                ((const header *)b->p)->arch, arch);
	HOP_TRY(join(e, d, &gen));
	hop_status st = make(e, d, gen, b, p, entry, &i);
	if (!st && !p)
		st = find_entry(e, &i, entry, out_i);
	kept = st ? NULL : hop_raw_try(&e->mem, sizeof *kept);
	if (!kept) {
		drop(&i);
		return st ? st : hop_fail(e, 0, HOP_ENOMEM, "no memory for a program");
	}
	*kept = i;
	pthread_mutex_init(&kept->lock, NULL);
	kept->hoard = (hop_cuda_hoard){ .drop = drop_idle, .user = kept };
	hop_cuda_hoard_add(d, &kept->hoard);
	*out_i = (hop_image){ kept, b->n, out_i->entry ? out_i->entry : kept };
	return HOP_OK;
}

void hop_cuda_unload(hop_image *image)
{
	hop_cuda_image *i = image->base;
	if (!i)
		return;
	hop_mem m = i->mem;
	hop_cuda_hoard_remove(i->d, &i->hoard);
	hop_cuda_slots_free(i);
	hop_cuda_plans_free(i);
	hop_lt_free(&i->mem, &i->products);
	pthread_mutex_destroy(&i->lock);
	drop(i);
	hop_raw_free(&m, i, sizeof *i);
}
