"""rewrite.py - times networks under each value of graph.rewrite, in interleaved rounds.

    python bench/rewrite.py [package] [threads] [rounds]        default: build/python 1 25

Blocks of residual networks with batch normalization, and layers of transformers whose attention is written as products. Times are the least
and the median in milliseconds, with quartiles; ratios are the least time of exact by the least time. The difference from exact is relative to
the largest element."""
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402


class Network:
    """A graph whose constants are random numbers."""

    def __init__(self, libraries):
        self.numpy, self.graph, self.constants = libraries.numpy, libraries.backplane.Graph(), 0
        self.random, self.inputs = self.numpy.random.default_rng(1), []

    def input(self, *shape):
        self.inputs.append(self.random.standard_normal(shape, self.numpy.float32))
        return self.graph.input(f"x{len(self.inputs)}", "f32", shape)

    def constant(self, shape, size=1.0, least=0.0):
        numbers = self.random.standard_normal(shape, self.numpy.float32) * self.numpy.float32(size)
        self.constants += 1
        return self.graph.constant(f"c{self.constants}", abs(numbers) + self.numpy.float32(least) if least else numbers)

    def convolution(self, x, channels, kernel, relu):
        y = self.graph.call("conv", x, self.constant((channels, channels, kernel, kernel), (channels * kernel * kernel) ** -0.5), ndim=2,
                            padding=[kernel // 2, kernel // 2])
        weight, bias, mean, variance = (self.constant((channels,), least=0.5) for _ in range(4))
        return self.graph.call("batch_norm", y, weight, bias, mean, variance, relu=relu)

    def finish(self, result):
        self.graph.output("y", result)
        self.graph.finish()
        return self


def residual(libraries, blocks, channels, size):
    network = Network(libraries)
    y = network.input(1, channels, size, size)
    for _ in range(blocks):
        inner = network.convolution(network.convolution(y, channels, 1, True), channels, 3, True)
        y = network.graph.call("binary", network.convolution(inner, channels, 1, False), y, kind="add")
        y = network.graph.call("unary", y, kind="relu")
    return network.finish(y)


def attention(network, q, k, v, mask):
    call = network.graph.call
    scores = call("matmul", q, network.graph.permute(k, (0, 1, 3, 2)))
    factor = network.graph.constant(f"f{network.constants}", network.numpy.array([8], network.numpy.float32))
    scores = call("binary", call("binary", scores, factor, kind="divide"), mask, kind="add")
    return call("matmul", call("softmax", scores, axis=-1), v)


def transformer(libraries, layers, steps, heads, width):
    network = Network(libraries)
    y, mask, columns = network.input(1, steps, heads * width), network.input(1, 1, 1, steps), heads * width
    for _ in range(layers):
        parts = [network.graph.call("linear", y, network.constant((columns, columns), 0.05), network.constant((columns,))) for _ in range(3)]
        q, k, v = (network.graph.permute(network.graph.reshape(part, (1, steps, heads, width)), (0, 2, 1, 3)) for part in parts)
        y = network.graph.reshape(network.graph.permute(attention(network, q, k, v, mask), (0, 2, 1, 3)), (1, steps, columns))
    return network.finish(y)


CASES = {
    "4 residual blocks, 64 channels, 56x56": (residual, (4, 64, 56), "fold"),
    "4 residual blocks, 256 channels, 14x14": (residual, (4, 256, 14), "fold"),
    "4 attention layers, 12 heads of 64, 32 steps": (transformer, (4, 32, 12, 64), "fast"),
    "4 attention layers, 12 heads of 64, 128 steps": (transformer, (4, 128, 12, 64), "fast"),
    "2 attention layers, 12 heads of 64, 512 steps": (transformer, (2, 512, 12, 64), "fast"),
}


def report(title, times, results):
    exact = results["exact"]
    print(title)
    for mode, samples in times.items():
        low, middle, high = statistics.quantiles(samples, n=4)
        gap = float(abs(results[mode] - exact).max() / abs(exact).max())
        print(f"    {mode:8} {min(samples):8.2f} ms  {min(times['exact']) / min(samples):5.2f}   median {middle:.2f} [{low:.2f} {high:.2f}]   difference {gap:.1e}")


def main():
    package, threads, rounds = (sys.argv[1:] + ["build/python", "1", "25"][len(sys.argv) - 1:])[:3]
    libraries = timing.load(package, int(threads))
    for title, (make, sizes, mode) in CASES.items():
        network = make(libraries, *sizes)
        times, results = {"exact": [], mode: []}, {}
        for i in range(int(rounds) + 3):
            for way in times:
                with libraries.backplane.flags({"graph.rewrite": way}):
                    start = time.perf_counter()
                    results[way] = network.graph(*network.inputs)
                    times[way] += [(time.perf_counter() - start) * 1000] if i >= 3 else []
        report(title, times, results)
    print(timing.versions(libraries, ["numpy", "backplane"]))


main()
