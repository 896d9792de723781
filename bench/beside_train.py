"""The training loop of examples/24_transformer.c beside the same in PyTorch, eager, on one thread:
test/data/gen_train.py. Usage: beside_train.py BENCH"""
import importlib.util
import re
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    print("\n%s has no PyTorch: the training is not compared" % sys.executable)
    sys.exit()

spec = importlib.util.spec_from_file_location("gen_train", "test/data/gen_train.py")
gen = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gen)


def least(autocast):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        gen.train(torch.float32, autocast)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


torch.set_num_threads(1)
said = subprocess.run([sys.argv[1], "train"], capture_output=True, text=True).stdout
print(f"\n{gen.STEPS} training steps of a transformer beside PyTorch {torch.__version__}, ms\n"
      f"{'':6} {'PyTorch':>9} {'hop':>9}   speed   {'capturing':>9} {'compiling':>9}")
for name, capture, code, run in re.findall(r"^train (\w+) (\S+) (\S+) (\S+)$", said, re.M):
    there = least(name == "bf16")
    print(f"{name:6} {there:9.1f} {float(run):9.1f} {there / float(run):7.2f}   {capture:>9} {code:>9}")
