#!/usr/bin/env python3
"""gen_composites.py -- write composites.h: inputs of the composites of include/hop/nn.h and shape.h,
and the results and gradients that PyTorch computes for them, in every float dtype: in double
precision on numbers of the dtype, and rounded to it at the end, since a composite is rounded once.
The gradients are those of the sum of result element i times cos(i). What the cases call is in
test/unit/torch_composites_test.c, by the same names. The header is committed; run again only to add
a case:
    python3 test/data/gen_composites.py >test/data/composites.h"""
import math

import torch
import torch.nn.functional as nn

torch.manual_seed(5)
INF, NAN = math.inf, math.nan


def f(*shape, lo=-1.5, hi=1.5):
    return torch.rand(*shape, dtype=torch.float64) * (hi - lo) + lo


def v(*x):
    return torch.tensor(x, dtype=torch.float64)


def i(*x):
    return torch.tensor(x, dtype=torch.int64)


A, B, M = f(2, 3, 4), f(2, 3, 4), f(4, 5)
# rows with no, one and several zeros; numbers that are equal; numbers far from 0
Z = torch.stack([v(0.5, -2, 1.5, 0.75), v(0.5, 0, -2, 3), v(0, 2, 0, -1.5)])
T = torch.stack([v(1, 1, 0.5, 1), v(-1, 2, 2, 0.25), v(3, -2, 3, -2)])
L = v(-1000, 3, 1000, 1000, -2, 0)
# where pieces meet, and far from there
K = v(-60, -20, -3, -1, -0.25, 0, 0.25, 1, 3, 20, 60)
# what no derivative is asked of
S = v(-INF, -1, NAN, 2, INF, -3)
U = torch.stack([v(-INF, -INF, 2), v(-INF, -INF, -INF), v(1, INF, 2)])
P = torch.stack([v(0.3, -1, 2.5, 0.7, -0.2), v(5, 4, 3, 2, 1), v(1, 2, 3.25, 4, 5.5)])


def back(g, x, axis):
    return g(x.flip(axis), axis).flip(axis)


def shift(x, axis, first):
    return torch.cat([torch.full_like(x.narrow(axis, 0, 1), first),
                      x.narrow(axis, 0, x.shape[axis] - 1)], axis)


def top(x, k, axis):
    a, at = x.topk(k, axis)
    return torch.cat([a, at.to(x.dtype)], axis)


def sized(x, cap, fill=0.0):
    """x as a result of a capacity: cap rows of it, the fill where there are none."""
    x = x[:cap]
    return torch.cat([x, torch.full((cap - x.shape[0],) + x.shape[1:], fill, dtype=x.dtype)])


def counted(x, cap, fill=0.0):
    """The same, flat, with the count behind it."""
    return torch.cat([sized(x, cap, fill).reshape(-1), torch.tensor([x.shape[0]]).to(x.dtype)])


def unique(x, cap):
    """PyTorch's values, inverse and counts; the gradient of a value goes to the first that has it."""
    u, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True)
    flat = inverse.reshape(-1)
    first = torch.tensor([int((flat == k).nonzero()[0]) for k in range(len(u))], dtype=torch.int64)
    values = x.reshape(-1)[first]
    assert torch.equal(values.nan_to_num(7), u.nan_to_num(7))
    return torch.cat([counted(values, cap), flat.to(x.dtype), sized(counts, cap).to(x.dtype)])


def weighted(parts):
    return sum((n + 1) * p.sum() for n, p in enumerate(parts))


