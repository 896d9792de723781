/* debug.c -- what debuggers know of the code: names of functions, the user's line of every
 * statement, and the carries of loops as variables. A carry lives in memory; where that is, is
 * kept in a slot on the stack, so that it is found at any place of the loop. Adds nothing when
 * nobody looks. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctx/ctx.h"
#include "loop/lower.h"
#include "target/llvm/emit.h"

enum { LANG_C99 = 11, FULL = 1, WARNING = 1, DWARF = 4, DEBUG_INFO = 3, OP_DEREF = 6 };
enum { ATE_BOOLEAN = 2, ATE_FLOAT = 4, ATE_SIGNED = 5, ATE_UNSIGNED = 7 };

struct hop_edebug {
	hop_ldib *b;
	hop_lmd  *unit, *fn_type;
	char      dir[1024];
	struct { const char *name; hop_lmd *md; } file[64];      /* names are interned */
	int       nfile;
	hop_lmd  *elem[HOP_NDTYPE];
};

/* ---- names ---- */

/* Functions of one name get numbers; a name that is ours alone stays. */
const char *hop_e_name(hop_emit *e, int i)
{
	const char *want = e->p->func[i].name;
	size_t n = strlen(want);
	char *s = hop_arena_alloc(&e->env->tmp, n + 24);
	int k = 0;
	for (int j = 0; j < i; j++)
		k += !strcmp(e->p->func[j].name, want);
	memcpy(s, want, n);
	for (size_t c = 0; c < n; c++)
		if (s[c] <= ' ' || s[c] == '"' || s[c] == '@' || s[c] == 127)
			s[c] = '_';
	if (k || !strcmp(want, "hop_main"))
		snprintf(s + n, 24, ".%d", k);
	return s;
}

/* ---- files and places ---- */

static hop_lmd *file_of(hop_emit *e, const char *name)
{
	struct hop_edebug *d = e->debug;
	int i = 0;
	while (i < d->nfile && d->file[i].name != name)
		i++;
	if (i < d->nfile)
		return d->file[i].md;
	hop_lmd *md = e->L->DIBuilderCreateFile(d->b, name, strlen(name), d->dir,
	                                        *name == '/' ? 0 : strlen(d->dir));
	if (i < (int)(sizeof d->file / sizeof *d->file)) {
		d->file[i].name = name;
		d->file[i].md = md;
		d->nfile++;
	}
	return md;
}

/* False: the place is not known. */
static bool place(hop_emit *e, hop_loc at, hop_lmd **out_file, unsigned *out_line)
{
	const char *file;
	int line;
	hop_loc in;
	if (!at || !hop_loc_read(e->env->ctx, at, &file, &line, &in))
		return false;
	*out_file = file_of(e, file);
	*out_line = line > 0 ? (unsigned)line : 0;
	return true;
}

static hop_lmd *point(hop_emit *e, unsigned line, hop_lmd *file)
{
	hop_lmd *scope = e->s.scope;
	if (file != e->s.file)
		scope = e->L->DIBuilderCreateLexicalBlockFile(e->debug->b, scope, file, 0);
	return e->L->DIBuilderCreateDebugLocation(e->cx, line, 0, scope, NULL);
}

void hop_e_debug_at(hop_emit *e, hop_lbb *b)
{
	if (e->debug)
		e->L->SetCurrentDebugLocation2(e->b, e->s.seen && e->L->GetBasicBlockParent(b) ==
		                               e->s.seen ? e->s.at : NULL);
}

/* ---- carries ---- */

static hop_lmd *element(hop_emit *e, hop_dtype d)
{
	hop_lmd **md = &e->debug->elem[d];
	const char *name = hop_dtype_name(d);
	unsigned kind = hop_dtype_class(d) == HOP_DC_BOOL ? ATE_BOOLEAN :
	                hop_dtype_class(d) == HOP_DC_FLOAT ? ATE_FLOAT :
	                *name == 'u' ? ATE_UNSIGNED : ATE_SIGNED;
	/* debuggers have no bf16: its bits */
	if (kind == ATE_FLOAT && hop_dtype_bytes(d) < 4 && strcmp(name, "f16"))
		kind = ATE_UNSIGNED;
	if (!*md)
		*md = e->L->DIBuilderCreateBasicType(e->debug->b, name, strlen(name),
		                                     8 * hop_dtype_bytes(d), kind, 0);
	return *md;
}

