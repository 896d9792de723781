/* formula_pairs.h -- formulas beside the calls that they stand for: PAIR(name, formula, calls,
 * values of the formula). Every row of formula.def is in one. x, y: f32[n]; W: f32[n, n]; i: i64;
 * k: i64[2]; p, q: bool[n]; c: i32[n]. No guard: it is included twice. */
#define D(...)  ((hop_dim[]){ __VA_ARGS__ })
#define A(...)  ((int[]){ __VA_ARGS__ })
#define VS(...) ((hop_value[]){ __VA_ARGS__ })
#define N0      hop_n(0)
#define F(v)    hop_f(t, v)
#define I(v)    hop_i(t, v)
#define SIZE    hop_dim_of(t, x, 0)
#define LESS(m) hop_dim_sub(t, SIZE, hop_n(m))
/* The first or the second result of a function of counts.h; each in a place of its own. */
#ifndef FOUND
static hop_value found[4][2];
#define FOUND(k, f, ...) (f(t, __VA_ARGS__, found[k]), found[k][0])
#define COUNT(k, f, ...) (f(t, __VA_ARGS__, found[k]), found[k][1])
#endif

/* ---- operators ---- */
PAIR( add,     "x + y",            hop_add(t, x, y), x, y )
PAIR( addf,    "x + 1",            hop_addf(t, x, 1), x )
PAIR( mulf,    "x * 2.5",          hop_mulf(t, x, 2.5), x )
PAIR( ints,    "c * 2 - 1",        hop_sub(t, hop_mul(t, c, I(2)), I(1)), c )
PAIR( halves,  "c / 2",            hop_div(t, c, I(2)), c )
PAIR( left,    "x - y - 1 / x / y",
      hop_sub(t, hop_sub(t, x, y), hop_div(t, hop_div(t, I(1), x), y)), x, y )
PAIR( rem,     "x % y",            hop_rem(t, x, y), x, y )
PAIR( dot,     "W @ x + y",        hop_add(t, hop_matmul(t, W, x), y), W, x, y )
PAIR( dots,    "2 * W @ W @ x",
      hop_matmul(t, hop_matmul(t, hop_mul(t, I(2), W), W), x), W, x )
PAIR( power,   "-x ** 2",          hop_neg(t, hop_pow(t, x, I(2))), x )
PAIR( powers,  "x ** -y ** 0.5",
      hop_pow(t, x, hop_neg(t, hop_pow(t, y, F(0.5)))), x, y )
PAIR( tower,   "x ** y ** x",      hop_pow(t, x, hop_pow(t, y, x)), x, y )
PAIR( indexes, "x[0] ** y[1]",     hop_pow(t, hop_index(t, x, 0, 0), hop_index(t, y, 0, 1)), x, y )
PAIR( signs,   "- -x + +y - -3",   hop_sub(t, hop_add(t, hop_neg(t, hop_neg(t, x)), y), I(-3)),
      x, y )
PAIR( eq,      "x == y",           hop_eq(t, x, y), x, y )
PAIR( ne,      "x != y",           hop_ne(t, x, y), x, y )
PAIR( lt,      "x < y",            hop_lt(t, x, y), x, y )
PAIR( le,      "x <= y",           hop_le(t, x, y), x, y )
PAIR( gt,      "x > y",            hop_gt(t, x, y), x, y )
PAIR( ge,      "x >= y",           hop_ge(t, x, y), x, y )
PAIR( logic,   "p || q && !p",     hop_or(t, p, hop_and(t, q, hop_not(t, p))), p, q )
PAIR( mixed,   "x + 1 < y * 2 && p == q",
      hop_and(t, hop_lt(t, hop_add(t, x, I(1)), hop_mul(t, y, I(2))), hop_eq(t, p, q)),
      x, y, p, q )
PAIR( choose,  "p ? x : q ? y : 0",
      hop_select(t, p, x, hop_select(t, q, y, I(0))), p, q, x, y )
PAIR( choices, "p ? q ? 1 : 2 : x", hop_select(t, p, hop_select(t, q, I(1), I(2)), x), p, q, x )
PAIR( nested,  "((x) * ((y + (1))))", hop_mul(t, x, hop_add(t, y, I(1))), x, y )
PAIR( numbers, "x * (1 / 3 - 2 ** 0.5)",
      hop_mul(t, x, hop_sub(t, hop_div(t, I(1), I(3)), hop_pow(t, I(2), F(0.5)))), x )
