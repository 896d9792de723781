"""Compile times and memory beside JAX's, in one run: CPU seconds from a Python function, or from
a C function, to machine code, and bytes that a gradient works in. What is promised: half of
JAX's seconds or less, at most 1.2 times its bytes. Usage: beside_jax.py BENCH"""
import subprocess
import sys
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
f32, f64 = jnp.float32, jnp.float64


def vec(n):
    def f(x, y):
        z = x
        for i in range(n):
            z = (jnp.sin(z) if i % 4 == 0 else z * y if i % 4 == 1 else
                 z + x if i % 4 == 2 else jnp.tanh(z))
        return z.sum()
    return f, (jnp.ones(1024, f32), jnp.ones(1024, f32))


class Random:
    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s * 1664525 + 1013904223) % 2**32
        return self.s >> 10


def scalar(n):
    def f(a, b):
        r, v = Random(11), [(a, b)[i & 1] for i in range(32)]
        for i in range(n):
            p, q = v[r.next() % 32], v[r.next() % 32]
            v[i % 32] = (jnp.sin(p) if i % 5 == 0 else p * q if i % 5 == 1 else
                         p - q if i % 5 == 2 else p + q if i % 5 == 3 else jnp.tanh(p))
        return sum(v[1:], v[0])
    return f, (f64(0.5), f64(0.25))


def products(n):
    def f(x, w):
        for _ in range(n // 2):
            x = jnp.tanh(x @ w)
        return x.sum()
    return f, (jnp.ones((16, 16), f32), jnp.ones((16, 16), f32))


def conds(n):
    def f(a, b):
        for i in range(n // 4):
            a = jax.lax.cond(a < 0.1 + 0.001 * (i % 100), lambda a, b: jnp.sin(a) * b,
                             lambda a, b: a + b, a, b)
        return a
    return f, (f64(0.5), f64(0.25))


def lu(n):
    def f(m):
        a = [[m[i][k] for k in range(n)] for i in range(n)]
        y = a[0][0]
        for k in range(n):
            for i in range(k + 1, n):
                a[i][k] = a[i][k] / a[k][k]
                for j in range(k + 1, n):
                    a[i][j] = a[i][j] - a[i][k] * a[k][j]
            y = y * a[k][k] if k else y
        return y
    return f, (jnp.eye(n, dtype=f32) + 0.01,)


def unpack(n):
    def f(x):
        y = x[0]
        for i in range(1, n):
            y = y * 0.5 + x[i] * x[i]
        return y
    return f, (jnp.ones(n, f32),)


def norm(x, g):
    m = x.mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g


def block(x, p):
    g1, q, k, v, o, g2, w1, w2 = p

    def heads(y):
        return y.reshape(64, 4, 16).transpose(1, 0, 2)
    n = norm(x, g1)
    s = jax.nn.softmax(heads(n @ q) @ heads(n @ k).transpose(0, 2, 1) * 0.25, -1)
    x = x + (s @ heads(n @ v)).transpose(1, 0, 2).reshape(64, 64) @ o
    h = norm(x, g2) @ w1
    return x + (h * jax.nn.sigmoid(1.702 * h)) @ w2


def weights(*lead):
    one = [(64,), (64, 64), (64, 64), (64, 64), (64, 64), (64,), (64, 256), (256, 64)]
    return [jnp.full((*lead, *s), 0.01, f32) for s in one]


def layers(n):
    def f(a):
        x = a[0]
        for p in a[1]:
            x = block(x, p)
        return (x * x).sum()
    return f, ((jnp.ones((64, 64), f32), [weights() for _ in range(n)]),)


def marked(n):
    def f(a):
        x, _ = jax.lax.scan(lambda x, p: (block(x, p), None), a[0], a[1])
        return (x * x).sum()
    return f, ((jnp.ones((64, 64), f32), weights(n)),)


KINDS = {f.__name__: f for f in (vec, scalar, products, conds, lu, unpack, layers, marked)}
ROWS = [("vec", 10000, "value"), ("vec", 1000, "grad"), ("scalar", 1000, "value"),
        ("scalar", 1000, "grad"), ("products", 2000, "value"), ("products", 200, "grad"),
        ("conds", 4000, "value"), ("lu", 6, "grad"), ("lu", 12, "grad"),
        ("layers", 12, "grad"), ("marked", 12, "grad")]


def jax_seconds(kind, n, what):
    f, args = KINDS[kind](n)
    if what == "grad":
        f = jax.value_and_grad(f)
    jax.jit(lambda x: jnp.sin(x).sum()).lower(jnp.ones(7)).compile()
    start = time.process_time()
    code = jax.jit(f).lower(*args).compile()
    return time.process_time() - start, code, args


def hop_seconds(bench, kind, n, what):
    out = subprocess.run([bench, "growth", kind, str(n), what], capture_output=True, text=True)
    return float(out.stdout.split("\n")[-2].split()[8]) * 1e-3


def best(call, rounds=200):
    t = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        t.append(time.perf_counter() - start)
    return min(t)


def norm_rows(x, g, b):
    return jnp.tanh(norm(x, g) + b).sum()


def mlp(x, w1, b1, w2, b2):
    y = jax.nn.gelu(x @ w1 + b1) @ w2 + b2
    return (y * y).sum()


WORK = {"norm": (norm_rows, [(512, 1024), (1024,), (1024,)]),
        "mlp": (mlp, [(512, 1024), (1024, 4096), (4096,), (4096, 1024), (1024,)])}


def jax_bytes(name):
    f, shapes = WORK[name]
    args = [jax.ShapeDtypeStruct(s, f32) for s in shapes]
    code = jax.jit(jax.value_and_grad(f, tuple(range(len(args))))).lower(*args).compile()
    return code.memory_analysis().temp_size_in_bytes


def memory(bench):
    out = subprocess.run([bench, "memory"], capture_output=True, text=True).stdout
    print("\nworkspace of gradients beside JAX: bytes")
    print(f"{'':9} {'hop':>12} {'threads':>12} {'JAX':>12}   times")
    for line in out.split("\n"):
        row = line.split()
        if row and row[0] in WORK:
            j = jax_bytes(row[0])
            print(f"{row[0]:9} {row[1]:>12} {row[2]:>12} {j:12} {int(row[2]) / j:7.2f}")


def main(bench):
    memory(bench)
    print(f"\ncompiling beside JAX {jax.__version__}: CPU seconds")
    print(f"{'':9} {'':5} {'nodes':>7} {'hop':>8} {'JAX':>8}   times")
    for kind, n, what in ROWS:
        h = hop_seconds(bench, kind, n, what)
        j = jax_seconds(kind, n, what)[0]
        print(f"{kind:9} {what:5} {n:7} {h:8.3f} {j:8.3f} {j / h:7.1f}", flush=True)
    out = subprocess.run([bench, "run", "unpack", "256", "grad"], capture_output=True, text=True)
    h = float(out.stdout.split()[-1])
    _, code, args = jax_seconds("unpack", 256, "grad")
    j = best(lambda: jax.block_until_ready(code(*args))) * 1e6
    print(f"a vector of 256 taken apart, its gradient: a run takes {h:.1f} us, JAX's {j:.1f}")


main(sys.argv[1])
