"""graph.py - times chains of functions of single elements as graphs: in blocks, apart and node by node, in interleaved rounds.

    python bench/graph.py [package] [threads] [rounds]        default: build/python 1 15

Chains of seven functions of f32, into an array that exists, and as a function of arrays that is compiled. Times are the least and the median in microseconds, with quartiles; ratios
are the least times of the others by the least time in blocks."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

SIZES = (1000, 100_000, 1_000_000, 4_000_000)
WAYS = {"blocks": None, "apart": {"graph.block_bytes": 1 << 40}, "eager": {"graph.backend": "eager"}}


class Builder:
    """A graph of two arrays x and y, with numbers as constants."""

    def __init__(self, libraries, size):
        self.numpy, self.graph, self.numbers = libraries.numpy, libraries.backplane.Graph(), 0
        self.x, self.y = (self.graph.input(name, "f32", (size,)) for name in "xy")

    def value(self, given):
        if not isinstance(given, float):
            return given
        self.numbers += 1
        return self.graph.constant(f"n{self.numbers}", self.numpy.array(given, self.numpy.float32))

    def __call__(self, kind, *operands):
        call = "unary" if len(operands) == 1 else "binary"
        return self.graph.call(call, *map(self.value, operands), kind=kind)

    def finish(self, result):
        self.graph.output("z", result)
        self.graph.finish()
        return self.graph


def cheap(f):
    return f("relu", f("add", f("subtract", f("multiply", f("add", f("multiply", f.x, f.y), 0.5), f.x), f("multiply", f.y, 0.25)), f.x))


def with_sigmoid(f):
    return f("tanh", f("subtract", f("multiply", f("relu", f("add", f("multiply", f.x, f.y), 0.5)), f("sigmoid", f.x)), f.y))


def report(title, times, first):
    ours = min(times[first])
    print(title)
    for name, samples in times.items():
        low, middle, high = (value / 1000 for value in statistics.quantiles(samples, n=4))
        print(f"    {name:8} {min(samples) / 1000:10.2f} us  {min(samples) / ours:5.2f}   median {middle:.2f} [{low:.2f} {high:.2f}]")


def time_compiled(libraries, threads, rounds):
    """The same chain as a function of arrays, with results in new memory: compiled, as NumPy's operators, and as Backplane's functions."""
    numpy, bp = libraries.numpy, libraries.backplane
    f = bp.elementwise

    def operators(x, y):
        return numpy.maximum((x * y + 0.5) * y - x + y * 0.25, 0.0)

    def functions(x, y):
        return f.maximum(f.add(f.subtract(f.multiply(f.add(f.multiply(x, y), 0.5), y), x), f.multiply(y, 0.25)), 0.0)

    compiled = bp.compile(operators)
    for size in ((4, 4), (1000,), (100_000,), (1_000_000,)):
        x, y = (numpy.random.default_rng(i).standard_normal(size, numpy.float32) for i in (1, 2))
        calls = {"compiled": lambda: compiled(x, y), "numpy": lambda: operators(x, y), "calls": lambda: functions(x, y)}
        report(f"a compiled function, {size}", timing.interleave(calls, threads, rounds, 5e6), "compiled")


def main(package="build/python", threads="1", rounds="15"):
    libraries = timing.load(package, int(threads))
    numpy, bp = libraries.numpy, libraries.backplane
    print(timing.versions(libraries, ("backplane", "numpy")))
    for title, chain in (("cheap functions", cheap), ("with sigmoid and tanh", with_sigmoid)):
        for size in SIZES:
            builder = Builder(libraries, size)
            graph, out = builder.finish(chain(builder)), numpy.empty(size, numpy.float32)
            x, y = (numpy.random.default_rng(i).standard_normal(size, numpy.float32) for i in (1, 2))
            calls = {}
            for name, settings in WAYS.items():
                options = bp.Options(settings) if settings else None
                calls[name] = lambda options=options: graph(x, y, out=out, settings=options)
            times = timing.interleave(calls, int(threads), int(rounds), 5e6)
            report(f"{title}, {size}", times, "blocks")
    time_compiled(libraries, int(threads), int(rounds))


if __name__ == "__main__":
    main(*sys.argv[1:])
