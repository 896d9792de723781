"""The selective scan of `bench scans` in PyTorch and in JAX, those that are there, beside hop's:
forward and gradient. PyTorch has no scan that is fast on a CPU: a loop over steps, eager (what it
compiles to takes minutes), is its natural form, and on so few steps as take seconds; its time grows
with their number, so it is scaled to all of them. JAX runs on all processors, hence beside two
threads, all steps. What is promised: 1.5 times PyTorch's speed, and JAX's. Usage:
beside_scans.py BENCH"""
import re
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

T, B, D, N = 4096, 8, 64, 16
STEPS = 256


def least(f, rounds=5):
    f()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def rows(title, times, hop):
    print(f"\nselective scan beside {title}, ms\n{'':26} threads   {'there':>9} {'hop':>9}   speed")
    for (name, threads), t in times.items():
        h = hop.get((name, threads), float("nan"))
        print(f"{name:26} {threads:7}   {t:9.1f} {h:9.1f} {t / h:7.2f}")


def torch_times():
    def model(x, dt, A, Bm, C):
        h, ys = torch.zeros(B, D, N), []
        for t in range(x.shape[0]):
            h = torch.exp(dt[t, :, :, None] * A) * h + (dt[t] * x[t])[:, :, None] * Bm[t, :, None, :]
            ys.append((h * C[t, :, None, :]).sum(-1))
        return torch.stack(ys)

    x, dt = torch.randn(STEPS, B, D), torch.rand(STEPS, B, D) * 0.1
    args = [x, dt, -torch.rand(D, N) * 8, torch.randn(STEPS, B, N), torch.randn(STEPS, B, N)]

    def forward():
        with torch.no_grad():
            model(*args)

    def gradient():
        model(*[a.clone().requires_grad_() for a in args]).sum().backward()

    times = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        t, g = least(forward) * T / STEPS, least(gradient) * T / STEPS
        times.update({("scan", threads): t, ("associative_scan", threads): t,
                      ("gradient of scan", threads): g, ("gradient of associative", threads): g})
    return times


def jax_times():
    def by_scan(x, dt, A, Bm, C):
        def step(h, z):
            x, dt, Bm, C = z
            h = jnp.exp(dt[:, :, None] * A) * h + (dt * x)[:, :, None] * Bm[:, None, :]
            return h, (h * C[:, None, :]).sum(-1)
        return jax.lax.scan(step, jnp.zeros((B, D, N)), (x, dt, Bm, C))[1]

    def by_assoc(x, dt, A, Bm, C):
        a = jnp.exp(dt[..., None] * A)
        b = (dt * x)[..., None] * Bm[:, :, None, :]
        h = jax.lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b))[1]
        return (h * C[:, :, None, :]).sum(-1)

    key = jax.random.key(0)
    args = [jax.random.normal(key, (T, B, D)), 0.1 * jax.random.uniform(key, (T, B, D)),
            -8 * jax.random.uniform(key, (D, N)), jax.random.normal(key, (T, B, N)),
            jax.random.normal(key, (T, B, N))]
    times = {}
    for name, f in (("scan", by_scan), ("associative_scan", by_assoc)):
        run = jax.jit(f)
        grad = jax.jit(jax.grad(lambda *z: f(*z).sum(), argnums=(0, 1, 2, 3, 4)))
        back = "gradient of scan" if name == "scan" else "gradient of associative"
        times[name, 2] = least(lambda: jax.block_until_ready(run(*args)))
        times[back, 2] = least(lambda: jax.block_until_ready(grad(*args)))
    return times


def main():
    hop = {}
    for line in subprocess.run([sys.argv[1], "scans"], capture_output=True,
                               text=True).stdout.splitlines():
        m = re.match(r"(scan|associative_scan|gradient of scan|gradient of associative) +(\d) "
                     r"+\S+ +\S+ +(\S+)", line)
        if m:
            hop[m[1], int(m[2])] = float(m[3])
    if torch:
        rows(f"PyTorch {torch.__version__}, eager, {STEPS} of {T} steps, scaled", torch_times(), hop)
    if jax:
        rows(f"JAX {jax.__version__}", jax_times(), hop)


main()
