/* emit_leave.c -- what is asked of the host: effects, longer tapes, checks, whether to go on. A
 * function that asks leaves: the registers that live are saved, all threads return, and the next
 * launch jumps to where it was (state.h has the protocol). So registers that live across such a point
 * are declared at the top. Prints go to a ring without leaving. Does not know what the host does. */
#include <inttypes.h>

#include "target/cuda/emit.h"

/* ---- registers ---- */

void hop_cuda_keep(hop_cuemit *e, hop_reg r, hop_dtype d)
{
	struct hop_cuda *cu = e->cu;
	cu->top[cu->ntop++] = r;
	cu->scope[cu->nscope++] = r;
	hop_c_set(e, r, d, hop_c_text(e, "r%d", r));
}

typedef struct lasts { hop_cuemit *e; int *last; int pos; } lasts;

static void note(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	lasts *l = user;
	(void)d;
	if (!def)
		l->last[*r] = l->pos;
}

/* Statements of blocks with points are numbered as they are written; what is in the others has the
 * number of the statement that holds it. */
static void number(lasts *l, const hop_block *b)
{
	const hop_prog   *p = l->e->p;
	const hop_cufunc *func = l->e->cu->func;
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		l->pos++;
		if (!hop_cuda_leaves(p, func, s)) {
			hop_stmt_regs(s, note, l);
			continue;
		}
		hop_stmt_uses(s, note, l);
		for (int i = 0; i < k; i++) {
			/* both blocks of a WHILE are numbered: see emit_while */
			if (s->kind == HOP_L_WHILE || hop_cuda_block_leaves(p, func, sub[i]))
				number(l, sub[i]);
			else
				hop_block_regs(sub[i], note, l);
		}
		if (s->kind == HOP_L_WHILE)
			note(l, &s->a[0], NULL, HOP_bool);
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			note(l, &s->acc[i].value, NULL, HOP_i64);
	}
}

void hop_cuda_lasts(hop_cuemit *e)
{
	lasts l = { .e = e, .last = HOP_NEWN(&e->env->tmp, int, e->f->nreg + 1 + HOP_C_OWN) };
	e->cu->until = l.last;
	if (e->cu->func[e->index].leaves)
		number(&l, &e->f->body);
}

/* A loop around reads it again, or a statement from here on does. */
static bool lives(const hop_cuemit *e, int i)
{
	return i < e->cu->outer || e->cu->until[e->cu->scope[i]] >= e->cu->pos;
}

static const char *to_word(hop_cuemit *e, hop_reg r)
{
	hop_dtype d = (hop_dtype)e->dtype[r];
	return hop_dtype_real(d) && !hop_dtype_packed(d) ?
	       hop_c_text(e, "hop_word_%s(r%d)", hop_dtype_name(d), r) : hop_c_text(e, "(hop_word)r%d", r);
}

static const char *of_word(hop_cuemit *e, hop_reg r, int at)
{
	hop_dtype d = (hop_dtype)e->dtype[r];
	return hop_dtype_real(d) && !hop_dtype_packed(d) ?
	       hop_c_text(e, "hop_%s_word(top[-%d])", hop_dtype_name(d), at) :
	       hop_c_text(e, "(%s)top[-%d]", hop_c_type(d), at);
}

/* ---- leaving ---- */

void hop_cuda_label(hop_cuemit *e, int point)
{
	hop_putf(e->o, "at_%d:\n", point);
	hop_c_line(e, ";");
}

int hop_cuda_point(hop_cuemit *e)
{
	hop_cuda_label(e, ++e->cu->npoint);
	return e->cu->npoint;
}

/* What goes on there: the last that was pushed is on top. */
static void resume(hop_cuemit *e, int point, int n)
{
	hop_buf *o = e->cu->resume;
	int      at = 1;
	hop_putf(o, "\t\tcase %d:\n", point);
	if (e->cu->last)                       /* it was one block: now it is one to which all have come */
		hop_putf(o, "\t\t\tif (!hop_is_last(state, %s))\n\t\t\t\treturn;\n", hop_cuda_word(e));
	for (int i = e->cu->nscope - 1; i >= 0; i--)
		if (lives(e, i))
			hop_putf(o, "\t\t\tr%d = %s;\n", e->cu->scope[i], of_word(e, e->cu->scope[i], at++));
	hop_putf(o, "\t\t\thop_drop(state, %d, %s);\n\t\t\tgoto at_%d;\n", n + 1, hop_cuda_one(e), point);
}

