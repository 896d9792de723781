/* page.h -- graphs as one HTML file that needs nothing else. */
#ifndef HOP_PAGE_H
#define HOP_PAGE_H

#include "ir/graph.h"

/* A graph as it is at some time of a compilation. */
typedef struct hop_stage {
	const char      *name, *help;
	const hop_graph *g;
} hop_stage;

typedef struct hop_page {
	const char      *title;
	const char      *name;         /* of the graph, without the @ */
	int              nstage;
	const hop_stage *stage;        /* in order; a graph may be there again */
	/* The text of one file that locations may name; others are looked for on disk. */
	const char      *file, *text;
	size_t           ntext;
} hop_page;

/* Append the page. Any bytes may stand in names: what is not UTF-8 shows as such. Files that
 * cannot be read cost their lines, nothing else. */
void hop_page_print(hop_buf *b, const hop_page *p);

/* Every pass of a compilation of g as a stage, behind those that are there: *io_stage is of
 * e->tmp, with room for HOP_STAGES more. */
enum { HOP_STAGES = 64 };
hop_status hop_page_stages(hop_env *e, const hop_graph *g, hop_stage *stage, int *io_n);

#endif