C1, C2 = i(4, 0, 2, 2), torch.tensor([[1, 0, 4], [2, 2, 3]])
X3 = f(2, 5, 3)
LW, LB = f(5, 4), f(5)
# name, inputs, what PyTorch says; "-" in front: no gradients
CASES = [
    ("cumsum_0", [A], lambda x: x.cumsum(0)),
    ("cumsum_1", [A], lambda x: x.cumsum(1)),
    ("cumsum_2", [A], lambda x: x.cumsum(2)),
    ("cumsum_vector", [K[:7]], lambda x: x.cumsum(0)),
    ("cumsum_reverse", [A], lambda x: back(torch.cumsum, x, 1)),
    ("cumsum_exclusive", [A], lambda x: shift(x.cumsum(1), 1, 0)),
    ("cumprod", [Z], lambda x: x.cumprod(1)),
    ("cumprod_0", [Z], lambda x: x.cumprod(0)),
    ("cumprod_both", [Z], lambda x: back(lambda y, a: shift(y.cumprod(a), a, 1), x, 1)),
    ("cummax", [T], lambda x: x.cummax(1).values),
    ("cummin", [T], lambda x: x.cummin(1).values),
    ("-cummax_special", [S], lambda x: x.cummax(0).values),
    ("-cummin_special", [S], lambda x: x.cummin(0).values),
    ("logcumsumexp", [A], lambda x: x.logcumsumexp(1)),
    ("logcumsumexp_far", [L], lambda x: x.logcumsumexp(0)),
    ("-logcumsumexp_special", [U], lambda x: x.logcumsumexp(1)),
    ("log_softmax", [A], lambda x: x.log_softmax(1)),
    ("log_softmax_far", [L], lambda x: x.log_softmax(0)),
    ("logsumexp", [A], lambda x: x.logsumexp(1)),
    ("logsumexp_far", [L], lambda x: x.logsumexp(0)),
    ("-logsumexp_special", [U], lambda x: x.logsumexp(1)),
    ("cross_entropy", [M, C1], nn.cross_entropy),
    ("cross_entropy_sum", [M, C1], lambda x, y: nn.cross_entropy(x, y, reduction="sum")),
    ("cross_entropy_each", [X3, C2], lambda x, y: nn.cross_entropy(x, y, reduction="none")),
    ("cross_entropy_far", [L, torch.tensor(1)], nn.cross_entropy),
    ("mse", [A, B], nn.mse_loss),
    ("mse_sum", [A, B], lambda x, y: nn.mse_loss(x, y, reduction="sum")),
    ("mse_each", [A, B], lambda x, y: nn.mse_loss(x, y, reduction="none")),
    ("softplus", [K], lambda x: nn.softplus(x, threshold=1000)),
    ("gelu", [K], nn.gelu),
    ("gelu_tanh", [K], lambda x: nn.gelu(x, approximate="tanh")),
    ("leaky_relu", [K], lambda x: nn.leaky_relu(x, 0.125)),
    ("elu", [K], lambda x: nn.elu(x, 1.5)),
    ("clampf", [K], lambda x: x.clamp(-1, 3)),
    ("clamp_low", [K], lambda x: x.clamp(min=-0.25)),
    ("clamp", [A, B[0], A[1] + 0.5], lambda x, y, z: x.clamp(y, z)),
    ("-clamp_special", [S], lambda x: x.clamp(-2, 1)),
    ("-clamp_nan", [A[0, 0], v(NAN, -1, 0, 1)], lambda x, y: torch.clamp(x, min=y)),
    ("where", [A, B], lambda x, y: torch.where(x < y, x, y * 2)),
    ("one_hot", [M, C1], lambda x, y: x * nn.one_hot(y, 5).to(x.dtype)),
    ("eye", [M], lambda x: x * torch.eye(4, 5, dtype=x.dtype)),
    ("stack", [A, B], lambda x, y: torch.stack([x, y, x], 1)),
    ("stack_last", [A, B], lambda x, y: torch.stack([x, y], -1)),
    ("split_equal", [A], lambda x: weighted(x.chunk(2, 2))),
    ("split_sizes", [M], lambda x: weighted(x.split([1, 0, 4], 1))),
    ("topk", [P], lambda x: top(x, 2, 1)),
    ("topk_0", [P], lambda x: top(x, 3, 0)),
    ("-topk_special", [S], lambda x: top(x, 6, 0)),
    ("norm", [A], lambda x: x.norm(dim=(0, 2))),
    ("norm_zero", [v(0, 0, 0)], lambda x: x.norm()),
    ("var", [A], lambda x: x.var(dim=(0, 2))),
    ("var_all", [A], lambda x: x.var(correction=0)),
    ("std", [A], lambda x: x.std(dim=1)),
    ("std_zero", [v(2, 2, 2)], lambda x: x.std()),
    ("sort", [P], lambda x: x.sort(dim=1, stable=True).values),
    ("sort_down", [P], lambda x: x.sort(dim=0, descending=True, stable=True).values),
    ("sort_middle", [A], lambda x: x.sort(1).values),
    ("sort_ties", [T], lambda x: x.sort(dim=1, stable=True).values),
    ("-sort_special", [S], lambda x: x.sort(0).values),
    ("-argsort_special", [S], lambda x: x.argsort(dim=0, descending=True, stable=True).to(x.dtype)),
    ("-argsort_ties", [T], lambda x: x.argsort(dim=1, stable=True).to(x.dtype)),
    ("masked_select", [A], lambda x: counted(x.masked_select(x > 0.1), 24)),
    ("masked_select_cap", [A], lambda x: counted(x.masked_select(x > 0.1), 3, -2.0)),
    ("masked_select_wide", [P, M[0]], lambda x, y: counted((x * y).masked_select(y > 0), 15, 9.0)),
    ("masked_select_none", [P], lambda x: counted(x.masked_select(x > 99), 15)),
    ("masked_select_all", [P], lambda x: counted(x.masked_select(x < 99), 15)),
    ("compact", [A], lambda x: counted(x[x[:, 0, 0] > x[:, 1, 1]], 2)),
    ("compact_cap", [M], lambda x: counted(x[x[:, 0] > -9], 3)),
    ("-nonzero", [Z], lambda x: counted(x.nonzero(), 12, -1).to(x.dtype)),
    ("-nonzero_special", [S], lambda x: counted(x.nonzero(), 6, -1).to(x.dtype)),
    ("-nonzero_cap", [A], lambda x: counted((x > 0).nonzero(), 5, 7).to(x.dtype)),
    ("unique", [T], lambda x: unique(x, 12)),
    ("unique_cap", [T], lambda x: unique(x, 4)),
    ("linspace", [K], lambda x: x * torch.linspace(-2, 7, 11, dtype=x.dtype)),
    ("arange", [K], lambda x: x + torch.arange(11, dtype=x.dtype)),
    ("scalar", [K], lambda x: x * torch.tensor(1.25, dtype=x.dtype)),
    ("stop_gradient", [A], lambda x: x * x.detach().exp()),
    ("linear", [A, LW, LB], nn.linear),
    ("linear_bare", [A, LW], nn.linear),
]
DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def text(x):
    if math.isnan(x):
        return "NAN"
    return "%sINFINITY" % ("-" if x < 0 else "") if math.isinf(x) else "%.17g" % x


