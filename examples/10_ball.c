/* A bouncing ball with events: it falls in steps of time until one would end below the ground; that
 * one ends where it touches, and the ball goes up again with what is left of its speed. The place
 * of the third touch has a gradient for the throw, through the loop and the branch. */
#include "example.h"

enum { FRAMES = 200 };

static const double gravity = 9.81, left = 0.8, height = 1.5;

/* From (0, height) with speeds u and v; xs and ys become the places of all steps. */
static hop_value throw_ball(hop_trace *t, hop_value u, hop_value v, hop_value *xs, hop_value *ys)
{
	const double h = 0.02;
	hop_value x = hop_zeros_like(t, u), y = hop_full_like(t, u, height);
	hop_value hits = hop_full(t, HOP_i64, 0, NULL, 0), frame = hits;
	*xs = hop_zeros(t, HOP_f64, 1, ((hop_dim[]){ hop_n(FRAMES) }));
	*ys = hop_zeros_like(t, *xs);

	HOP_WHILE(t, hop_lt(t, hits, hop_i(t, 3)), x, y, v, hits, frame) {
		hop_value next = hop_add(t, y, hop_addf(t, hop_mulf(t, v, h), -gravity * h * h / 2));
		HOP_IF(t, hop_lt(t, next, hop_f(t, 0)), x, y, v, hits) {
			hop_value down = hop_sqrt(t, hop_add(t, hop_mul(t, v, v), hop_mulf(t, y, 2 * gravity)));
			x = hop_add(t, x, hop_divf(t, hop_mul(t, u, hop_add(t, v, down)), gravity));
			y = hop_zeros_like(t, y);
			v = hop_mulf(t, down, left);
			hits = hop_add(t, hits, hop_i(t, 1));
		} else {
			x = hop_add(t, x, hop_mulf(t, u, h));
			y = next;
			v = hop_subf(t, v, gravity * h);
		}
		hop_index_put_(t, *xs, 0, frame, x);
		hop_index_put_(t, *ys, 0, frame, y);
		frame = hop_add(t, frame, hop_i(t, 1));
		hop_bound(t, FRAMES);
	}
	return x;
}

static void ball(hop_trace *t, const hop_value *in, void *user)
{
	hop_value u = in[0], v = in[1], place, du, dv, xs, ys;
	(void)user;

	HOP_GRAD(t, place, 2, u, v, du, dv)
		place = throw_ball(t, u, v, &xs, &ys);
	throw_ball(t, u, v, &xs, &ys);
	hop_return(t, place, du, dv, xs, ys);
}

int main(void)
{
	const double u = 3, v = 4, down = sqrt(v * v + 2 * gravity * height);
	const double time = (v + down) / gravity + 2 * (left + left * left) * down / gravity;
	hop_ctx *c = context();
	hop_array *in[2] = { scalar(c, u), scalar(c, v) }, *out[5];
	struct picture p = { { { 0 } } };

	run(c, ball, 2, in, 5, out);
	for (int i = 0; i < FRAMES && numbers(out[3])[i] > 0; i++)
		dot(&p, numbers(out[3])[i] / 9.5, numbers(out[4])[i] / 2.5, 'o');
	for (int i = 0; i < FRAMES; i++)
		dot(&p, numbers(out[3])[i] / 9.5, numbers(out[4])[i] > 0 ? 2 : 0, '^');
	draw(&p);
	puts("                      computed   formula");
	printf("third touch at       %9.5f %9.5f\n", numbers(out[0])[0], u * time);
	printf("  farther per u      %9.5f %9.5f\n", numbers(out[1])[0], time);
	printf("  farther per v      %9.5f %9.5f\n", numbers(out[2])[0],
	       u * (1 + v / down * (1 + 2 * left + 2 * left * left)) / gravity);
	release(2, in);
	release(5, out);
	hop_ctx_free(c);
	return 0;
}
/* prints

     oooooooo
   oo       ooo
 oo           oo
oo              o               oo
                 o           oooo oooo
                  o        oo        oo
                   o     ooo           oo        oooooooo
                   oo   oo              oo     ooo      ooo
                    oo oo                 o   oo          oo
                     o o                  oooo              o
^                    o^                    o^                ^
                      computed   formula
third touch at         9.22076   9.22076
  farther per u        3.07359   3.07359
  farther per v        1.00997   1.00997
*/