PAIR( folds,   "x + (2 * 3 - 7)",  hop_add(t, x, I(-1)), x )
PAIR( pi,      "sin(2 * pi * x) + 1e-3 * .5",
      hop_add(t, hop_sin(t, hop_mul(t, hop_mul(t, I(2), F(3.14159265358979323846)), x)),
              hop_mul(t, F(1e-3), F(.5))), x )
PAIR( infty,   "min(x, -inf)",     hop_min(t, x, F(-INFINITY)), x )
PAIR( alone,   "x",                x, x )
PAIR( number,  "0 * 7 + x - x",    hop_sub(t, hop_add(t, I(0), x), x), x )

/* ---- indices ---- */
PAIR( first,   "x[0]",             hop_index(t, x, 0, 0), x )
PAIR( last,    "x[-1]",            hop_index(t, x, 0, -1), x )
PAIR( row,     "W[1]",             hop_index(t, W, 0, 1), W )
PAIR( cell,    "W[1, 2]",          hop_index(t, hop_index(t, W, 0, 1), 0, 2), W )
PAIR( column,  "W[:, 1]",          hop_index(t, W, 1, 1), W )
PAIR( ends,    "W[..., -1]",       hop_index(t, W, 1, -1), W )
PAIR( whole,   "W[:, :] + W[...]", hop_add(t, W, W), W )
PAIR( tail,    "W[:, 1:]",         hop_slice(t, W, 1, hop_n(1), LESS(1), 1), W )
PAIR( head,    "x[:2]",            hop_slice(t, x, 0, N0, hop_n(2), 1), x )
PAIR( inner,   "x[1:-1]",
      hop_slice(t, x, 0, hop_n(1), hop_dim_sub(t, LESS(1), hop_n(1)), 1), x )
PAIR( endless, "x[-2:]",           hop_slice(t, x, 0, LESS(2), hop_n(2), 1), x )
PAIR( every,   "x[::2]",
      hop_slice(t, x, 0, N0, hop_dim_div(t, hop_dim_add(t, SIZE, hop_n(1)), hop_n(2)), 2), x )
PAIR( back,    "x[::-1]",          hop_slice(t, x, 0, LESS(1), SIZE, -1), x )
PAIR( down,    "x[2:0:-1]",        hop_slice(t, x, 0, hop_n(2), hop_n(2), -1), x )
PAIR( nothing, "x[1:1]",           hop_slice(t, x, 0, hop_n(1), N0, 1), x )
PAIR( sized,   "x[0:size_of(x, 0) - 1]", hop_slice(t, x, 0, N0, LESS(1), 1), x )
PAIR( outside, "x[:100]",          hop_slice(t, x, 0, N0, hop_n(100), 1), x )
PAIR( crossed, "x[2:1]",           hop_slice(t, x, 0, hop_n(2), hop_n(-1), 1), x )
PAIR( place,   "x[i]",             hop_gather(t, x, 0, i), x, i )
PAIR( places,  "W[k]",             hop_gather(t, W, 0, k), W, k )
PAIR( both,    "W[i, i + 1]",      hop_gather(t, hop_gather(t, W, 0, i), 0, hop_add(t, i, I(1))),
      W, i )
PAIR( mixes,   "W[k, 1:2]",        hop_slice(t, hop_gather(t, W, 0, k), 1, hop_n(1), hop_n(1), 1),
      W, k )
PAIR( axes,    "x[None, :, None]", hop_unsqueeze(t, hop_unsqueeze(t, x, 0), 2), x )
PAIR( twice,   "W[1][2]",          hop_index(t, hop_index(t, W, 0, 1), 0, 2), W )
PAIR( outer,   "x[:, None] * y",   hop_mul(t, hop_unsqueeze(t, x, 1), y), x, y )
PAIR( sum_at,  "(x + y)[1 + 1]",   hop_index(t, hop_add(t, x, y), 0, 2), x, y )

/* ---- rows of formula.def ---- */
PAIR( full,    "full(f64, (2, 3), 0.5)[0, 0] + x",
      hop_add(t, hop_index(t, hop_index(t, hop_full(t, HOP_f64, 2, D(hop_n(2), hop_n(3)), 0.5),
                                        0, 0), 0, 0), x), x )
