/* transform_bodies.h -- the functions of test/data/gen_transforms.py, as bodies: x of 3 and a of 2 by
 * 3 in, one tensor out. */
#ifndef TRANSFORM_BODIES_H
#define TRANSFORM_BODIES_H

#include "hop/hop.h"

#include "data/transforms.h"

static hop_value zeros2(hop_trace *t)
{
	return hop_full(t, HOP_f64, 1, (const hop_dim[]){ hop_n(2) }, 0);
}

static hop_value choice(hop_trace *t, hop_value x, hop_value a)
{
	hop_value y = HOP_E(t, "a @ x", a, x), s = hop_sum_all(t, x);
	HOP_IF(t, HOP_E(t, "s > 0", s), y) {
		y = HOP_E(t, "sin(y) * s", y, s);
	} else {
		y = HOP_E(t, "y * y + cos(x[0:2])", y, x);
	}
	return y;
}

static hop_value shrink(hop_trace *t, hop_value x, hop_value a)
{
	hop_value y = HOP_E(t, "a @ x * 4", a, x), s = hop_sum_all(t, x);
	HOP_WHILE(t, HOP_E(t, "e > 1", HOP_AS(e, hop_sum_all(t, hop_mul(t, y, y)))), y) {
		y = HOP_E(t, "y * 0.7 + 0.05 * sin(y) * s", y, s);
	}
	return y;
}

static hop_value recurrent(hop_trace *t, hop_value x, hop_value a)
{
	hop_value h = zeros2(t);
	HOP_FOR(t, i, 3, h) {
		hop_value u = hop_take(t, x, i);
		h = HOP_E(t, "tanh(h * a[:, 0] + u * a[:, 1] + a[:, 2])", h, u, a);
	}
	return h;
}

static hop_value each(hop_trace *t, hop_value x, hop_value a)
{
	hop_value ys = HOP_NONE;
	HOP_MAP(t, i, 3) {
		hop_value u = hop_take(t, x, i);
		hop_stack(t, &ys, HOP_E(t, "sum(sin(u * a), axis=1)", u, a));
	}
	return ys;
}

static hop_value choose_in_scan(hop_trace *t, hop_value x, hop_value a)
{
	hop_value c = hop_addf(t, zeros2(t), 1), ys = HOP_NONE, s = HOP_E(t, "sum(a, axis=1)", a);
	HOP_FOR(t, i, 3, c) {
		hop_value u = hop_take(t, x, i);
		HOP_IF(t, HOP_E(t, "u > 0", u), c) {
			c = HOP_E(t, "c * u", c, u);
		} else {
			c = HOP_E(t, "c + sin(u * s)", c, u, s);
		}
		hop_stack(t, &ys, hop_mul(t, c, c));
	}
	return ys;
}

static hop_value while_in_scan(hop_trace *t, hop_value x, hop_value a)
{
	hop_value c = HOP_E(t, "a[:, 0]", a);
	HOP_FOR(t, i, 3, c) {
		hop_value z = hop_mulf(t, hop_take(t, x, i), 3);
		HOP_WHILE(t, HOP_E(t, "abs(z) > 0.5", z), z) {
			z = HOP_E(t, "z * (0.5 + 0.1 * tanh(c[0]))", z, c);
		}
		hop_value turned = hop_concat(t, 2, (hop_value[]){ HOP_E(t, "c[1:2]", c),
		                                                   HOP_E(t, "c[0:1]", c) }, 0);
		c = HOP_E(t, "c + z * turned", c, z, turned);
	}
	return c;
}

static hop_value pick(hop_trace *t, hop_value x, hop_value a)
{
	hop_value y = HOP_E(t, "a @ x", a, x);
	hop_value k = hop_sum_all(t, hop_cast(t, HOP_E(t, "x > 0", x), HOP_i64));
	HOP_SWITCH(t, k, 3, y) {
	case 0: y = HOP_E(t, "exp(y * 0.3)", y); break;
	case 1: y = HOP_E(t, "y * y * y", y); break;
	default: y = HOP_E(t, "cos(y) * x[0]", y, x);
	}
	return y;
}

static hop_value while_in_map(hop_trace *t, hop_value x, hop_value a)
{
	hop_value ys = HOP_NONE;
	HOP_MAP(t, i, 3) {
		hop_value z = hop_mulf(t, hop_take(t, x, i), 5), n = hop_scalar(t, HOP_f64, 0);
		HOP_WHILE(t, HOP_E(t, "abs(z) > 1", z), z, n) {
			z = HOP_E(t, "z * 0.6 + 0.1 * sin(z * a[0, 0])", z, a);
			n = hop_addf(t, n, 1);
		}
		hop_stack(t, &ys, HOP_E(t, "z * s + n", z, n, HOP_AS(s, HOP_E(t, "sum(a[1])", a))));
	}
	return ys;
}

