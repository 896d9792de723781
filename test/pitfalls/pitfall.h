/* pitfall.h -- numbered tests of what other operators with bodies refuse or do badly: the macro that
 * writes one, tensors written down in a line, and what a body must do by every door. A failure ends
 * the process of its test; main.c starts one for each. docs/pitfalls.md has a row for each.
 *
 *	BODY(keep) { hop_return(t, in[0]); }
 *	BODY(f1) { .. hop_cond(t, in[1], keep, twice, NULL, 1, in, 1, out); hop_return(t, out[0]); }
 *	PITFALL(1, "a branch returns its operand")
 *	{
 *		gives(f1, NULL, LIST(F(1, 2), B0(1)), LIST(F(1, 2)));
 *	}
 */
#ifndef PITFALL_H
#define PITFALL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hop/hop.h"

/* Bodies have three parameters, and few need all of them. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

/* ---- tests ---- */

typedef struct pitfall {
	int             number;
	const char     *title, *file;
	int             line;
	void            (*run)(void);
	struct pitfall *next;
} pitfall;

void pitfall_add(pitfall *p);

/* A pitfall makes itself known before main: a new file needs no list. */
#define PITFALL(n, title) \
	static void pitfall_##n(void); \
	static void __attribute__((constructor)) pitfall_add_##n(void) \
	{ \
		static pitfall p = { n, title, __FILE__, __LINE__, pitfall_##n, NULL }; \
		pitfall_add(&p); \
	} \
	static void pitfall_##n(void)
#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)

/* Of this process. */
extern hop_ctx *ctx;

/* Ends the test. */
void fail_at(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
#define fail(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define must(e) ((e) ? (void)0 : fail("%s", #e))
#define ok(e) ((e) == HOP_OK ? (void)0 : fail("%s: %s", #e, hop_message(ctx)))

/* ---- tensors: numbers written down, no data of their own ---- */

enum { MAXRANK = 4, MAXLIST = 12 };
typedef struct tensor {
	hop_dtype     dtype;
	int           rank;
	int64_t       dim[MAXRANK];
	const char   *sym[MAXRANK];    /* the name of a size that the capture does not know */
	const double *v;               /* row-major; NULL = zeros */
} tensor;

tensor tensor_of(hop_dtype d, int rank, int64_t n, int64_t m, int64_t k, const double *v);
/* The same, captured with the size of this axis unknown. */
tensor unknown_at(tensor x, int axis, const char *name);
int64_t tensor_count(const tensor *x);

#define NUMBERS_(...)     ((const double[]){ __VA_ARGS__ })
#define COUNT_(...)       ((int64_t)(sizeof NUMBERS_(__VA_ARGS__) / sizeof(double)))
#define F(...)            tensor_of(HOP_f64, 1, COUNT_(__VA_ARGS__), 0, 0, NUMBERS_(__VA_ARGS__))
#define F0(x)             tensor_of(HOP_f64, 0, 0, 0, 0, NUMBERS_(x))
#define F2(n, m, ...)     tensor_of(HOP_f64, 2, n, m, 0, NUMBERS_(__VA_ARGS__))
#define F3(n, m, k, ...)  tensor_of(HOP_f64, 3, n, m, k, NUMBERS_(__VA_ARGS__))
#define I(...)            tensor_of(HOP_i64, 1, COUNT_(__VA_ARGS__), 0, 0, NUMBERS_(__VA_ARGS__))
#define I0(x)             tensor_of(HOP_i64, 0, 0, 0, 0, NUMBERS_(x))
#define I2(n, m, ...)     tensor_of(HOP_i64, 2, n, m, 0, NUMBERS_(__VA_ARGS__))
#define B(...)            tensor_of(HOP_bool, 1, COUNT_(__VA_ARGS__), 0, 0, NUMBERS_(__VA_ARGS__))
#define B0(x)             tensor_of(HOP_bool, 0, 0, 0, 0, NUMBERS_(x))
#define EMPTY(d)          tensor_of(d, 1, 0, 0, 0, NULL)
#define EMPTY2(d, n, m)   tensor_of(d, 2, n, m, 0, NULL)
#define UNKNOWN(x, name)  unknown_at(x, 0, name)

/* Several tensors, or inputs by number: two arguments of what follows. */
#define LIST(...)  (int)(sizeof((tensor[]){ __VA_ARGS__ }) / sizeof(tensor)), (tensor[]){ __VA_ARGS__ }
#define NONE       0, NULL
#define WRT(...)   (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[]){ __VA_ARGS__ }
#define AXES(...)  (int[]){ __VA_ARGS__ }

hop_array *array_of(const tensor *x);
hop_spec   spec_of(const tensor *x);

/* ---- what a body does. Doors are: eager, captured and interpreted, captured and compiled ---- */

/* By every door, it gives these results: dtypes, sizes, and numbers to 1e-10 of their size (floats
 * of 32 bits 1e-5, of 16 bits 1e-2). A NaN is what must be one. */
void gives_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
              int nwant, const tensor *want);
#define gives(...) gives_at(__FILE__, __LINE__, __VA_ARGS__)
/* The same, and afterwards the inputs hold these. */
void leaves_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               int nwant, const tensor *want, int nafter, const tensor *after);
#define leaves(...) leaves_at(__FILE__, __LINE__, __VA_ARGS__)
/* By every door, a run prints this. */
void prints_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               const char *want);
#define prints(...) prints_at(__FILE__, __LINE__, __VA_ARGS__)
/* A body that says yes: one bool result, true everywhere, by every door. */
void holds_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in);
#define holds(...) holds_at(__FILE__, __LINE__, __VA_ARGS__)