PAIR( zeros,   "zeros(f32, size_of(x, 0)) + x", hop_add(t, hop_zeros(t, HOP_f32, 1, D(SIZE)), x),
      x )
PAIR( like,    "full_like(x, 2) + zeros_like(x)",
      hop_add(t, hop_full_like(t, x, 2), hop_zeros_like(t, x)), x )
PAIR( iota,    "iota(i64, dims=(2, 3), axis=1)[0, 0] + i",
      hop_add(t, hop_index(t, hop_index(t, hop_iota(t, HOP_i64, 2, D(hop_n(2), hop_n(3)), 1), 0, 0),
                           0, 0), i), i )
PAIR( uniform, "uniform(i, f32, 4)",  hop_uniform(t, i, HOP_f32, 1, D(hop_n(4))), i )
PAIR( chance,  "uniform(i, f32)",     hop_uniform(t, i, HOP_f32, 0, NULL), i )
PAIR( bits,    "random_bits(fold_in(i, 3), 2, 2)",
      hop_random_bits(t, hop_fold_in(t, i, I(3)), 2, D(hop_n(2), hop_n(2))), i )
PAIR( size,    "size_of(x, -1) + i",  hop_add(t, hop_size_of(t, x, -1), i), x, i )
PAIR( reshape, "reshape(W, size_of(x, 0) * size_of(x, 0), 1)",
      hop_reshape(t, W, 2, D(hop_dim_mul(t, SIZE, SIZE), hop_n(1))), W, x )
PAIR( permute, "permute(W, 1, 0)",    hop_permute(t, W, A(1, 0)), W )
PAIR( turn,    "transpose(W) + transpose(W, 0, 1)",
      hop_add(t, hop_transpose(t, W, -2, -1), hop_transpose(t, W, 0, 1)), W )
PAIR( slice,   "slice(x, 0, 1, 1)",   hop_slice(t, x, 0, hop_n(1), hop_n(1), 1), x )
PAIR( index,   "index(W, 1, -1)",     hop_index(t, W, 1, -1), W )
PAIR( expand,  "expand(x, 4, size_of(x, 0))", hop_expand(t, x, 2, D(hop_n(4), SIZE)), x )
PAIR( extra,   "unsqueeze(x, axis=-1)", hop_unsqueeze(t, x, -1), x )
PAIR( cast,    "cast(x, i32) + cast(dtype=f64, x=y)",
      hop_add(t, hop_cast(t, x, HOP_i32), hop_cast(t, y, HOP_f64)), x, y )
PAIR( clone,   "clone(x)",            hop_clone(t, x), x )
PAIR( pad,     "pad(x, (1,), 2)",     hop_pad(t, x, D(hop_n(1)), D(hop_n(2))), x )
PAIR( concat,  "concat(x, y)",        hop_concat(t, 2, VS(x, y), 0), x, y )
PAIR( concats, "concat((W, W), axis=1)", hop_concat(t, 2, VS(W, W), 1), W )
PAIR( window,  "dynslice(W, (i, 0), (1, 2))",
      hop_dynslice(t, W, VS(i, I(0)), D(hop_n(1), hop_n(2))), W, i )
PAIR( update,  "dynupdate(x, y[:1], i)",
      hop_dynupdate(t, x, hop_slice(t, y, 0, N0, hop_n(1), 1), VS(i)), x, y, i )
PAIR( gather,  "gather(W, 1, k)",     hop_gather(t, W, 1, k), W, k )
PAIR( set,     "scatter(x, 0, k, y[:2])",
      hop_scatter(t, x, 0, k, hop_slice(t, y, 0, N0, hop_n(2), 1)), x, y, k )
PAIR( sadd,    "scatter_add(x, 0, k, y[:2])",
      hop_scatter_add(t, x, 0, k, hop_slice(t, y, 0, N0, hop_n(2), 1)), x, y, k )
PAIR( smul,    "scatter_mul(x, 0, k, y[:2])",
      hop_scatter_mul(t, x, 0, k, hop_slice(t, y, 0, N0, hop_n(2), 1)), x, y, k )
PAIR( smin,    "scatter_min(x, 0, k, y[:2])",
      hop_scatter_min(t, x, 0, k, hop_slice(t, y, 0, N0, hop_n(2), 1)), x, y, k )