/* A kernel has nobody to hand it to. */
const char *hop_cuda_failed(hop_cuemit *e, const char *call)
{
	bool kernel = e->f->level == HOP_LEVEL_KERNEL;
	e->cu->status |= !kernel;
	return hop_c_text(e, kernel ? "%s != 0" : "(st = %s) != 0", call);
}

/* point 0: it does not go on. */
void hop_cuda_quit(hop_cuemit *e, int point, const char *status)
{
	bool kernel = e->f->level == HOP_LEVEL_KERNEL;
	int  n = 0;

	if (point || kernel) {
		hop_c_open(e, "if (%s)", hop_cuda_first(e));
		for (int i = 0; point && i < e->cu->nscope; i++)
			if (lives(e, i)) {
				hop_c_line(e, "hop_push(state, %s);", to_word(e, e->cu->scope[i]));
				n++;
			}
		if (point)
			hop_c_line(e, "hop_push(state, %d);", point);
		if (kernel)
			hop_c_line(e, "state->at = at;");
		if (kernel && e->cu->func[e->index].tells)     /* what it decides waits until it goes on */
			hop_c_line(e, "hop_tell(state, loop, false);");
		hop_c_close(e);
	}
	if (kernel)
		hop_c_line(e, "return;");
	else
		hop_c_line(e, "return %s;", status);
	if (point)
		resume(e, point, n);
	if (point && n + 1 > e->cu->own)
		e->cu->own = n + 1;
}

/* The request is written; code says what it is. */
static void open_request(hop_cuemit *e)
{
	hop_cuda_barrier(e, HOP_BARRIER_TEAM);
	hop_c_open(e, "if (%s)", hop_cuda_first(e));
}

static void close_request(hop_cuemit *e, enum hop_state_code code, int id, int words)
{
	hop_c_line(e, "state->id = %d;", id);
	hop_c_line(e, "state->code = %d;", code);
	hop_c_close(e);
	if (words > e->cu->needs->request)
		e->cu->needs->request = words;
}

/* All size symbols, those bound while running too, as words of the request. */
static int put_symbols(hop_cuemit *e, const char *to)
{
	int ns = e->f->nsym + e->f->nlocal;
	hop_c_line(e, "%s[0] = %d;", to, ns);
	for (int i = 0; i < ns; i++)
		hop_c_line(e, "%s[%d] = (hop_word)(%s);", to, 1 + i, hop_c_size(e, hop_size_sym(e->env, i)));
	return 1 + ns;
}

/* Only what all threads of the team do together may ask. */
static bool may_ask(hop_cuemit *e, const hop_stmt *s)
{
	if (e->cu->who == HOP_WHO_TEAM && (e->cu->last || e->cu->func[e->index].meet))
		return true;
	hop_cuda_refuse(e, s, "the host is asked where not all threads are together");
	return false;
}

/* ---- tapes, checks, cancelling ---- */

static const char *number_of(enum hop_state_code c)
{
	static const char *const text[] = { "0", "1", "2", "3", "4", "5", "6" };
	return text[c];
}

void hop_cuda_grow(hop_cuemit *e, const hop_stmt *s)
{
	const hop_lbuf *b = &e->f->buf[s->buf];
	int             point = ++e->cu->npoint;
	const char     *n = hop_c_text(e, "%s * %zu", hop_c_reg(e, s->a[0]), hop_dtype_bytes(b->dtype));

	if (!may_ask(e, s))
		return;
	hop_c_open(e, "if (%s > state->tape[%d].bytes)", n, b->index);
	open_request(e);
	hop_c_line(e, "state->request[0] = (hop_word)(%s);", n);
	close_request(e, HOP_STATE_GROW, b->index, 1);
	hop_cuda_quit(e, point, number_of(HOP_STATE_GROW));
	hop_c_close(e);
	hop_cuda_label(e, point);
}

void hop_cuda_check(hop_cuemit *e, const hop_stmt *s)
{
	const hop_lcheck *c = &e->p->check[s->callee];
	int               point = ++e->cu->npoint, words;

	if (!may_ask(e, s))
		return;
	if (c->wide)
		hop_c_brace(e);
	else
		hop_c_open(e, "if (!(%s %s %s))", hop_c_size(e, c->c.a), c->c.rel == HOP_EQ ? "==" : "<=",
		           hop_c_size(e, c->c.b));
	open_request(e);
	words = put_symbols(e, "state->request");
	close_request(e, HOP_STATE_CHECK, s->callee, words);
	hop_cuda_quit(e, point, number_of(HOP_STATE_CHECK));
	hop_c_close(e);
	hop_cuda_label(e, point);
}

