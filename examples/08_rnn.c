/* A recurrent network, trained in one loop: it must say what it heard three steps ago. The loop of
 * the training holds the gradient, the gradient holds the loop over the sequence, and all of it is
 * one compiled function. functions/rnn.c writes the same with functions for bodies. */
#include "example.h"

enum { TRAINING = 200, HEARD = 24, PUPILS = 16, CELLS = 12, DELAY = 3 };

/* h = tanh(h W + x U); the first cell says what it is. */
static hop_value hear(hop_trace *t, hop_value W, hop_value U, hop_value heard)
{
	hop_value h = hop_zeros(t, HOP_f64, 2, ((hop_dim[]){ hop_n(PUPILS), hop_n(CELLS) })), said;

	HOP_FOR(t, i, HEARD, h) {
		h = HOP_E(t, "tanh(h @ W + x @ U)", h, W, HOP_AS(x, hop_take(t, heard, i)), U);
		hop_stack(t, &said, HOP_E(t, "h[:, :1]", h));
	}
	return said;
}

/* in: W, U, what is heard [HEARD, PUPILS, 1], what is to be said. */
static void train_rnn(hop_trace *t, const hop_value *in, void *user)
{
	hop_value W = in[0], U = in[1], gW, gU, loss, losses;
	(void)user;

	HOP_FOR(t, k, TRAINING, W, U) {
		HOP_GRAD(t, loss, 2, W, U, gW, gU)
			loss = HOP_E(t, "mean((said - in[3]) ** 2)", HOP_AS(said, hear(t, W, U, in[2])), in[3]);
		W = HOP_E(t, "W - 0.3 * gW", W, gW);
		U = HOP_E(t, "U - 0.3 * gU", U, gU);
		hop_stack(t, &losses, loss);
	}
	hop_return(t, hear(t, W, U, in[2]), losses);
}

static double noise(unsigned *seed)                       /* -1 .. 1 */
{
	*seed = *seed * 1103515245u + 12345u;
	return (double)(*seed >> 16 & 0x7fff) / 16384 - 1;
}

static void sequence(const char *what, const double *v)
{
	printf("%s", what);
	for (int i = DELAY; i < HEARD; i++)
		putchar(v[i * PUPILS] > 0 ? '#' : '.');
	putchar('\n');
}

int main(void)
{
	static double heard[HEARD * PUPILS], wanted[HEARD * PUPILS], w[CELLS * CELLS + CELLS];
	hop_ctx *c = context();
	unsigned seed = 1;

	for (int i = 0; i < CELLS * CELLS + CELLS; i++)
		w[i] = noise(&seed) * 0.5;
	for (int i = 0; i < HEARD * PUPILS; i++) {
		heard[i] = noise(&seed) > 0 ? 1 : -1;
		wanted[i] = i < DELAY * PUPILS ? 0 : heard[i - DELAY * PUPILS];
	}
	hop_array *in[4] = { matrix(c, CELLS, CELLS, w), matrix(c, 1, CELLS, w + CELLS * CELLS) };
	hop_array *out[2];
	const int64_t dim[3] = { HEARD, PUPILS, 1 };
	must(c, hop_array_new(c, HOP_f64, 3, dim, heard, &in[2]));
	must(c, hop_array_new(c, HOP_f64, 3, dim, wanted, &in[3]));
	run(c, train_rnn, 4, in, 2, out);
	curve("loss", out[1]);
	sequence("\nheard           ", heard);
	sequence("three steps ago ", wanted);
	sequence("said            ", numbers(out[0]));
	release(4, in);
	release(2, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
loss from 1.2 to 0.00052 in 200 steps
*
**
 *
  *
  **
   **
    ***
      ****
         *******
               ************
                          **********************
                                               *****************

heard           ####...######.....###
three steps ago #..####...######.....
said            #..####...######.....
*/
