/* text.h -- the text form of graphs: printing and parsing.
 * Files and streams are not here; text is bytes in memory. docs/ir.md is the grammar. */
#ifndef HOP_TEXT_H
#define HOP_TEXT_H

#include "ir/graph.h"

/* A graph under a name. Equal graphs are one graph, so two entries may share it. */
typedef struct hop_named {
	const char *name;              /* without the @ */
	hop_graph  *g;                 /* borrowed from the context */
} hop_named;

/* The graphs of one text, each after those it mentions. Owns the list, not the graphs. */
typedef struct hop_module {
	hop_arena        arena;
	uint32_t         n;
	const hop_named *entry;
} hop_module;

enum hop_print_flag { HOP_PRINT_LOCS = 1 };       /* end lines with "  # file:line" */

/* A whole text, `hop 1` first: g and every graph it mentions by name, g last. Bodies with
 * a name, or used more than once, are graphs of their own; all others print in place. */
void hop_graph_print(hop_buf *b, const hop_graph *g);
void hop_entries_print(hop_buf *b, uint32_t n, const hop_named *entry, int flags);

/* Pieces of it, for those who print otherwise: what the text calls the size symbols of g, [nsym +
 * nlocal] in e->tmp; one of them with its range; the attributes of a node but for its bodies, `a = 1,
 * b = [2]`, of constants at most so many elements. */
const char *const *hop_graph_symbols(hop_env *e, const hop_graph *g);
void hop_symbol_print(hop_buf *b, const hop_graph *g, const char *const *sym, uint32_t i);
void hop_attrs_print(hop_buf *b, const hop_graph *g, const char *const *sym, const hop_node *n,
                     int64_t most);

/* Elements as in a constant: `1.5`, or `[1.0, 2.0]` when rank > 0; past max elements
 * `...` and the count stand for the rest. */
void hop_data_print(hop_buf *b, hop_dtype d, int rank, const void *bytes, int64_t count,
                    int64_t max);
/* "..." with escapes that the lexer reads back. */
void hop_str_print(hop_buf *b, const char *s, size_t n);

/* One attribute as the text has it; not for constants and bodies. */
void hop_field_print(hop_buf *b, const hop_graph *g, const hop_node *n, int field);
/* The word of a field in the text. */
void hop_field_word(hop_buf *b, const char *name);

/* differ.c: the first thing in which two graphs differ, in words; nothing if they are equal. True
 * if it is the value of a constant. */
bool hop_graph_differ(hop_buf *b, const hop_graph *one, const hop_graph *other);
/* "net.c:12" if the place is known, else nothing. */
bool hop_loc_print(hop_buf *b, hop_ctx *c, hop_loc at);

/* Read a text. Any bytes are fine: failures are HOP_EPARSE, or what inference says, with
 * file, line, column, the line itself and a mark under the place. Needs a guard. */
hop_status hop_module_parse(hop_env *e, const char *text, size_t n, const char *filename,
                            hop_module **out_m);
void       hop_module_free(hop_module *m, const hop_mem *mem);
/* NULL name = the last entry. NULL when there is none. */
hop_graph *hop_module_find(const hop_module *m, const char *name);

#endif
