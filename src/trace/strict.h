/* strict.h -- what a strict capture asks of the bodies of an operator when they are closed. Each
 * function is called at one place of its operator, captured or eager, function or block; it is true
 * at once where the context is not strict, and never changes a draft. */
#ifndef HOP_TRACE_STRICT_H
#define HOP_TRACE_STRICT_H

#include <stdarg.h>

#include "trace/control.h"
#include "trace/loop.h"

/* What is refused where t stands. */
enum hop_strict hop_strict_level(const hop_trace *t);

/* False after a failure, which is then that of the operator. */
bool hop_strict_choice(hop_trace *t, const hop_choice *c);
bool hop_strict_test(hop_trace *t, const struct hop_while_call *c, hop_trace *test);
bool hop_strict_while(hop_trace *t, const struct hop_while_call *c, hop_trace *body);
bool hop_strict_scan(hop_trace *t, const struct hop_scan_call *c, hop_trace *body);
/* combine, of leaves that are called x; NULL = they have no names. */
bool hop_strict_assoc(hop_trace *t, const char *op, hop_trace *combine, hop_size length,
                      const hop_tree *x);

/* ---- strict_text.c: what things are called ---- */

enum hop_strict_kind { HOP_STRICT_CHOICE, HOP_STRICT_TEST, HOP_STRICT_LOOP, HOP_STRICT_COMBINE };

/* One body that is looked at. */
typedef struct hop_seen {
	hop_trace           *t, *body;
	const char          *op;
	enum hop_strict_kind kind;
	enum hop_strict      level;    /* never off */
	const hop_choice    *choice;   /* whose branch number arm this is; or NULL */
	int                  arm;
	uint32_t             ncarry;   /* of a loop: its first results, and parameters */
	const hop_tree      *carry, *x;
	bool                 alone;    /* carries are variables */
} hop_seen;

/* The failure of the operator. inside: it is one of the body, which a note says. */
__attribute__((format(printf, 4, 0)))
void hop_seen_refuse(const hop_seen *l, hop_loc loc, bool inside, const char *fmt, va_list ap);
/* Result i: "carry.h", "y[0]", "result 1 of then". */
const char *hop_seen_result(const hop_seen *l, uint32_t i);
/* A storage that the body was given or captures: "carry.h", "input 2 (net.w)". */
const char *hop_seen_store(const hop_seen *l, uint32_t store);
/* The slot that the user gave for result i. */
uint32_t    hop_seen_slot(const hop_seen *l, uint32_t i);

/* ---- strict_layout.c: as PyTorch would lay it out ---- */

/* Are the results of two branches laid out alike? */
bool hop_strict_alike(const hop_seen *first, const hop_seen *l);
/* Are carries, that start as init, laid out as they were? */
bool hop_strict_keeps(const hop_seen *l, const hop_value *init);

#endif
