#!/usr/bin/env python3
"""gen.py -- write torch.h: inputs, results and gradients of small programs as PyTorch computes
them, in double precision. The header is committed, so that the tests need no PyTorch; run this
again only to add a case:  python3 test/data/gen.py >test/data/torch.h"""
import torch
import torch.nn.functional as F
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


def emit(name, value):
    flat = value.detach().reshape(-1).tolist()
    print("static const double %s[%d] = {" % (name, max(len(flat), 1)))
    for i in range(0, len(flat), 4):
        print("\t" + ", ".join("%.17g" % v for v in flat[i:i + 4]) + ",")
    print("};")


def rand(*shape):
    return torch.randn(shape).requires_grad_()


def case(name, f, **inputs):
    """Inputs, result, and the gradient of sum(result * w) for a fixed w."""
    y = f(*inputs.values())
    w = torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape) * 0.5 + 1
    grads = torch.autograd.grad((y * w).sum(), list(inputs.values()))
    print("/* %s */" % name)
    for key, value in inputs.items():
        emit("%s_%s" % (name, key), value)
    emit(name + "_out", y)
    for key, g in zip(inputs, grads):
        emit("%s_d%s" % (name, key), g)
    print()


def rnn(W, U, x, h):
    for t in range(x.shape[0]):
        h = torch.tanh(W @ h + U @ x[t])
    return h


def gru(W, U, x, h):
    """The usual gates; W and U hold reset, update and new, one under the other."""
    n = h.shape[0]
    ys = []
    for t in range(x.shape[0]):
        a, b = W @ h, U @ x[t]
        r = torch.sigmoid(a[:n] + b[:n])
        z = torch.sigmoid(a[n:2 * n] + b[n:2 * n])
        g = torch.tanh(r * a[2 * n:] + b[2 * n:])
        h = (1 - z) * g + z * h
        ys.append(h)
    return torch.stack(ys)


def newton(x):
    """Square roots by iteration until the largest residual is small: data decides the trips."""
    y = x
    while (y * y - x).abs().max() > 1e-3:
        y = 0.5 * (y + x / y)
    return y


def branch(x):
    return torch.sin(x) * x if x.sum() > 0 else torch.exp(-x)


def mapped(W, x, k):
    """PyTorch's own map: a matrix and a number that all rows share."""
    return torch_map(lambda row, W, k: torch.sin(W @ row) * k, x, W, k)


def chosen(i):
    """One of three by number; PyTorch has no switch."""
    return lambda x: [lambda: torch.sin(x) * x, lambda: torch.exp(-x), lambda: x ** 3][i]()


def affine(reverse):
    """The second leaf of h -> a h + b composed along the middle axis."""
    def combine(p, q):
        return p[0] * q[0], p[1] * q[0] + q[1]
    return lambda a, b: associative_scan(combine, (a, b), 1, reverse, combine_mode="generic")[1]


def products(x, w):
    """Products of matrices with one between them."""
    return associative_scan(lambda p, q: p @ w @ q, x, 0, combine_mode="generic")


def promotions():
    """dtype of a + b, for tensors (rank 1), 0-d tensors and numbers."""
    kinds = [("bool", torch.bool), ("i32", torch.int32), ("i64", torch.int64),
             ("f32", torch.float32), ("f64", torch.float64), ("bf16", torch.bfloat16),
             ("f16", torch.float16)]
    names = {d: n for n, d in kinds}
    rows = []
    for an, ad in kinds:
        for ar in (0, 1):
            for bn, bd in kinds:
                for br in (0, 1):
                    a = torch.ones([2] * ar, dtype=ad)
                    b = torch.ones([2] * br, dtype=bd)
                    rows.append((an, ar, bn, br, names[torch.result_type(a, b)]))
    print("/* dtype of an operation on tensors of these dtypes and ranks */")
    print("static const struct { int a, arank, b, brank, out; } promote[%d] = {" % len(rows))
    for an, ar, bn, br, out in rows:
        print("\t{ HOP_%s, %d, HOP_%s, %d, HOP_%s }," % (an, ar, bn, br, out))
    print("};")
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    rows = []
    for an, ad in kinds:
        for ar in (0, 1):
            a = torch.ones([2] * ar, dtype=ad)
            rows.append((an, ar, names[torch.result_type(a, 1)],
                         names[torch.result_type(a, 0.5)]))
    torch.set_default_dtype(old)
    print("/* and of a tensor with an integer, with a float literal */")
    print("static const struct { int a, arank, with_i, with_f; } literal[%d] = {" % len(rows))
    for an, ar, i, f in rows:
        print("\t{ HOP_%s, %d, HOP_%s, HOP_%s }," % (an, ar, i, f))
    print("};\n")


def main():
    print("/* Written by gen.py with PyTorch %s: do not edit. */\n" % torch.__version__)
    promotions()
    case("matmul", lambda a, b: a @ b, a=rand(3, 4), b=rand(4, 2))
    case("bmm", lambda a, b: a @ b, a=rand(2, 3, 4), b=rand(4, 2))
    case("softmax", lambda x: F.softmax(x, -1), x=rand(3, 5))
    case("norm", lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-5), x=rand(3, 4), w=rand(4),
         b=rand(4))
    case("sigmoid", torch.sigmoid, x=rand(6))
    case("silu", F.silu, x=rand(6))
    case("amax", lambda x: x.amax(1), x=torch.tensor(
        [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [5.0, -1.0, 0.0]]).requires_grad_())
    case("rnn", rnn, W=rand(3, 3), U=rand(3, 2), x=rand(4, 2), h=rand(3))
    case("gru", gru, W=rand(9, 3), U=rand(9, 2), x=rand(4, 2), h=rand(3))
    case("newton", newton, x=torch.tensor([2.0, 9.0, 0.5, 30.0]).requires_grad_())
    case("branch_then", branch, x=torch.tensor([0.5, -0.2, 0.3]).requires_grad_())
    case("branch_else", branch, x=torch.tensor([-0.5, 0.2, -0.3]).requires_grad_())
    hess = torch.func.hessian(lambda x: (torch.tanh(x) * x.flip(0) ** 2).sum())
    x = torch.tensor([0.3, -0.7, 1.1])
    print("/* hessian of sum(tanh(x) * reversed(x)^2) */")
    emit("hess_x", x)
    emit("hess_out", hess(x))
    print()
    case("mapped", mapped, W=rand(3, 3), x=rand(4, 3), k=rand())
    for i in range(3):
        case("chosen%d" % i, chosen(i), x=rand(4))
    for name, reverse in ("affine_up", False), ("affine_down", True):
        case(name, affine(reverse), a=rand(2, 7, 3), b=rand(2, 7, 3))
    case("products", products, x=rand(6, 2, 2), w=rand(2, 2))


main()
