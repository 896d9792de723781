"""The rows of bench_gpu in PyTorch and in JAX, those that are there and see the device, beside hop's:
medians of calls back to back over arrays in turns. PyTorch runs op by op and compiled
(torch.compile); while loops that decide on the device it does not have, so they wait for the host at
every trip, as programs in it do, and run fewer trips. Usage: beside.py ROWS, what bench_gpu printed"""
import math
import re
import statistics
import sys
import time

try:
    import torch
    torch = torch if torch.cuda.is_available() else None
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
    jax = jax if jax.default_backend() == "gpu" else None
except (ImportError, RuntimeError):
    jax = None

LOOP, TRIPS, ITEMS, SETS = 1024, 2000, 256, 200 << 20


def read(path):
    """us a call of each row"""
    hop = {}
    for line in open(path):
        m = re.match(r"(.{28}) +[\d.]+ (us a trip|us each|us an item|us a step|us a call|% of copy) +"
                     r"[\d.]+ +[\d.]+ +([\d.]+)", line)
        if m:
            hop[m[1].strip()] = float(m[3])
    return hop


def shapes():
    """Name: sizes of inputs."""
    s = {f"while 1024, {k}": [(LOOP,)] for k in ("points", "neighbours", "sum decides")}
    s["32 conds in a chain"] = [(LOOP,)]
    s["map softmax(m @ m)"] = [(ITEMS, 64, 64)]
    s["elementwise 64M"] = [(65536, 1024)]
    for n in (1024, 4096, 8192):
        s[f"softmax rows {n}"] = [((1 << 25) // n, n)]
        s[f"layer norm rows {n}"] = [((1 << 25) // n, n), (n,), (n,)]
    s["columns of 65536x1024"] = [(65536, 1024)]
    s["columns of 4096x4096"] = [(4096, 4096)]
    s["transpose 8192x8192"] = [(8192, 8192)]
    s["scatter-add to 65536"] = [(524288, 128)]
    s["scatter-add to 524288"] = [(524288, 128)]
    s["rnn T=1000 B=32 H=256"] = [(1000, 32, 256), (256, 256), (256, 256), (32, 256)]
    return s


def sets_of(dims):
    n = 8 * sum(math.prod(d) for d in dims)
    return max(1, min(32, SETS // n + 1))


def median(call, wait, sets, rounds=7):
    """us a call; wait returns when all is done."""
    call(0)
    wait()
    n = 2
    while True:
        start = time.perf_counter()
        for i in range(n):
            call(i % sets)
        wait()
        if time.perf_counter() - start > 5e-3 or n > 2000:
            break
        n *= 2
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for i in range(n):
            call(i % sets)
        wait()
        times.append((time.perf_counter() - start) / n)
    return statistics.median(times) * 1e6


def torch_programs():
    import torch.nn.functional as F

    def points(x, n=TRIPS // 20):
        i = torch.zeros((), device="cuda")
        while i < n:
            x, i = 0.999 * x + 0.001, i + 1
        return x

    def near(x, n=TRIPS // 20):
        i = torch.zeros((), device="cuda")
        while i < n:
            x, i = 0.5 * x + 0.25 * (x.roll(1) + x.roll(-1)), i + 1
        return x

    def decides(x, n=TRIPS // 20):
        i = 0
        while i < n and x.sum() > -1e9:
            x, i = 0.999 * x + 0.001, i + 1
        return x

    def conds(x):
        for k in range(32):
            x = torch.sin(x + 0.7) if x[0] < 0.4 + 0.01 * k else x * torch.cos(x)
        return x

    def rnn(x, w, u, h):
        a = x @ u
        for i in range(a.shape[0]):
            h = torch.tanh(h @ w + a[i])
        return h

    def adds(to):
        g = torch.Generator(device="cuda").manual_seed(1)
        idx = torch.randint(0, to, (524288,), device="cuda", generator=g)
        return lambda x: torch.zeros(to, 128, device="cuda").index_add_(0, idx, x)

    p = {"while 1024, points": (points, 20), "while 1024, neighbours": (near, 20),
         "while 1024, sum decides": (decides, 20), "32 conds in a chain": (conds, 1),
         "map softmax(m @ m)": (lambda m: torch.softmax(m @ m, -1), 1),
         "elementwise 64M": (lambda x: x * 1.5 + 0.25, 1),
         "transpose 8192x8192": (lambda x: x.t().contiguous(), 1),
         "scatter-add to 65536": (adds(65536), 1), "scatter-add to 524288": (adds(524288), 1),
         "rnn T=1000 B=32 H=256": (rnn, 1)}
    for n in (1024, 4096, 8192):
        p[f"softmax rows {n}"] = (lambda x: torch.softmax(x, -1), 1)
        p[f"layer norm rows {n}"] = (lambda x, g, b, n=n: F.layer_norm(x, (n,), g, b), 1)
    for name in ("columns of 65536x1024", "columns of 4096x4096"):
        p[name] = (lambda x: x.sum(0), 1)
    return p


COMPILED = ("map", "elementwise", "softmax", "layer norm", "columns", "transpose", "scatter")


def torch_times():
    out = {}
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, (f, fewer) in torch_programs().items():
        dims = shapes()[name]
        sets = sets_of(dims)
        data = [[0.06 * torch.rand(d, device="cuda") for d in dims] for _ in range(sets)]
        best = None
        for g in (f, torch.compile(f)) if name.startswith(COMPILED) else (f,):
            try:
                t = median(lambda i: g(*data[i]), torch.cuda.synchronize, sets) * fewer
            except Exception as e:
                print(f"{name}: {type(e).__name__}")
                continue
            best = t if best is None else min(best, t)
        out[name] = best
        del data
    return out


def jax_programs():
    lax = jax.lax

    def loop(step, test=lambda i, x: True):
        def f(x):
            return lax.while_loop(lambda s: (s[0] < TRIPS) & test(*s), lambda s: (s[0] + 1, step(s[1])),
                                  (0, x))[1]
        return f

    def near(x):
        return 0.5 * x + 0.25 * (jnp.roll(x, 1) + jnp.roll(x, -1))

    def points(x):
        return 0.999 * x + 0.001

    def conds(x):
        for k in range(32):
            x = lax.cond(x[0] < 0.4 + 0.01 * k, lambda x: jnp.sin(x + 0.7), lambda x: x * jnp.cos(x), x)
        return x

    def norm(x, g, b):
        m = x.mean(-1, keepdims=True)
        v = ((x - m) ** 2).mean(-1, keepdims=True)
        return (x - m) / jnp.sqrt(v + 1e-5) * g + b

    def rnn(x, w, u, h):
        return lax.scan(lambda h, a: (jnp.tanh(h @ w + a), None), h, x @ u)[0]

    def adds(to):
        idx = jax.random.randint(jax.random.PRNGKey(1), (524288,), 0, to)
        return lambda x: jnp.zeros((to, 128), jnp.float32).at[idx].add(x)

    p = {"while 1024, points": loop(points), "while 1024, neighbours": loop(near),
         "while 1024, sum decides": loop(points, lambda i, x: x.sum() > -1e9),
         "32 conds in a chain": conds, "map softmax(m @ m)": lambda m: jax.nn.softmax(m @ m, -1),
         "elementwise 64M": lambda x: x * 1.5 + 0.25, "transpose 8192x8192": lambda x: x.T + 0,
         "scatter-add to 65536": adds(65536), "scatter-add to 524288": adds(524288),
         "rnn T=1000 B=32 H=256": rnn}
    for n in (1024, 4096, 8192):
        p[f"softmax rows {n}"] = lambda x: jax.nn.softmax(x, -1)
        p[f"layer norm rows {n}"] = norm
    for name in ("columns of 65536x1024", "columns of 4096x4096"):
        p[name] = lambda x: x.sum(0)
    return p


def jax_times():
    out = {}
    jax.config.update("jax_default_matmul_precision", "highest")
    for name, f in jax_programs().items():
        dims = shapes()[name]
        sets = sets_of(dims)
        key = jax.random.PRNGKey(0)
        data = [[0.06 * jax.random.uniform(key, d, jnp.float32) for d in dims] for _ in range(sets)]
        g, last = jax.jit(f), [None]

        def call(i):
            last[0] = g(*data[i])
        try:
            out[name] = median(call, lambda: last[0].block_until_ready(), sets)
        except Exception as e:
            print(f"{name}: {type(e).__name__}")
        del data
    return out


def main():
    hop = read(sys.argv[1])
    there = [(n, f()) for n, m, f in (("PyTorch", torch, torch_times), ("JAX", jax, jax_times)) if m]
    if not there:
        print("\nneither PyTorch nor JAX sees a device here: not compared")
        return
    print("\nbeside " + " and ".join(n for n, _ in there) + ", us a call; speed: how many times hop's")
    print(f"{'':28} {'hop':>11}" + "".join(f" {n:>11}   speed" for n, _ in there))
    for name in shapes():
        h = hop.get(name, float("nan"))
        line = f"{name:28} {h:11.2f}"
        for _, times in there:
            t = times.get(name) or float("nan")
            line += f" {t:11.2f} {t / h:7.2f}"
        print(line)


main()
