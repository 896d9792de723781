/* fake_device.c -- a device of this process. What is put on a queue is a list of steps. */
#include "support/fake_device.h"

#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"
#include "target/target.h"

/* No address of a process on the machines there are has this bit. */
static const uintptr_t FAR = (uintptr_t)1 << 61;

struct block { uintptr_t at; size_t n; bool own; struct block *next; };

struct step {
	enum { COPY, FREE, AFTER, LAUNCH } what;
	void        *to;
	const void  *from;
	size_t       n;
	void        *kept;                 /* bytes of this process that were read when it was given */
	struct queue *other;
	size_t       upto;                 /* steps of other */
	hop_image    image;
	void       **params;
	int64_t     *syms;
};

struct queue {
	struct step *step;
	size_t       n, done;
	struct queue *next;
};

static struct {
	struct block *list;
	fake_counts   count;
	const char   *broken;
	size_t        room;
	const hop_target *real;
	struct queue  common, *ended;
} dev;

/* ---- addresses ---- */

static bool is_far(const void *p)
{
	return ((uintptr_t)p & FAR) != 0;
}

static void *near(const void *p)
{
	return (void *)((uintptr_t)p & ~FAR);
}

static bool owns(const void *p)
{
	for (struct block *b = dev.list; b; b = b->next)
		if ((uintptr_t)p >= b->at && (uintptr_t)p < b->at + b->n)
			return true;
	return false;
}

static void *add_block(void *p, size_t n, bool own)
{
	struct block *b = malloc(sizeof *b);
	*b = (struct block){ (uintptr_t)p | FAR, n ? n : 1, own, dev.list };
	dev.list = b;
	return (void *)b->at;
}

void *fake_device_lend(void *p, size_t n)
{
	return add_block(p, n, false);
}

void *fake_device_behind(void *p)
{
	return near(p);
}

void fake_device_forget(void *p)
{
	for (struct block **at = &dev.list; *at; at = &(*at)->next)
		if ((*at)->at == (uintptr_t)p) {
			struct block *b = *at;
			*at = b->next;
			if (b->own)
				free(near(p));
			free(b);
			return;
		}
	abort();                               /* freed twice */
}

/* ---- steps ---- */

static int call_real(const hop_image *image, void *const *params, const int64_t *syms, hop_rt *rt)
{
	void *work = aligned_alloc(64, 1 << 20);
	int rc = dev.real->launch(image, NULL, params, syms, work, rt);
	free(work);
	return rc;
}

static int ask_nothing(hop_rt *rt, int id, void *const *args, const int64_t *syms)
{
	(void)rt;
	(void)id;
	(void)args;
	(void)syms;
	abort();
}

static void alone(hop_rt *rt, void (*body)(void *, int64_t, int64_t), void *arg, int64_t n)
{
	(void)rt;
	body(arg, 0, n);
}

static void flush(struct queue *q, size_t upto);

static void act(struct step *s)
{
	static const int never = 0;
	hop_rt rt = { .effect = ask_nothing, .parallel = alone, .cancel = &never, .nthread = 1 };
	switch (s->what) {
	case COPY:
		memcpy(near(s->to), s->kept ? s->kept : near(s->from), s->n);
		break;
	case FREE:
		dev.count.blocks--;
		fake_device_forget(s->to);
		break;
	case AFTER:
		flush(s->other, s->upto);
		break;
	case LAUNCH:
		if (call_real(&s->image, s->params, s->syms, &rt))
			abort();
		free(s->params);
		free(s->syms);
		break;
	}
	free(s->kept);
}

static void flush(struct queue *q, size_t upto)
{
	while (q && q->done < upto) {
		struct step s = q->step[q->done++];
		act(&s);
	}
}

static void give(struct queue *q, struct step s)
{
	if (!q) {
		act(&s);
		return;
	}
	q->step = realloc(q->step, (q->n + 1) * sizeof s);
	q->step[q->n++] = s;
}

/* ---- memory ---- */

static void *alloc(const hop_mem *m, void *queue, size_t n)
{
	(void)m;
	(void)queue;
	if (dev.room && n > dev.room)
		return NULL;
	dev.count.blocks++;
	void *p = aligned_alloc(64, (n + 64) / 64 * 64);
	memset(p, 0xa5, n);
	return add_block(p, n, true);
}

