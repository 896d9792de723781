#!/usr/bin/env python3
"""gen_transforms.py -- write transforms.h: what torch.func finds for small functions with control
flow in them, in double precision. Loops and choices are Python's, which PyTorch differentiates as
they run; where it cannot batch them, lanes are taken one by one. The header is committed, so that
the tests need no PyTorch; run this again only to add a case:
    python3 test/data/gen_transforms.py >test/data/transforms.h"""
import torch
from torch.func import hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
LANES = 4


# Every function takes x, of 3, and a, of 2 by 3; it gives a tensor y.

def choice(x, a):
    y = a @ x
    return torch.sin(y) * x.sum() if x.sum() > 0 else y * y + torch.cos(x[:2])


def shrink(x, a):
    """A while: how often depends on the values."""
    y = a @ x * 4
    while (y * y).sum() > 1:
        y = y * 0.7 + 0.05 * torch.sin(y) * x.sum()
    return y


def recurrent(x, a):
    h = torch.zeros(2)
    for t in range(3):
        h = torch.tanh(h * a[:, 0] + x[t] * a[:, 1] + a[:, 2])
    return h


def each(x, a):
    return torch.stack([torch.sin(x[t] * a).sum(1) for t in range(3)])


def choose_in_scan(x, a):
    c = torch.ones(2)
    ys = []
    for t in range(3):
        c = c * x[t] if x[t] > 0 else c + torch.sin(x[t] * a.sum(1))
        ys.append(c * c)
    return torch.stack(ys)


def while_in_scan(x, a):
    c = a[:, 0]
    for t in range(3):
        z = x[t] * 3
        while z.abs() > 0.5:
            z = z * (0.5 + 0.1 * torch.tanh(c[0]))
        c = c + z * c.flip(0)
    return c


def pick(x, a):
    """A switch: by how many elements are positive."""
    k = min(int((x > 0).sum()), 2)
    y = a @ x
    return [torch.exp(y * 0.3), y * y * y, torch.cos(y) * x[0]][k]


def while_in_map(x, a):
    ys = []
    for t in range(3):
        z, n = x[t] * 5, 0
        while z.abs() > 1:
            z = z * 0.6 + 0.1 * torch.sin(z * a[0, 0])
            n += 1
        ys.append(z * a[1].sum() + n)
    return torch.stack(ys)


def prefixes(x, a):
    """An associative scan: h = p h + q."""
    p, q = torch.tanh(x) + 0.5, a.sum(0) * x
    h, ys = torch.zeros(()), []
    for t in range(3):
        h = p[t] * h + q[t]
        ys.append(h)
    return torch.stack(ys)


def cubic(x, a):
    """Newton's method until it is good enough: z with z^3 + z = a x."""
    b = a @ x
    z = b * 0
    for _ in range(12):
        z = z - (z ** 3 + z - b) / (3 * z ** 2 + 1)
    return z


def power(x, a):
    """Power iteration: the largest eigenvalue of a'a + diag, and where it is found."""
    m = a.T @ a + torch.diag(1 + x * x)
    b = torch.ones(3)
    for _ in range(5):
        b = m @ b
        b = b / (b * b).sum().sqrt()
    return torch.cat([b, (b * (m @ b)).sum().reshape(1)])


def until(x, a):
    """A scan that ends early."""
    s = torch.zeros(2)
    for t in range(3):
        s = s + torch.exp(x[t] * a[:, t])
        if s.sum() > 4:
            break
    return s * a[:, 0]


def deep(x, a):
    """A choice in a while in a map."""
    ys = []
    for t in range(3):
        z = x[t] + 2
        while z * z > 0.3:
            z = z * 0.5 if z > 1 else z * 0.8 - 0.1 * torch.sin(a[0, 1] * z)
        ys.append(z * z * a[:, 2])
    return torch.stack(ys)


CASES = [choice, shrink, recurrent, each, choose_in_scan, while_in_scan, pick, while_in_map,
         prefixes, cubic, power, until, deep]


def weights(y):
    return torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape) * 0.5 + 1


def loss(f):
    def g(x, a):
        y = f(x, a)
        return (y * weights(y)).sum() + (y * y).sum() * 0.25
    return g


def columns(f, x, a):
    """jacfwd without batching: a forward derivative for each element."""
    out = []
    for k, v in enumerate((x, a)):
        rows = []
        for i in range(v.numel()):
            d = [torch.zeros_like(x), torch.zeros_like(a)]
            d[k].view(-1)[i] = 1
            rows.append(jvp(f, (x, a), tuple(d))[1])
        y = rows[0]
        out.append(torch.stack(rows, -1).reshape(y.shape + v.shape))
    return tuple(out)