/* The gradients of the first result, a scalar, are these, by every door. */
void gradient_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                 int nwrt, const int *wrt, int nwant, const tensor *want);
#define gradient(...) gradient_at(__FILE__, __LINE__, __VA_ARGS__)
/* The gradients of the first result, a scalar, are those of central differences, and its derivative
 * along a direction is what they say, by every door. */
void slopes_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               int nwrt, const int *wrt);
#define slopes(...) slopes_at(__FILE__, __LINE__, __VA_ARGS__)
/* The same of its gradient: second derivatives, reverse over reverse and forward over reverse. */
void slopes2_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                int nwrt, const int *wrt);
#define slopes2(...) slopes2_at(__FILE__, __LINE__, __VA_ARGS__)
/* Batched along these axes (-1 = the same for all lanes), it gives what it gives lane by lane. */
void lanes_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
              const int *axes);
#define lanes(...) lanes_at(__FILE__, __LINE__, __VA_ARGS__)

/* ---- refusals: the whole first line of the message, without file and line ---- */

/* When it is captured, and when it is run eagerly. */
void refuses_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                hop_status st, const char *message);
#define refuses(...) refuses_at(__FILE__, __LINE__, __VA_ARGS__)
/* Only when it is captured: an eager run sees one branch, or no reason. */
void refuses_capture_at(const char *file, int line, hop_body *f, void *user, int nin,
                        const tensor *in, hop_status st, const char *message);
#define refuses_capture(...) refuses_capture_at(__FILE__, __LINE__, __VA_ARGS__)
/* Only when it is run, by every door. */
void refuses_run_at(const char *file, int line, hop_body *f, void *user, int nin,
                    const tensor *in, hop_status st, const char *message);
#define refuses_run(...) refuses_run_at(__FILE__, __LINE__, __VA_ARGS__)
/* Only when what was captured is called, interpreted or compiled. */
void refuses_call_at(const char *file, int line, hop_body *f, void *user, int nin,
                     const tensor *in, hop_status st, const char *message);
#define refuses_call(...) refuses_call_at(__FILE__, __LINE__, __VA_ARGS__)

#endif
