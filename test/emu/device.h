/* device.h -- the parts of the emulated driver: things to do, streams of them, graphs, modules. */
#ifndef HOP_EMU_DEVICE_H
#define HOP_EMU_DEVICE_H

#include "emu/inside.h"

/* What a library has the device do, with so many bytes of its own. */
typedef struct emu_call { int (*code)(const void *with); unsigned char with[480]; } emu_call;

/* An instantiated graph: kernels, and loops over graphs, each behind others. */
typedef struct emu_node {
	emu_launch launch;
	emu_call   call;               /* code: this, and no kernel */
	int        nafter, *after;     /* numbers of nodes */
	struct emu_function *function;
	emu_handle *loop;              /* NULL: a kernel */
	bool       once;               /* no loop, but a branch: what it goes by stays as it is */
	struct emu_exec *body;
} emu_node;
typedef struct emu_exec { int nnode; emu_node *node; } emu_exec;

typedef struct emu_stream emu_stream;
enum emu_kind { EMU_NOTHING, EMU_COPY, EMU_FILL, EMU_FREE, EMU_KERNEL, EMU_GRAPH,
                EMU_CALL };

/* A thing to do. Contrast emu_node, which is kept and done many times. */
typedef struct emu_op {
	struct emu_op *next;
	enum emu_kind  kind;
	emu_stream    *on;             /* not before that has done `until` things; NULL = at once */
	uint64_t       until;
	void          *to, *staged;    /* staged: freed with it */
	const void    *from;
	size_t         n, rows, to_step, from_step;
	unsigned char  byte;
	emu_launch     launch;
	emu_call       call;
	const emu_exec *exec;
} emu_op;

/* Counts of things that it was told, and has done. */
struct emu_stream {
	emu_stream *next;
	emu_op     *first;
	uint64_t    told, done;
	void       *capture;           /* a graph that gets what it is told */
};

emu_stream *emu_stream_of(void *handle);
emu_stream *emu_stream_new(void);
int         emu_stream_drop(emu_stream *s);
int         emu_tell(emu_stream *s, emu_op o);                 /* a CUresult */
int         emu_await(emu_stream *s, uint64_t until);
int         emu_await_all(void);
bool        emu_is_done(const emu_stream *s, uint64_t until, int *out_code);
void        emu_handles_apart(void);                           /* another kernel begins */
int         emu_sticky(void);                                  /* what broke the context */
void        emu_forget(void);                                  /* a new one */

int         emu_capture(emu_stream *s, const emu_call *c);     /* at the end of s->capture (launch.c) */

/* ---- modules (module.c) ---- */

typedef struct emu_function {
	struct emu_function *next;
	emu_launch of;                 /* without parameters and sizes */
	int        most_shared;
	char       name[256];
} emu_function;

bool emu_is_constant(const void *p, size_t n);                 /* of a module that is loaded */
/* A launch of it, or why not. */
int  emu_launch_of(emu_function *f, const unsigned grid[3], const unsigned block[3], unsigned shared,
                   void **params, bool together, emu_launch *out_l);
int  emu_occupancy(const emu_function *f, int threads, size_t shared);

#endif
