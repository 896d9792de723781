/* A ball that is thrown at a wall of rubber: each step of time solves two equations for the next speed
 * and for the force of the wall. The force pushes only, and only where the ball touches: both are at
 * least zero, and one of them is zero, smoothed a little so that there is a derivative everywhere. How
 * the speed after the impact depends on the throw comes from the equations, not from the iterations
 * that solve them. */
#include "example.h"

enum { STEPS = 60 };

static const double h = 0.02;                     /* of time */

/* Where the ball is, seen from the wall, and how fast, after all steps. */
static hop_value throw_at(hop_trace *t, hop_value x, hop_value v, hop_value soft, hop_value *xs)
{
	hop_value dt = hop_f(t, h), f = hop_zeros_like(t, x);

	HOP_FOR(t, i, STEPS, x, v, f) {
		hop_value next = v, force = f, a, b;
		HOP_ROOT(t, NULL, next, force, a, b) {
			hop_value gap = HOP_E(t, "x + dt * next + soft * force", x, dt, next, soft, force);
			a = HOP_E(t, "next - v - dt * force", next, v, dt, force);
			b = HOP_E(t, "gap + force - sqrt(gap * gap + force * force + 1e-4)", gap, force);
		}
		v = next;
		f = force;
		x = HOP_E(t, "x + dt * v", x, dt, v);
		hop_stack(t, xs, x);
	}
	return v;
}

static void contact(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0], soft = in[1], x = hop_full_like(t, v, 1), after, dv, dsoft, xs;
	(void)user;

	HOP_GRAD(t, after, 2, v, soft, dv, dsoft) {
		after = throw_at(t, x, v, soft, &xs);
		hop_keep(t, &xs, xs);
	}
	hop_return(t, after, dv, dsoft, xs);
}

int main(void)
{
	const double v = -2, soft = 0.01, d = 2e-7;
	hop_ctx *c = context();
	hop_array *in[2], *out[5][4];
	struct picture p = { { { 0 } } };

	for (int k = 0; k < 5; k++) {                     /* as it is, and d more or less of each */
		in[0] = scalar(c, v + (k == 1) * d - (k == 2) * d);
		in[1] = scalar(c, soft + (k == 3) * d - (k == 4) * d);
		run(c, contact, 2, in, 4, out[k]);
		release(2, in);
	}
	for (int i = 0; i < STEPS; i++)
		dot(&p, i / (STEPS - 1.0), numbers(out[0][3])[i], 'o');
	draw(&p);
	puts("                    gradient  difference");
	printf("speed after        %8.4f\n", numbers(out[0][0])[0]);
	printf("  faster per v     %8.4f  %8.4f\n", numbers(out[0][1])[0],
	       (numbers(out[1][0])[0] - numbers(out[2][0])[0]) / (2 * d));
	printf("  faster per soft  %8.4f  %8.4f\n", numbers(out[0][2])[0],
	       (numbers(out[3][0])[0] - numbers(out[4][0])[0]) / (2 * d));
	for (int k = 0; k < 5; k++)
		release(4, out[k]);
	hop_ctx_free(c);
	return 0;
}
/* prints
o
 oo
   oo
     oo
       o oo
           oo                                                ooo
             oo                                           ooo
               ooo                                    o oo
                  oo                               ooo
                    oo                          ooo
                      oo                     ooo
                         oo                oo
                    gradient  difference
speed after          1.4655
  faster per v      -0.9932   -0.9932
  faster per soft    6.6160    6.6160
*/
