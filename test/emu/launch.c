/* launch.c -- the functions of the CUDA driver that have to do with streams, events, launches and
 * graphs, for a device that is emulated. When something is done is stream.c's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/cu.h"
#include "emu/device.h"

/* ---- streams and events ---- */

typedef struct event { emu_stream *on; uint64_t until; double when; } event;

CUresult cuStreamCreate(void **out, unsigned flags)
{
	*out = emu_stream_new();
	return !*out ? CUDA_ERROR_OUT_OF_MEMORY : flags > 1 ? CUDA_ERROR_INVALID_VALUE : emu_sticky();
}
CUresult cuStreamDestroy_v2(void *stream)
{
	return emu_stream_drop(emu_stream_of(stream));
}
CUresult cuStreamSynchronize(void *stream)
{
	emu_stream *s = emu_stream_of(stream);
	return emu_await(s, s->told);
}
static CUresult query(emu_stream *s, uint64_t until)
{
	int  code;
	bool done = emu_is_done(s, until, &code);
	return code ? code : done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamQuery(void *stream)
{
	emu_stream *s = emu_stream_of(stream);
	return query(s, s->told);
}
CUresult cuStreamWaitEvent(void *stream, void *handle, unsigned flags)
{
	const event *e = handle;

	if (flags || !e->on)
		return flags ? CUDA_ERROR_INVALID_VALUE : emu_sticky();
	return emu_tell(emu_stream_of(stream), (emu_op){ .on = e->on, .until = e->until });
}
CUresult cuEventCreate(void **out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof(event));
	return *out ? emu_sticky() : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuEventDestroy_v2(void *e)
{
	free(e);
	return CUDA_SUCCESS;
}
CUresult cuEventRecord(void *handle, void *stream)
{
	event *e = handle;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	e->on = emu_stream_of(stream);
	e->until = e->on->told;
	e->when = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
	return emu_sticky();
}
CUresult cuEventQuery(void *handle)
{
	const event *e = handle;
	return e->on ? query(e->on, e->until) : emu_sticky();
}
CUresult cuEventSynchronize(void *handle)
{
	const event *e = handle;
	return e->on ? emu_await(e->on, e->until) : emu_sticky();
}
/* Of when they were told: nothing is measured by an emulated device. */
CUresult cuEventElapsedTime_v2(float *out, void *from, void *to)
{
	*out = (float)(((event *)to)->when - ((event *)from)->when);
	return emu_sticky();
}

/* ---- kernels ---- */

static CUresult launch(void *f, const unsigned grid[3], const unsigned block[3], unsigned shared,
                       void *stream, void **params, bool together)
{
	emu_op o = { .kind = EMU_KERNEL };
	int code = emu_launch_of(f, grid, block, shared, params, together, &o.launch);
	return code ? code : emu_tell(emu_stream_of(stream), o);
}
CUresult cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	if (extra)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(f, (unsigned[]){ gx, gy, gz }, (unsigned[]){ bx, by, bz }, shared, stream, params,
	              false);
}
CUresult cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, void *stream,
                                   void **params)
{
	return launch(f, (unsigned[]){ gx, gy, gz }, (unsigned[]){ bx, by, bz }, shared, stream, params,
	              true);
}

/* ---- graphs ---- */

/* A node's handle names it and its graph. A graph that is a loop's body lives with the one it is in. */
typedef struct node {
	struct graph *g, *body;
	int           i;
	void         *bodies[1];
	struct node  *next;
} node;
typedef struct graph { emu_exec of; node *nodes; bool made, inner; } graph;

static emu_handle *handles;
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

