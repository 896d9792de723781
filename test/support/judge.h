/* judge.h -- judges any graph by what must hold of it, whatever it computes: derivatives
 * against finite differences, forward against reverse mode, batching against a loop over
 * lanes; then the same of its transforms, to a given depth. */
#ifndef JUDGE_H
#define JUDGE_H

#include "ad/ad.h"
#include "interp/interp.h"

/* Runs a graph: the interpreter, or anything that must agree with it. out[] are new. */
typedef hop_status judge_run_fn(hop_interp *p, const hop_graph *g, const int64_t *syms,
                                hop_array *const *in, hop_array **out);

typedef struct judge {
	hop_interp   *p;
	uint64_t      seed;
	int           checks;          /* comparisons made */
	int           failures;
	const char   *what;            /* name of the program, for messages */
	judge_run_fn *other;           /* compared with the interpreter; NULL = none */
	double        tol;             /* relative tolerance of `other`; 0 = 1e-9 */
	bool          verbose;
	long          lines;           /* printed by the run in progress */
	int           astray;          /* programs of coarse dtypes that go another way in f64 */
	long          graphs;          /* compared with `other`, or passed over */
} judge;

/* How a float parameter is drawn; the default is uniform in [0.2, 1.2]. */
void judge_inputs(judge *j, const hop_graph *g, const int64_t *syms, hop_array **in);
/* Sizes for the graph's size parameters. */
void judge_sizes(judge *j, const hop_graph *g, int64_t *syms);
/* The same number, but for tol of it; NaNs are the same, an infinity only itself. */
bool judge_near(double a, double b, double tol);
/* j->other against the interpreter on g. */
void judge_other(judge *j, const hop_graph *g, const char *path);
/* All checks on g, then on its jvp, vjp and batched graphs down to `depth`. */
void judge_graph(judge *j, const hop_graph *g, int depth, const char *path);

#endif
