/* formula_parse.h -- what the files that read formulas share. Positions are bytes of the
 * text; a node is its number, and -1 after a failure. */
#ifndef HOP_FORMULA_PARSE_H
#define HOP_FORMULA_PARSE_H

#include "trace/formula.h"

enum { HOP_FX_KIDS = 4 * HOP_FX_NODES };

typedef struct hop_fx_parser {
	hop_trace         *t;
	const char        *s;
	size_t             at;         /* what is read next */
	int                depth;
	int                narg;
	const hop_fx_name *arg;
	bool              *used;       /* [narg] */
	hop_fx_node       *node;
	uint16_t          *kid;
	uint32_t           nnode, nkid;
} hop_fx_parser;

/* Always -1; the message shows n bytes at the place. */
__attribute__((format(printf, 4, 5)))
int  hop_fx_fail(hop_fx_parser *p, size_t at, size_t n, const char *fmt, ...);
int  hop_fx_want(hop_fx_parser *p, const char *what);    /* fails: something else is here */

bool hop_fx_word(int c);                                 /* may it be in a name */
void hop_fx_blanks(hop_fx_parser *p);
bool hop_fx_take(hop_fx_parser *p, const char *what);    /* skip it if it is here */

/* The value whose name stands here, the longest if several do, and its bytes; -1 = none. */
int  hop_fx_arg(const hop_fx_parser *p, size_t *out_n);
/* What stands alone, with what is in brackets behind it. */
int  hop_fx_element(hop_fx_parser *p);
int  hop_fx_expr(hop_fx_parser *p);
/* The arguments of a call that starts at `at`, up to the closing parenthesis. */
int  hop_fx_call_args(hop_fx_parser *p, int row, bool point, size_t at);

int  hop_fx_add(hop_fx_parser *p, hop_fx_node n, int nkid, const int *kid);
/* A node without kids for this piece of the text. */
hop_fx_node hop_fx_part(enum hop_fx_kind kind, int row, size_t at, size_t end);
/* Is it one? Fails if not. A size is then quiet. */
bool hop_fx_value(hop_fx_parser *p, int k);
bool hop_fx_size(hop_fx_parser *p, int k);
/* What the elementwise op is on sizes (enum hop_dim_op), or -1. */
int  hop_fx_dim_op(int op);

#endif
