#!/usr/bin/env python3
"""gen_autocast.py -- write autocast.h: the dtypes that PyTorch's results have under autocast, for every
row of src/trace/autocast.def, as its CPU gives them and as the lists for CUDA in its headers say; and
the loss and the gradients of a small network under torch.autocast("cpu", bfloat16); and products of
bf16 in f32. What the rows call
is in test/unit/autocast_test.c, by the same names. A row that does not say what PyTorch's list says
stops it. The header is committed; run again only after the table has changed:
    python3 test/data/gen_autocast.py >test/data/autocast.h"""
import os
import re
import sys

import torch
import torch.nn.functional as nn

HERE = os.path.dirname(__file__)
torch.manual_seed(5)
DT = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}
NAME = {d: n for n, d in DT.items()}
P = torch.rand(3, 3) * 0.5 + 0.25
SPD = P @ P.T + 3 * torch.eye(3)
V = torch.rand(3)
ROWS = {
    "matmul": ((P, P), torch.matmul, "matmul"),
    "linear": ((P, P, V), nn.linear, "linear"),
    "prod": ((P,), torch.prod, "prod"),
    "mse": ((P, SPD), nn.mse_loss, "mse_loss"),
    "cross_entropy": ((P,), lambda x: nn.cross_entropy(x, torch.tensor([0, 2, 1])),
                      "cross_entropy_loss"),
    "diag_sum": ((P,), torch.trace, "trace"),
    "cholesky": ((SPD,), torch.linalg.cholesky, "linalg_cholesky"),
    "cho_solve": ((SPD, P), lambda a, b: torch.cholesky_solve(b, a), "cholesky_solve"),
    "solve": ((SPD, P), torch.linalg.solve, "linalg_solve"),
    "triangular_solve": ((SPD, P), lambda a, b: torch.triangular_solve(b, a)[0], "triangular_solve"),
    "inv": ((SPD,), torch.linalg.inv, "linalg_inv"),
    "pow": ((P, P), torch.pow, "pow,Tensor_Tensor"),
    "sum": ((P,), torch.sum, "sum"),
    "cumsum": ((P,), lambda x: torch.cumsum(x, 0), "cumsum"),
    "cumprod": ((P,), lambda x: torch.cumprod(x, 0), "cumprod"),
    "softmax": ((P,), lambda x: torch.softmax(x, 1), "softmax,int"),
    "log_softmax": ((P,), lambda x: torch.log_softmax(x, 1), "log_softmax,int"),
    "logsumexp": ((P,), lambda x: torch.logsumexp(x, 1), "logsumexp"),
    "softplus": ((P,), nn.softplus, "softplus"),
    "layer_norm": ((P, V, V), lambda x, w, b: nn.layer_norm(x, (3,), w, b), "layer_norm"),
    "norm": ((P,), torch.linalg.vector_norm, "linalg_vector_norm"),
    "concat": ((P, P), lambda a, b: torch.cat([a, b]), "cat"),
    "stack_n": ((P, P), lambda a, b: torch.stack([a, b]), "stack"),
    "atan2": ((P, P), torch.atan2, "atan2"),
    "scatter_add": ((P, P), lambda a, b: torch.scatter_add(a, 0, torch.zeros(3, 3).long(), b),
                    "scatter_add"),
}
for w in ("exp", "expm1", "log", "log1p", "rsqrt", "sinh", "cosh", "asin", "acos"):
    ROWS[w] = ((P,), getattr(torch, w), w)
OWN = {"matmul_as"}                    # PyTorch has no word for it


def cuda_lists():
    text = open(os.path.join(os.path.dirname(torch.__file__), "include/ATen/autocast_mode.h")).read()
    def names(macro):
        body = re.search(r"#define %s\(_\)((?:[^\n]*\\\n)*[^\n]*)" % macro, text).group(1)
        return {x.replace(" ", "") for x in re.findall(r"_\(([\w, ]+)\)", body)}
    return {"lower": names("AT_FORALL_LOWER_PRECISION_FP"),
            "f32": names("AT_FORALL_FP32") | names("AT_FORALL_FP32_SET_OPT_DTYPE"),
            "promote": names("AT_FORALL_PROMOTE") | {"cat", "stack"}}


