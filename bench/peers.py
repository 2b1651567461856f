"""peers.py - times Backplane next to NumPy, SciPy and PyTorch: matrix products, Fourier transforms, SVD, eigh and solve, einsum.

    python bench/peers.py build/python [family ...] [--threads 1,all] [--rounds N]

The argument is the folder that has the built package. Families are matmul, fft, linalg and einsum; all by default. A peer that
is not installed is left out. Sizes are no sizes that a benchmark usually has. Every call allocates its result, as in user code.
Each family runs in a process of its own for each number of threads, because NumPy's is set before it is imported. Libraries run
in interleaved turns; the ratio of a case is the peer's median time over Backplane's, so above 1 Backplane is faster. The last
lines are a Markdown table: the geometric mean of the ratios, the least ratio with its case, and the spread, which is the
geometric mean of the third over the first quartile of the ratios of single turns."""
import argparse
import math
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import einsum  # noqa: E402
import fft  # noqa: E402
import linalg  # noqa: E402
import timing  # noqa: E402

# rows x terms x columns, and batches of them
PRODUCTS = ("3x5x7", "11x11x11", "19x23x29", "37x61x113", "77x77x77", "129x257x65", "333x333x333", "700x500x600", "1x777x333",
            "901x555x1", "1000x3x1000", "13x2500x11", "301x1x47", "300*5x5x5", "20*30x10x40", "7*101x99x97")
TRANSFORMS = ("18", "77", "97", "210", "1009", "1500", "4410", "11025", "30030", "65537", "300000", "2000*27", "100*360", "123x321",
              "50*1021")
MATRICES = ("3", "11", "37", "75", "150", "333", "500*3", "50*7", "20*45")
EXPRESSIONS = (
    ("product", "ij,jk->ik", "i=37,j=111,k=53"),
    ("transposed product", "ji,kj->ik", "i=130,j=70,k=210"),
    ("batch", "bij,bjk->bik", "b=33,i=21,j=35,k=14"),
    ("batch in the middle", "ibj,kbj->ikb", "b=9,i=50,j=41,k=37"),
    ("attention scores", "bqhd,bkhd->bhqk", "b=3,q=75,k=90,h=5,d=48"),
    ("two summed labels", "aibj,jbck->aick", "a=7,i=11,b=13,j=9,c=10,k=12"),
    ("permuted tensors", "dbac,ecbf->afde", "a=11,b=13,c=9,d=17,e=10,f=12"),
    ("three operands", "ij,jk,kl->il", "i=90,j=15,k=70,l=35"),
    ("bilinear form", "bn,anm,bm->ba", "b=45,n=37,m=29,a=21"),
    ("four tensors", "abc,cde,bdf,ag->efg", "abdg=13,cef=11"),
    ("row sums of a product", "ij,jk->i", "i=150,j=170,k=130"),
    ("elementwise", "ij,ij->ij", "i=333,j=555"),
)


def products(libraries, shapes=PRODUCTS):
    """Yields (element type, title, candidates). numpy.matmul and torch.matmul are the peers; scipy has no product."""
    numpy, torch = libraries.numpy, libraries.torch
    random = numpy.random.default_rng(1)
    for dtype in ("float32", "float64"):
        for shape in shapes:
            batch, _, sizes = shape.rpartition("*")
            m, k, n = (int(size) for size in sizes.split("x"))
            first = (int(batch),) if batch else ()
            a, b = random.standard_normal((*first, m, k)).astype(dtype), random.standard_normal((*first, k, n)).astype(dtype)
            calls = {"backplane": lambda a=a, b=b: libraries.backplane.matmul(a, b), "numpy": lambda a=a, b=b: numpy.matmul(a, b)}
            if torch:
                calls["torch"] = lambda a=torch.from_numpy(a), b=torch.from_numpy(b): torch.matmul(a, b)
            yield dtype, shape, calls


