"""Small linear algebra beside NumPy's, which calls LAPACK for each matrix, in one run and in turn: a
thousand solutions and a thousand factors of f64 matrices, one thread. Usage: beside_numpy.py
BENCH"""
import os
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402: it reads the environment when it is loaded

BATCH, ROUNDS = 1000, 3


def best(f):
    f()
    times = []
    for _ in range(12):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e6


def matrices(n):
    x = np.random.default_rng(n).standard_normal((BATCH, n, n))
    return x @ x.transpose(0, 2, 1) + n * np.eye(n), x[:, :, :1].copy()


def numpy_times(n):
    a, b = matrices(n)
    return best(lambda: np.linalg.solve(a, b)), best(lambda: np.linalg.cholesky(a))


def hop_times():
    text = subprocess.run([sys.argv[1], "linalg"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {int(r[0]): (float(r[1]), float(r[2])) for r in rows}


hop, peer = {}, {}
for _ in range(ROUNDS):
    for n, t in hop_times().items():
        hop[n] = tuple(map(min, t, hop.get(n, t)))
        u = numpy_times(n)
        peer[n] = tuple(map(min, u, peer.get(n, u)))
print("\n%d matrices, in us    numpy       hop  ratio" % BATCH)
for n in sorted(hop):
    for k, name in enumerate(("solve", "cholesky")):
        print("%-18s %9.1f %9.1f %6.2f" % ("%s %dx%d" % (name, n, n), peer[n][k], hop[n][k],
                                          hop[n][k] / peer[n][k]))
