/* Learning to learn (MAML): a network is trained not to know one wave but to become any wave after
 * one step of descent on ten points. The gradient of the training runs through the gradient of that
 * step, for several tasks at once, inside the loop: one compiled function. */
#include "example.h"

enum { META = 500, TASKS = 8, SAMPLE = 10, NEURONS = 24, TESTS = 6, GRID = 64 };

struct net { hop_value w, b, v; };
HOP_TREE(net_tree, struct net, w, b, v);

static hop_value predict(hop_trace *t, const struct net *n, hop_value x)
{
	return HOP_E(t, "tanh(x @ n->w + n->b) @ n->v", x, n->w, n->b, n->v);
}

static hop_value error(hop_trace *t, const struct net *n, hop_value x, hop_value y)
{
	return HOP_E(t, "mean((guess - y) ** 2)", HOP_AS(guess, predict(t, n, x)), y);
}

/* The network after one step down the error on x and y. */
static struct net adapted(hop_trace *t, struct net n, hop_value x, hop_value y)
{
	struct net g, next;
	hop_value e;

	HOP_GRAD_N(t, e, net_tree, &n, &g)
		e = error(t, &n, x, y);
	hop_tree_axpy(t, &net_tree, hop_f(t, -0.1), &g.w, &n.w, &next.w);
	return next;
}

static hop_value uniform(hop_trace *t, hop_value key, int what, int n, double from, double to)
{
	hop_value u = hop_uniform(t, hop_fold_in(t, key, hop_i(t, what)), HOP_f64, 2,
	                          ((hop_dim[]){ hop_n(n), hop_n(1) }));
	return hop_addf(t, hop_mulf(t, u, to - from), from);
}

/* A wave of this key, at x. */
static hop_value wave(hop_trace *t, hop_value key, hop_value x)
{
	hop_value high = uniform(t, key, 0, 1, 0.5, 2), shift = uniform(t, key, 1, 1, 0, 3.14);
	return HOP_E(t, "high * sin(x + shift)", high, x, shift);
}

/* in: w, b, v; ten points of a new wave, x and y; a grid to draw on. */
static void maml(hop_trace *t, const hop_value *in, void *user)
{
	struct net n = { in[0], in[1], in[2] }, g, fresh = n;
	hop_value x = in[3], y = in[4], loss, losses, es, fresh_es;
	(void)user;

	HOP_FOR_N(t, i, META, net_tree, &n) {
		HOP_GRAD_N(t, loss, net_tree, &n, &g) {
			hop_value bad;
			HOP_MAP(t, k, TASKS) {
				hop_value key = hop_fold_in(t, i, k);
				hop_value a = uniform(t, key, 2, SAMPLE, -3, 3);
				hop_value b = uniform(t, key, 3, SAMPLE, -3, 3);
				struct net m = adapted(t, n, a, wave(t, key, a));
				hop_stack(t, &bad, error(t, &m, b, wave(t, key, b)));
			}
			loss = HOP_E(t, "mean(bad)", bad);
		}
		hop_tree_axpy(t, &net_tree, hop_f(t, -0.1), &g.w, &n.w, &n.w);
		hop_stack(t, &losses, loss);
	}
	HOP_FOR(t, i, TESTS, n.w, n.b, n.v, fresh.w, fresh.b, fresh.v) {
		hop_stack(t, &es, error(t, &n, x, y));
		hop_stack(t, &fresh_es, error(t, &fresh, x, y));
		n = adapted(t, n, x, y);
		fresh = adapted(t, fresh, x, y);
	}
	losses = HOP_E(t, "mean(reshape(losses, 20, 25), axis=1)", losses);
	hop_return(t, losses, es, fresh_es, predict(t, &n, in[5]));
}

int main(void)
{
	double w[3][NEURONS], x[SAMPLE], y[SAMPLE], grid[GRID];
	hop_ctx *c = context();
	struct picture p = { { { 0 } } };

	for (int i = 0; i < NEURONS; i++) {
		w[0][i] = 1.5 * sin(7.0 * i + 1);
		w[1][i] = 2 * sin(13.0 * i + 2);
		w[2][i] = 0.3 * sin(5.0 * i + 3);
	}
	for (int i = 0; i < SAMPLE; i++) {
		x[i] = 3 * sin(3.0 * i + 1);
		y[i] = 1.2 * sin(x[i] + 0.8);
	}
	for (int i = 0; i < GRID; i++)
		grid[i] = -3 + 6.0 * i / (GRID - 1);
	hop_array *in[6] = { matrix(c, 1, NEURONS, w[0]), vector(c, NEURONS, w[1]),
	                     matrix(c, NEURONS, 1, w[2]), matrix(c, SAMPLE, 1, x),
	                     matrix(c, SAMPLE, 1, y), matrix(c, GRID, 1, grid) }, *out[4];
	run(c, maml, 6, in, 4, out);
	curve("loss, averages of 25,", out[0]);
	puts("steps on a new wave   learnt to learn   not");
	for (int i = 0; i < TESTS; i++)
		printf("%12d %22.4f %9.4f\n", i, numbers(out[1])[i], numbers(out[2])[i]);
	for (int i = 0; i < GRID; i++) {
		dot(&p, (grid[i] + 3) / 6, 0.5 + 1.2 * sin(grid[i] + 0.8) / 3, '.');
		dot(&p, (grid[i] + 3) / 6, 0.5 + numbers(out[3])[i] / 3, '+');
	}
	for (int i = 0; i < SAMPLE; i++)
		dot(&p, (x[i] + 3) / 6, 0.5 + y[i] / 3, 'o');
	puts("the new wave ., ten points of it o, the network after six steps +");
	draw(&p);
	release(6, in);
	release(4, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
loss, averages of 25, from 0.86 to 0.33 in 20 steps
*



   *

       *  *      *

             *      *  *   *     *  *   *  *  *
                              *
                                                  *  *  *      *
                                                            *
steps on a new wave   learnt to learn   not
           0                 0.5103    0.2159
           1                 0.0410    0.1589
           2                 0.0360    0.1358
           3                 0.0333    0.1190
           4                 0.0308    0.1056
           5                 0.0286    0.0947
the new wave ., ten points of it o, the network after six steps +

                                    o...o....
                               o+++++++++++++o...
                           ++++               ++++..
                        +++o.                     ++o+
                      ++..                            ++++++++
                    ++o.                                 .o   ++
                 +++.                                      ...
               ++..                                           ..
...         ++o.
   .....o+++
     +++
*/