emu_handle *emu_handle_of(unsigned long long handle)
{
	pthread_mutex_lock(&handles_lock);
	emu_handle *h = handles;
	while (h && (uintptr_t)h != (uintptr_t)handle)
		h = h->next;
	pthread_mutex_unlock(&handles_lock);
	return h;
}
void emu_handles_apart(void)
{
	pthread_mutex_lock(&handles_lock);
	for (emu_handle *h = handles; h; h = h->next)
		h->by = 0;
	pthread_mutex_unlock(&handles_lock);
}
CUresult cuGraphConditionalHandleCreate(unsigned long long *out, void *graph, void *context,
                                        unsigned value, unsigned flags)
{
	emu_handle *h = calloc(1, sizeof *h);

	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!graph || !context || flags != CU_GRAPH_COND_ASSIGN_DEFAULT) {
		free(h);
		return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&handles_lock);
	*h = (emu_handle){ .next = handles, .value = value, .initial = value, .of = graph };
	handles = h;
	pthread_mutex_unlock(&handles_lock);
	*out = (unsigned long long)(uintptr_t)h;
	return CUDA_SUCCESS;
}
static bool has_unused(const graph *g)
{
	bool found = false;

	pthread_mutex_lock(&handles_lock);
	for (emu_handle *h = handles; h; h = h->next)
		found |= h->of == g && h->used != 1;
	pthread_mutex_unlock(&handles_lock);
	return found;
}
static void free_handles(const graph *g)
{
	pthread_mutex_lock(&handles_lock);
	for (emu_handle **at = &handles, *h; (h = *at); ) {
		if (h->of == g) {
			*at = h->next;
			free(h);
		} else {
			at = &h->next;
		}
	}
	pthread_mutex_unlock(&handles_lock);
}