/* An array where all sizes are numbers, else a pointer to its elements. */
static hop_lmd *type_of(hop_emit *e, const hop_lbuf *b, bool *out_array)
{
	hop_lmd *el = element(e, b->dtype), *sub[HOP_MAXRANK];
	uint64_t bits = 8 * hop_dtype_bytes(b->dtype);
	*out_array = true;
	for (int i = 0; i < b->type->rank; i++)
		*out_array &= hop_size_const(b->type->dim[i]);
	if (!*out_array)
		return e->L->DIBuilderCreatePointerType(e->debug->b, el, 64, 64, 0, "", 0);
	for (int i = 0; i < b->type->rank; i++) {
		sub[i] = e->L->DIBuilderGetOrCreateSubrange(e->debug->b, 0, b->type->dim[i].k);
		bits *= (uint64_t)b->type->dim[i].k;
	}
	return b->type->rank ? e->L->DIBuilderCreateArrayType(e->debug->b, bits, 0, el, sub,
	                                                      (unsigned)b->type->rank) : el;
}

/* Its address goes to the slot when the function begins. */
static hop_lv *slot_of(hop_emit *e, int i)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	hop_lv *at;
	if (e->s.slot[i])
		return e->s.slot[i];
	at = hop_e_base(e, i);
	e->s.slot[i] = hop_e_stack(e, e->ptr, 1);
	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	e->L->BuildStore(e->b, at, e->s.slot[i]);
	hop_e_at(e, back);
	return e->s.slot[i];
}

static void declare(hop_emit *e, int i, hop_lmd *file, unsigned line)
{
	const hop_lbuf *b = &e->f->buf[i];
	uint64_t deref = OP_DEREF;
	bool array;
	hop_lmd *type = type_of(e, b, &array);
	hop_lmd *var = e->L->DIBuilderCreateAutoVariable(e->debug->b, e->s.scope, b->name,
	                                                 strlen(b->name), file, line, type, 1, 0, 0);
	e->L->DIBuilderInsertDeclareRecordBefore(
		e->debug->b, slot_of(e, i), var, e->L->DIBuilderCreateExpression(e->debug->b, &deref, array),
		e->L->DIBuilderCreateDebugLocation(e->cx, line, 0, e->s.scope, NULL),
		e->L->GetBasicBlockTerminator(e->s.entry));
}

/* Only what is found again at any time: not a tape, not a place that depends on a size of the run. */
static bool is_seen(const hop_emit *e, const hop_lbuf *b)
{
	return b->name && (b->kind == HOP_BUF_PARAM ||
	                   (b->kind == HOP_BUF_TEMP && hop_size_nsym(b->offset) <= e->f->nsym));
}

static void look(void *user, hop_addr *a, bool is_write)
{
	bool *used = user;
	(void)is_write;
	used[a->buf] = true;
}

/* The carries that a loop, or what is in it, reads and writes, in a block of their own. */
static void open_block(hop_emit *e, const hop_stmt *s, hop_lmd *file, unsigned line)
{
	bool *used = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf), any = false;
	hop_stmt_all_addrs((hop_lfunc *)(uintptr_t)e->f, (hop_stmt *)(uintptr_t)s, look, used);
	for (int i = 0; i < e->f->nbuf; i++)
		any |= used[i] &= is_seen(e, &e->f->buf[i]);
	if (!any)
		return;
	bool *shown = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf);
	for (int i = 0; i < e->f->nbuf; i++)
		shown[i] = used[i] || (e->s.shown && e->s.shown[i]);
	e->s.shown = shown;
	hop_lmd *scope = e->s.scope;
	if (file != e->s.file)
		scope = e->L->DIBuilderCreateLexicalBlockFile(e->debug->b, scope, file, 0);
	e->s.scope = e->L->DIBuilderCreateLexicalBlock(e->debug->b, scope, file, line, 0);
	for (int i = 0; i < e->f->nbuf; i++)
		if (used[i])
			declare(e, i, file, line);
}

void hop_e_debug_piece(hop_emit *e, const bool *shown, const hop_stmt *s)
{
	hop_lmd *file;
	unsigned line;
	if (!e->debug || !e->s.seen || !shown)
		return;
	if (!place(e, s->loc, &file, &line))
		return;
	bool *here = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf);
	memcpy(here, shown, (size_t)e->f->nbuf * sizeof *here);
	for (int i = 0; i < e->f->nbuf; i++)
		if (here[i])
			declare(e, i, file, line);
	e->s.shown = here;
}

/* ---- statements ---- */

hop_eline hop_e_line(hop_emit *e, const hop_stmt *s)
{
	hop_eline was = { e->s.scope, e->s.at, e->s.deep, e->s.shown };
	hop_lmd *file;
	unsigned line;
	if (!e->debug || !e->s.seen || !place(e, s->loc, &file, &line))
		return was;
	if (s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ))
		open_block(e, s, file, line);
	e->s.at = point(e, line, file);
	e->L->SetCurrentDebugLocation2(e->b, e->s.at);
	return was;
}

