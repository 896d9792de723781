/* module.c -- modules and functions: an object that the emulated NVRTC made is opened as a library of
 * this process. What cuModule and cuFunc mean; launches themselves are stream.c's. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cu.h"
#include "emu/device.h"

enum { FUNC_THREADS = 0, FUNC_STATIC = 1, FUNC_CONST = 2, FUNC_LOCAL = 3, FUNC_REGS = 4,
       FUNC_SHARED = 8 };
enum { SHARED_SM = 228 << 10, SHARED_BLOCK = 227 << 10, SHARED_USUAL = 48 << 10, THREADS_SM = 2048 };

typedef struct module {
	struct module *next;
	void          *lib;
	int            fd;
	char           file[64];
	const char    *lo, *hi;
	hop_emu      **now;
	char          *statics, *statics_end;
	emu_function  *function;
} module;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static module *modules;

static int find_end(struct dl_phdr_info *i, size_t size, void *arg)
{
	module *m = arg;

	(void)size;
	if ((const char *)i->dlpi_addr != m->lo)
		return 0;
	for (int k = 0; k < i->dlpi_phnum; k++) {
		const char *end = m->lo + i->dlpi_phdr[k].p_vaddr + i->dlpi_phdr[k].p_memsz;
		if (i->dlpi_phdr[k].p_type == PT_LOAD && end > m->hi)
			m->hi = end;
	}
	return 1;
}

/* The object tells its own length: where its table of sections ends. */
static size_t object_size(const void *image)
{
	const ElfW(Ehdr) *h = image;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		return 0;
	return h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
}
static bool open_object(module *m, const void *image)
{
	size_t n = object_size(image);
	void (*statics)(char **, char **);
	struct link_map *map;

	m->fd = memfd_create("cubin", MFD_CLOEXEC);
	if (!n || m->fd < 0 || write(m->fd, image, n) != (ssize_t)n)
		return false;
	snprintf(m->file, sizeof m->file, "/proc/%d/fd/%d", (int)getpid(), m->fd);
	m->lib = dlopen(m->file, RTLD_NOW | RTLD_LOCAL);
	if (!m->lib) {
		fprintf(stderr, "emu: %s\n", dlerror());
		return false;
	}
	m->now = dlsym(m->lib, "hop_emu_now");
	*(void **)&statics = dlsym(m->lib, "hop_emu_statics");
	if (!m->now || !statics || dlinfo(m->lib, RTLD_DI_LINKMAP, &map))
		return false;
	statics(&m->statics, &m->statics_end);
	m->lo = m->hi = (const char *)map->l_addr;
	dl_iterate_phdr(find_end, m);
	return true;
}
static void close_object(module *m)
{
	if (m->lib)
		dlclose(m->lib);
	if (m->fd >= 0)
		close(m->fd);
	for (emu_function *f = m->function, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(m);
}

CUresult cuModuleLoadData(void **out, const void *image)
{
	module *m = calloc(1, sizeof *m);

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!open_object(m, image)) {
		close_object(m);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	pthread_mutex_lock(&lock);
	m->next = modules;
	modules = m;
	pthread_mutex_unlock(&lock);
	*out = m;
	return emu_sticky();
}
CUresult cuModuleUnload(void *handle)
{
	module **at = &modules;

	emu_await_all();
	pthread_mutex_lock(&lock);
	while (*at && *at != handle)
		at = &(*at)->next;
	if (*at)
		*at = ((module *)handle)->next;
	else
		handle = NULL;
	pthread_mutex_unlock(&lock);
	if (!handle)
		return CUDA_ERROR_INVALID_HANDLE;
	close_object(handle);
	return emu_sticky();
}

CUresult cuModuleGetFunction(void **out, void *handle, const char *name)
{
	module *m = handle;
	emu_function *f = calloc(1, sizeof *f);
	char symbol[300];

	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(f->name, sizeof f->name, "%s", name);
	snprintf(symbol, sizeof symbol, "hop_emu_params_%s", name);
	const char *params = dlsym(m->lib, symbol);        /* bytes of each: "8448" */
	f->of = (emu_launch){ .name = f->name, .now = m->now, .statics = m->statics,
		              .statics_end = m->statics_end, .object = m->lo, .object_end = m->hi,
		              .file = m->file };
	*(void **)&f->of.code = dlsym(m->lib, name);
	f->most_shared = SHARED_USUAL;
	if (!f->of.code || !params || strlen(params) > EMU_PARAMS) {
		free(f);
		return CUDA_ERROR_NOT_FOUND;
	}
	for (; params[f->of.nparam]; f->of.nparam++)
		f->of.wide[f->of.nparam] = (uint8_t)(params[f->of.nparam] - '0');
	pthread_mutex_lock(&lock);
	f->next = m->function;
	m->function = f;
	pthread_mutex_unlock(&lock);
	*out = f;
	return emu_sticky();
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *out_n, void *handle, const char *name)
{
	module *m = handle;
	void *p = dlsym(m->lib, name);
	Dl_info info;
	ElfW(Sym) *symbol = NULL;

	if (!p || !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return CUDA_ERROR_NOT_FOUND;
	if (out)
		*out = (CUdeviceptr)(uintptr_t)p;
	if (out_n)
		*out_n = symbol->st_size;
	return emu_sticky();
}
bool emu_is_constant(const void *p, size_t n)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (const module *m = modules; m && !found; m = m->next)
		found = (const char *)p >= m->lo && (const char *)p + n <= m->hi;
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- functions ---- */

CUresult cuFuncGetAttribute(int *out, int attribute, void *handle)
{
	const emu_function *f = handle;

	switch (attribute) {
	case FUNC_THREADS: *out = 1024; break;
	case FUNC_STATIC: *out = (int)(f->of.statics_end - f->of.statics); break;
	case FUNC_CONST: case FUNC_LOCAL: *out = 0; break;
	case FUNC_REGS: *out = 32; break;
	case FUNC_SHARED: *out = f->most_shared; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return emu_sticky();
}
CUresult cuFuncSetAttribute(void *handle, int attribute, int value)
{
	emu_function *f = handle;

	if (attribute != FUNC_SHARED || value < 0 || value > SHARED_BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	f->most_shared = value;
	return emu_sticky();
}

/* Few, so that blocks which wait for each other without being together are found, and all runs are
 * short. */
int emu_occupancy(const emu_function *f, int threads, size_t shared)
{
	size_t all = shared + (f->of.statics_end - f->of.statics) + 1024;
	int    n = THREADS_SM / threads, m = (int)(SHARED_SM / all);

	n = n < m ? n : m;
	return n < 2 ? n : 2;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *f, int threads, size_t shared)
{
	if (threads < 1 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*out = emu_occupancy(f, threads, shared);
	return emu_sticky();
}

int emu_launch_of(emu_function *f, const unsigned grid[3], const unsigned block[3], unsigned shared,
                  void **params, bool together, emu_launch *out_l)
{
	uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];

	if (!f || !blocks || !block[0] || block[0] > 1024 || block[1] != 1 || block[2] != 1 ||
	    grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if (shared > (unsigned)f->most_shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (together && blocks > (uint64_t)emu_settings()->sms * emu_occupancy(f, block[0], shared))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	*out_l = f->of;
	memcpy(out_l->grid, grid, sizeof out_l->grid);
	out_l->block = block[0];
	out_l->shared = shared;
	out_l->together = together;
	for (int i = 0; i < f->of.nparam; i++)
		memcpy(&out_l->param[i], params[i], f->of.wide[i]);
	return emu_sticky();
}
