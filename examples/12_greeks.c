/* Monte-Carlo greeks: a call option is priced on many random paths of a share, for several strikes
 * at once, and its slopes for the price of the share (delta) and for how much that moves (vega)
 * come from the paths, by reverse mode through the loop that makes them. Black and Scholes have
 * the answer in closed form, to compare. */
#include "example.h"

enum { PATHS = 10000, DATES = 12, STRIKES = 5 };

static const double years = 1, rate = 0.03;

/* What the share costs at the end of each path; for each path there is the opposite one. */
static hop_value shares(hop_trace *t, hop_value key, hop_value price, hop_value vol)
{
	hop_value r = hop_f(t, rate), dt = hop_f(t, years / DATES);
	hop_value s = hop_expand(t, hop_log(t, price), 1, ((hop_dim[]){ hop_n(PATHS) }));
	const hop_dim half[1] = { hop_n(PATHS / 2) };

	HOP_FOR(t, i, DATES, s) {
		hop_value z = hop_normal(t, hop_fold_in(t, key, i), HOP_f64, 1, half);
		z = HOP_E(t, "concat((z, -z))", z);
		s = HOP_E(t, "s + (r - vol * vol / 2) * dt + vol * sqrt(dt) * z", s, r, vol, dt, z);
	}
	return hop_exp(t, s);
}

/* in: a key, the price, the volatility, the strikes. */
static void greeks(hop_trace *t, const hop_value *in, void *user)
{
	hop_value price = in[1], vol = in[2], value, d, v, values, deltas, vegas;
	hop_value sure = hop_f(t, exp(-rate * years));
	(void)user;

	HOP_MAP(t, i, STRIKES) {
		HOP_GRAD(t, value, 2, price, vol, d, v) {
			hop_value end = shares(t, in[0], price, vol), strike = hop_take(t, in[3], i);
			value = HOP_E(t, "mean(relu(end - strike)) * sure", end, strike, sure);
		}
		hop_stack(t, &values, value);
		hop_stack(t, &deltas, d);
		hop_stack(t, &vegas, v);
	}
	hop_return(t, values, deltas, vegas);
}

static double below(double x)                             /* the normal distribution */
{
	return erfc(-x / sqrt(2)) / 2;
}

int main(void)
{
	const double price = 100, vol = 0.2, strike[STRIKES] = { 80, 90, 100, 110, 120 };
	hop_ctx *c = context();
	hop_array *out[3], *in[4] = { NULL, scalar(c, price), scalar(c, vol),
	                              vector(c, STRIKES, strike) };

	must(c, hop_array_new(c, HOP_i64, 0, NULL, &(int64_t){ 1 }, &in[0]));
	run(c, greeks, 4, in, 3, out);
	puts("strike     price   exact     delta   exact      vega   exact");
	for (int i = 0; i < STRIKES; i++) {
		double sd = vol * sqrt(years);
		double d1 = (log(price / strike[i]) + rate * years) / sd + sd / 2;
		printf("%6g  %8.3f %7.3f  %8.4f %7.4f  %8.3f %7.3f\n", strike[i], numbers(out[0])[i],
		       price * below(d1) - strike[i] * exp(-rate * years) * below(d1 - sd),
		       numbers(out[1])[i], below(d1), numbers(out[2])[i],
		       price * sqrt(years) * exp(-d1 * d1 / 2) / sqrt(2 * 3.141592653589793));
	}
	release(4, in);
	release(3, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
strike     price   exact     delta   exact      vega   exact
    80    23.155  23.224    0.9129  0.9140    15.225  15.700
    90    15.345  15.429    0.7878  0.7814    28.342  29.504
   100     9.284   9.413    0.5978  0.5987    37.862  38.667
   110     5.194   5.293    0.4007  0.4104    38.046  38.883
   120     2.717   2.767    0.2525  0.2541    31.607  32.052
*/
