/* graph.c -- the launches of a plan as a graph: kernels one after the other, loops as conditional nodes,
 * products of a library as what it does when it is captured. Does not launch it.
 *
 * EARLY: kernels that wait themselves for what they rest on (hop_early, the first that they do) may be
 * started when all blocks of the one before have: the edge says so, and the device has them at hand when
 * that ends. Each waits for the one before it, which has waited for its own. Resident blocks are started
 * when there is room for all, and what is in a loop when that turns: there edges are plain. */
#include "target/cuda/image.h"

/* ---- libraries ---- */

static hop_cuptr at(const hop_cuda_run *r, const hop_cuda_word *w)
{
	return hop_cuda_base_of(r, w->base) + (hop_cuptr)w->v;
}

bool hop_cuda_by_library(const hop_cuda_run *r, const hop_cuda_launch *l)
{
	return l->lt && !r->alone &&
	       !((at(r, &l->at[0]) | at(r, &l->at[1]) | at(r, &l->at[2])) % HOP_LT_ALIGN);
}

int hop_cuda_library_run(hop_cuda_run *r, const hop_cuda_launch *l, void *stream)
{
	r->who = r->i->func[l->func].name;
	return hop_lt_run(l->lt, at(r, &l->at[0]), at(r, &l->at[1]), at(r, &l->at[2]), r->s->work, stream);
}

hop_hash hop_cuda_graph_addresses(const hop_cuda_run *r)
{
	hop_hash h = { r->s->work, (uint64_t)r->p->nlt };
	for (int k = 0; k < r->p->nlaunch; k++) {
		const hop_cuda_launch *l = &r->p->launch[k];
		hop_word w[] = { h.lo, h.hi, at(r, &l->at[0]), at(r, &l->at[1]), at(r, &l->at[2]) };
		if (l->lt)
			h = hop_hash_bytes(w, sizeof w);
	}
	return h;
}

/* ---- nodes ---- */

/* A graph, or a loop's, on its way. */
typedef struct chain {
	void *graph, *last;
	bool  loop;
	bool  early;             /* the last is a kernel that lets the next one start */
} chain;

/* Relaxed: the library may load its code meanwhile. */
static int add_library(hop_cuda_run *r, chain *c, int k)
{
	const hop_cu *cu = r->i->d->cu;
	void *child = NULL, *before = c->last;
	int error = cu->capture_begin(r->s->kit.stream, HOP_CU_CAPTURE_RELAXED), ended;
	if (error)
		return error;
	error = hop_cuda_library_run(r, &r->p->launch[k], r->s->kit.stream);
	ended = cu->capture_end(r->s->kit.stream, &child);
	if (!error)
		error = ended;
	if (!error)
		error = cu->graph_child(&c->last, c->graph, before ? &before : NULL, before ? 1 : 0, child);
	if (child)
		cu->graph_free(child);
	c->early = false;
	return error;
}

/* handle: of the loop that it decides about. */
static int add_node(hop_cuda_run *r, chain *c, int k, unsigned long long handle)
{
	const hop_cu *cu = r->i->d->cu;
	const hop_cuda_launch *l = &r->p->launch[k];
	const hop_cuda_func *f = &r->i->func[l->func];
	unsigned rec = l->rec, at = (unsigned)k;
	void *params[] = { &r->s->table.p, &rec, &at, &r->s->state, &handle };
	hop_cunode what = { .function = f->function, .grid = { l->grid[0], l->grid[1], l->grid[2] },
		            .block = { (unsigned)f->team.threads, 1, 1 },
		            .shared = (unsigned)f->is.shared, .params = params };
	hop_cuvalue together = { .cooperative = 1 };
	hop_cuedge early = { .from = HOP_CU_EARLY, .type = HOP_CU_EARLY };
	void *before = c->last;
	if (hop_cuda_by_library(r, l))
		return add_library(r, c, k);
	bool can = f->is.early && !f->team.resident && !c->loop && !r->in_turn, soon = can && c->early;
	int plain = before && !soon;
	int error = cu->graph_kernel(&c->last, c->graph, plain ? &before : NULL, (size_t)plain, &what);
	if (!error && soon)
		error = cu->graph_edge(c->graph, &before, &c->last, &early, 1);
	if (!error && f->team.resident)
		error = cu->graph_set(c->last, HOP_CU_NODE_COOPERATIVE, &together);
	c->early = can;
	return error;
}

static int add_list(hop_cuda_run *r, chain *c, int from, int to, unsigned long long handle);

/* Some trips at once: a turn of the node is dear, and kernels that find no trip leave. Or a branch. */
static int add_loop(hop_cuda_run *r, chain *c, int k, unsigned long long handle)
{
	const hop_cuda_launch *l = &r->p->launch[k];
	hop_cunodes what = { .type = HOP_CU_CONDITIONAL, .handle = handle, .size = 1,
		             .kind = l->each ? HOP_CU_WHILE : HOP_CU_IF, .context = r->i->d->context };
	int trips = l->each ? l->each : 1;
	void *before = c->last;
	int error = r->i->d->cu->graph_node(&c->last, c->graph, &before, NULL, 1, &what);
	chain in = { .graph = error ? NULL : what.graph[0], .loop = true };
	for (int n = 0; !error && n < trips; n++)
		error = add_list(r, &in, k + 1, k + 1 + l->body, handle);
	c->early = false;
	return error;
}

/* Launches from .. to-1, one after the other. A loop has a kernel right before it. */
static int add_list(hop_cuda_run *r, chain *c, int from, int to, unsigned long long handle)
{
	const hop_cuda *d = r->i->d;
	const hop_cuda_launch *l = r->p->launch;
	int error = 0;
	for (int k = from; !error && k < to; k++) {
		unsigned long long own = l[k].spread ? 0 : handle;
		bool before = k + 1 < to && l[k + 1].body;
		if (before)
			error = d->cu->graph_handle(&own, c->graph, d->context, 0, HOP_CU_ASSIGN);
		if (before && !error && !own)          /* it would say: no graph */
			error = HOP_CU_UNKNOWN;
		if (!error)
			error = add_node(r, c, k, own);
		if (!before)
			continue;
		k++;
		if (!error)
			error = add_loop(r, c, k, own);
		k += l[k].body;
	}
	return error;
}

/* ---- graphs ---- */

static int make(hop_cuda_run *r, int first, void **out_exec, void **out_graph)
{
	const hop_cu *cu = r->i->d->cu;
	chain c = { 0 };
	int error = cu->graph_new(&c.graph, 0);
	*out_graph = NULL;
	if (!error)
		error = add_list(r, &c, first, r->p->nlaunch, 0);
	if (!error)
		error = cu->graph_make(out_exec, c.graph, 0);
	if (!error && r->p->loops)
		*out_graph = c.graph;
	else if (c.graph)
		cu->graph_free(c.graph);
	if (error)
		*out_exec = NULL;
	return error;
}

/* What a driver does not take is left out. Without libraries where there are loops, which nothing but a
 * graph can run: else what a library cannot be part of is launched one by one. */
int hop_cuda_graph_make(hop_cuda_run *r, int first, void **out_exec, void **out_graph)
{
	int error = make(r, first, out_exec, out_graph);
	if (error && r->i->early) {
		r->in_turn = true;
		error = make(r, first, out_exec, out_graph);
		r->in_turn = false;
	}
	if (!error || !r->p->loops || !r->p->nlt)
		return error;
	r->alone = true;
	r->in_turn = true;
	error = make(r, first, out_exec, out_graph);
	r->alone = false;
	r->in_turn = false;
	return error;
}
