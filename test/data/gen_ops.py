#!/usr/bin/env python3
"""gen_ops.py -- write ops.h: for each first-order op a small program in hop's text, its inputs,
and the results and gradients that PyTorch computes for it, in double precision. The gradients
are those of the sum of result element i times cos(i), over all float results. The headers are
committed; run again only to add a case, once a dtype:
    python3 test/data/gen_ops.py >test/data/ops.h
    python3 test/data/gen_ops.py bf16 >test/data/ops_bf16.h
    python3 test/data/gen_ops.py f16 >test/data/ops_f16.h"""
import math
import sys

import torch

torch.manual_seed(2)
NAME = sys.argv[1] if len(sys.argv) > 1 else "f64"
F = {"f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}[NAME]


def f(*shape, lo=-1.5, hi=1.5):
    return (torch.rand(*shape, dtype=torch.float64) * (hi - lo) + lo).to(F)


def i(*v):
    return torch.tensor(v, dtype=torch.int64)


A, B, P = f(2, 3), f(2, 3), f(2, 3, lo=0.3, hi=2)
M, N = f(2, 3), f(3, 4)
X, U, T = f(4, 3), f(2, 3), f(5)
# powers of 0, and with 0, where slopes are a matter of definition
PZ = torch.cat([torch.zeros(1, 3, dtype=F), P[1:]])
AZ = torch.tensor([[0, 2, 1], [0, -1.5, 0.7]], dtype=F)
# rows with no, one and several zeros
Z = torch.cat([A[:1], torch.tensor([[0.5, 0, -2], [0, 0, 3], [0, 0, 0]], dtype=F)])
IX = i(3, 0, 0)
IU = i(1, 3)
# indices that meet, at zeros and at equal numbers
IT = i(1, 3, 1)
XZ = torch.cat([X[:1], torch.tensor([[0, 2, 0.5], [1, 1, 1], [0, 3, -1]], dtype=F)])
UZ = torch.tensor([[2, 2, 0], [1, 3, -1], [-1, 0, 0]], dtype=F)
# far from singular, and such that rows are exchanged; a batch
SA, SB = f(4, 4), f(4, 2)
SC, SD = f(2, 3, 3), f(2, 3, 1)
# positive definite by the lower triangle alone; triangles whose other half is anything
CA, CB = f(4, 4) + 5 * torch.eye(4, dtype=F), f(2, 3, 3) + 4 * torch.eye(3, dtype=F)
TA, TB = f(4, 4) + 3 * torch.eye(4, dtype=F), f(4, 2)


def solve(a, b):
    return torch.linalg.solve(a.double(), b.double()).to(F)


# PyTorch's slopes are those of symmetric matrices; ours of the triangle that is read
def cholesky(a):
    a = a.double()
    return torch.linalg.cholesky(a.tril() + a.tril(-1).mT).to(F)


def triangle(upper=False, turned=False, unit=False):
    def g(a, b):
        a, b = a.double(), b.double()
        up = upper != turned
        return torch.linalg.solve_triangular(a.mT if turned else a, b, upper=up,
                                             unitriangular=unit).to(F)
    return g


def scatter(how):
    return lambda x, k, u: x.scatter_reduce(0, k[:, None].expand_as(u), u, how)


def update(x, u):
    y = x.clone()
    y[1:3] = u
    return y


def pad(t):
    y = torch.zeros(12, dtype=F)
    y = y.index_copy(0, torch.arange(1, 11, 2), t)
    return y


# name (of an op, and of one of several cases behind a colon), inputs, body, result, what PyTorch
# says
CASES = [
    (n, [A, B], "%%2 = %s %%0, %%1" % n, "%2", g) for n, g in [
        ("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("max", torch.maximum),
        ("min", torch.minimum), ("atan2", torch.atan2)]
] + [
    (n, [A, P], "%%2 = %s %%0, %%1" % n, "%2", g) for n, g in [
        ("div", torch.div), ("rem", torch.fmod)]
] + [
    (n, [A], "%%1 = %s %%0" % n, "%1", g) for n, g in [
        ("neg", torch.neg), ("abs", torch.abs), ("sign", torch.sign), ("exp", torch.exp),
        ("sin", torch.sin), ("cos", torch.cos), ("tanh", torch.tanh), ("floor", torch.floor),
        ("ceil", torch.ceil), ("trunc", torch.trunc), ("round", torch.round),
        ("expm1", torch.expm1), ("sinh", torch.sinh), ("cosh", torch.cosh),
        ("asinh", torch.asinh), ("erf", torch.erf),
        ("atan", torch.atan)]
] + [
    ("acosh", [P + 1], "%1 = acosh %0", "%1", torch.acosh),
    ("atan2:zero", [PZ * AZ, AZ * 0], "%2 = atan2 %0, %1", "%2", torch.atan2),
    ("pow", [PZ, AZ], "%2 = pow %0, %1", "%2", torch.pow),
    ("asin", [A / 2], "%1 = asin %0", "%1", torch.asin),
    ("acos", [A / 2], "%1 = acos %0", "%1", torch.acos),
    ("atanh", [A / 2], "%1 = atanh %0", "%1", torch.atanh),
] + [
    (n, [P], "%%1 = %s %%0" % n, "%1", g) for n, g in [
        ("log", torch.log), ("sqrt", torch.sqrt), ("log1p", torch.log1p),
        ("rsqrt", torch.rsqrt)]
] + [
    (n, [A, B], "%%2 = %s %%0, %%1\n  %%3 = cast %%2 {dtype = f64}" % n, "%3",
     lambda x, y, g=g: g(x, y).to(F)) for n, g in [
        ("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt), ("le", torch.le)]
] + [
    ("and", [i(12, 5, -1), i(10, 3, 6)], "%2 = and %0, %1", "%2", torch.bitwise_and),
    ("or", [i(12, 5, -1), i(10, 3, 6)], "%2 = or %0, %1", "%2", torch.bitwise_or),
    ("xor", [i(12, 5, -1), i(10, 3, 6)], "%2 = xor %0, %1", "%2", torch.bitwise_xor),
    ("shl", [i(12, 5, -1), i(10, 3, 6)], "%2 = shl %0, %1", "%2", torch.bitwise_left_shift),
    # PyTorch's brings in copies of the sign, so only of numbers that have none
    ("shr", [i(12345, 5, 99), i(4, 3, 0)], "%2 = shr %0, %1", "%2", torch.bitwise_right_shift),
    ("not", [i(12, 5, -1)], "%1 = not %0", "%1", torch.bitwise_not),
    ("select", [A, B], "%2 = lt %0, %1\n  %3 = select %2, %0, %1", "%3",
     lambda x, y: torch.where(x < y, x, y)),
    ("straight", [A, B], "%2 = floor %0\n  %3 = straight %2, %1\n  %4 = mul %3, %0", "%4",
     lambda x, y: (y + (x.floor() - y).detach()) * x),
    ("stop_gradient", [A], "%1 = stop_gradient %0\n  %2 = mul %0, %1", "%2",
     lambda x: x * x.detach()),
    ("retain_grad", [A], "%1 = retain_grad %0 {name = \\\"a\\\"}\n  %2 = mul %0, %1", "%2",
     lambda x: x * x),
    ("cast", [P], "%1 = cast %0 {dtype = i64}", "%1", lambda x: x.to(torch.int64)),
    ("iota", [A], "%1 = iota {dtype = f64, dims = [2, 3], axis = 1}\n  %2 = add %0, %1", "%2",
     lambda x: x + torch.arange(3, dtype=F)),
    ("broadcast", [T], "%1 = broadcast %0 {dims = [2, 5, 3], axes = [1]}", "%1",
     lambda x: x[None, :, None].expand(2, 5, 3)),
    ("reshape", [A], "%1 = reshape %0 {dims = [3, 2]}", "%1", lambda x: x.reshape(3, 2)),
    ("permute", [A], "%1 = permute %0 {axes = [1, 0]}", "%1", lambda x: x.permute(1, 0)),
    ("slice", [X], "%1 = slice %0 {start = [3, 0], dims = [2, 2], step = [-2, 2]}", "%1",
     lambda x: x.flip(0)[::2, ::2]),
    ("pad", [T], "%1 = pad %0 {start = [1], dims = [12], step = [2]}", "%1", pad),
    ("concat", [A, B], "%2 = concat %0, %1 {axis = 1}", "%2",
     lambda x, y: torch.cat([x, y], 1)),
    ("dynslice", [X, torch.tensor(1), torch.tensor(0)],
     "%3 = dynslice %0, %1, %2 {dims = [2, 3]}", "%3", lambda x, a, b: x[1:3]),
    ("dynupdate", [X, U, torch.tensor(1), torch.tensor(0)],
     "%4 = dynupdate %0, %1, %2, %3", "%4", lambda x, u, a, b: update(x, u)),
    ("gather", [X, IX], "%2 = gather %0, %1 {axis = 0, nbatch = 0}", "%2",
     lambda x, k: x.index_select(0, k)),
    # PyTorch does not say which of two that are set at one place stays
    ("scatter:set", [X, IU, U], "%3 = scatter %0, %1, %2 {mode = set, axis = 0, nbatch = 0}",
     "%3", lambda x, k, u: x.index_copy(0, k, u)),
] + [
    ("scatter:" + n, [XZ, IT, UZ],
     "%%3 = scatter %%0, %%1, %%2 {mode = %s, axis = 0, nbatch = 0}" % n, "%3", scatter(how))
    for n, how in [("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax")]
] + [
    ("sum", [A], "%1 = sum %0 {axes = [0]}", "%1", lambda x: x.sum(0)),
    ("amax", [A], "%1 = amax %0 {axes = [1]}", "%1", lambda x: x.amax(1)),
    ("amin", [A], "%1 = amin %0 {axes = [1]}", "%1", lambda x: x.amin(1)),
    ("prod", [Z], "%1 = prod %0 {axes = [1]}", "%1", lambda x: x.prod(1)),
    ("any", [A, B], "%2 = lt %0, %1\n  %3 = any %2 {axes = [1]}\n"
     "  %4 = cast %3 {dtype = i64}", "%4", lambda x, y: (x < y).any(1).to(torch.int64)),
    ("all", [A, B], "%2 = lt %0, %1\n  %3 = all %2 {axes = [1]}\n"
     "  %4 = cast %3 {dtype = i64}", "%4", lambda x, y: (x < y).all(1).to(torch.int64)),
    ("argmax", [Z], "%1 = argmax %0 {axis = 1}", "%1", lambda x: x.argmax(1)),
    ("argmin", [Z], "%1 = argmin %0 {axis = 0}", "%1", lambda x: x.argmin(0)),
    ("argsort", [Z], "%1 = argsort %0 {axis = 1}", "%1",
     lambda x: x.argsort(dim=1, stable=True)),
    ("argsort:down", [Z], "%1 = argsort %0 {axis = 0, down = true}", "%1",
     lambda x: x.argsort(dim=0, descending=True, stable=True)),
    ("dot", [M, N],
     "%2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}", "%2",
     lambda x, y: x @ y),
    ("solve", [SA, SB], "%2 = solve %0, %1", "%2", solve),
    ("solve:batch", [SC, SD], "%2 = solve %0, %1", "%2", solve),
    ("cholesky", [CA], "%2 = cholesky %0", "%2", cholesky),
    ("cholesky:batch", [CB], "%2 = cholesky %0", "%2", cholesky),
    ("triangular_solve", [TA, TB], "%2 = triangular_solve %0, %1", "%2", triangle()),
    ("triangular_solve:u", [TA, TB], "%2 = triangular_solve %0, %1 {upper = true}", "%2",
     triangle(upper=True)),
    ("triangular_solve:t", [TA, TB],
     "%2 = triangular_solve %0, %1 {transposed = true, unit = true}", "%2",
     triangle(turned=True, unit=True)),
]


def mine(name):
    return name if NAME == "f64" else name + "_" + NAME


def kind(t):
    return NAME if t.dtype == F else "i64"


def header(t):
    return kind(t) + ("[%s]" % ", ".join(map(str, t.shape)) if t.dim() else "")


def numbers(name, values):
    print("static const double %s[] = {" % mine(name))
    for k in range(0, max(len(values), 1), 4):
        print("\t" + ", ".join("%.17g" % v for v in values[k:k + 4] or [0]) + ",")
    print("};")


print("/* Generated by test/data/gen_ops.py with PyTorch %s: do not edit. */" % torch.__version__)
if NAME == "f64":
    print("struct torch_op { const char *name, *text; const double *in, *out, *grad; };\n")
for name, ins, body, res, g in CASES:
    x = [t.clone().requires_grad_() if t.dtype == F else t for t in ins]
    y = g(*x)
    grads = []
    if y.dtype == F and y.requires_grad:
        w = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).to(F).reshape(y.shape)
        leaves = [t for t in x if t.dtype == F]
        for t, d in zip(leaves, torch.autograd.grad((y * w).sum(), leaves, allow_unused=True)):
            grads += (torch.zeros_like(t) if d is None else d).reshape(-1).tolist()
    else:
        grads = [0.0] * sum(t.numel() for t in x if t.dtype == F)
    assert all(math.isfinite(v) for v in grads)
    name = name.replace(":", "_")
    numbers("in_" + name, [v for t in ins for v in t.reshape(-1).tolist()])
    numbers("out_" + name, y.detach().reshape(-1).tolist())
    numbers("grad_" + name, grads)
print("\nstatic const struct torch_op %s[] = {" % mine("torch_ops"))
for name, ins, body, res, g in CASES:
    params = ", ".join("%%%d: %s" % (k, header(t)) for k, t in enumerate(ins))
    text = "hop 1\ngraph @f(%s) {\n  %s\n  return %s\n}\n" % (
        params, body.replace("f64", NAME), res)
    op, name = name.split(":")[0], name.replace(":", "_")
    print('\t{ "%s",\n\t  "%s",\n\t  in_%s, out_%s, grad_%s },' %
          (op, text.replace("\n", '\\n"\n\t  "').removesuffix('"\n\t  "'),
           mine(name), mine(name), mine(name)))
print("};")