hop_eline hop_e_line_copy(hop_emit *e, hop_lv *index)
{
	struct hop_edebug *d = e->debug;
	hop_eline was = { e->s.scope, e->s.at, e->s.deep, e->s.shown };
	char name[16];
	uint64_t none = 0;
	if (!d || !e->s.seen)
		return was;
	int n = snprintf(name, sizeof name, "i%d", e->s.deep++);
	e->s.scope = e->L->DIBuilderCreateLexicalBlock(d->b, e->s.scope, e->s.file, 0, 0);
	hop_lmd *var = e->L->DIBuilderCreateAutoVariable(d->b, e->s.scope, name, (size_t)n, e->s.file, 0,
	                                                 element(e, HOP_i64), 1, 0, 0);
	e->L->DIBuilderInsertDbgValueRecordAtEnd(
		d->b, index, var, e->L->DIBuilderCreateExpression(d->b, &none, 0),
		e->L->DIBuilderCreateDebugLocation(e->cx, 0, 0, e->s.scope, NULL),
		e->L->GetInsertBlock(e->b));
	return was;
}

hop_eline hop_e_line_rare(hop_emit *e)
{
	hop_eline was = { e->s.scope, e->s.at, e->s.deep, e->s.shown };
	if (e->debug && e->s.seen) {
		e->s.at = e->L->DIBuilderCreateDebugLocation(e->cx, 0, 0, e->s.scope, NULL);
		hop_e_debug_at(e, e->L->GetInsertBlock(e->b));
	}
	return was;
}

void hop_e_line_back(hop_emit *e, hop_eline was)
{
	if (!e->debug || !e->s.seen)
		return;
	e->s.scope = was.scope;
	e->s.at = was.at;
	e->s.deep = was.deep;
	e->s.shown = was.shown;
	hop_e_debug_at(e, e->L->GetInsertBlock(e->b));
}

/* ---- functions and the module ---- */

void hop_e_debug_fn(hop_emit *e, hop_lv *fn, const char *name, hop_loc at)
{
	struct hop_edebug *d = e->debug;
	unsigned line = 0;
	if (!d)
		return;
	if (!place(e, at, &e->s.file, &line))
		e->s.file = file_of(e, "hop");
	e->s.scope = e->L->DIBuilderCreateFunction(d->b, e->s.file, name, strlen(name), name, strlen(name),
	                                           e->s.file, line, d->fn_type, 0, 1, line, 0, 1);
	e->L->SetSubprogram(fn, e->s.scope);
	e->s.seen = fn;
	e->s.at = e->L->DIBuilderCreateDebugLocation(e->cx, line, 0, e->s.scope, NULL);
	e->s.slot = HOP_NEWN(&e->env->tmp, hop_lv *, e->f->nbuf);
}

static void flag(hop_emit *e, const char *name, unsigned v)
{
	hop_lv *k = e->L->ConstInt(e->i32, v, 0);
	e->L->AddModuleFlag(e->mod, WARNING, name, strlen(name), e->L->ValueAsMetadata(k));
}

void hop_e_debug_open(hop_emit *e)
{
	struct hop_edebug *d;
	const hop_stmt *first = e->p->func[0].body.first;
	unsigned line;
	hop_lmd *file;
	if (!(e->look & HOP_LOOK_GDB))
		return;
	e->debug = d = HOP_NEW(&e->env->tmp, struct hop_edebug);
	if (!getcwd(d->dir, sizeof d->dir))
		*d->dir = 0;
	d->b = e->L->CreateDIBuilder(e->mod);
	if (!first || !place(e, first->loc, &file, &line))
		file = file_of(e, "hop");
	d->unit = e->L->DIBuilderCreateCompileUnit(d->b, LANG_C99, file, "hop", 3, 1, "", 0, 0, "", 0,
	                                           FULL, 0, 0, 0, "", 0, "", 0);
	d->fn_type = e->L->DIBuilderCreateSubroutineType(d->b, file, NULL, 0, 0);
	flag(e, "Debug Info Version", DEBUG_INFO);
	flag(e, "Dwarf Version", DWARF);
}

void hop_e_debug_close(hop_emit *e)
{
	if (e->debug)
		e->L->DIBuilderFinalize(e->debug->b);
	hop_e_debug_drop(e);
}

void hop_e_debug_drop(hop_emit *e)
{
	if (e->debug)
		e->L->DisposeDIBuilder(e->debug->b);
	e->debug = NULL;
}
