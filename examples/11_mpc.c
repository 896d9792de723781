/* Model predictive control on the hard door: a crane carries its load to another place without
 * swinging. Ten times a second the forces of the next three seconds are improved by descending the
 * gradient of what the model foresees, and the first of them is applied. The controller is compiled
 * once; hop_run then works in the program's own memory, and allocates nothing. functions/mpc.c
 * writes the same with functions for bodies. */
#include "example.h"

enum { AHEAD = 30, IMPROVE = 10, TICKS = 100 };

static const double tick = 0.1, rope = 2.0;

/* in: place, speed, angle and its speed of the crane; forces planned [AHEAD]; where to go. */
static void plan_crane(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = in[0], u = in[1], to = in[2], g, cost;
	(void)user;

	HOP_FOR(t, k, IMPROVE, u) {
		HOP_GRAD(t, cost, 1, u, g) {
			hop_value x = HOP_E(t, "s[0]", s), v = HOP_E(t, "s[1]", s), a = HOP_E(t, "s[2]", s);
			hop_value w = HOP_E(t, "s[3]", s);
			cost = hop_zeros_like(t, x);
			HOP_FOR(t, i, AHEAD, x, v, a, w, cost) {
				hop_value f = hop_take(t, u, i), h = hop_f(t, tick), l = hop_f(t, rope);
				v = HOP_E(t, "v + h * f", v, h, f);
				x = HOP_E(t, "x + h * v", x, h, v);
				w = HOP_E(t, "w - h * (9.81 * sin(a) + f * cos(a)) / l", w, h, a, f, l);
				a = HOP_E(t, "a + h * w", a, h, w);
				cost = HOP_E(t, "cost + (x - to) ** 2 + v * v + 5 * (a * a + w * w) + 0.1 * f * f",
				             cost, x, to, v, a, w, f);
			}
		}
		u = HOP_E(t, "u - 0.05 * g", u, g);
	}
	hop_return(t, u);
}

/* The crane itself, which the model knows not quite: a longer rope, and friction. */
static void move_crane(double *s, double f)
{
	s[1] += (f - 0.2 * s[1]) * tick;
	s[0] += s[1] * tick;
	s[3] -= (9.81 * sin(s[2]) + f * cos(s[2])) * tick / (rope * 1.1);
	s[2] += s[3] * tick;
}

static void *counted(void *user, void *p, size_t was, size_t size)
{
	(void)was;
	++*(int *)user;
	return size ? realloc(p, size) : (free(p), NULL);
}

int main(void)
{
	static _Alignas(64) unsigned char work[1 << 16];
	double s[4] = { 0, 0, 0, 0 }, u[AHEAD] = { 0 }, better[AHEAD], to = 4, swing = 0;
	hop_spec spec[3] = { hop_spec1(HOP_f64, 4), hop_spec1(HOP_f64, AHEAD), hop_spec0(HOP_f64) };
	hop_arg in[3] = { { .data = s }, { .data = u }, { .data = &to } };
	hop_arg out = { .data = better };
	struct picture p = { { { 0 } } };
	hop_ctx *c;
	hop_fn *f;
	hop_exec *x;
	int allocations = 0, before;

	if (hop_ctx_new(HOP_CTX_OPTS(.alloc = counted, .user = &allocations), &c))
		return 1;
	must(c, hop_capture(c, plan_crane, NULL, 3, spec, &f));
	must(c, hop_compile(f, NULL, &x));
	if (!hop_exec_is_hard(x) || hop_exec_workspace(x, in) > (int64_t)sizeof work)
		return 1;
	before = allocations;
	for (int i = 0; i < TICKS; i++) {
		must(c, hop_run(x, in, &out, work));
		move_crane(s, better[0]);
		memcpy(u, better + 1, sizeof u - sizeof *u);      /* what was planned, a tick on */
		swing = fmax(swing, fabs(s[2]));
		dot(&p, (double)i / TICKS, s[0] / 5, 'x');
		dot(&p, (double)i / TICKS, 0.5 + s[2], '~');
	}
	puts("ten seconds: the place of the crane x, the angle of its load ~");
	draw(&p);
	printf("place %.2f, largest angle %.2f, angle at the end %.3f\n", s[0], swing, s[2]);
	printf("allocations while it ran: %d\n", allocations - before);
	hop_exec_release(x);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
/* prints
ten seconds: the place of the crane x, the angle of its load ~


                                  xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  xxxxxxxxxxxxxxxx
            ~~~~~~~~
           ~ xxx    ~~~~         ~~~~~~~~~~~~          ~~~~~~~~
~~       ~~xxx         ~~~~~~~~~~            ~~~~~~~~~~
  ~~    ~xxx
   ~~~~~xx
    xxx
  xxx
xx
place 4.00, largest angle 0.27, angle at the end 0.001
allocations while it ran: 0
*/