def table():
    text = open(os.path.join(HERE, "../../src/trace/autocast.def")).read()
    return re.findall(r'^HOP_CAST_ROW\(\s*(\w+),\s*"[^"]*",\s*(\w+),\s*(\w+)\s*\)', text, re.M)


def result(f, ins, to):
    try:
        with torch.autocast("cpu", to):
            return f(*ins).dtype
    except (RuntimeError, NotImplementedError):
        return None                    # PyTorch has no such kernel


def on_cpu(name, said):
    ins, f, _ = ROWS[name]
    for to in ("bf16", "f16"):
        for d in DT:
            got = result(f, [x.to(DT[d]) for x in ins], DT[to])
            if got is not None:
                print('\t{ "%s", HOP_%s, HOP_%s, HOP_%s, false },' % (name, d, to, NAME[got]))
    plain = result(f, [x.bfloat16() for x in ins], torch.float16)
    want = {"lower": torch.float16, "f32": torch.float32}.get(said, torch.bfloat16)
    assert plain in (want, None), (name, said, plain)


def on_cuda(name, said, lists):
    word = ROWS[name][2]
    is_in = [k for k in lists if word in lists[k] or word.split(",")[0] in lists[k]]
    if name == "cross_entropy":        # made of two that are there
        is_in = ["f32"] if "log_softmax,int" in lists["f32"] and "nll_loss" in lists["f32"] else []
    assert (is_in or ["none"]) == [said], (name, said, is_in)
    for to in ("bf16", "f16"):
        for d in DT:
            out = d if d == "f64" or said in ("none", "promote") else to if said == "lower" else "f32"
            print('\t{ "%s", HOP_%s, HOP_%s, HOP_%s, true },' % (name, d, to, out))


def numbers(name, x):
    v = x.detach().double().flatten().tolist()
    print("static const double %s[] = {" % name)
    for k in range(0, len(v), 4):
        print("\t%s," % ", ".join("%.9g" % e for e in v[k:k + 4]))
    print("};")


def network():
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
    w = [torch.randn(32, 16) / 4, torch.randn(32) / 8, torch.randn(4, 32) / 6, torch.randn(4) / 8]
    for p in w:
        p.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        h = nn.relu(nn.linear(x, w[0], w[1]))
        loss = nn.cross_entropy(nn.linear(h, w[2], w[3]), y)
    loss.backward()
    assert loss.dtype == torch.float32 and all(p.grad.dtype == torch.float32 for p in w)
    numbers("net_x", x)
    numbers("net_y", y)
    numbers("net_loss", loss)
    for k, p in enumerate(w):
        numbers("net_w%d" % k, p)
        numbers("net_g%d" % k, p.grad)


def products():
    """bf16 products that add up in f32, and the gradients of the sum of element i times cos(i)."""
    a, b = [torch.randn(5, 9).bfloat16().requires_grad_(), torch.randn(9, 6).bfloat16().requires_grad_()]
    c = a.float() @ b.float()
    (c.flatten() * torch.arange(30).cos()).sum().backward()
    for name, x in (("wide_a", a), ("wide_b", b), ("wide_c", c), ("wide_ga", a.grad), ("wide_gb", b.grad)):
        numbers(name, x)


def main():
    lists, rows = cuda_lists(), table()
    print("/* Generated by gen_autocast.py with PyTorch %s: do not edit. */" % torch.__version__.split("+")[0])
    print("static const struct cast_case {\n\tconst char *name;\n"
          "\thop_dtype   in, to, out;       /* of the operands, of the mode, of PyTorch's result */\n"
          "\tbool        cuda;\n} cast_cases[] = {")
    for name, cpu, cuda in rows:
        if name in OWN:
            continue
        on_cpu(name, cpu)
        on_cuda(name, cuda, lists)
    print("};")
    network()
    products()
    missing = set(ROWS) - {r[0] for r in rows}
    assert not missing, missing


main()
