/* elf.c -- place the relocatable x86-64 ELF objects of a program in memory as one image.
 * They come from our own compiler or from the cache (checked by a hash there), but every
 * offset is checked again: a damaged file must not become a jump. Does not handle TLS or
 * writable data; we emit none. Unwind tables are there when a debugger is to read them. */
#include <elf.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/llvm/elf.h"
#include "target/look.h"

/* What compiled code may call. */
static const struct { const char *name; void *addr; } externs[] = {
#define F(f) { #f, (void *)(uintptr_t)f }
	F(sinf), F(cosf), F(sin), F(cos), F(fmodf), F(fmod), F(fma), F(fmaf), F(floorf),
	F(floor), F(memcpy), F(memset), F(memmove),
#undef F
};

/* jmp *8(%rip); address at 8: also serves as its GOT slot. The place of a symbol of another
 * object, which needs no jump, remembers where it was found. */
enum { STUB = 16, FOUND = 1 };

enum { FEW = 128 };

typedef struct object {
	const unsigned char *o;          /* its bytes */
	size_t               n;
	const Elf64_Ehdr    *eh;
	const Elf64_Shdr    *sh;
	const Elf64_Sym     *sym;
	size_t               nsym;
	const char          *str;
	size_t               nstr;
	uint64_t             at[256];    /* section's offset in the image; 0 = not placed */
	size_t               stubs;      /* offset of its stubs, one a symbol */
	bool                 unwind;     /* tables for debuggers are placed too */
} object;

typedef struct slot { uint32_t obj, sym; } slot;     /* obj: 1 + its number; 0 = empty */

typedef struct image {
	object         obj[HOP_MAXPART];
	int            nobj;
	unsigned char *base;
	size_t         size;
	slot          *table;            /* [cap] symbols that others may see, by name */
	size_t         cap;              /* a power of two, more than there are symbols */
	slot           few[FEW];         /* the table of most programs */
} image;

static bool inside(const object *m, uint64_t off, uint64_t len)
{
	return off <= m->n && len <= m->n - off;
}

static const char *read_headers(object *m)
{
	if (m->n < sizeof *m->eh || memcmp(m->o, ELFMAG, SELFMAG) ||
	    m->o[EI_CLASS] != ELFCLASS64 || ((uintptr_t)m->o & 7))
		return "not an ELF object";
	m->eh = (const void *)m->o;
	if (m->eh->e_machine != EM_X86_64)
		return "code for another machine: only that of x86-64 can be loaded";
	if (m->eh->e_type != ET_REL ||
	    m->eh->e_shnum > 256 || m->eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    (m->eh->e_shoff & 7) ||
	    !inside(m, m->eh->e_shoff, (uint64_t)m->eh->e_shnum * sizeof(Elf64_Shdr)))
		return "not an x86-64 object";
	m->sh = (const void *)(m->o + m->eh->e_shoff);
	for (int i = 0; i < m->eh->e_shnum; i++) {
		const Elf64_Shdr *s = &m->sh[i];

		if (s->sh_type != SHT_NOBITS && !inside(m, s->sh_offset, s->sh_size))
			return "a section is outside the object";
		if (s->sh_type != SHT_SYMTAB)
			continue;
		if (s->sh_link >= m->eh->e_shnum || (s->sh_offset & 7))
			return "bad symbol table";
		m->sym = (const void *)(m->o + s->sh_offset);
		m->nsym = s->sh_size / sizeof *m->sym;
		m->str = (const char *)m->o + m->sh[s->sh_link].sh_offset;
		m->nstr = m->sh[s->sh_link].sh_size;
		if (!m->nstr || m->str[m->nstr - 1])
			return "bad string table";
	}
	return m->sym ? NULL : "no symbols";
}

static bool placed(const object *m, const Elf64_Shdr *s)
{
	return (s->sh_flags & SHF_ALLOC) && s->sh_size &&
	       (s->sh_type != SHT_X86_64_UNWIND || m->unwind);
}

/* Offsets for the sections of one object from *io_off on, then for its stubs. */
static const char *place(object *m, size_t *io_off)
{
	size_t off = *io_off;
	for (int i = 0; i < m->eh->e_shnum; i++) {
		const Elf64_Shdr *s = &m->sh[i];
		size_t al = s->sh_addralign ? s->sh_addralign : 1;

		if (!placed(m, s))
			continue;
		if (al > 4096 || (al & (al - 1)) || s->sh_size > 1u << 30)
			return "bad section";
		off = (off + al - 1) & ~(al - 1);
		m->at[i] = off;
		off += s->sh_size;
	}
	m->stubs = (off + STUB - 1) & ~(size_t)(STUB - 1);
	*io_off = m->stubs + m->nsym * STUB;
	return NULL;
}