static void release(const hop_mem *m, void *queue, void *p, size_t n)
{
	(void)m;
	(void)n;
	give(queue, (struct step){ .what = FREE, .to = p });
}

static const char *copy(void *queue, void *to, const void *from, size_t n)
{
	struct step s = { .what = COPY, .to = to, .from = from, .n = n };
	dev.count.copies_here += is_far(from) && !is_far(to);
	dev.count.copies_there += !is_far(from) && is_far(to);
	if (queue && !is_far(from)) {
		s.kept = malloc(n ? n : 1);
		memcpy(s.kept, from, n);
	}
	give(queue, s);
	return NULL;
}

static const char *wait(void *queue)
{
	struct queue *q = queue;
	flush(q, q ? q->n : 0);
	return dev.broken;
}

static const char *open_it(void)
{
	return NULL;
}

static int how_many(void)
{
	return 2;
}

static const char *about(int id)
{
	return id ? "the second fake" : "the first fake";
}

static const char *queue_new(void **out_queue)
{
	*out_queue = calloc(1, sizeof(struct queue));
	return *out_queue ? NULL : "no memory";
}

static void queue_free(void *queue)
{
	struct queue *q = queue;
	(void)!wait(q);
	free(q->step);
	q->step = NULL;
	q->next = dev.ended;                   /* others may still come after what it did */
	dev.ended = q;
}

static const char *after(void *queue, void *other)
{
	struct queue *o = other;
	give(queue, (struct step){ .what = AFTER, .other = o, .upto = o->n });
	return dev.broken;
}

static const char *copy_rows(void *queue, void *to, size_t to_step, const void *from,
                             size_t from_step, size_t bytes, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		(void)!copy(queue, (char *)to + i * to_step, (const char *)from + i * from_step, bytes);
	return NULL;
}

/* ---- the target ---- */

/* Parameters of this process: those that are read are kept, those that are written are written when
 * it returns, so then nothing is deferred. The marks stand behind the addresses: so many there are. */
static int launch(const hop_image *i, void *queue, void *const *params, const int64_t *syms,
                  void *workspace, hop_rt *rt)
{
	struct queue *q = queue;
	size_t n = (size_t)(rt->there - (const unsigned char *)params) / sizeof *params;
	void **p = malloc((n + 1) * sizeof *p);
	int here = 0;
	if (workspace)
		abort();
	for (size_t k = 0; k < n; k++) {
		if (is_far(params[k]) != (rt->there[k] != 0) && params[k])
			abort();
		here += !rt->there[k];
		p[k] = near(params[k]);
	}
	dev.count.launches++;
	dev.count.staged += here;
	if (q && !here) {
		int64_t *s = malloc(64 * sizeof *s);
		memcpy(s, syms, 64 * sizeof *s);
		give(q, (struct step){ .what = LAUNCH, .image = *i, .params = p, .syms = s });
		dev.count.deferred++;
		return 0;
	}
	if (q)
		(void)!wait(q);
	int rc = call_real(i, p, syms, rt);
	free(p);
	return rc;
}

static const hop_far far_cells = {
	.type = FAKE_TYPE, .name = "fake", .open = open_it, .count = how_many, .about = about,
	.queue_new = queue_new, .queue_free = queue_free, .after = after, .owns = owns,
	.copy_rows = copy_rows, .common = &dev.common,
};
static const hop_memory memory = { alloc, release, copy, wait, &far_cells };

void fake_device_add(hop_ctx *c)
{
	static hop_target fake;
	hop_env e;
	hop_frame fr;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &fr))
		abort();
	dev.real = hop_target_at(0);
	fake = *dev.real;
	fake.name = "fake";
	fake.what = "what the first target makes, on memory that is far away";
	fake.launch = launch;
	fake.mem = &memory;
	hop_ctx_own(&e, HOP_OWN_TARGET, "fake", &fake, NULL);
	hop_guard_end(&e, &fr);
	hop_env_fini(&e);
	dev.count = (fake_counts){ 0 };
}

fake_counts fake_device_counts(void)
{
	return dev.count;
}

void fake_device_break(const char *words)
{
	dev.broken = words;
}

void fake_device_room(size_t bytes)
{
	dev.room = bytes;
}