PAIR( smax,    "scatter_max(x, 0, k, y[:2])",
      hop_scatter_max(t, x, 0, k, hop_slice(t, y, 0, N0, hop_n(2), 1)), x, y, k )
PAIR( gtf,     "gt(x, y) || ge(x, y)", hop_or(t, hop_gt(t, x, y), hop_ge(t, x, y)), x, y )
PAIR( idiv,    "idiv(c, 2)",          hop_idiv(t, c, I(2)), c )
PAIR( where,   "where(p, x, 0)",      hop_where(t, p, x, I(0)), p, x )
PAIR( clamp,   "clamp(x, 0, high=y) + clamp(x, high=1)",
      hop_add(t, hop_clamp(t, x, I(0), y), hop_clamp(t, x, HOP_NONE, I(1))), x, y )
PAIR( makes,   "scalar(f64, 2) * (arange(f32, 4) + linspace(f32, 0, 1, 4))[0] + x",
      hop_add(t, hop_mul(t, hop_scalar(t, HOP_f64, 2),
                         hop_index(t, hop_add(t, hop_arange(t, HOP_f32, hop_n(4)),
                                              hop_linspace(t, HOP_f32, 0, 1, hop_n(4))), 0, 0)), x),
      x )
PAIR( eye,     "eye(f32, size_of(x, 0), 3) + one_hot(f32, argmax(W, 1), 3)",
      hop_add(t, hop_eye(t, HOP_f32, SIZE, hop_n(3)),
              hop_one_hot(t, HOP_f32, hop_argmax(t, W, 1), hop_n(3))), x, W )
PAIR( normal,  "normal(i, f32, 2, 3)", hop_normal(t, i, HOP_f32, 2, D(hop_n(2), hop_n(3))), i )
PAIR( stack,   "stack(x, y, axis=1)", hop_stack_n(t, 2, VS(x, y), 1), x, y )
PAIR( spread,  "norm(x) + variance(W, axis=0) + std(W, 0, correction=0)",
      hop_add(t, hop_add(t, hop_norm(t, x, 0, NULL), hop_variance(t, W, 1, A(0), 1)),
              hop_std(t, W, 1, A(0), 0)), x, W )
PAIR( logs,    "log_softmax(W, 1) + logsumexp(W, axis=0)",
      hop_add(t, hop_log_softmax(t, W, 1), hop_logsumexp(t, W, 0)), W )
PAIR( cums,    "cumsum(x, 0) + cumprod(x, 0) + cummax(x, 0) + cummin(x, 0) + logcumsumexp(x, 0)",
      hop_add(t, hop_add(t, hop_add(t, hop_add(t, hop_cumsum(t, x, 0), hop_cumprod(t, x, 0)),
                                    hop_cummax(t, x, 0)), hop_cummin(t, x, 0)),
              hop_logcumsumexp(t, x, 0)), x )
PAIR( losses,  "cross_entropy(W, argmin(W, 1), axis=1) + mse(x, y)",
      hop_add(t, hop_cross_entropy(t, W, hop_argmin(t, W, 1), 1, HOP_LOSS_MEAN),
              hop_mse(t, x, y, HOP_LOSS_MEAN)), W, x, y )
PAIR( bends,   "softplus(x) + gelu(x) + gelu_tanh(x) + leaky_relu(x, 0.1) + elu(x, 1)",
      hop_add(t, hop_add(t, hop_add(t, hop_add(t, hop_softplus(t, x), hop_gelu(t, x)),
                                    hop_gelu_tanh(t, x)), hop_leaky_relu(t, x, 0.1)),
              hop_elu(t, x, 1)), x )
PAIR( still,   "x * stop_gradient(x)", hop_mul(t, x, hop_stop_gradient(t, x)), x )
PAIR( sum,     "sum(x) + sum(W, axis=1) + sum(W, 0)",
      hop_add(t, hop_add(t, hop_sum_all(t, x), hop_sum(t, W, 1, A(1))), hop_sum(t, W, 1, A(0))),
      x, W )
PAIR( mean,    "mean(W, axes=(0, 1))", hop_mean(t, W, 2, A(0, 1)), W )
PAIR( extrema, "amax(W, axis=-1) - amin(W, axis=-1)",
      hop_sub(t, hop_amax(t, W, 1, A(-1)), hop_amin(t, W, 1, A(-1))), W )