def numbers(name, values):
    print("static const double %s[] = {" % name)
    for k in range(0, max(len(values), 1), 4):
        print("\t" + ", ".join(text(x) for x in values[k:k + 4] or [0]) + ",")
    print("};")


def one(name, ins, g, d):
    """Print the numbers of one case, return its row."""
    plain, name = name.startswith("-"), name.lstrip("-")
    x = [t.to(d).double().clone().requires_grad_(not plain) if t.is_floating_point() else t
         for t in ins]
    y = g(*x)
    grads = []
    if not plain:
        w = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).to(d).double().reshape(y.shape)
        leaves = [t for t in x if t.is_floating_point()]
        for t in torch.autograd.grad((y * w).sum(), leaves):
            grads += t.to(d).reshape(-1).tolist()
        assert all(math.isfinite(t) for t in grads), name
    key = "%s_%s" % (name, kind)
    numbers("in_" + key, [e for t in x for e in t.detach().reshape(-1).tolist()])
    numbers("out_" + key, y.detach().to(d).reshape(-1).tolist())
    numbers("grad_" + key, grads)
    shapes = ", ".join("{ %d, { %s }, %d }" % (t.dim(), ", ".join(map(str, t.shape)) or "0",
                                               t.is_floating_point()) for t in ins)
    return '\t{ "%s", HOP_%s, %d, { %s }, %d, %d,\n\t  in_%s, out_%s, grad_%s },' % (
        name, kind, len(ins), shapes, y.numel(), not plain, key, key, key)


print("/* Generated by test/data/gen_composites.py with PyTorch %s: do not edit. */" %
      torch.__version__)
print("struct torch_input { int rank; int64_t dim[3]; bool is_float; };")
print("struct torch_composite {\n\tconst char *name;\n\thop_dtype dtype;\n\tint nin;\n"
      "\tstruct torch_input shape[3];\n\tint nout;\n\tbool has_grad;\n"
      "\tconst double *in, *out, *grad;\n};\n")
rows = []
for kind in DTYPES:
    for case in CASES:
        rows.append(one(*case, DTYPES[kind]))
print("\nstatic const struct torch_composite torch_composites[] = {")
print("\n".join(rows))
print("};")
