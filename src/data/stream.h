/* stream.h -- streams, and what they still do with arrays. The public view is include/hop/device.h.
 *
 * An array on a device knows its last writer and some readers, streams that may not have come that far.
 * Whoever writes it next waits for all of them, whoever reads it for the writer; where there is no
 * place for one more reader, that one waits for another, and stands for both. */
#ifndef HOP_DATA_STREAM_H
#define HOP_DATA_STREAM_H

#include "data/array.h"
#include "hop/device.h"

struct hop_stream {
	uint32_t          refs;        /* the owner's, and one for each array that it is a user of */
	hop_ctx          *ctx;
	const hop_memory *mem;         /* NULL = that of this process: everything is done at once */
	int               id;          /* which device */
	void             *queue;
	bool              own;         /* the queue is ours */
	bool              ended;       /* all is done, and there is no queue any more */
};

/* mem NULL = that of this process. queue: a user's; NULL = make one. */
hop_status hop_stream_open(hop_ctx *c, const hop_memory *mem, int id, bool adopt, void *queue,
                           hop_stream **out_s);
static inline void *hop_stream_queue(const hop_stream *s)
{
	return s ? s->queue : NULL;
}

/* s is about to be given something that reads a, or writes it: first it waits for who else does. NULL
 * = the caller is about to, and waits. Nothing to do for memory of this process. */
hop_status hop_array_use(hop_array *a, hop_stream *s, bool write);
/* When nobody has it any more: *out_queue, the order in which its memory may be used again. The
 * streams are let go. */
void       hop_array_unuse(hop_array *a, void **out_queue);

/* Dense, on a device; its elements are yet to be written, by s first. */
hop_status hop_array_far(hop_ctx *c, const hop_memory *mem, int id, hop_stream *s, hop_dtype d,
                         int rank, const int64_t *dim, hop_array **out_a);
/* On somebody's memory of a device: hop_array_adopt. */
hop_status hop_array_far_adopt(hop_ctx *c, const hop_memory *mem, int id, hop_dtype d, int rank,
                               const int64_t *dim, void *data, bool readonly, hop_array **out_a);
/* A failure of a device: HOP_ETARGET with its words, HOP_OK without. */
hop_status hop_far_told(hop_ctx *c, const char *what, const char *words);
/* "cuda:0", as users write it. */
enum { HOP_DEVICE_TEXT = 32 };
const char *hop_array_where(const hop_array *a, char buf[HOP_DEVICE_TEXT]);

#endif