PAIR( prod,    "prod(W, 0, 1)",       hop_prod(t, W, 2, A(0, 1)), W )
PAIR( any,     "any(p) && all(q)",    hop_and(t, hop_any(t, p, 0, NULL), hop_all(t, q, 0, NULL)),
      p, q )
PAIR( arg,     "argmax(W, axis=1) - argmin(W, 1)",
      hop_sub(t, hop_argmax(t, W, 1), hop_argmin(t, W, 1)), W )
PAIR( order,   "sort(W, axis=1, down=1) + argsort(W, 0)",
      hop_add(t, hop_sort(t, W, 1, true), hop_argsort(t, W, 0, false)), W )
PAIR( found,   "masked_select(x, p, cap=2, fill=1) + unique(x, cap=2)",
      hop_add(t, FOUND(0, hop_masked_select, x, p, HOP_COUNT_OPTS(HOP_CAP(2), .fill = hop_i(t, 1))),
              FOUND(1, hop_unique, x, HOP_COUNT_OPTS(HOP_CAP(2)))), x, p )
PAIR( rows,    "sum(nonzero(W)) + count_nonzero(W) + sum(compact(W, p))",
      hop_add(t, hop_add(t, hop_sum_all(t, FOUND(2, hop_nonzero, W, NULL)), hop_count_nonzero(t, W)),
              hop_sum_all(t, FOUND(3, hop_compact, W, p, NULL))), W, p )
PAIR( exact,   "sum(exact(x, count_unique(x)))",
      hop_sum_all(t, hop_exact(t, x, COUNT(0, hop_unique, x, NULL))), x )
PAIR( matmul,  "matmul(W, x)",        hop_matmul(t, W, x), W, x )
PAIR( wide,    "matmul_as(cast(W, f32), cast(x, f32), f64) + mul_as(x, y, f64) / div_as(y, x, f64)",
      hop_add(t, hop_matmul_as(t, hop_cast(t, W, HOP_f32), hop_cast(t, x, HOP_f32), HOP_f64),
              hop_div(t, hop_mul_as(t, x, y, HOP_f64), hop_div_as(t, y, x, HOP_f64))), W, x, y )
PAIR( linear,  "linear(x, W, y)",     hop_linear(t, x, W, y), W, x, y )
PAIR( straight, "straight(floor(x), x)", hop_straight(t, hop_floor(t, x), x), x )
PAIR( solve,   "solve(W, x)",         hop_solve(t, W, x), W, x )
PAIR( triangle, "triangular_solve(W, x, flags=3)", hop_triangular_solve(t, W, x, 3), W, x )
PAIR( cholesky, "cho_solve(cholesky(W), x) + cho_logdet(cholesky(W, flags=1))",
      hop_add(t, hop_cho_solve(t, hop_cholesky(t, W, 0), x, 0),
              hop_cho_logdet(t, hop_cholesky(t, W, HOP_UPPER))), W, x )
PAIR( inv,     "inv(W) @ diag(x) + outer(x, y)",
      hop_add(t, hop_matmul(t, hop_inv(t, W), hop_diag(t, x)), hop_outer(t, x, y)), W, x, y )
PAIR( parts,   "tril(W) + triu(W, 1) * diag_sum(W)",
      hop_add(t, hop_tril(t, W, 0), hop_mul(t, hop_triu(t, W, 1), hop_diag_sum(t, W))), W )
PAIR( soft,    "softmax(W, axis=-1)", hop_softmax(t, W, -1), W )
PAIR( norm,    "layer_norm(x)",       hop_layer_norm(t, x, HOP_NONE, HOP_NONE, 1e-5), x )
PAIR( norms,   "layer_norm(x, y, bias=y, eps=1)", hop_layer_norm(t, x, y, y, 1), x, y )
PAIR( gates,   "sigmoid(x) + log_sigmoid(x) + relu(x) + silu(x)",
      hop_add(t, hop_add(t, hop_add(t, hop_sigmoid(t, x), hop_log_sigmoid(t, x)), hop_relu(t, x)),
              hop_silu(t, x)), x )

#undef D
#undef A
#undef VS
#undef N0
#undef F
#undef I
#undef SIZE
#undef LESS
#undef PAIR
