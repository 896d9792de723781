#!/usr/bin/env python3
"""gen_strict.py -- what PyTorch says to the programs of test/support/strict*.h: each is written
down again with its operators, and captured whole (torch.compile), not run, with gradients recorded
and without. scripts/check_strict compares that with docs/strict.md. Not here are what this version
has no operator for (switch), what it captures for GPUs only (combine of associative_scan), and what
is not PyTorch (blocks). Run again for another version; -v shows the messages:
python3 test/data/gen_strict.py >test/data/strict.txt"""
import logging
import sys
import warnings

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
F64 = torch.float64
ROWS = {}


def row(f):
    ROWS[f.__name__] = f
    return f


class All:
    """The inputs of every program."""
    def __init__(self):
        self.x, self.y = torch.ones(3, dtype=F64), torch.ones(3, dtype=F64)
        self.m, self.none = torch.ones(2, 3, dtype=F64), torch.zeros(0, 3, dtype=F64)
        self.h, self.v = torch.tensor(0.5, dtype=F64), torch.tensor(2.0, dtype=F64)
        self.k, self.p = torch.tensor(1), torch.tensor(True)
        self.q = torch.ones(3, 3, dtype=F64)


def copy(r):
    return r.clone(memory_format=torch.contiguous_format)


def twice(r):
    return r, r


# ---- cond ----

def cond(name, then, other, *operands, pred=None):
    def f(a):
        p = pred(a) if pred else a.p
        return torch.cond(p, lambda *t: then(a, *t), lambda *t: other(a, *t),
                          tuple(o(a) for o in operands))
    f.__name__ = name
    row(f)


def x(a):
    return a.x


def sin(a, t, *rest):
    return t.sin()


def cos(a, t, *rest):
    return t.cos()


def total(a, t, *rest):
    return t.sum()


def both(a, t):
    return t.sin(), t.cos()


def write(a, t):
    t.add_(t)
    return t.sin()


def write_x(a, t):
    a.x.add_(t)
    return t.sin()


def own(a, t):
    r = t.sin()
    r.add_(t)
    return r


def loud(a, t):
    print(t)
    return t.sin()


def fails(a, t):
    return map_(lambda e: e.no_such_thing(), t)


cond("cond_numel", sin, cos, x, pred=lambda a: a.x > 0)
cond("cond_float", lambda a, t: 1.5, lambda a, t: 1.5, x)
cond("cond_int", lambda a, t: 1, lambda a, t: 2, x)
cond("cond_int_tensor", lambda a, t: 1, lambda a, t: torch.tensor(2), x)
cond("cond_counts", both, sin, x)
cond("cond_tree", lambda a, t: {"a": t.sin(), "b": t.cos()},
     lambda a, t: {"a": t.sin(), "c": t.cos()}, x)
cond("cond_dtype", sin, lambda a, t: t.to(torch.float32), x)
cond("cond_rank", sin, total, x)
cond("cond_sizes", sin, lambda a, t: t.sin()[:2], x)
cond("cond_offset", lambda a, t: t.sin()[1], total, x)
cond("cond_strides", lambda a, t: t.sin().t(), cos, lambda a: a.q)
cond("cond_strides_of_ops", lambda a, t: t.t().sin(), cos, lambda a: a.q)
cond("cond_strides_first", lambda a, t: t.t() + t, cos, lambda a: a.q)
cond("cond_strides_mixed", lambda a, t: t + t.t(), cos, lambda a: a.q)
cond("cond_strides_outer", sin, lambda a, t, s: s.cos(), lambda a: a.q.t(), lambda a: a.q)
cond("cond_strides_alike", lambda a, t: t.sin().t(), lambda a, t: t.cos().t(), lambda a: a.q)
cond("cond_strides_clone", lambda a, t: copy(t.sin().t()), cos, lambda a: a.q)
cond("cond_gaps", lambda a, t: t.sin()[::2], lambda a, t: copy(t.cos()[:2]), x)
cond("cond_repeats", lambda a, t: t.sum().expand(3), sin, x)
cond("cond_identity", sin, lambda a, t: t, x)
cond("cond_clone", sin, lambda a, t: t.clone(), x)
cond("cond_view", lambda a, t: t[0], total, x)
cond("cond_own_view", lambda a, t: t.sin()[0], total, x)
cond("cond_twice", both, lambda a, t: twice(t.sin()), x)
cond("cond_two_views", lambda a, t, s: t.sum() + s, total, x, lambda a: a.x[0])
cond("cond_write_operand", sin, write, x)
cond("cond_write_capture", sin, write_x, lambda a: a.y)
cond("cond_write_own", sin, own, x)
cond("cond_print", sin, loud, x)
cond("cond_break", sin, fails, x)


