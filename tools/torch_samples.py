"""torch_samples.py - compiles PyTorch's own samples of its operations with the backend of Backplane, and compares results with PyTorch's

Usage: torch_samples.py [--samples N] [operations]. BACKPLANE_BUILD is the build folder (default: build). It needs torch, expecttest and
scipy, as `make torch-tests` installs torch. All operations take about half an hour. The samples are PyTorch's OpInfo entries, in f32, i64,
bool and bf16; a sample that the backend refuses by name is counted as refused. Exit status 1: a result differs, or an error is none of
the backend's refusals. Operations whose results are not defined (empty and its kin) are left out.
"""

import argparse
import collections
import os
import pathlib
import sys
import warnings

BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", pathlib.Path(__file__).resolve().parent.parent / "build")).resolve()
sys.path.insert(0, str(BUILD / "python"))
warnings.filterwarnings("ignore")

import logging  # noqa: E402

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from backplane.torch_backend import backplane  # noqa: E402

LIMITS = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.bfloat16: {"rtol": 0.05, "atol": 0.05}}
TYPES = (torch.float32, torch.int64, torch.bool, torch.bfloat16)
UNDEFINED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
REFUSALS = ("backplane: ", "data-dependent")


def flat(results):
    if isinstance(results, (tuple, list)):
        return [one for part in results for one in flat(part)]
    return [results]


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(copied, value)) if type(value) in (list, tuple) else value


def difference(got, wanted, dtype):
    """Returns what differs; an empty text if nothing does."""
    if len(got) != len(wanted):
        return f"{len(got)} results, not {len(wanted)}"
    for a, b in zip(got, wanted):
        if not isinstance(b, torch.Tensor):
            if a != b and a == a:
                return f"{a!r}, not {b!r}"
        elif a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype} {tuple(a.shape)}, not {b.dtype} {tuple(b.shape)}"
        else:
            try:
                torch.testing.assert_close(a, b, equal_nan=True, **LIMITS.get(dtype, {}))
            except AssertionError as error:
                return " ".join(str(error).split())[:200]
    return ""


def try_sample(operation, sample, dtype):
    """Returns one word for the counts, and a text if something is wrong."""

    def call(first, *arguments, **words):
        return operation(first, *arguments, **words)

    torch._dynamo.reset()
    with torch.no_grad():
        try:
            wanted = flat(call(copied(sample.input), *sample.args, **sample.kwargs))
        except Exception:  # PyTorch itself does not compute it
            return "left out", ""
        try:
            fast = torch.compile(call, backend=backplane, fullgraph=True)
            got = flat(fast(copied(sample.input), *sample.args, **sample.kwargs))
        except Exception as error:
            refused = any(text in str(error) for text in REFUSALS)
            return ("refused", "") if refused else ("error", f"{type(error).__name__} {' '.join(str(error).split())[:200]}")
    text = difference(got, wanted, dtype)
    return ("wrong", text) if text else ("equal", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=8, help="most samples of each operation and type")
    parser.add_argument("operations", nargs="*")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    counts = collections.Counter()
    for operation in op_db:
        if operation.name in UNDEFINED or (given.operations and operation.name not in given.operations):
            continue
        for dtype in (one for one in TYPES if one in operation.dtypes):
            try:
                samples = list(operation.sample_inputs("cpu", dtype, requires_grad=False))
            except Exception:  # its samples need another package
                counts["left out"] += 1
                continue
            for sample in samples[:: max(1, -(-len(samples) // given.samples))]:
                word, text = try_sample(operation, sample, dtype)
                counts[word] += 1
                if text:
                    print(f"{word}: {operation.name} {operation.variant_test_name} {dtype}: {text}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
