/* A bouncing ball with events: it falls in steps of time until one would end below the ground; that
 * one ends where it touches, and the ball goes up again with what is left of its speed. The place
 * of the third touch has a gradient for the throw, through the loop and the branch. */
#include "example.h"

enum { FRAMES = 200 };

static const double gravity = 9.81, bounce = 0.8, height = 1.5;

/* From (0, height) with speeds u and v; xs and ys become the places of all steps. */
static hop_value throw_ball(hop_trace *t, hop_value u, hop_value v, hop_value *xs, hop_value *ys)
{
	hop_value h = hop_f(t, 0.02), g = hop_f(t, gravity), left = hop_f(t, bounce);
	hop_value x = hop_zeros_like(t, u), y = hop_full_like(t, u, height);
	hop_value hits = hop_scalar(t, HOP_i64, 0), frame = hits;
	*xs = hop_zeros(t, HOP_f64, 1, ((hop_dim[]){ hop_n(FRAMES) }));
	*ys = hop_zeros_like(t, *xs);

	HOP_WHILE(t, HOP_E(t, "hits < 3", hits), x, y, v, hits, frame) {
		hop_value next = HOP_E(t, "y + h * v - h * h / 2 * g", y, h, v, g);
		HOP_IF(t, HOP_E(t, "next < 0", next), x, y, v, hits) {
			hop_value down = HOP_E(t, "sqrt(v * v + 2 * g * y)", v, g, y);
			x = HOP_E(t, "x + u * (v + down) / g", x, u, v, down, g);
			y = hop_zeros_like(t, y);
			v = HOP_E(t, "left * down", left, down);
			hits = HOP_E(t, "hits + 1", hits);
		} else {
			x = HOP_E(t, "x + h * u", x, h, u);
			y = next;
			v = HOP_E(t, "v - h * g", v, h, g);
		}
		hop_index_put_(t, *xs, 0, frame, x);              /* not listed: written where it is */
		hop_index_put_(t, *ys, 0, frame, y);
		frame = HOP_E(t, "frame + 1", frame);
		hop_bound(t, FRAMES);
	}
	return x;
}

static void ball(hop_trace *t, const hop_value *in, void *user)
{
	hop_value u = in[0], v = in[1], place, du, dv, xs, ys;
	(void)user;

	HOP_GRAD(t, place, 2, u, v, du, dv) {
		place = throw_ball(t, u, v, &xs, &ys);
		hop_keep(t, &xs, xs);                             /* the path leaves the block, too */
		hop_keep(t, &ys, ys);
	}
	hop_return(t, place, du, dv, xs, ys);
}

int main(void)
{
	const double u = 3, v = 4, down = sqrt(v * v + 2 * gravity * height);
	const double time = (v + down) / gravity + 2 * (bounce + bounce * bounce) * down / gravity;
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
	       u * (1 + v / down * (1 + 2 * bounce + 2 * bounce * bounce)) / gravity);
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