static bool waits(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_BARRIER || s->kind == HOP_L_TILE || s->kind == HOP_L_CALL ||
		    (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED && s->bind.place) || waits(&s->body) ||
		    waits(&s->other))
			return true;
	return false;
}

/* Trips of what all threads run together, from one look to the next: a look is as long as many trips in
 * which no thread waits for another, and a tenth of a millisecond is soon enough. */
int hop_cuda_between(const hop_cuemit *e, const hop_stmt *s)
{
	return e->f->team.resident ? 256 : waits(&s->body) || waits(&s->other) ? 1024 : 8192;
}

/* A thread that runs steps alone leaves them, and those around them; the host knows that it told it so.
 * What is asked may be behind a bus, and many ask. Its count is not that of the trips which all take
 * together: there all must look at the same trip. */
static void watch(hop_cuemit *e, const hop_stmt *s)
{
	if (!hop_cuda_watches(s))
		return;
	e->cu->watches = e->cu->apart = true;
	hop_c_open(e, "if ((++steps & 0x1ffff) == 0 && *state->cancel)");
	hop_c_line(e, "steps--;");
	hop_c_line(e, "break;");
	hop_c_close(e);
}

void hop_cuda_poll(hop_cuemit *e, const hop_stmt *s, const char *trips)
{
	if (e->cu->who == HOP_WHO_ONE && e->f->level != HOP_LEVEL_THREAD) {
		watch(e, s);
		return;
	}
	int         less = hop_cuda_between(e, s) - 1;
	const char *due = trips ? hop_c_text(e, "((trips += %s) & %d) < %s", trips, less, trips)
	                        : hop_c_text(e, "(++trips & %d) == 0", less);
	if (e->cu->who != HOP_WHO_TEAM || !(e->cu->last || e->cu->func[e->index].meet) || !hop_cuda_polls(s))
		return;
	e->cu->polls = true;
	hop_c_open(e, "if (%s && %s)", due,
	           hop_cuda_failed(e, hop_c_text(e, "hop_poll(state, %s)", hop_cuda_one(e))));
	hop_cuda_quit(e, 0, "st");
	hop_c_close(e);
}

/* ---- effects ---- */

static void ask(hop_cuemit *e, const hop_stmt *s, int point)
{
	int words;
	open_request(e);
	words = put_symbols(e, "state->request");
	for (int i = 0; i < s->narg; i++)
		hop_c_line(e, "state->request[%d] = %s;", words + i, hop_cuda_ptr(e, &s->args[i]));
	close_request(e, HOP_STATE_EFFECT, s->callee, words + s->narg);
	hop_cuda_quit(e, point, number_of(HOP_STATE_EFFECT));
}

/* Elements of an operand. */
static const char *count(hop_cuemit *e, const hop_leffect *f, int i)
{
	hop_size n = hop_size_int(1);
	for (int k = 0; k < f->type[i]->rank; k++)
		n = hop_size_mul(e->env, n, f->type[i]->dim[k]);
	return hop_c_size(e, n);
}

static const char *bytes_of(hop_cuemit *e, const hop_leffect *f, int i)
{
	return hop_c_text(e, "(%s) * %zu", count(e, f, i), hop_dtype_bytes((hop_dtype)f->type[i]->dtype));
}

/* A record of the ring, at `head`, in braces that the caller closes. before: to go on at if there is no
 * room; behind: if it is larger than the ring. */
