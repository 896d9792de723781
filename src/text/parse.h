/* parse.h -- what parse.c and parse_attr.c share: the place in the text, the names in
 * scope, and how to complain. Included by these two only. */
#ifndef HOP_PARSE_H
#define HOP_PARSE_H

#include "text/lex.h"
#include "ir/rule.h"
#include "text/text.h"

enum { HOP_PARSE_DEPTH = 200, HOP_PARSE_LOCALS = 64 };

/* One text being read. */
typedef struct hop_parser {
	hop_env    *env;
	hop_lex     lex;
	const char *file;
	int         depth;             /* of nested bodies and parentheses */
	hop_arena  *keep;              /* the module's */
	hop_map     graphs;            /* name -> hop_graph */
	hop_map     data;              /* name -> hop_data */
	hop_named  *entry;
	size_t      nentry, entrycap;
} hop_parser;

/* One graph being read. Closed: names of the graph around it do not show. */
typedef struct hop_parse_scope {
	hop_build b;
	hop_map   vals;                /* name -> 1 + value */
	hop_map   syms;                /* name -> 1 + size symbol */
	bool      ahead;               /* a check: it may mention sizes bound later */
	uint64_t  unbound;             /* bit i: local symbol i was mentioned, not yet bound */
} hop_parse_scope;

/* A node being read: its row and the struct of its attributes. */
typedef struct hop_draft {
	int       op;
	char     *attr;
	uint32_t  given;               /* bit i: field i was written */
	hop_tok   at;                  /* the word of the op */
} hop_draft;

/* Fail at a token; the text gets the line and the mark. */
#define hop_parse_fail(p, t, ...) \
	hop_parse_fail_((p), (t), HOP_EPARSE, __FILE__, __LINE__, __VA_ARGS__)
hop_status hop_parse_fail_(hop_parser *p, const hop_tok *t, hop_status st,
                           const char *cfile, int cline, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Fail because the token here is not what was wanted. */
hop_status hop_parse_want(hop_parser *p, const char *what);

/* How much of a token a message shows, for %.*s. */
static inline int hop_parse_width(const hop_tok *t)
{
	return t->n < 60 ? (int)t->n : 60;
}

static inline bool hop_parse_is(const hop_parser *p, char c)
{
	return p->lex.tok.kind == HOP_T_CHAR && p->lex.tok.c == c;
}
bool       hop_parse_word(const hop_parser *p, const char *s);
bool       hop_parse_skip(hop_parser *p, char c);             /* true if it was there */
hop_status hop_parse_char(hop_parser *p, char c);             /* it must be there */
hop_status hop_parse_enter(hop_parser *p);                    /* one level deeper */

hop_status hop_parse_size(hop_parser *p, hop_parse_scope *s, hop_size *out);
/* s NULL: no size symbols. */
hop_status hop_parse_type(hop_parser *p, hop_parse_scope *s, const hop_type **out);
/* name, or name: lo..hi; a size parameter or a local symbol of the graph. */
hop_status hop_parse_sym(hop_parser *p, hop_parse_scope *s, bool local, int64_t *out_sym);
/* `type elements`, or `$name`. */
hop_status hop_parse_data(hop_parser *p, const hop_data **out);
/* After `data`: a large constant under its name. */
hop_status hop_parse_section(hop_parser *p);
/* { name = value, ... }, the brace being here. */
hop_status hop_parse_attrs(hop_parser *p, hop_parse_scope *s, hop_draft *d);
/* What was not written: put the default, or complain. After the bodies. */
hop_status hop_parse_defaults(hop_parser *p, hop_parse_scope *s, hop_draft *d);
/* @name of a graph that stands above. */
hop_status hop_parse_body_name(hop_parser *p, const hop_graph **out);
/* Field of the op with this word, or -1. */
int        hop_parse_field(int op, const char *s, size_t n);

#endif
