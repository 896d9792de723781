/* Dust in a pipe: grains are blown along it and leave at its end. The loop keeps those that are left
 * in front, as many as a count says, and ends when there are none. How many there were in each step
 * comes back as an array of exactly that many numbers; the slope of the time that a grain is in
 * the pipe goes through all of it. */
#include "example.h"

enum { GRAINS = 400, MOST = 200 };

/* in: places from 0 to 1, speeds, the wind. Gives the mean time in the pipe, its slope by the wind,
 * and how many grains there were in each step. */
static void dust(hop_trace *t, const hop_value *in, void *user)
{
	hop_value wind = in[2], time, slope, all, steps;
	(void)user;

	HOP_GRAD(t, time, 1, wind, slope) {
		hop_value x = in[0], v = in[1], n = hop_scalar(t, HOP_i64, GRAINS), left, trips, out[2];
		time = hop_scalar(t, HOP_f64, 0);
		HOP_WHILE(t, HOP_E(t, "n > 0", n), x, v, n, time) {
			hop_bound(t, MOST);
			hop_stack(t, &left, n);
			hop_trips(t, &trips);
			v = HOP_E(t, "v + 0.02 * (wind - 1.5 * v * v)", v, wind);
			hop_value next = HOP_E(t, "x + 0.02 * v", x, v);
			hop_value is = HOP_E(t, "arange(i64, size_of(x, 0)) < n", x, n);
			hop_value stays = HOP_E(t, "is && next < 1", is, next);
			/* who leaves was there for a part of the step */
			time = HOP_E(t, "time + sum(is ? stays ? 0.02 : (1 - x) / v : 0)", time, is, stays, x, v);
			hop_compact(t, next, stays, NULL, out);
			x = out[0];
			hop_compact(t, v, stays, HOP_COUNT_OPTS(.fill = hop_f(t, 1)), out);
			v = out[0];
			n = out[1];
		}
		time = hop_divf(t, time, GRAINS);
		hop_keep(t, &all, left);
		hop_keep(t, &steps, trips);
	}
	hop_return(t, time, slope, hop_exact(t, all, steps));
}

int main(void)
{
	double x[GRAINS], v[GRAINS], h = 1e-5;
	hop_ctx *c = context();
	struct picture p = { { { 0 } } };
	hop_array *in[3], *out[3], *more[3];

	for (int i = 0; i < GRAINS; i++) {
		x[i] = fmod(0.618034 * i, 1);
		v[i] = 0.2 + 0.3 * fmod(0.754878 * i, 1);
	}
	in[0] = vector(c, GRAINS, x);
	in[1] = vector(c, GRAINS, v);
	in[2] = scalar(c, 0.5);
	run(c, dust, 3, in, 3, out);
	numbers(in[2])[0] += h;
	run(c, dust, 3, in, 3, more);
	printf("a grain stays for %.4f; slope by the wind %.4f, by a difference %.4f\n",
	       hop_array_at(out[0], 0), hop_array_at(out[1], 0),
	       (hop_array_at(more[0], 0) - hop_array_at(out[0], 0)) / h);
	int64_t n = hop_array_count(out[2]);
	for (int64_t i = 0; i < n; i++)
		dot(&p, (double)i / (double)(n - 1), hop_array_at(out[2], i) / GRAINS, '*');
	printf("%d steps until all have left\n", (int)n);
	draw(&p);
	release(3, in);
	release(3, out);
	release(3, more);
	hop_ctx_free(c);
	return 0;
}
/* prints
a grain stays for 1.0539; slope by the wind -0.7328, by a difference -0.7328
109 steps until all have left
*****
    *******
           ******
                ******
                      *****
                          ******
                                *****
                                    ******
                                         ******
                                               ****
                                                   *****
                                                        ********
*/
