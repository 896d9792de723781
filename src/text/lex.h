/* lex.h -- text to tokens. Inside the text form only; knows no grammar. */
#ifndef HOP_LEX_H
#define HOP_LEX_H

#include "base/base.h"

typedef enum hop_tok_kind {
	HOP_T_END,
	HOP_T_BAD,             /* what is a static text that says why */
	HOP_T_IDENT,           /* add */
	HOP_T_VALUE,           /* %0 %x     s is without the sigil, here and below */
	HOP_T_GRAPH,           /* @f */
	HOP_T_DATA,            /* $0 */
	HOP_T_INT,             /* 12; i holds it */
	HOP_T_BITS,            /* 0x7fc00001; i holds it */
	HOP_T_FLOAT,           /* 1.5 1e-3; inf and nan are words */
	HOP_T_STR,             /* "..."     s is what stands between the quotes */
	HOP_T_ARROW,           /* -> */
	HOP_T_EQ,              /* == */
	HOP_T_LE,              /* <= */
	HOP_T_DOTS,            /* .. */
	HOP_T_CHAR             /* any other one; c holds it */
} hop_tok_kind;

typedef struct hop_tok {
	hop_tok_kind kind;
	char         c;
	uint64_t     i;
	const char  *s;            /* into the text */
	size_t       n;
	const char  *at;           /* first byte, sigil included */
	uint32_t     line;
	const char  *what;
} hop_tok;

/* A place in the text, with the token there. Copy it to come back. */
typedef struct hop_lex {
	const char *text, *end, *p;
	uint32_t    line;
	hop_tok     tok;
} hop_lex;

void hop_lex_init(hop_lex *l, const char *text, size_t n);
void hop_lex_next(hop_lex *l);
/* `s%4` reads as a value %4 where a size has an operator: split it after the sigil. */
void hop_lex_split(hop_lex *l);
/* Decode the escapes of a string token into out (at least tok->n bytes); false = bad. */
bool hop_lex_unescape(const hop_tok *t, char *out, size_t *out_n);

#endif
