"""compile.py - times models of torch as they are, compiled by torch's own backend, and compiled by Backplane, in interleaved rounds.

    python bench/compile.py [package] [threads] [rounds] [words of names]        default: build/python 1 7

torch's own backend, inductor, needs a C++ compiler; INDUCTOR=0 leaves it out. Times are medians in microseconds with quartiles, ratios
are times of the others by Backplane's. The first call compiles; its time is shown too, and the largest difference of Backplane's result
from torch's, relative to the largest element. Weights are random, which does not change the time."""
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402


def flat(results):
    return results if isinstance(results, (tuple, list)) else (results,)


def difference(torch, got, wanted):
    """Returns the largest difference relative to the largest element."""
    pairs = [(a.double(), b.double()) for a, b in zip(flat(got), flat(wanted))]
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def compiled(torch, model, arguments, backend):
    """Returns a compiled function and the seconds of its first call."""
    torch._dynamo.reset()
    function = torch.compile(model, backend=backend)
    start = time.perf_counter()
    function(*arguments)
    return function, time.perf_counter() - start


def main(package="build/python", threads="1", rounds="7", *words):
    libraries = timing.load(package, int(threads))
    torch = libraries.torch
    if not torch:
        sys.exit("compile.py needs torch")
    from backplane.torch_backend import backplane
    from torch_models import models

    print(timing.versions(libraries, ("backplane", "torch")))
    with torch.no_grad():
        for title, make, arguments in models():
            if words and not any(word in title for word in words):
                continue
            model = make()
            model = model.eval() if isinstance(model, torch.nn.Module) else model
            wanted = model(*arguments)
            calls, first = {"torch": lambda: model(*arguments)}, {}
            backends = {"backplane": backplane}
            if os.environ.get("INDUCTOR", "1") != "0":
                backends = {"inductor": "inductor", **backends}
            kept = []
            for name, backend in backends.items():
                function, first[name] = compiled(torch, model, arguments, backend)
                kept.append(function)
                calls[name] = lambda function=function: function(*arguments)
            apart = difference(torch, calls["backplane"](), wanted)
            times = timing.interleave(calls, int(threads), int(rounds), 2e7)
            ours = statistics.median(times["backplane"])
            print(title)
            for name, samples in times.items():
                low, middle, high = (value / 1000 for value in statistics.quantiles(samples, n=4))
                seconds = f"  first call {first[name]:6.2f} s" if name in first else ""
                print(f"    {name:10} {middle:11.1f} us [{low:.1f} {high:.1f}]  {statistics.median(samples) / ours:6.2f}{seconds}")
            print(f"    difference from torch {apart:.1e}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
