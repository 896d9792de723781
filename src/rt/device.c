/* device.c -- devices by name, and arrays that go there and come back. Which devices there are is the
 * targets'; what still works on an array is data/stream.c's. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/stream.h"
#include "rt/device.h"

__attribute__((format(printf, 3, 4)))
static hop_status refuse(hop_ctx *c, hop_status st, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	int n = snprintf(text, sizeof text, "error: device: ");
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
	va_end(ap);
	hop_ctx_set_message(c, &(hop_diag){ .st = st, .text = text, .len = strlen(text) });
	return st;
}

/* ---- which there are ---- */

static bool is_here(hop_device d)
{
	return d.type == 0 || d.type == HOP_CPU;
}

static hop_status no_such(hop_ctx *c, const char *name)
{
	char kinds[100] = "cpu";
	const hop_target *t;
	for (int i = 0; (t = hop_target_at(i)); i++) {
		size_t n = strlen(kinds);
		if (t->mem->far)
			snprintf(kinds + n, sizeof kinds - n, ", %s", t->mem->far->name);
	}
	return refuse(c, HOP_EVALUE, "there is no kind called '%s'; there are %s", name, kinds);
}

/* The memory of a kind of device; NULL, with a message, if there is none. */
static const hop_memory *opened(hop_ctx *c, const char *name, int type, hop_status *out_st)
{
	const hop_target *t = hop_target_on(c, name, type);
	if (!t) {
		*out_st = name ? no_such(c, name)
		               : refuse(c, HOP_EVALUE, "type %d is none that hop has", type);
		return NULL;
	}
	const char *words = t->mem->far->open();
	*out_st = words ? refuse(c, HOP_ETARGET, "no %s: %s", t->mem->far->name, words) : HOP_OK;
	return words ? NULL : t->mem;
}

static hop_status id_fits(hop_ctx *c, const hop_memory *m, long id)
{
	int n = m->far->count();
	if (id < 0 || id >= n)
		return refuse(c, HOP_EVALUE, "there is no %s:%ld; they go from 0 to %d", m->far->name, id,
		              n - 1);
	if (id)
		return refuse(c, HOP_EREFUSED, "%s:%ld: a process uses the first of its devices: choose which "
		              "one that is by the driver's environment", m->far->name, id);
	return HOP_OK;
}

hop_status hop_device_memory(hop_ctx *c, hop_device d, const hop_memory **out_m)
{
	hop_status st;
	*out_m = NULL;
	if (is_here(d))
		return HOP_OK;
	const hop_memory *m = opened(c, NULL, d.type, &st);
	if (!m)
		return st;
	HOP_TRY(id_fits(c, m, d.id));
	*out_m = m;
	return HOP_OK;
}

/* "cuda:1" into its two halves; false if it is no such thing. */
static bool read_name(const char *name, char kind[32], long *out_id)
{
	size_t n = strcspn(name, ":");
	char *end;
	if (!n || n >= 32)
		return false;
	memcpy(kind, name, n);
	kind[n] = 0;
	*out_id = 0;
	if (!name[n])
		return true;
	if (name[n + 1] < '0' || name[n + 1] > '9')
		return false;
	*out_id = strtol(name + n + 1, &end, 10);
	return !*end;
}

hop_status hop_device_find(hop_ctx *c, const char *name, hop_device *out_d)
{
	char kind[32];
	long id;
	hop_status st;
	if (!c || !out_d)
		return HOP_EUSE;
	*out_d = (hop_device){ 0, 0 };
	if (!name || !read_name(name, kind, &id))
		return refuse(c, HOP_EVALUE, "'%s' is no name: it is one like cpu, or cuda:0",
		              name ? name : "");
	if (!strcmp(kind, "cpu"))
		return id ? refuse(c, HOP_EVALUE, "there is one cpu") : HOP_OK;
	const hop_memory *m = opened(c, kind, 0, &st);
	if (!m)
		return st;
	HOP_TRY(id_fits(c, m, id));
	*out_d = (hop_device){ m->far->type, (int)id };
	return HOP_OK;
}

int hop_device_count(hop_ctx *c, const char *name)
{
	hop_status st;
	if (!c || !name)
		return 0;
	if (!strcmp(name, "cpu"))
		return 1;
	const hop_memory *m = opened(c, name, 0, &st);
	return m ? m->far->count() : 0;
}

const char *hop_device_about(hop_ctx *c, hop_device d)
{
	const hop_memory *m;
	if (!c || hop_device_memory(c, d, &m))
		return NULL;
	return m ? m->far->about(d.id) : "the memory of this process";
}

/* ---- arrays ---- */

hop_device hop_array_device(const hop_array *a)
{
	return a && a->mem ? (hop_device){ a->mem->far->type, a->device } : (hop_device){ 0, 0 };
}

void *hop_array_address(hop_array *a)
{
	return a ? a->data : NULL;
}

static hop_status copy_there(hop_array *to, const void *from)
{
	return hop_far_told(to->ctx, "copy to", to->mem->copy(NULL, to->data, from, to->bytes));
}

/* Zeros from here, then by copies on the device, each twice as long. */
static hop_status clear(hop_array *a)
{
	static const char zero[4096];
	const char *words = NULL;
	for (size_t n = 0, k; n < a->bytes && !words; n += k) {
		size_t left = a->bytes - n;
		k = n ? n : sizeof zero;
		k = k < left ? k : left;
		words = a->mem->copy(NULL, (char *)a->data + n, n ? a->data : (const void *)zero, k);
	}
	return hop_far_told(a->ctx, "copy to", words);
}