static const char *place_all(image *im)
{
	size_t off = 64;
	const char *err;
	for (int k = 0; k < im->nobj; k++)
		if ((err = place(&im->obj[k], &off)))
			return err;
	im->size = off;
	im->base = mmap(NULL, im->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);
	if (im->base == MAP_FAILED) {
		im->base = NULL;
		return "no memory for code";
	}
	for (int k = 0; k < im->nobj; k++) {
		const object *m = &im->obj[k];

		for (int i = 0; i < m->eh->e_shnum; i++)
			if (m->at[i] && m->sh[i].sh_type != SHT_NOBITS)
				memcpy(im->base + m->at[i], m->o + m->sh[i].sh_offset, m->sh[i].sh_size);
	}
	return NULL;
}

static bool defined(const object *m, const Elf64_Sym *y)
{
	return y->st_shndx && y->st_shndx < m->eh->e_shnum;
}

static const char *address(const image *im, const object *m, const Elf64_Sym *y,
                           uint64_t *out_a)
{
	if (!m->at[y->st_shndx] || y->st_value > m->sh[y->st_shndx].sh_size)
		return "symbol in a section that is not placed";
	*out_a = (uint64_t)(uintptr_t)im->base + m->at[y->st_shndx] + y->st_value;
	return NULL;
}

static const char *name_of(const image *im, slot s)
{
	const object *m = &im->obj[s.obj - 1];
	return m->str + m->sym[s.sym].st_name;
}

/* The slot of that name, or the empty one where it belongs. */
static slot *seek(const image *im, const char *name)
{
	size_t i = (size_t)hop_hash_bytes(name, strlen(name)).lo & (im->cap - 1);
	while (im->table[i].obj && strcmp(name_of(im, im->table[i]), name))
		i = (i + 1) & (im->cap - 1);
	return &im->table[i];
}

