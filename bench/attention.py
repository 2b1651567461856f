"""attention.py - times attention with backplane.nn.functional and with torch.nn.functional in interleaved rounds.

    python bench/attention.py [package] [threads] [rounds]        default: build/python 1 7

f32, one item, 8 heads of size 64; and decoding: one query for each of 8 items. Each call allocates its result. The columns "naive"
are matmul, softmax and matmul of torch with fresh results. Times are medians in milliseconds, ratios are times of the other by
those of Backplane."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

# Items, queries, keys, causal.
CASES = [(1, 512, 512, False), (1, 2048, 2048, False), (1, 4096, 4096, False), (1, 512, 512, True), (1, 2048, 2048, True),
         (1, 4096, 4096, True), (8, 1, 4096, False), (1, 77, 333, False)]


def candidates(libraries, case):
    numpy, torch, attend = libraries.numpy, libraries.torch, libraries.backplane.nn.functional.scaled_dot_product_attention
    items, queries, keys, causal = case
    random = numpy.random.default_rng(1)
    arrays = [random.standard_normal((items, 8, rows, 64), "float32") for rows in (queries, keys, keys)]
    for kernel, others in (("flash", "mem_efficient math"), ("mem_efficient", "flash math"), ("math", "flash mem_efficient")):
        switches = {f"cuda.{other}_sdp": False for other in others.split()}
        yield kernel, lambda switches=switches: attend(*arrays, is_causal=causal, settings=switches)
    if torch:
        tensors = [torch.from_numpy(array) for array in arrays]
        yield "torch", lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
        mask = torch.full((queries, keys), float("-inf")).triu(1) if causal else 0.0

        def naive(q, k, v):
            return torch.softmax(q @ k.transpose(-1, -2) / 8 + mask if causal else q @ k.transpose(-1, -2) / 8, -1) @ v

        yield "naive", lambda: naive(*tensors)


def main(package="build/python", threads=1, rounds=7):
    libraries = timing.load(Path(package).resolve(), int(threads))
    print(timing.versions(libraries, ("backplane", "numpy", "torch")))
    for case in CASES:
        items, queries, keys, causal = case
        times = timing.interleave(dict(candidates(libraries, case)), int(threads), int(rounds), 3e6)
        ms = {name: statistics.median(of) / 1e6 for name, of in times.items()}
        work = 4 * 64 * 8 * items * (queries * (queries + 1) / 2 if causal else queries * keys)
        print(f"{items} x 8 x {queries} queries, {keys} keys{', causal' if causal else ''}:",
              *(f"{name} {time:.3f}" for name, time in ms.items()), f"| flash {work / ms['flash'] / 1e6:.1f} GFLOP/s |",
              *(f"{name}/flash {time / ms['flash']:.2f}" for name, time in ms.items() if name != "flash"))


main(*sys.argv[1:])