@row
def cond_not_callable(a):
    return torch.cond(a.p, torch.sin, None, (a.x,))


@row
def cond_no_list(a):
    return torch.cond(a.p, torch.sin, torch.cos, a.x)


@row
def cond_bad_leaf(a):
    return torch.cond(a.p, lambda t: t.sin(), lambda t: t.cos(), (None,))


# ---- while ----

def small(a, *c):
    return c[0] < 9


def loop(name, test, body, *init):
    def f(a):
        return while_loop(lambda *c: test(a, *c), lambda *c: body(a, *c), tuple(i(a) for i in init))
    f.__name__ = name
    row(f)


def h(a):
    return a.h


def v(a):
    return a.v


def writes_carry(a, c):
    c.add_(a.h)
    return (c.sin(),)


def writes_h(a, c):
    a.h.add_(c)
    return (c + 1,)


def test_writes(a, c):
    a.v.add_(c)
    return c < 9


def swap(a, c, d):
    return d, c


loop("while_bad_leaf", small, lambda a, c: (c + 1,), lambda a: None)
loop("while_float_carry", small, lambda a, c: (c + 1,), lambda a: 1.0)
loop("while_int_carry", small, lambda a, c, i: (c + 1, i + 1), h, lambda a: 0)
loop("while_int_tensor", small, lambda a, c, i: (c + 1, i + a.k), h, lambda a: 0)
loop("while_tensor_int", small, lambda a, c, k: (c + 1, 7), h, lambda a: a.k)
loop("while_test_shape", lambda a, c: c < a.x, lambda a, c: (c + 1,), h)
loop("while_test_dtype", lambda a, c: c - a.h, lambda a, c: (c + 1,), h)
loop("while_forever", lambda a, c: True, lambda a, c: (c + 1,), h)
loop("while_never", lambda a, c: False, lambda a, c: (c + 1,), h)
loop("while_count", small, lambda a, c: (c + 1, c + 2), h)
loop("while_metadata", small, lambda a, c: (c.to(torch.float32),), h)
loop("while_metadata_all", small, lambda a, c, d: (c.to(torch.float32), d.to(torch.float32)), h, v)
loop("while_strides", small, lambda a, c, d: (c + 1, (d + 1).t()), h, lambda a: a.q)
loop("while_strides_kept", small, lambda a, c, d: (c + 1, d * 2), h, lambda a: a.q.t())
loop("while_unchanged", small, lambda a, c, d: (c + 1, d), h, v)
loop("while_swap", small, swap, h, v)
loop("while_same_twice", small, lambda a, c, d: twice(c + 1), h, v)
loop("while_captured", small, lambda a, c, d: (c + 1, a.h), h, v)
loop("while_test_alias", lambda a, c, d: d, lambda a, c, d: (c + 1, c + 1 < 9), h, lambda a: a.p)
loop("while_aliased_init", small, lambda a, c, d: (c + 1, d * 2), h, h)
loop("while_write_carry", small, writes_carry, v)
loop("while_write_capture", small, writes_h, v)
loop("while_test_write", test_writes, lambda a, c: (c + 1,), h)


@row
def while_not_callable(a):
    return while_loop(lambda c: c < 9, None, (a.h,))


@row
def while_no_list(a):
    return while_loop(lambda c: c < 9, lambda c: (c + 1,), None)


# ---- scan ----

def steps(name, body, init, xs, **more):
    def f(a):
        return scan(lambda c, e: body(a, c, e), init(a), xs(a), **more)
    f.__name__ = name
    row(f)


def step(a, c, e):
    return c + e, (c + e).sin()


def step_writes(what):
    def f(a, c, e):
        {"carry": c, "x": e, "h": a.h}[what].add_(1)
        return c + e, e.sin()
    return f


steps("scan_no_carry", lambda a, c, e: ((), e.sin()), lambda a: (), x)
steps("scan_number_carry", step, lambda a: 0.0, x)
steps("scan_bad_leaf", step, lambda a: None, x)
steps("scan_number_xs", step, h, lambda a: 2.0)
steps("scan_rank", step, h, x, dim=1)
steps("scan_zero", step, x, lambda a: a.none)
steps("scan_results", lambda a, c, e: (), h, x)
steps("scan_metadata", lambda a, c, e: (c.to(torch.float32), e.sin()), h, x)
steps("scan_metadata_all", lambda a, c, e: (tuple(i.to(torch.float32) for i in c), e.sin()),
      lambda a: (a.h, a.v), x)