/* The first of a name counts. */
static const char *index_globals(image *im)
{
	size_t n = 1;
	for (int k = 0; k < im->nobj; k++)
		n += im->obj[k].nsym;
	if (n > UINT32_MAX / 2)
		return "too many symbols";
	for (im->cap = FEW; im->cap < 2 * n;)
		im->cap *= 2;
	im->table = im->few;
	if (im->cap > FEW)
		im->table = mmap(NULL, im->cap * sizeof *im->table, PROT_READ | PROT_WRITE,
		                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (im->table == MAP_FAILED) {
		im->table = NULL;
		return "no memory for symbols";
	}
	for (int k = 0; k < im->nobj; k++) {
		const object *m = &im->obj[k];

		for (size_t i = 0; i < m->nsym; i++) {
			const Elf64_Sym *y = &m->sym[i];

			if (ELF64_ST_BIND(y->st_info) != STB_GLOBAL || !defined(m, y) ||
			    y->st_name >= m->nstr)
				continue;
			slot *s = seek(im, m->str + y->st_name);
			if (!s->obj)
				*s = (slot){ (uint32_t)k + 1, (uint32_t)i };
		}
	}
	return NULL;
}

/* A symbol of any object that others may see. */
static const char *find_global(const image *im, const char *name, uint64_t *out_a)
{
	const slot *s = seek(im, name);
	if (!s->obj)
		return "code calls an unknown function";
	return address(im, &im->obj[s->obj - 1], &im->obj[s->obj - 1].sym[s->sym], out_a);
}

/* The address of symbol i; a stub is made for what is outside the image. */
static const char *resolve(image *im, object *m, size_t i, uint64_t *out_a)
{
	const Elf64_Sym *y;
	unsigned char *stub;
	if (i >= m->nsym)
		return "bad symbol";
	y = &m->sym[i];
	if (defined(m, y))
		return address(im, m, y, out_a);
	if (y->st_name >= m->nstr)
		return "bad symbol name";
	stub = im->base + m->stubs + i * STUB;
	if (stub[0] == FOUND) {
		memcpy(out_a, stub + 8, 8);
		return NULL;
	}
	for (size_t k = 0; k < sizeof externs / sizeof *externs; k++)
		if (!strcmp(externs[k].name, m->str + y->st_name)) {
			static const unsigned char jump[8] = { 0xff, 0x25, 2, 0, 0, 0 };
			memcpy(stub, jump, sizeof jump);
			memcpy(stub + 8, &externs[k].addr, 8);
			*out_a = (uint64_t)(uintptr_t)stub;
			return NULL;
		}
	const char *err = find_global(im, m->str + y->st_name, out_a);
	if (!err) {
		stub[0] = FOUND;
		memcpy(stub + 8, out_a, 8);
	}
	return err;
}

static const char *relocate(image *im, object *m, int sec, const Elf64_Rela *r)
{
	uint64_t to = m->at[sec], s, p;
	unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
	unsigned char *w;
	const char *err = resolve(im, m, ELF64_R_SYM(r->r_info), &s);
	int64_t v;
	int32_t v32;
	bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;
	if (err)
		return err;
	if (r->r_offset > m->sh[sec].sh_size ||
	    m->sh[sec].sh_size - r->r_offset < (wide ? 8 : 4))
		return "relocation outside its section";
	w = im->base + to + r->r_offset;
	p = (uint64_t)(uintptr_t)w;
	v = (int64_t)(s + (uint64_t)r->r_addend);
	switch (type) {
	case R_X86_64_64:
		memcpy(w, &v, 8);
		return NULL;
	case R_X86_64_PC64:
		v -= (int64_t)p;
		memcpy(w, &v, 8);
		return NULL;
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX: {
		unsigned char *stub = im->base + m->stubs + ELF64_R_SYM(r->r_info) * STUB;
		if (!stub[0]) {                  /* one of our own symbols: make it a slot */
			stub[0] = 0xcc;
			memcpy(stub + 8, &s, 8);
		}
		v = (int64_t)((uint64_t)(uintptr_t)stub + 8 + (uint64_t)r->r_addend - p);
		break;
	}
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		v -= (int64_t)p;
		break;
	case R_X86_64_32:
	case R_X86_64_32S:
		break;
	default:
		return "unknown relocation";
	}
	v32 = (int32_t)v;
	if (v32 != v)
		return "relocation out of range";
	memcpy(w, &v32, 4);
	return NULL;
}

static const char *relocate_all(image *im, object *m)
{
	for (int i = 0; i < m->eh->e_shnum; i++) {
		const Elf64_Shdr *s = &m->sh[i];
		const Elf64_Rela *r;

		if (s->sh_type != SHT_RELA || s->sh_info >= m->eh->e_shnum || !m->at[s->sh_info])
			continue;
		if (s->sh_offset & 7)
			return "bad relocations";
		r = (const void *)(m->o + s->sh_offset);
		for (size_t k = 0; k < s->sh_size / sizeof *r; k++) {
			const char *err = relocate(im, m, (int)s->sh_info, &r[k]);

			if (err)
				return err;
		}
	}
	return NULL;
}

/* The list of objects: a length before each, see abi.h. */
static const char *read_list(image *im, const unsigned char *p, size_t n)
{
	const char *err;
	while (n) {
		uint64_t size;
		object *m = &im->obj[im->nobj];
		if (im->nobj == HOP_MAXPART || n < 8 || n % 8)
			return "not a list of objects";
		memcpy(&size, p, 8);
		p += 8;
		n -= 8;
		if (size > n)
			return "an object is cut short";
		m->o = p;
		m->n = size;
		m->unwind = hop_look() & HOP_LOOK_GDB;
		if ((err = read_headers(m)))
			return err;
		im->nobj++;
		size = (size + 7) & ~(uint64_t)7;
		p += size;
		n -= size;
	}
	return NULL;
}

static const char *load(image *im, const void *p, size_t n, const char *entry,
                        void **out_at)
{
	const char *err = read_list(im, p, n);
	uint64_t at = 0;
	if (!err)
		err = place_all(im);
	if (!err)
		err = index_globals(im);
	for (int k = 0; !err && k < im->nobj; k++)
		err = relocate_all(im, &im->obj[k]);
	if (!err && find_global(im, entry, &at))
		err = "no entry";
	if (!err && mprotect(im->base, im->size, PROT_READ | PROT_EXEC))
		err = "the system refuses executable memory";
	*out_at = (void *)(uintptr_t)at;
	return err;
}

/* ---- for gdb and perf ---- */

/* A copy of the object that says where its sections are. */
static void show_gdb(const image *im, const object *m)
{
	unsigned char *o = malloc(m->n);
	if (!o)
		return;
	memcpy(o, m->o, m->n);
	Elf64_Shdr *sh = (void *)(o + m->eh->e_shoff);
	for (int i = 0; i < m->eh->e_shnum; i++)
		sh[i].sh_addr = m->at[i] ? (uint64_t)(uintptr_t)im->base + m->at[i] : 0;
	hop_look_gdb(im->base, o, m->n);
	free(o);
}

/* Functions by name; the one that is looked for at load has a name of its own beside that. */
static void show_perf(const image *im, const object *m, const char *entry)
{
	for (size_t i = 0; i < m->nsym; i++) {
		const Elf64_Sym *y = &m->sym[i];
		uint64_t at;

		if (ELF64_ST_TYPE(y->st_info) != STT_FUNC || !defined(m, y) || y->st_name >= m->nstr ||
		    !strcmp(m->str + y->st_name, entry) || address(im, m, y, &at))
			continue;
		hop_look_perf(at, y->st_size, m->str + y->st_name);
	}
}

static void show(const image *im, const char *entry)
{
	int look = hop_look();
	for (int k = 0; look && k < im->nobj; k++) {
		if (look & HOP_LOOK_GDB)
			show_gdb(im, &im->obj[k]);
		if (look & HOP_LOOK_PERF)
			show_perf(im, &im->obj[k], entry);
	}
}

const char *hop_elf_load(const void *p, size_t n, const char *entry, hop_image *out)
{
	image im = { .nobj = 0 };
	void *at;
	const char *err = load(&im, p, n, entry, &at);
	if (im.table && im.table != im.few)
		munmap(im.table, im.cap * sizeof *im.table);
	if (err && im.base)
		munmap(im.base, im.size);
	if (!err) {
		*out = (hop_image){ im.base, im.size, at };
		show(&im, entry);
	}
	return err;
}

void hop_elf_free(hop_image *i)
{
	if (i->base && hop_look() & HOP_LOOK_GDB)
		hop_look_gone(i->base);
	if (i->base)
		munmap(i->base, i->size);
	i->base = NULL;
}