static void affine(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[2], in[0]), hop_add(t, hop_mul(t, in[2], in[1]), in[3]));
}

static hop_value prefixes(hop_trace *t, hop_value x, hop_value a)
{
	hop_value pq[2] = { HOP_E(t, "tanh(x) + 0.5", x), HOP_E(t, "sum(a, axis=0) * x", a, x) }, r[2];
	hop_associative_scan(t, affine, NULL, 2, pq, NULL, r);
	return r[1];
}

static hop_value cubic(hop_trace *t, hop_value x, hop_value a)
{
	hop_value b = HOP_E(t, "a @ x", a, x), z = hop_mulf(t, b, 0);
	HOP_FOR(t, i, 12, z) {
		z = HOP_E(t, "z - (z * z * z + z - b) / (3 * z * z + 1)", z, b);
	}
	return z;
}

static hop_value power(hop_trace *t, hop_value x, hop_value a)
{
	hop_value at = hop_transpose(t, a, 0, 1);
	hop_value eye = hop_cast(t, hop_eq(t, hop_iota(t, HOP_i64, 2, (hop_dim[]){ hop_n(3), hop_n(3) }, 0),
	                                   hop_iota(t, HOP_i64, 2, (hop_dim[]){ hop_n(3), hop_n(3) }, 1)),
	                         HOP_f64);
	hop_value m = HOP_E(t, "at @ a + eye * (1 + x * x)", at, a, eye, x);
	hop_value b = hop_full(t, HOP_f64, 1, (const hop_dim[]){ hop_n(3) }, 1);
	HOP_FOR(t, i, 5, b) {
		b = HOP_E(t, "m @ b", m, b);
		b = HOP_E(t, "b / sqrt(sum(b * b))", b);
	}
	hop_value last = hop_reshape(t, HOP_E(t, "sum(b * (m @ b))", b, m), 1, (hop_dim[]){ hop_n(1) });
	return hop_concat(t, 2, (hop_value[]){ b, last }, 0);
}

static hop_value until(hop_trace *t, hop_value x, hop_value a)
{
	hop_value s = zeros2(t), at = hop_transpose(t, a, 0, 1);
	HOP_FOR(t, i, 3, s) {
		hop_value u = hop_take(t, x, i), w = hop_take(t, at, i);
		s = HOP_E(t, "s + exp(u * w)", s, u, w);
		hop_stop_if(t, HOP_E(t, "sum(s) > 4", s));
	}
	return HOP_E(t, "s * a[:, 0]", s, a);
}

static hop_value deep(hop_trace *t, hop_value x, hop_value a)
{
	hop_value ys = HOP_NONE;
	HOP_MAP(t, i, 3) {
		hop_value z = hop_addf(t, hop_take(t, x, i), 2);
		HOP_WHILE(t, HOP_E(t, "z * z > 0.3", z), z) {
			HOP_IF(t, HOP_E(t, "z > 1", z), z) {
				z = hop_mulf(t, z, 0.5);
			} else {
				z = HOP_E(t, "z * 0.8 - 0.1 * sin(a[0, 1] * z)", z, a);
			}
		}
		hop_stack(t, &ys, HOP_E(t, "z * z * a[:, 2]", z, a));
	}
	return ys;
}

struct transform_case {
	hop_value (*f)(hop_trace *t, hop_value x, hop_value a);
	const struct torch_transform *want;
};

static const struct transform_case cases[] = {
	{ choice, &torch_choice }, { shrink, &torch_shrink }, { recurrent, &torch_recurrent },
	{ each, &torch_each }, { choose_in_scan, &torch_choose_in_scan },
	{ while_in_scan, &torch_while_in_scan }, { pick, &torch_pick },
	{ while_in_map, &torch_while_in_map }, { prefixes, &torch_prefixes }, { cubic, &torch_cubic },
	{ power, &torch_power }, { until, &torch_until }, { deep, &torch_deep },
};
enum { NCASE = sizeof cases / sizeof *cases };

/* y, of the case that user points to. */
static void tensor_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct transform_case *c = user;
	hop_return(t, c->f(t, in[0], in[1]));
}

/* Its loss, and y beside it. */
static void loss_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct transform_case *c = user;
	hop_value y = c->f(t, in[0], in[1]);
	hop_dim n = hop_n(c->want->ny);
	hop_value w = hop_iota(t, HOP_f64, 1, &n, 0), flat = hop_reshape(t, y, 1, &n);
	hop_return(t, HOP_E(t, "sum(y * (w * 0.5 + 1)) + sum(y * y) * 0.25", HOP_AS(y, flat), w), y);
}

#endif