def forward_jacobian(f, x, a):
    try:
        return jacfwd(f, argnums=(0, 1))(x, a), "jacfwd"
    except RuntimeError:
        return columns(f, x, a), "jvp by column"


def second(f, x, a):
    try:
        return hessian(f, argnums=(0, 1))(x, a), "hessian"
    except RuntimeError:
        g = torch.func.grad(f, argnums=(0, 1))
        return tuple(columns(lambda u, v, k=k: g(u, v)[k], x, a) for k in range(2)), \
            "jvp of grad by column"


def lanes(f, xs, a):
    """x along axis 1, a the same for all, lanes last."""
    try:
        return vmap(f, in_dims=(1, None), out_dims=-1)(xs, a), "vmap"
    except RuntimeError:
        return torch.stack([f(xs[:, i], a) for i in range(LANES)], -1), "lane by lane"


def emit(name, value):
    flat = value.detach().reshape(-1).tolist()
    print("static const double %s[] = {" % name)
    for i in range(0, len(flat), 4):
        print("\t" + ", ".join("%.17g" % v for v in flat[i:i + 4]) + ",")
    print("};")


FIELDS = ("x a vx va xs y jx ja fx fa hxx hxa hax haa loss gx ga hvx hva vhx vha ly lanes"
          .split())


def case(f):
    name = f.__name__
    x, a = torch.randn(3), torch.randn(2, 3) * 0.8
    vx, va, xs = torch.randn(3), torch.randn(2, 3), torch.randn(3, LANES)
    y = f(x, a)
    g = loss(f)
    (jx, ja) = jacrev(f, argnums=(0, 1))(x, a)
    (fx, fa), how_j = forward_jacobian(f, x, a)
    ((hxx, hxa), (hax, haa)), how_h = second(g, x, a)
    (gx, ga), (value, aux) = torch.func.grad_and_value(
        lambda u, v: (g(u, v), f(u, v)), argnums=(0, 1), has_aux=True)(x, a)
    assert torch.equal(aux, y)
    grad = torch.func.grad(g, argnums=(0, 1))
    _, (hvx, hva) = jvp(grad, (x, a), (vx, va))
    _, back = vjp(grad, x, a)
    vhx, vha = back((vx, va))
    try:
        ly, how_l = linearize(f, x, a)[1](vx, va), "linearize"
    except (RuntimeError, NotImplementedError) as e:
        ly, how_l = jvp(f, (x, a), (vx, va))[1], "jvp"
    ls, how_v = lanes(f, xs, a)
    print("/* %s: %s, %s, %s, %s */" % (name, how_j, how_h, how_l, how_v))
    every = dict(x=x, a=a, vx=vx, va=va, xs=xs, y=y, jx=jx, ja=ja, fx=fx, fa=fa, hxx=hxx, hxa=hxa,
                 hax=hax, haa=haa, loss=value, gx=gx, ga=ga, hvx=hvx, hva=hva, vhx=vhx, vha=vha,
                 ly=ly, lanes=ls)
    for key in FIELDS:
        emit("%s_%s" % (name, key), every[key])
    print("static const struct torch_transform torch_%s = {\n\t\"%s\", %d," % (
        name, name, y.numel()))
    for i in range(0, len(FIELDS), 4):
        print("\t" + ", ".join("%s_%s" % (name, k) for k in FIELDS[i:i + 4]) + ",")
    print("};\n")


print("""/* Generated by test/data/gen_transforms.py with PyTorch %s: do not edit.
 *
 * Of each function y(x, a): Jacobians by torch.func.jacrev (jx, ja) and jacfwd (fx, fa); the Hessian
 * of its loss, sum(y * w) + sum(y * y) / 4 with w = 1, 1.5, 2 ..; loss and gradients with y as aux;
 * products of the Hessian with vx, va forward over reverse (hv) and reverse over reverse (vh); the
 * tangent of y along vx, va (ly); and y for %d lanes of x along axis 1 of xs, lanes last. */
#ifndef DATA_TRANSFORMS_H
#define DATA_TRANSFORMS_H

enum { TORCH_LANES = %d };

struct torch_transform {
	const char *name;
	int         ny;""" % (torch.__version__.split("+")[0], LANES, LANES))
for k in FIELDS:
    print("\tconst double *%s;" % k)
print("};\n")
for f in CASES:
    case(f)
print("#endif")