CUresult cuGraphCreate(void **out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof(graph));
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static void free_nodes(emu_exec *x)
{
	for (int i = 0; i < x->nnode; i++)
		free(x->node[i].after);
	free(x->node);
}
static void free_graph(graph *g)
{
	free_nodes(&g->of);
	free_handles(g);
	for (node *n = g->nodes, *next; n; n = next) {
		next = n->next;
		if (n->body)
			free_graph(n->body);
		free(n);
	}
	free(g);
}
CUresult cuGraphDestroy(void *handle)
{
	if (((graph *)handle)->inner)
		return CUDA_ERROR_INVALID_VALUE;
	if (((graph *)handle)->made)           /* its loops may be running */
		emu_await_all();
	free_graph(handle);
	return CUDA_SUCCESS;
}
static CUresult add(void **out, graph *g, void *const *after, size_t nafter, emu_node n)
{
	node *own = calloc(1, sizeof *own);
	emu_node *all = realloc(g->of.node, (g->of.nnode + 1) * sizeof *all);
	int code = CUDA_SUCCESS;

	if (!own || !all)
		return CUDA_ERROR_OUT_OF_MEMORY;
	g->of.node = all;
	n.nafter = 0;
	n.after = calloc(nafter + 1, sizeof *n.after);
	for (size_t i = 0; n.after && i < nafter; i++) {
		if (((node *)after[i])->g != g)
			code = CUDA_ERROR_INVALID_VALUE;
		n.after[n.nafter++] = ((node *)after[i])->i;
	}
	if (code || !n.after) {
		free(n.after);
		free(own);
		return code ? code : CUDA_ERROR_OUT_OF_MEMORY;
	}
	*own = (node){ .g = g, .i = g->of.nnode, .next = g->nodes };
	g->nodes = own;
	all[g->of.nnode++] = n;
	*out = own;
	return CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode_v2(void **out, void *handle, void *const *after, size_t nafter,
                                 const CUDA_KERNEL_NODE_PARAMS *what)
{
	emu_node n = { .function = what->func };
	int code = emu_launch_of(what->func, what->gridDim, what->blockDim, what->sharedMemBytes,
	                         what->kernelParams, false, &n.launch);
	return code ? code : add(out, handle, after, nafter, n);
}
/* Of one node: all that is captured here. */
CUresult cuGraphAddChildGraphNode(void **out, void *handle, void *const *after, size_t nafter,
                                  void *child)
{
	const graph *c = child;
	return c->of.nnode == 1 ? add(out, handle, after, nafter, c->of.node[0]) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- capturing ---- */

/* Modes: 0 global, 1 of the thread, 2 relaxed. The stream without a name cannot be captured. */
CUresult cuStreamBeginCapture_v2(void *stream, int mode)
{
	emu_stream *s = emu_stream_of(stream);
	if ((uintptr_t)stream < 3 || mode < 0 || mode > 2 || s->capture)
		return CUDA_ERROR_INVALID_VALUE;
	return cuGraphCreate(&s->capture, 0);
}
CUresult cuStreamEndCapture(void *stream, void **out)
{
	emu_stream *s = emu_stream_of(stream);
	*out = s->capture;
	s->capture = NULL;
	return *out ? emu_sticky() : CUDA_ERROR_INVALID_VALUE;
}
int emu_capture(emu_stream *s, const emu_call *c)
{
	graph *g = s->capture;
	void *last = g->nodes, *unused;            /* the newest is the first of them */
	return add(&unused, g, &last, last ? 1 : 0, (emu_node){ .call = *c });
}
CUresult cuGraphAddNode_v2(void **out, void *handle, void *const *after, const void *edges,
                           size_t nafter, CUgraphNodeParams *what)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *c = &what->conditional;
	emu_node n = { .loop = emu_handle_of(c->handle), .once = c->type == CU_GRAPH_COND_TYPE_IF };
	graph *body = calloc(1, sizeof *body);
	node *own;
	void *made = NULL;

	if (!body)
		return CUDA_ERROR_OUT_OF_MEMORY;
	int code = what->type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
	           (n.once || c->type == CU_GRAPH_COND_TYPE_WHILE) && c->size == 1 && c->ctx && !edges &&
	           n.loop && n.loop->of == handle ? add(&made, handle, after, nafter, n)
	                                          : CUDA_ERROR_INVALID_VALUE;
	if (code) {
		free(body);
		return code;
	}
	own = made;
	n.loop->used++;
	body->inner = true;
	own->body = own->bodies[0] = body;
	what->conditional.phGraph_out = (void **)own->bodies;
	*out = own;
	return CUDA_SUCCESS;
}
static bool is_kernel(const node *n)
{
	const emu_node *x = &n->g->of.node[n->i];
	return !x->loop && !x->call.code;
}
/* Between kernels, of which the second waits by itself; and not in loops: nobody has tried. */
CUresult cuGraphAddDependencies_v2(void *handle, void *const *from, void *const *to,
                                   const CUgraphEdgeData *what, size_t n)
{
	graph *g = handle;

	for (size_t i = 0; i < n; i++) {
		node *a = from[i], *b = to[i];
		emu_node *x = &g->of.node[b->i];
		int *after = realloc(x->after, (x->nafter + 2) * sizeof *after);
		if (!after)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->after = after;
		if (a->g != g || b->g != g || g->inner || !is_kernel(a) || !is_kernel(b) ||
		    what[i].type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || what[i].to_port ||
		    what[i].from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC)
			return CUDA_ERROR_INVALID_VALUE;
		x->after[x->nafter++] = a->i;
		x->launch.early = true;
	}
	return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetAttribute(void *handle, int attribute, const CUlaunchAttributeValue *v)
{
	node *n = handle;
	emu_launch *l = &n->g->of.node[n->i].launch;

	if (attribute != CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		return CUDA_ERROR_INVALID_VALUE;
	l->together = v->cooperative != 0;
	return CUDA_SUCCESS;
}

static graph *body_of(const graph *g, int i)
{
	for (node *n = g->nodes; n; n = n->next)
		if (n->i == i)
			return n->body;
	return NULL;
}

/* A copy: the graph may go, if it has no loops. Whether blocks that are together fit is found now. */
static CUresult instantiate(emu_exec **out, graph *g)
{
	emu_exec *x = calloc(1, sizeof *x);

	if (g->made || has_unused(g))
		return CUDA_ERROR_INVALID_VALUE;
	if (!x || !(x->node = calloc(g->of.nnode + 1, sizeof *x->node)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; x->nnode < g->of.nnode; x->nnode++) {
		const emu_node *from = &g->of.node[x->nnode];
		const emu_launch *l = &from->launch;
		emu_node *n = &x->node[x->nnode];
		int code = 0;
		if (!from->loop && l->together && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] >
		    (uint64_t)emu_settings()->sms * emu_occupancy(from->function, (int)l->block, l->shared))
			return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
		*n = *from;
		n->after = malloc((n->nafter + 1) * sizeof *n->after);
		if (!n->after)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(n->after, from->after, n->nafter * sizeof *n->after);
		if (from->loop)
			code = instantiate(&n->body, body_of(g, x->nnode));
		g->made |= from->loop != NULL;
		if (code)
			return code;
	}
	*out = x;
	return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(void **out, void *handle, unsigned long long flags)
{
	(void)flags;
	return instantiate((emu_exec **)out, handle);
}
CUresult cuGraphLaunch(void *exec, void *stream)
{
	return emu_tell(emu_stream_of(stream), (emu_op){ .kind = EMU_GRAPH, .exec = exec });
}
static void free_exec(emu_exec *x)
{
	for (int i = 0; i < x->nnode; i++)
		if (x->node[i].loop)
			free_exec(x->node[i].body);
	free_nodes(x);
	free(x);
}
CUresult cuGraphExecDestroy(void *handle)
{
	emu_await_all();
	free_exec(handle);
	return CUDA_SUCCESS;
}
