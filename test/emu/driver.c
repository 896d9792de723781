/* driver.c -- the functions of the CUDA driver that have to do with devices, contexts and memory, for
 * a device that is emulated. As strict as the real one where a program could be wrong: a context must
 * be current, addresses must be what they are said to be. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/cu.h"
#include "emu/device.h"

enum { GRAIN = 2 << 20 };

static bool started;
static int  context;                   /* its address is the handle */
static __thread int current;           /* times it was pushed by this thread */

#define OWN(p) ((void *)(uintptr_t)(p))
#define NEED_CONTEXT do { if (!current) return CUDA_ERROR_INVALID_CONTEXT; } while (0)

/* ---- the device ---- */

CUresult cuInit(unsigned flags)
{
	started = true;
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *out)
{
	*out = 13000;
	return CUDA_SUCCESS;
}
CUresult cuGetErrorString(int error, const char **out)
{
	switch (error) {
	case CUDA_SUCCESS: *out = "no error"; break;
	case CUDA_ERROR_INVALID_VALUE: *out = "invalid argument"; break;
	case CUDA_ERROR_OUT_OF_MEMORY: *out = "out of memory"; break;
	case CUDA_ERROR_NO_DEVICE: *out = "no CUDA-capable device is detected"; break;
	case CUDA_ERROR_INVALID_IMAGE: *out = "device kernel image is invalid"; break;
	case CUDA_ERROR_INVALID_CONTEXT: *out = "invalid device context"; break;
	case CUDA_ERROR_INVALID_HANDLE: *out = "invalid resource handle"; break;
	case CUDA_ERROR_NOT_FOUND: *out = "named symbol not found"; break;
	case CUDA_ERROR_NOT_READY: *out = "device not ready"; break;
	case CUDA_ERROR_ILLEGAL_ADDRESS: *out = "an illegal memory access was encountered"; break;
	case CUDA_ERROR_LAUNCH_FAILED: *out = "unspecified launch failure"; break;
	case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: *out = "too many blocks in cooperative launch"; break;
	default: *out = "an error of the emulated device"; break;
	}
	return CUDA_SUCCESS;
}
CUresult cuGetErrorName(int error, const char **out)
{
	return cuGetErrorString(error, out);
}
CUresult cuDeviceGetCount(int *out)
{
	*out = 1;
	return started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult cuDeviceGet(int *out, int ordinal)
{
	*out = 0;
	return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *out, int n, int dev)
{
	(void)dev;
	strncpy(out, "emulated device", n);
	out[n - 1] = 0;
	return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *out, int dev)
{
	(void)dev;
	*out = emu_settings()->memory;
	return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t *out_free, size_t *out_all)
{
	NEED_CONTEXT;
	emu_lock();
	*out_free = emu_memory_free();
	emu_unlock();
	*out_all = emu_settings()->memory;
	return emu_sticky();
}
CUresult cuDeviceGetAttribute(int *out, int attribute, int dev)
{
	(void)dev;
	switch (attribute) {
	case 1: case 2: *out = 1024; break;                    /* threads of a block, along x */
	case 5: *out = 0x7fffffff; break;                      /* blocks along x, y, z */
	case 6: case 7: *out = 65535; break;
	case 8: *out = 48 << 10; break;                        /* shared by a block as it is */
	case 10: *out = 32; break;                             /* threads of a warp */
	case 16: *out = emu_settings()->sms; break;
	case 38: *out = 32 << 20; break;                       /* cache of the second level */
	case 39: *out = 2048; break;                           /* threads of a multiprocessor */
	case 75: *out = 9; break;
	case 76: *out = 0; break;
	case 81: *out = 228 << 10; break;                      /* shared memory of a multiprocessor */
	case 82: *out = 65536; break;
	case 95: *out = 1; break;                              /* cooperative */
	case 97: *out = 227 << 10; break;                      /* shared by a block that asks */
	case 102: case 115: *out = 1; break;                   /* addresses first, memory later; pools */
	default: *out = 0; break;
	}
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(void **out, int dev)
{
	(void)dev;
	*out = &context;
	return started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult cuDevicePrimaryCtxRelease_v2(int dev)
{
	(void)dev;
	return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset_v2(int dev)
{
	(void)dev;
	emu_forget();
	emu_lock();
	emu_free_all();
	emu_unlock();
	return emu_sticky();
}
CUresult cuCtxGetCurrent(void **out)
{
	*out = current ? &context : NULL;
	return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(void *c)
{
	current = c != NULL;
	return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(void *c)
{
	if (c != &context)
		return CUDA_ERROR_INVALID_CONTEXT;
	current++;
	return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(void **out)
{
	NEED_CONTEXT;
	current--;
	*out = &context;
	return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void)
{
	NEED_CONTEXT;
	return emu_await_all();
}

/* ---- memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t n)
{
	void *p = NULL;

	NEED_CONTEXT;
	if (emu_sticky())
		return emu_sticky();
	emu_lock();
	int code = emu_alloc(n, &p);
	emu_unlock();
	*out = (CUdeviceptr)(uintptr_t)p;
	return code;
}
CUresult cuMemFree_v2(CUdeviceptr p)
{
	NEED_CONTEXT;
	if (!p)
		return emu_sticky();
	int wait = emu_await_all();
	if (wait)
		return wait;
	emu_lock();
	int code = emu_free(OWN(p));
	emu_unlock();
	return code;
}
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t n, void *stream)
{
	(void)stream;
	int code = cuMemAlloc_v2(out, n);
	if (code != CUDA_ERROR_OUT_OF_MEMORY)
		return code;
	emu_await_all();               /* what is freed in streams, too, comes back */
	return cuMemAlloc_v2(out, n);
}
CUresult cuMemFreeAsync(CUdeviceptr p, void *stream)
{
	NEED_CONTEXT;
	return emu_tell(emu_stream_of(stream), (emu_op){ .kind = EMU_FREE, .to = OWN(p) });
}
CUresult cuDeviceGetDefaultMemPool(void **out, int dev)
{
	(void)dev;
	*out = &context;
	return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
	return pool == &context && attribute == 4 && value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemPoolTrimTo(void *pool, size_t keep)
{
	(void)pool, (void)keep;
	return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **out, size_t n, unsigned flags)
{
	NEED_CONTEXT;
	(void)flags;
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	*out = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset(*out, 0xcb, n);
	emu_lock();
	int code = emu_pin(*out, n);
	emu_unlock();
	return code;
}
CUresult cuMemFreeHost(void *p)
{
	NEED_CONTEXT;
	emu_await_all();
	emu_lock();
	int code = emu_unpin(p);
	emu_unlock();
	if (!code)
		free(p);
	return code;
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags)
{
	(void)flags;
	emu_lock();
	bool is = emu_is_pinned(p, 1);
	emu_unlock();
	*out = (CUdeviceptr)(uintptr_t)p;
	return is ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuPointerGetAttribute(void *out, int attribute, CUdeviceptr p)
{
	emu_lock();
	bool device = emu_is_device(OWN(p), 1), pinned = emu_is_pinned(OWN(p), 1);
	emu_unlock();
	device = device || emu_is_constant(OWN(p), 1);
	if (!device && !pinned)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case 1: *(void **)out = &context; break;
	case 2: *(unsigned *)out = device ? 2 : 1; break;
	case 9: *(int *)out = 0; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* ---- copies ---- */

static bool device_has(const void *p, size_t n)
{
	emu_look();
	bool is = emu_is_device(p, n);
	emu_unlock();
	return is || emu_is_constant(p, n);
}
static bool host_has(const void *p)
{
	emu_look();
	bool is = emu_piece_of(p) != NULL;
	emu_unlock();
	return p && !is && !emu_is_constant(p, 1);
}
static bool is_pinned(const void *p, size_t n)
{
	emu_look();
	bool is = emu_is_pinned(p, n);
	emu_unlock();
	return is;
}

/* As the real driver has it: pageable host memory is read before a copy from it returns, and written
 * before a copy to it returns; pinned memory is touched when the stream comes to it. */
static int copy(emu_stream *s, emu_op o, bool from_host, bool to_host)
{
	size_t to_n = (o.rows - 1) * o.to_step + o.n, from_n = (o.rows - 1) * o.from_step + o.n;

	if (!o.n || !o.rows)
		return emu_sticky();
	if (from_host ? !host_has(o.from) : !device_has(o.from, from_n))
		return CUDA_ERROR_INVALID_VALUE;
	if (to_host ? !host_has(o.to) : !device_has(o.to, to_n))
		return CUDA_ERROR_INVALID_VALUE;
	o.kind = EMU_COPY;
	if (from_host && !is_pinned(o.from, from_n)) {
		o.staged = malloc(from_n);
		if (!o.staged)
			return CUDA_ERROR_OUT_OF_MEMORY;
		o.from = memcpy(o.staged, o.from, from_n);
	}
	bool wait = to_host && !is_pinned(o.to, to_n);
	int code = emu_tell(s, o);
	return code || !wait ? code : emu_await(s, s->told);
}
static emu_op plain(void *to, const void *from, size_t n)
{
	return (emu_op){ .to = to, .from = from, .n = n, .rows = 1 };
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, void *stream)
{
	NEED_CONTEXT;
	return copy(emu_stream_of(stream), plain(OWN(to), from, n), true, false);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, void *stream)
{
	NEED_CONTEXT;
	return copy(emu_stream_of(stream), plain(to, OWN(from), n), false, true);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, void *stream)
{
	NEED_CONTEXT;
	return copy(emu_stream_of(stream), plain(OWN(to), OWN(from), n), false, false);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, void *stream)
{
	NEED_CONTEXT;
	return copy(emu_stream_of(stream), plain(OWN(to), OWN(from), n), host_has(OWN(from)),
	            host_has(OWN(to)));
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
	int code = cuMemcpyHtoDAsync_v2(to, from, n, NULL);
	return code ? code : emu_await_all();
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
	int code = cuMemcpyDtoHAsync_v2(to, from, n, NULL);
	return code ? code : emu_await_all();
}
/* Of memory types 1 host, 2 device, 4 whatever the address says. */
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, void *stream)
{
	NEED_CONTEXT;
	const void *from = c->srcMemoryType == 1 ? c->srcHost : OWN(c->srcDevice);
	void *to = c->dstMemoryType == 1 ? c->dstHost : OWN(c->dstDevice);
	emu_op o = { .to = (char *)to + c->dstY * c->dstPitch + c->dstXInBytes,
		     .from = (const char *)from + c->srcY * c->srcPitch + c->srcXInBytes,
		     .n = c->WidthInBytes, .rows = c->Height, .to_step = c->dstPitch, .from_step = c->srcPitch };

	if (c->Height > 1 && (c->WidthInBytes > c->dstPitch || c->WidthInBytes > c->srcPitch))
		return CUDA_ERROR_INVALID_VALUE;
	return copy(emu_stream_of(stream), o,
	            c->srcMemoryType == 1 || (c->srcMemoryType == 4 && host_has(from)),
	            c->dstMemoryType == 1 || (c->dstMemoryType == 4 && host_has(to)));
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t n, void *stream)
{
	NEED_CONTEXT;
	if (!n)
		return emu_sticky();
	if (!device_has(OWN(to), n))
		return CUDA_ERROR_INVALID_VALUE;
	emu_op o = { .kind = EMU_FILL, .to = OWN(to), .byte = byte, .n = n };
	return emu_tell(emu_stream_of(stream), o);
}

/* ---- addresses first, memory later ---- */

/* A handle is its bytes and a mark; a piece of memory is there until it is released and unmapped. */
typedef struct create { size_t n; int mapped; bool released; void *at; struct create *next; } create;
static create *created;

static void settle(create *c)
{
	create **at = &created;

	if (c->mapped || !c->released)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	emu_release(c->n);
	free(c);
}
CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *what, int option)
{
	(void)option;
	*out = GRAIN;
	return what->type == 1 && what->location.type == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t n, size_t align, CUdeviceptr at,
                             unsigned long long flags)
{
	void *p = NULL;

	(void)align, (void)at;
	NEED_CONTEXT;
	if (!n || n % GRAIN || flags)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	int code = emu_reserve(n, &p);
	emu_unlock();
	*out = (CUdeviceptr)(uintptr_t)p;
	return code;
}
CUresult cuMemAddressFree(CUdeviceptr p, size_t n)
{
	NEED_CONTEXT;
	emu_await_all();
	emu_lock();
	int code = emu_unreserve(OWN(p), n);
	emu_unlock();
	return code;
}
CUresult cuMemCreate(unsigned long long *out, size_t n, const CUmemAllocationProp *what,
                     unsigned long long flags)
{
	create *c = calloc(1, sizeof *c);

	NEED_CONTEXT;
	if (!c || !n || n % GRAIN || flags || what->type != 1 || what->location.type != 1) {
		free(c);
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_lock();
	int code = emu_create(n);
	if (!code) {
		*c = (create){ .n = n, .next = created };
		created = c;
	}
	emu_unlock();
	if (code)
		free(c);
	*out = code ? 0 : (unsigned long long)(uintptr_t)c;
	return code;
}
CUresult cuMemRelease(unsigned long long handle)
{
	create *c = OWN(handle);

	emu_lock();
	c->released = true;
	settle(c);
	emu_unlock();
	return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr p, size_t n, size_t offset, unsigned long long handle,
                  unsigned long long flags)
{
	create *c = OWN(handle);

	if (offset || flags || n != c->n)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	int code = emu_map(OWN(p), n);
	if (!code) {
		c->mapped++;
		c->at = OWN(p);
	}
	emu_unlock();
	return code;
}
CUresult cuMemUnmap(CUdeviceptr p, size_t n)
{
	emu_await_all();
	emu_lock();
	int code = emu_unmap(OWN(p), n);
	for (create *c = created, *next; c && !code; c = next) {
		next = c->next;
		if (c->mapped && (char *)c->at >= (char *)OWN(p) && (char *)c->at < (char *)OWN(p) + n) {
			c->mapped = 0;
			settle(c);
		}
	}
	emu_unlock();
	return code;
}
CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *what, size_t count)
{
	if (count != 1 || what->location.type != 1 || what->flags != 3)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	int code = emu_allow(OWN(p), n);
	emu_unlock();
	return code;
}