steps("scan_promotes", lambda a, c, e: (c + e, e.sin()), lambda a: a.k, x)
steps("scan_strides", lambda a, c, e: ((c + e).t(), e.sin()), lambda a: a.q, x)
steps("scan_strides_kept", step, lambda a: a.q.t(), x)
steps("scan_strides_y", lambda a, c, e: (c + e, (c * e).t()), lambda a: a.q, x)
steps("scan_sum", step, h, x)
steps("scan_carry_as_y", lambda a, c, e: twice(c + e), h, x)
steps("scan_old_carry_as_y", lambda a, c, e: (c + e, c), h, x)
steps("scan_x_as_y", lambda a, c, e: (c + e, e), h, x)
steps("scan_unchanged", lambda a, c, e: (c, e.sin()), h, x)
steps("scan_y_twice", lambda a, c, e: (c + e, twice(e.sin())), h, x)
steps("scan_number_y", lambda a, c, e: (c + e, 3), h, x)
steps("scan_number_next", lambda a, c, e: (3, e.sin()), lambda a: a.k, x)
steps("scan_write_carry", step_writes("carry"), h, x)
steps("scan_write_x", step_writes("x"), h, x)
steps("scan_write_capture", step_writes("h"), v, x)


@row
def scan_not_callable(a):
    return scan(None, a.h, a.x)


# ---- map ----

def maps(name, body, xs):
    def f(a):
        return map_(lambda e: body(a, e), xs(a))
    f.__name__ = name
    row(f)


def map_writes_h(a, e):
    a.h.add_(e)
    return e.sin()


maps("map_bad_leaf", sin, lambda a: None)
maps("map_number", sin, lambda a: 2.0)
maps("map_scalar", sin, h)
maps("map_zero", sin, lambda a: a.none)
maps("map_lengths", lambda a, e: e[0].sin(), lambda a: (a.x, a.m))
maps("map_plain", sin, x)
maps("map_number_y", lambda a, e: 1, x)
maps("map_identity", lambda a, e: e, x)
maps("map_twice", lambda a, e: twice(e.sin()), x)
maps("map_write_x", write, x)
maps("map_write_capture", map_writes_h, x)


@row
def map_not_callable(a):
    return map_(None, a.x)


# ---- associative_scan ----

def assoc(name, body, xs, **more):
    def f(a):
        return associative_scan(lambda l, r: body(a, l, r), xs(a), more.get("dim", 0),
                                combine_mode="generic")
    f.__name__ = name
    row(f)


def pair(a):
    return {"a": a.x, "b": a.y}


assoc("assoc_no_leaves", lambda a, l, r: l + r, lambda a: ())
assoc("assoc_bad_leaf", lambda a, l, r: l + r, lambda a: None)
assoc("assoc_number", lambda a, l, r: l + r, lambda a: 2.0)
assoc("assoc_rank", lambda a, l, r: l + r, x, dim=1)
assoc("assoc_zero", lambda a, l, r: l + r, lambda a: a.none)
assoc("assoc_count", lambda a, l, r: (l.sin(), l.cos()), x)
assoc("assoc_named", lambda a, l, r: {"a": l["a"] * r["a"], "b": l["b"] + r["b"]}, pair)
assoc("assoc_sum", lambda a, l, r: l + r, x)
assoc("assoc_capture", lambda a, l, r: (l + r) * a.h, x)


# ---- inside each other ----

def cond_inside(then, other, operand):
    def f(a, c, e):
        r = torch.cond(a.p, lambda t: then(a, t), lambda t: other(a, t), (operand(c, e),))
        return r + e, e.sin()
    return f


def scan_inside(a, c):
    n, ys = scan(lambda d, e: (d + e, d), c, a.x)
    return (n + ys.sum(),)


steps("nest_scan_cond", cond_inside(sin, lambda a, t: t, lambda c, e: c + e), h, x)
loop("nest_while_scan", small, scan_inside, h)
steps("nest_write_carry", cond_inside(write, sin, lambda c, e: c), v, x)


def captured(graph, inputs):
    """A backend: the graph is there, and that is all that is asked."""
    raise EOFError


def said(f, grad):
    torch._dynamo.reset()
    a = All()
    try:
        with torch.set_grad_enabled(grad):
            torch.compile(lambda: f(a), backend=captured, fullgraph=True)()
    except Exception as e:
        if "EOFError" in str(e):
            return "accepted"
        if "-v" in sys.argv:
            text = [t.strip() for t in str(e).split("\n") if t.strip()]
            print(f.__name__, grad, type(e).__name__, " / ".join(text)[:600], file=sys.stderr)
        return "refused"
    return "accepted"


print("# Written by test/data/gen_strict.py with PyTorch %s: with gradients, without." %
      torch.__version__.split("+")[0])
for name, program in ROWS.items():
    print(name, said(program, True), said(program, False), flush=True)
