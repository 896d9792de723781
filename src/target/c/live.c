/* live.c -- which registers somebody reads. A compiler warns of variables that are set and not
 * read, and a person wonders. Does not change the program. */
#include "target/c/emit.h"

typedef struct count {
	int       *uses;
	hop_stmt **def;                    /* [nreg+1] OP or the LOOP whose result it is */
	hop_reg   *dead;
	int        ndead;
} count;

static void note(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	count *c = user;
	(void)d;
	if (!def)
		c->uses[*r]++;
	else
		c->def[*r] = def;
}

static void drop(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	count *c = user;
	(void)d;
	if (!def && --c->uses[*r] == 0)
		c->dead[c->ndead++] = *r;
}

/* What register r is made of is read once less. */
static void forget(count *c, hop_reg r)
{
	hop_stmt *s = c->def[r];
	if (s && s->kind == HOP_L_OP) {
		hop_stmt_uses(s, drop, c);
		return;
	}
	for (int i = 0; s && s->kind == HOP_L_LOOP && i < s->nacc; i++)
		if (s->acc[i].result == r) {
			drop(c, &s->acc[i].init, NULL, s->acc[i].dtype);
			drop(c, &s->acc[i].value, NULL, s->acc[i].dtype);
		}
}

static count count_block(hop_cemit *e, const hop_block *b)
{
	int   n = e->f->nreg + 1 + HOP_C_OWN;
	count c = { .uses = HOP_NEWN(&e->env->tmp, int, n),
	            .def = HOP_NEWN(&e->env->tmp, hop_stmt *, n),
	            .dead = HOP_NEWN(&e->env->tmp, hop_reg, n) };
	hop_block_regs((hop_block *)(uintptr_t)b, note, &c);
	for (int r = 1; r < n; r++)
		if (!c.uses[r] && c.def[r])
			c.dead[c.ndead++] = r;
	for (int i = 0; i < c.ndead; i++)
		forget(&c, c.dead[i]);
	return c;
}

void hop_c_live(hop_cemit *e)
{
	e->uses = count_block(e, &e->f->body).uses;
}

void hop_c_live_own(hop_cemit *e, const hop_block *b)
{
	count c = count_block(e, b);
	for (int r = e->f->nreg + 1; r <= e->f->nreg + HOP_C_OWN; r++)
		e->uses[r] = c.uses[r];
}
