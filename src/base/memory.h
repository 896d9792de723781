/* memory.h -- memory that code of a target works in: that of this process, or of a device. Arrays and
 * the run time ask these cells, and know no device by name.
 *
 * queue: in whose order something happens; NULL = now, and it has happened when the cell returns. A
 * cell that gives a text gives NULL when all is well, and else says what is wrong, in words that stay
 * (those of a driver do). What a queue did wrong is told by the first cell that hears of it, at the
 * latest by wait. Any thread may call any cell. */
#ifndef HOP_MEMORY_H
#define HOP_MEMORY_H

#include "base/base.h"

/* What memory of a device has besides. */
typedef struct hop_far {
	int         type;                     /* DLPack's number of this kind of device */
	const char *name;                     /* of it, as users write it */
	/* Is there one? Opens what it takes at the first call, and says why not. */
	const char *(*open)(void);
	/* How many there are; words for one, which stay. */
	int         (*count)(void);
	const char *(*about)(int id);
	/* What it does products by, in words; opens what that takes. NULL: nothing to say. Not by two
	 * threads at once. */
	const char *(*products)(void);
	/* Queues. One of the caller's own (the driver's handle) may stand wherever one of ours does. */
	const char *(*queue_new)(void **out_queue);
	void        (*queue_free)(void *queue);              /* waits for it */
	/* What is given to queue from now on waits for what other has been given. queue NULL: the
	 * caller waits. */
	const char *(*after)(void *queue, void *other);
	/* Is p memory of this kind of device? Whoever made it. */
	bool        (*owns)(const void *p);
	/* rows of so many bytes, the next one a step further on. */
	const char *(*copy_rows)(void *queue, void *to, size_t to_step, const void *from,
	                         size_t from_step, size_t bytes, size_t rows);
	/* The queue of users who name none: what other libraries gave it comes before `after` it. */
	void        *common;
} hop_far;

typedef struct hop_memory {
	void       *(*alloc)(const hop_mem *m, void *queue, size_t n);        /* NULL = there is none */
	/* Free once queue has come here; others are done with it. */
	void        (*free)(const hop_mem *m, void *queue, void *p, size_t n);
	/* Either side may be memory of this process; it may be changed when the cell returns, if it was
	 * read; if it was written, it is when queue has come here. */
	const char *(*copy)(void *queue, void *to, const void *from, size_t n);
	const char *(*wait)(void *queue);
	const hop_far *far;                   /* NULL = it is the memory of this process */
} hop_memory;

#endif