static void record(hop_cuemit *e, const hop_stmt *s, int before, int behind)
{
	const hop_leffect *f = &e->p->effect[s->callee];
	int                ns = e->f->nsym + e->f->nlocal;

	e->cu->needs->ring = true;
	hop_c_line(e, "const int64_t z0 = %d;", 8 * (2 + ns));
	for (int i = 0; i < s->nacc; i++)
		hop_c_line(e, "const int64_t z%d = z%d + ((%s + 7) & ~(int64_t)7);", i + 1, i,
		           bytes_of(e, f, i));
	hop_c_open(e, "if (z%d > state->ring_bytes)", s->nacc);
	ask(e, s, behind);
	hop_c_close(e);
	hop_c_line(e, "const int64_t head = hop_ring_room(state, z%d, %s);", s->nacc, hop_cuda_one(e));
	hop_c_open(e, "if (head < 0)");
	open_request(e);
	close_request(e, HOP_STATE_RING, s->callee, 0);
	hop_cuda_quit(e, before, number_of(HOP_STATE_RING));
	hop_c_close(e);
	hop_c_line(e, "unsigned char *const to = state->ring + head;");
	hop_c_open(e, "if (%s)", hop_cuda_first(e));
	hop_c_line(e, "hop_word *const q = (hop_word *)to + 1;");
	put_symbols(e, "q");
	hop_c_close(e);
	for (int i = 0; i < s->nacc; i++)
		hop_c_line(e, "hop_ring_put(to + z%d, (const void *)(%s), %s, %s);", i,
		           hop_cuda_ptr(e, &s->args[i]), bytes_of(e, f, i), hop_cuda_one(e));
	hop_c_line(e, "hop_ring_done(state, head, z%d, %d, %s);", s->nacc, s->callee, hop_cuda_one(e));
}

/* It is asked to: a scalar; of lanes the host looks itself. */
static void open_when(hop_cuemit *e, const hop_stmt *s, const hop_leffect *f)
{
	int k = f->nin - 1;
	if (f->has_when && f->type[k]->rank == 0)
		hop_c_open(e, "if (*(const hop_bool *)(%s))", hop_cuda_ptr(e, &s->args[k]));
	else
		hop_c_brace(e);
}

static void say(hop_cuemit *e, const hop_stmt *s, const hop_leffect *f)
{
	int before = hop_cuda_point(e), behind = ++e->cu->npoint;
	open_when(e, s, f);
	record(e, s, before, behind);
	hop_c_close(e);
	hop_cuda_label(e, behind);
}

/* One that holds says nothing; else its record is the last. */
static void claim(hop_cuemit *e, const hop_stmt *s, const hop_leffect *f)
{
	int         before = hop_cuda_point(e), behind = ++e->cu->npoint, k = f->nin - 1;
	const char *when = "0", *lanes = "1";

	if (f->has_when) {
		when = hop_c_text(e, "(const hop_bool *)(%s)", hop_cuda_ptr(e, &s->args[k]));
		lanes = count(e, f, k);
	}
	hop_c_open(e, "if (!hop_holds((const hop_bool *)(%s), %s, %s, hop_size_div(%s, %s)))",
	           hop_cuda_ptr(e, &s->args[0]), when, lanes, count(e, f, 0), lanes);
	record(e, s, before, behind);
	open_request(e);
	close_request(e, HOP_STATE_STOP, s->callee, 0);
	hop_cuda_quit(e, 0, number_of(HOP_STATE_STOP));
	hop_c_close(e);
	hop_cuda_label(e, behind);
}

/* Trip and trips: the last one, or when it is time. */
static void tell(hop_cuemit *e, const hop_stmt *s)
{
	int point = ++e->cu->npoint;
	hop_c_brace(e);
	hop_c_line(e, "const int64_t i = *(const hop_i64 *)(%s);", hop_cuda_ptr(e, &s->args[0]));
	hop_c_line(e, "const int64_t n = *(const hop_i64 *)(%s);", hop_cuda_ptr(e, &s->args[1]));
	hop_c_open(e, "if (hop_skip(state, %s) < 0 || (n > 0 && i >= n - 1))", hop_cuda_one(e));
	ask(e, s, point);
	hop_c_close(e);
	hop_c_close(e);
	hop_cuda_label(e, point);
}

static bool reaches_host(hop_cuemit *e, const hop_stmt *s)
{
	for (int i = 0; i < s->narg; i++) {
		const hop_lbuf *b = &e->f->buf[s->args[i].buf];
		if (b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_SHARED || b->space == HOP_SPACE_LOCAL)) {
			hop_cuda_refuse(e, s, "an operand of an effect is where the host cannot read it");
			return false;
		}
	}
	return true;
}

void hop_cuda_effect(hop_cuemit *e, const hop_stmt *s)
{
	const hop_leffect *f = &e->p->effect[s->callee];
	if (!may_ask(e, s) || !reaches_host(e, s))
		return;
	if (f->is_progress) {
		tell(e, s);
	} else if (f->is_assert) {
		claim(e, s, f);
	} else if (!f->foreign && f->nin == f->narg) {
		say(e, s, f);
	} else {
		int point = ++e->cu->npoint;
		open_when(e, s, f);
		ask(e, s, point);
		hop_c_close(e);
		hop_cuda_label(e, point);
	}
}