static hop_status or_drop(hop_status st, hop_array **io_a)
{
	if (st) {
		hop_array_release(*io_a);
		*io_a = NULL;
	}
	return st;
}

hop_status hop_array_to(hop_array *a, hop_device d, hop_array **out_a)
{
	const hop_memory *m;
	hop_array *near = NULL;
	hop_status st;
	if (out_a)
		*out_a = NULL;
	if (!a || !out_a)
		return HOP_EUSE;
	HOP_TRY(hop_device_memory(a->ctx, d, &m));
	if (m == a->mem && (!m || d.id == a->device)) {
		*out_a = hop_array_retain(a);
		return HOP_OK;
	}
	if (!m || !a->dense || a->mem) {            /* a copy here, and from here perhaps on */
		HOP_TRY(hop_array_raw(a->ctx, a->dtype, a->rank, a->dim, &near));
		HOP_TRY(or_drop(hop_array_pack(a, near->data), &near));
	}
	if (!m) {
		*out_a = near;
		return HOP_OK;
	}
	st = hop_array_far(a->ctx, m, d.id, NULL, a->dtype, a->rank, a->dim, out_a);
	if (!st)
		st = or_drop(copy_there(*out_a, (near ? near : a)->data), out_a);
	hop_array_release(near);
	return st;
}

hop_status hop_array_new_on(hop_ctx *c, hop_device d, hop_dtype t, int rank, const int64_t *dim,
                            const void *data, hop_array **out_a)
{
	const hop_memory *m;
	hop_array *near;
	if (out_a)
		*out_a = NULL;
	if (!c || !out_a)
		return HOP_EUSE;
	HOP_TRY(hop_device_memory(c, d, &m));
	if (!m)
		return hop_array_new(c, t, rank, dim, data, out_a);
	if (!data) {
		HOP_TRY(hop_array_far(c, m, d.id, NULL, t, rank, dim, out_a));
		return or_drop(clear(*out_a), out_a);
	}
	HOP_TRY(hop_array_new(c, t, rank, dim, data, &near));       /* bools become 0 or 1 */
	hop_status st = hop_array_to(near, d, out_a);
	hop_array_release(near);
	return st;
}

hop_status hop_array_adopt_on(hop_ctx *c, hop_device d, hop_dtype t, int rank, const int64_t *dim,
                              void *data, bool readonly, hop_drop *drop, void *owner,
                              hop_array **out_a)
{
	const hop_memory *m;
	if (out_a)
		*out_a = NULL;
	if (!c || !out_a)
		return HOP_EUSE;
	HOP_TRY(hop_device_memory(c, d, &m));
	if (!m)
		return hop_array_adopt(c, t, rank, dim, data, readonly, drop, owner, out_a);
	if (data && !m->far->owns(data))
		return refuse(c, HOP_EVALUE, "adopt: the data are not memory of %s:%d", m->far->name, d.id);
	if (data && (unsigned)t < HOP_NDTYPE && (uintptr_t)data % hop_dtype_bytes(t))
		return refuse(c, HOP_EVALUE, "adopt: the data are not aligned to their elements");
	HOP_TRY(hop_array_far_adopt(c, m, d.id, t, rank, dim, data, readonly, out_a));
	if (drop) {
		(*out_a)->drop = drop;
		(*out_a)->owner = owner;
	}
	return HOP_OK;
}

static hop_status has_bytes(const hop_array *a, const char *what, size_t bytes)
{
	return bytes == a->bytes ? HOP_OK : refuse(a->ctx, HOP_EVALUE, "%s: the array has %zu bytes, not "
	                                           "%zu", what, a->bytes, bytes);
}

hop_status hop_array_read(hop_array *a, void *to, size_t bytes)
{
	if (!a || (!to && a->bytes))
		return HOP_EUSE;
	HOP_TRY(has_bytes(a, "read", bytes));
	return hop_array_pack(a, to);
}

hop_status hop_array_write(hop_array *a, const void *from, size_t bytes)
{
	if (!a || (!from && a->bytes))
		return HOP_EUSE;
	HOP_TRY(has_bytes(a, "write", bytes));
	if (a->readonly)
		return refuse(a->ctx, HOP_EUSE, "write: the array's memory is read-only");
	return hop_array_unpack(a, from);
}

/* ---- streams ---- */

static hop_status open_stream(hop_ctx *c, hop_device d, bool adopt, void *handle,
                              hop_stream **out_s)
{
	const hop_memory *m;
	if (out_s)
		*out_s = NULL;
	if (!c || !out_s)
		return HOP_EUSE;
	HOP_TRY(hop_device_memory(c, d, &m));
	if (adopt && !m)
		return refuse(c, HOP_EVALUE, "a stream of the cpu has no handle");
	if (adopt && !handle)                       /* the driver's word for its default */
		handle = m->far->common;
	return hop_stream_open(c, m, d.id, adopt, handle, out_s);
}

hop_status hop_stream_new(hop_ctx *c, hop_device d, hop_stream **out_s)
{
	return open_stream(c, d, false, NULL, out_s);
}

hop_status hop_stream_adopt(hop_ctx *c, hop_device d, void *handle, hop_stream **out_s)
{
	return open_stream(c, d, true, handle, out_s);
}
