/* store.c -- files of arrays, read: the list of what is there, and arrays on the file's own bytes
 * where they can be. Writing them is save.c. */
#include "io/store.h"

#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"
#include "io/inflate.h"
#include "io/npy.h"

/* ---- opening ---- */

/* A member x.npy is the array x. */
static hop_status zip_names(hop_env *e, hop_file *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const char *s = f->zip.member[i].name;
		size_t n = strlen(s);
		if (n < 5 || strcmp(s + n - 4, ".npy"))
			return hop_fail(e, 0, HOP_EPARSE, "%s: not an .npz file: %s is no .npy", f->path, s);
		f->name[i] = hop_arena_str(&f->arena, s, n - 4);
	}
	return HOP_OK;
}

struct named {
	const char *name;
	size_t      at;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void sort_names(hop_env *e, hop_file *f)
{
	struct named *s = HOP_NEWN(&e->tmp, struct named, f->count);
	for (size_t i = 0; i < f->count; i++)
		s[i] = (struct named){ f->name[i], i };
	qsort(s, f->count, sizeof *s, by_name);
	for (size_t i = 0; i < f->count; i++)
		f->order[i] = s[i].at;
}

static hop_status read_list(hop_env *e, hop_file *f, const char *path)
{
	const char *p = f->bytes->p;
	size_t n = f->bytes->n;
	f->path = hop_arena_str(&f->arena, path, strlen(path));
	f->is_zip = n >= 4 && (!memcmp(p, "PK\3\4", 4) || !memcmp(p, "PK\5\6", 4));
	if (!f->is_zip && (n < 9 || p[8] != '{'))
		return hop_fail(e, 0, HOP_EPARSE, "%s: neither an .npz nor a .safetensors file%s", path,
		                n >= 6 && !memcmp(p, "\x93NUMPY", 6) ? ": an .npy holds one array without "
		                "a name, put it into an .npz" : "");
	if (f->is_zip)
		HOP_TRY(hop_zip_read(e, &f->arena, f->path, p, n, &f->zip));
	else
		HOP_TRY(hop_tensors_read(e, &f->arena, f->path, p, n, &f->tensors));
	size_t count = f->is_zip ? f->zip.n : f->tensors.n;
	if (count > INT32_MAX)
		return hop_fail(e, 0, HOP_EPARSE, "%s: more arrays than can be counted", path);
	f->name = HOP_NEWN(&f->arena, const char *, count);
	f->order = HOP_NEWN(&f->arena, size_t, count);
	f->array = HOP_NEWN(&f->arena, hop_array *, count);
	f->count = count;
	if (f->is_zip)
		HOP_TRY(zip_names(e, f));
	for (size_t i = 0; !f->is_zip && i < count; i++)
		f->name[i] = f->tensors.tensor[i].name;
	sort_names(e, f);
	return HOP_OK;
}

hop_status hop_store_open(hop_ctx *c, const char *path, hop_bytes *b, bool no_checksum,
                          hop_file **out_f)
{
	hop_env e;
	hop_frame fr;
	hop_status st;
	hop_mem m = hop_ctx_mem(c);
	hop_file *f = hop_raw_try(&m, sizeof *f);
	hop_env_init(&e, c, m);
	*out_f = NULL;
	if (!f) {
		st = hop_fail(&e, 0, HOP_ENOMEM, "%s: no memory", path);
	} else {
		*f = (hop_file){ .ctx = c, .bytes = hop_bytes_retain(b), .no_checksum = no_checksum };
		if (HOP_GUARD(&e, &fr)) {
			st = hop_guard_nomem(&e, &fr);             /* the arena went with the frame */
			f->arena = (hop_arena){ 0 };
			f->count = 0;
		} else {
			hop_arena_open(&f->arena, &e);
			st = read_list(&e, f, path);
			hop_arena_seal(&f->arena);
			hop_guard_end(&e, &fr);
		}
	}
	if (st) {
		hop_ctx_set_message(c, &e.diag);
		hop_file_close(f);
	} else {
		*out_f = f;
	}
	hop_env_fini(&e);
	return st;
}

hop_status hop_file_load(hop_ctx *c, const char *path, const hop_file_opts *opts,
                         hop_file **out_f)
{
	hop_env e;
	hop_file_opts own;
	hop_bytes *b;
	if (out_f)
		*out_f = NULL;
	if (!c || !path || !out_f)
		return HOP_EUSE;
	HOP_TRY(hop_opts_read(c, "file_load", opts, &own, sizeof own));
	hop_env_init(&e, c, hop_ctx_mem(c));
	hop_status st = hop_bytes_load(&e, path, own.copy, &b);
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	if (!st)
		st = hop_store_open(c, path, b, own.no_checksum, out_f);
	hop_bytes_release(b);
	return st;
}

void hop_file_close(hop_file *f)
{
	if (!f)
		return;
	hop_mem m = hop_ctx_mem(f->ctx);
	for (size_t i = 0; i < f->count; i++)
		hop_array_release(f->array[i]);
	hop_bytes_release(f->bytes);
	hop_arena_free(&f->arena, &m);
	hop_raw_free(&m, f, sizeof *f);
}

/* ---- asking ---- */

int hop_file_count(const hop_file *f)
{
	return f ? (int)f->count : 0;
}

const char *hop_file_name(const hop_file *f, int i)
{
	return f && i >= 0 && (size_t)i < f->count ? f->name[i] : NULL;
}

const char *hop_file_path(const hop_file *f)
{
	return f ? f->path : NULL;
}

int hop_file_find(const hop_file *f, const char *name)
{
	size_t lo = 0, hi = f && name ? f->count : 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = strcmp(name, f->name[f->order[mid]]);
		if (!d)
			return (int)f->order[mid];
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return -1;
}

/* ---- arrays ---- */

/* Elements in b as an array: there, or copied if they cannot stay. Bools are copied, since a byte
 * that is neither 0 nor 1 must not stay. */
static hop_status place(hop_file *f, hop_bytes *b, const hop_npy *a, hop_array **out_a)
{
	bool there = !a->swapped && (!a->fortran || a->rank < 2) && !hop_dtype_bool(a->dtype) &&
	             (uintptr_t)a->bytes % hop_dtype_bytes(a->dtype) == 0;
	if (there) {
		hop_status st = hop_array_adopt(f->ctx, a->dtype, a->rank, a->dim,
		                                (void *)(uintptr_t)a->bytes, false, hop_bytes_release, b,
		                                out_a);
		if (!st)
			hop_bytes_retain(b);
		return st;
	}
	hop_status st = hop_array_raw(f->ctx, a->dtype, a->rank, a->dim, out_a);
	if (!st)
		hop_npy_copy(a, (*out_a)->data);
	return st;
}

/* The bytes of a member that was deflated. */
static hop_status unpack(hop_env *e, hop_file *f, const hop_zip_member *m)
{
	if (m->size / HOP_INFLATE_MOST > m->packed || m->size > SIZE_MAX / 2)
		return hop_fail(e, 0, HOP_EPARSE, "%s: %s: so few bytes cannot hold %llu", f->path, m->name,
		                (unsigned long long)m->size);
	f->unpacked = hop_bytes_new(&e->mem, (size_t)m->size);
	if (!f->unpacked)
		return hop_fail(e, 0, HOP_ENOMEM, "%s: %s: no memory for %llu bytes", f->path, m->name,
		                (unsigned long long)m->size);
	if (hop_inflate(f->bytes->p + m->at, (size_t)m->packed, f->unpacked->p, (size_t)m->size))
		return HOP_OK;
	return hop_fail(e, 0, HOP_EPARSE, "%s: %s: it does not unpack", f->path, m->name);
}

static hop_status from_zip(hop_env *e, hop_file *f, size_t i, hop_array **out_a)
{
	const hop_zip_member *m = &f->zip.member[i];
	hop_npy a;
	if (m->deflated)
		HOP_TRY(unpack(e, f, m));
	const char *p = m->deflated ? f->unpacked->p : f->bytes->p + m->at;
	if (!f->no_checksum) {
		hop_crc crc;
		hop_crc_init(&crc);
		if (hop_crc_of(&crc, 0, p, (size_t)m->size) != m->crc)
			return hop_fail(e, 0, HOP_EPARSE, "%s: %s: its checksum is wrong: the file is damaged",
			                f->path, m->name);
	}
	hop_status st = hop_npy_read(e, m->name, p, (size_t)m->size, &a);
	if (st)
		return hop_note(e, 0, "in %s", f->path);
	return place(f, m->deflated ? f->unpacked : f->bytes, &a, out_a);
}

static hop_status from_tensor(hop_env *e, hop_file *f, size_t i, hop_array **out_a)
{
	const hop_tensor *t = &f->tensors.tensor[i];
	uint16_t one = 1;
	hop_npy a = { .dtype = HOP_NDTYPE, .rank = t->rank, .count = t->count,
	              .bytes = f->bytes->p + t->from, .swapped = !*(unsigned char *)&one };
	for (int d = 0; d < HOP_NDTYPE; d++)
		if (!strcmp(hop_dtab[d].tensors, t->dtype))
			a.dtype = (hop_dtype)d;
	for (int d = 0; d < t->rank; d++)
		a.dim[d] = t->dim[d];
	if (a.dtype != HOP_NDTYPE)
		return place(f, f->bytes, &a, out_a);
	hop_buf all;
	hop_buf_open(&all, e);
	hop_dtype_list(&all);
	hop_status st = hop_fail(e, 0, HOP_ETYPE, "%s: %s: dtype %s: hop reads %s", f->path, t->name,
	                         t->dtype, all.s);
	hop_buf_free(&all);
	return st;
}

hop_status hop_file_array(hop_file *f, int i, hop_array **out_a)
{
	hop_env e;
	hop_frame fr;
	hop_status st = HOP_OK;
	if (out_a)
		*out_a = NULL;
	if (!f || !out_a || i < 0 || (size_t)i >= f->count)
		return HOP_EUSE;
	if (!f->array[i]) {
		hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
		if (HOP_GUARD(&e, &fr)) {
			st = hop_guard_nomem(&e, &fr);
		} else {
			st = f->is_zip ? from_zip(&e, f, (size_t)i, &f->array[i])
			               : from_tensor(&e, f, (size_t)i, &f->array[i]);
			hop_guard_end(&e, &fr);
		}
		if (e.diag.st)
			hop_ctx_set_message(f->ctx, &e.diag);
		hop_env_fini(&e);
		hop_bytes_release(f->unpacked);                /* the array holds it, if it needs it */
		f->unpacked = NULL;
	}
	*out_a = hop_array_retain(f->array[i]);
	return st;
}

hop_status hop_file_get(hop_file *f, const char *name, hop_array **out_a)
{
	int i = hop_file_find(f, name);
	if (out_a)
		*out_a = NULL;
	if (!f || !name || !out_a)
		return HOP_EUSE;
	if (i >= 0)
		return hop_file_array(f, i, out_a);
	hop_env e;
	hop_env_init(&e, f->ctx, hop_ctx_mem(f->ctx));
	hop_status st = hop_fail(&e, 0, HOP_EVALUE, "%s: there is no array %s", f->path, name);
	hop_ctx_set_message(f->ctx, &e.diag);
	hop_env_fini(&e);
	return st;
}
