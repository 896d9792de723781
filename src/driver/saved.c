/* saved.c -- what a split would save and compute again, as a record: before anything runs. The
 * deciding is ad/cut.c's, the words are ad/cut_say.c's. */
#include "driver/transform.h"

#include <stddef.h>
#include <string.h>

#include "ad/work.h"
#include "hop/checkpoint.h"
#include "hops/transform.h"
#include "opt/opt.h"

/* What the report's memory is: this, the values, the texts. */
struct block {
	hop_mem         mem;
	size_t          bytes;
	hop_saved_value value[];
};

struct job {
	hop_env    e;
	hop_frame  f;
	hop_fn    *from;
	int        nwrt;
	const int *wrt;
	double     budget;
	hop_saved *out;
};

/* Operations of both halves of a split. */
static hop_status work_of(struct job *j, const hop_graph *g, double budget, double *out)
{
	const hop_graph *joint;
	const hop_cut *cut;
	HOP_TRY(hop_ask_joint(&j->e, g, (uint32_t)j->from->nout, j->nwrt, j->wrt, &joint));
	HOP_TRY(hop_ad_cut(&j->e, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, budget, &cut));
	*out = hop_work_graph(&j->e, cut->fwd) + hop_work_graph(&j->e, cut->bwd);
	return HOP_OK;
}

static const char *put(char **to, const char *s)
{
	char *at = *to;
	if (!s)
		return NULL;
	size_t n = strlen(s) + 1;
	memcpy(at, s, n);
	*to += n;
	return at;
}

/* Everything into one block of memory that outlives the job. */
static hop_status pack_up(struct job *j, const hop_cuts *w, const char *whole, const char *bodies)
{
	size_t n = sizeof(struct block) + w->nitem * sizeof(hop_saved_value), chars;
	hop_saved *o = j->out;
	const char *file = NULL;
	int line;
	hop_loc in;
	chars = strlen(whole) + strlen(bodies) + 1;
	for (size_t i = 0; i < w->nitem; i++) {
		const hop_cut_item *k = &w->item[i];
		bool known = hop_loc_read(j->e.ctx, k->loc, &file, &line, &in);
		chars += (k->name ? strlen(k->name) + 1 : 0) + strlen(k->op) + strlen(k->type) + 2 +
		         (known ? strlen(file) + 1 : 0);
	}
	struct block *b = hop_raw_try(&j->e.mem, n + chars);
	if (!b)
		return HOP_ENOMEM;
	memset(b, 0, n);
	b->mem = j->e.mem;
	b->bytes = n + chars;
	char *to = (char *)b + n;
	for (size_t i = 0; i < w->nitem; i++) {
		const hop_cut_item *k = &w->item[i];
		hop_saved_value *v = &b->value[i];
		*v = (hop_saved_value){ .name = put(&to, k->name), .op = put(&to, k->op),
		                        .type = put(&to, k->type), .bytes = k->bytes, .saved = k->saved,
		                        .packed = k->packed, .work = k->work };
		if (hop_loc_read(j->e.ctx, k->loc, &file, &line, &in)) {
			v->file = put(&to, file);
			v->line = line;
		}
		*(k->saved ? &o->nsaved : &o->nagain) += 1;
		o->bytes += k->saved ? k->bytes : 0;
		o->guessed |= k->saved && k->bytes && k->guessed;
	}
	o->value = b->value;
	o->text = to;
	memcpy(to, whole, strlen(whole));
	memcpy(to + strlen(whole), bodies, strlen(bodies) + 1);
	return HOP_OK;
}

static hop_status report(struct job *j)
{
	hop_env *e = &j->e;
	const hop_fn *f = j->from;
	const hop_graph *g, *plain;
	hop_buf whole, bodies;
	hop_arena keep;
	hop_cuts w = { .whole = &whole, .bodies = &bodies, .keep = &keep };
	double base;
	if (!(j->budget >= 0 && j->budget <= 1))
		return hop_fail(e, 0, HOP_EVALUE, "saved_report: a budget of %g: it must be from 0 to 1",
		                j->budget);
	if (f->nwrote)
		return hop_fail(e, 0, HOP_EREFUSED, "saved_report: the function writes input %d: it cannot be "
		                "split", f->wrote[0]);
	HOP_TRY(hop_ask_check(e, 0, "saved_report", f->nin, f->g->type, j->nwrt, j->wrt));
	HOP_TRY(hop_marks_drop(e, f->g, &g));
	HOP_TRY(hop_opt_plain(e, g, &plain));
	HOP_TRY(work_of(j, plain, 1, &base));
	hop_buf_open(&whole, e);
	hop_buf_open(&bodies, e);
	hop_arena_open(&keep, e);
	e->cuts = &w;
	hop_status st = work_of(j, g, j->budget, &j->out->work);
	e->cuts = NULL;
	j->out->work_added = j->out->work - base;
	if (!st)
		st = pack_up(j, &w, whole.n ? whole.s : "", bodies.n ? bodies.s : "");
	hop_arena_free(&keep, &e->mem);
	hop_buf_free(&bodies);
	hop_buf_free(&whole);
	return st;
}

hop_status hop_saved_report(hop_fn *f, int nwrt, const int *wrt, double budget, hop_saved *out)
{
	if (!f || !out || out->size != sizeof *out)
		return HOP_EUSE;
	*out = (hop_saved){ .size = sizeof *out };
	hop_mem mem = hop_ctx_mem(f->ctx);
	struct job *j = hop_raw_try(&mem, sizeof *j);
	if (!j)
		return HOP_ENOMEM;
	memset(j, 0, sizeof *j);
	j->from = f;
	j->nwrt = nwrt;
	j->wrt = wrt;
	j->budget = budget;
	j->out = out;
	hop_env_init(&j->e, f->ctx, mem);
	hop_status st;
	if (HOP_GUARD(&j->e, &j->f)) {
		st = hop_guard_nomem(&j->e, &j->f);
	} else {
		st = report(j);
		hop_guard_end(&j->e, &j->f);
	}
	if (st) {
		hop_ctx_set_message(f->ctx, &j->e.diag);
		hop_saved_free(out);
	}
	hop_env_fini(&j->e);
	hop_raw_free(&mem, j, sizeof *j);
	return st;
}

void hop_saved_free(hop_saved *r)
{
	if (!r || !r->value) {
		if (r)
			*r = (hop_saved){ .size = r->size };
		return;
	}
	struct block *b = (struct block *)((char *)(uintptr_t)r->value - offsetof(struct block, value));
	hop_mem mem = b->mem;
	hop_raw_free(&mem, b, b->bytes);
	*r = (hop_saved){ .size = r->size };
}
