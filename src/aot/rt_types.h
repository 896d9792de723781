/* What functions that hop built ahead of time return, and what they may be given to call. Text of
 * hop, copied into the headers it writes: needs nothing else of it. */
#ifdef HOP_AOT_RT
#if HOP_AOT_RT != 1
#error "these headers were written by different versions of hop: build them with one"
#endif
#else
#define HOP_AOT_RT 1

#include <stddef.h>
#include <stdint.h>

#if defined __GNUC__
#define HOP_AOT_FN static inline __attribute__((unused))
#else
#define HOP_AOT_FN static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum hop_aot_status {
	HOP_AOT_OK        = 0,
	HOP_AOT_ENOMEM    = 1,     /* a loop's trail could not grow: see hop_aot_hooks */
	HOP_AOT_ESHAPE    = 3,     /* sizes that the program does not take */
	HOP_AOT_EVALUE    = 4,     /* a kernel of the user's gave another number than 0 */
	HOP_AOT_EUSE      = 6,     /* a pointer is NULL, or the workspace is not aligned to 64 bytes */
	HOP_AOT_EASSERT   = 9,     /* an assert of the program did not hold */
	HOP_AOT_EIO       = 10,    /* what it prints could not be written */
	HOP_AOT_ECANCELED = 12     /* it was stopped by hooks.cancel */
};

enum hop_aot_dtype {
	HOP_AOT_bool, HOP_AOT_i32, HOP_AOT_i64, HOP_AOT_f32, HOP_AOT_f64, HOP_AOT_bf16, HOP_AOT_f16
};

/* A dense row-major tensor. bf16 and f16 are their bits, bool is a byte, 0 or 1. */
typedef struct hop_aot_operand {
	enum hop_aot_dtype dtype;
	int                rank;
	const int64_t     *dim;        /* [rank] */
	const void        *data;
} hop_aot_operand;

/* A print; an assert, or a condition on sizes known only while running, that did not hold. */
enum hop_aot_kind { HOP_AOT_PRINT, HOP_AOT_ASSERT, HOP_AOT_SIZES };
typedef struct hop_aot_effect {
	enum hop_aot_kind      kind;
	const char            *text;   /* {} stands for the next operand */
	const char            *file;   /* of the program; NULL = not known */
	int                    line;
	int                    nlane;  /* in a batch: the position of the lane, so many numbers */
	const int64_t         *lane;
	int                    narg;
	const hop_aot_operand *arg;
} hop_aot_effect;

/* All of them may be 0, and so may the pointer to the whole. */
typedef struct hop_aot_hooks {
	void *user;
	/* Memory for the trail that the derivative of a loop leaves, when the loop has no max_trips.
	 * As realloc: p (NULL at first) had old bytes; bytes 0 frees it. NULL: there is no more.
	 * Without it such a loop ends with HOP_AOT_ENOMEM at its first trip. */
	void *(*grow)(void *user, void *p, int64_t old, int64_t bytes);
	/* Told of prints and of what does not hold. Not 0 from a print ends the run with
	 * HOP_AOT_EIO. Without it they go to stdout and stderr; without <stdio.h>, nowhere. */
	int   (*effect)(void *user, const hop_aot_effect *e);
	/* Run body(arg, begin, end) over pieces that cover 0..n, on any threads; return when all
	 * are done. Only programs built with threads call it. */
	void  (*parallel)(void *user, void (*body)(void *arg, int64_t begin, int64_t end), void *arg,
	                  int64_t n);
	/* Read at every trip of a loop; not 0 ends the run with HOP_AOT_ECANCELED. */
	const int *cancel;
} hop_aot_hooks;

HOP_AOT_FN const char *hop_aot_text(int status)
{
	switch (status) {
	case HOP_AOT_OK: return "done";
	case HOP_AOT_ENOMEM: return "no memory: give max_trips, or hooks with grow";
	case HOP_AOT_ESHAPE: return "sizes that the program does not take";
	case HOP_AOT_EVALUE: return "a kernel of the user's refused";
	case HOP_AOT_EUSE: return "a pointer is missing, or the workspace is not aligned to 64 bytes";
	case HOP_AOT_EASSERT: return "an assert of the program did not hold";
	case HOP_AOT_EIO: return "what the program prints could not be written";
	case HOP_AOT_ECANCELED: return "canceled";
	default: return "unknown status";
	}
}

#ifdef __cplusplus
}
#endif
#endif