FAMILIES = {
    "matmul": products,
    "fft": lambda libraries: fft.cases(libraries, TRANSFORMS),
    "linalg": lambda libraries: linalg.cases(libraries, ("svd", "eigh", "solve"), MATRICES),
    "einsum": lambda libraries: einsum.cases(libraries, EXPRESSIONS),
}


class Comparison:
    """The cases of one family, element type and peer."""

    def __init__(self):
        self.ratios, self.spreads = [], []

    def add(self, title, ours, theirs):
        turns = [peer / mine for peer, mine in zip(theirs, ours)]
        low, _, high = statistics.quantiles(turns, n=4) if len(turns) > 1 else (1, 1, 1)
        self.ratios.append((statistics.median(theirs) / statistics.median(ours), title))
        self.spreads.append(high / low)

    def row(self):
        least, title = min(self.ratios)
        return (f"{len(self.ratios)} | {mean(ratio for ratio, _ in self.ratios):.2f} | {least:.2f} | {mean(self.spreads):.2f} | "
                f"{title}")


def mean(values):
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def run_family(name, arguments, threads):
    """Runs in a process of its own. Lines of the table are the last ones, and begin with '|'."""
    libraries = timing.load(arguments.package, threads)
    if not libraries.numpy:
        sys.exit("peers.py: the interpreter has no NumPy, which makes the operands")
    compared = {}
    for kind, title, calls in FAMILIES[name](libraries):
        times = timing.interleave(calls, threads, arguments.rounds)
        timing.show(f"{name} {kind} {title}", times, "backplane", {})
        for peer in list(times)[1:]:
            compared.setdefault((kind, peer), Comparison()).add(title, times["backplane"], times[peer])
    for (kind, peer), one in compared.items():
        print(f"| {name} | {threads} | {kind} | {peer} {timing.version(getattr(libraries, peer))} | {one.row()} |")


def processor():
    try:
        return re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def print_heading():
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores available, Python {platform.python_version()}")
    for name in ("numpy", "scipy", "torch", "opt_einsum"):
        print(f"{name} {timing.version(timing.module(name))}")


def read_arguments():
    parser = argparse.ArgumentParser(description="Times Backplane next to NumPy, SciPy and PyTorch.")
    parser.add_argument("package", help="folder of the built package: build/python")
    parser.add_argument("families", nargs="*", metavar="family", help=f"{', '.join(FAMILIES)}; default: all")
    parser.add_argument("--threads", default="1,all", help="numbers of threads, such as 1,all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library, 5 by default")
    parser.add_argument("--only", action="store_true", help=argparse.SUPPRESS)  # one family, in this process
    arguments = parser.parse_args()
    for name in arguments.families:
        if name not in FAMILIES:
            parser.error(f"unknown family '{name}'; the families are {', '.join(FAMILIES)}")
    available = len(os.sched_getaffinity(0))
    arguments.threads = sorted({available if word == "all" else int(word) for word in arguments.threads.split(",")})
    return arguments


def run_alone(name, arguments, threads):
    """Runs one family in another process. Prints its lines, and returns the lines of the table."""
    command = [sys.executable, __file__, arguments.package, name, "--threads", str(threads), "--rounds", str(arguments.rounds), "--only"]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("|"):
                rows.append(line.rstrip())
            else:
                print(line, end="", flush=True)
    if process.returncode != 0:
        sys.exit(f"peers.py: {name} failed with exit code {process.returncode}")
    return rows


def main():
    arguments = read_arguments()
    if arguments.only:
        run_family(arguments.families[0], arguments, arguments.threads[0])
        return
    print_heading()
    families = arguments.families or list(FAMILIES)
    rows = [row for threads in arguments.threads for name in families for row in run_alone(name, arguments, threads)]
    print("\n| family | threads | type | peer | cases | its time / ours | least | spread | case of the least |")
    print("|---|---:|---|---|---:|---:|---:|---:|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
