"""devices.py - times operations on a device, and PyTorch's on CUDA if it is there, in interleaved rounds.

    python bench/devices.py [--device ID] [--rounds N] [--scale S] [--package FOLDER]

A sample is a number of calls and one wait for the device. Every call allocates its result on the device. PyTorch computes f32
without TF32. The table has the median time of a call in microseconds, the quartiles, and the ratio of PyTorch's time to ours.
--scale divides the sizes, for a processor."""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

FLOATS = {"f32": "float32", "f64": "float64", "f16": "float16", "c64": "complex64"}


class Library:
    """The functions of the cases that both have in a module `functional`."""

    def __init__(self, functional):
        self.softmax = lambda x: functional.softmax(x, -1)
        self.layer_norm = lambda x: functional.layer_norm(x, (x.shape[-1],))
        self.conv2d = lambda x, w: functional.conv2d(x, w, padding=1)
        self.attention = functional.scaled_dot_product_attention


class Ours(Library):
    """The functions of the cases in Backplane, with tensors on the device."""

    name = "backplane"

    def __init__(self, package, device):
        sys.path.insert(0, str(package))
        import backplane
        from backplane import elementwise, fft, reduce
        from backplane.nn import functional

        self.module, self.device = backplane, backplane.device(device)
        self.version = backplane.__version__
        self.matmul, self.exp, self.add, self.sum = backplane.matmul, elementwise.exp, elementwise.add, reduce.sum
        super().__init__(functional)
        self.fft, self.fft2 = fft.fft, fft.fft2

    def send(self, array):
        return self.module.from_dlpack(array).to(self.device)

    def wait(self):
        self.module.synchronize(self.device)

    def randn(self, *shape):
        return self.module.randn(*shape, device=self.device)

    def row_of(self):
        return next(row for row in self.module.devices() if row.id == str(self.device))


class Torch(Library):
    """The same with PyTorch on CUDA."""

    name = "torch"

    def __init__(self):
        import torch

        functional = torch.nn.functional
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.module, self.version = torch, torch.__version__
        self.matmul, self.exp, self.add, self.sum = torch.matmul, torch.exp, torch.add, torch.sum
        super().__init__(functional)
        self.fft, self.fft2 = torch.fft.fft, torch.fft.fft2

    def send(self, array):
        return self.module.from_numpy(array).cuda()

    def wait(self):
        self.module.cuda.synchronize()

    def randn(self, *shape):
        return self.module.randn(*shape, device="cuda")


def cases(scale):
    """Yields a title, the function's name, the type, and the shapes of its arguments."""

    def side(size):
        return max(size // scale, 8)

    for kind, size in (("f32", 256), ("f32", 1024), ("f32", 4096), ("f64", 2048), ("c64", 2048), ("f16", 4096)):
        yield "matmul", kind, [(side(size), side(size))] * 2
    yield "matmul", "f32", [(64, side(256), side(256))] * 2
    yield "matmul", "f32", [(side(4096), side(4096)), (side(4096), 8)]
    yield "conv2d", "f32", [(32, 64, side(56), side(56)), (64, 64, 3, 3)]
    yield "conv2d", "f32", [(8, 256, side(28), side(28)), (256, 256, 3, 3)]
    yield "attention", "f32", [(1, 8, side(2048), 64)] * 3
    yield "softmax", "f32", [(side(4096), side(4096))]
    yield "layer_norm", "f32", [(side(4096), side(4096))]
    yield "sum", "f32", [(side(4096), side(4096))]
    yield "exp", "f32", [(side(4096), side(4096))]
    yield "add", "f32", [(side(4096), side(4096))] * 2
    yield "fft", "c64", [(side(4096), 1024)]
    yield "fft", "c64", [(side(1 << 20),)]
    yield "fft2", "c64", [(side(2048), side(2048))]
    yield "randn", "", [(side(4096), side(4096))]


def arrays_of(numpy, kind, shapes):
    random = numpy.random.default_rng(1)
    arrays = [random.standard_normal(shape, "float32") for shape in shapes]
    return [array.astype(FLOATS[kind]) for array in arrays]


def make_call(library, name, arrays, shapes):
    """Returns a function that enqueues a case on the library."""
    function = getattr(library, name)
    arguments = [library.send(array) for array in arrays] if arrays else shapes[0]
    return lambda: function(*arguments)


def sample(library, call, count):
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    library.wait()
    return (time.perf_counter_ns() - start) / count


def measure(libraries, calls, rounds):
    """Returns the samples of each library, which take turns."""
    counts, times = {}, {library.name: [] for library in libraries}
    for library in libraries:
        sample(library, calls[library.name], 3)
        counts[library.name] = max(1, min(200, int(5e6 / sample(library, calls[library.name], 1))))
    for _ in range(rounds):
        for library in libraries:
            times[library.name].append(sample(library, calls[library.name], counts[library.name]))
    return times


def cells(times):
    for of in times.values():
        low, median, high = (value / 1e3 for value in statistics.quantiles(of, n=4))
        yield f"{median:>11.1f} [{low:>9.1f}, {high:>9.1f}]"


def torch_on_cuda():
    torch = timing.module("torch")
    return [Torch()] if torch and torch.cuda.is_available() else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--package", default="build/python")
    given = parser.parse_args()
    ours = Ours(Path(given.package).resolve(), given.device)
    libraries = [ours, *torch_on_cuda()]
    print(f"{ours.row_of().name}; " + ", ".join(f"{library.name} {library.version}" for library in libraries))
    for name, kind, shapes in cases(given.scale):
        title = f"{name} {kind} " + " ".join("x".join(map(str, shape)) for shape in shapes)
        arrays = arrays_of(timing.module("numpy"), kind, shapes) if kind else []
        calls = {library.name: make_call(library, name, arrays, shapes) for library in libraries}
        times = measure(libraries, calls, given.rounds)
        medians = [statistics.median(of) for of in times.values()]
        print(f"{title:<48}", *cells(times), *(f"{other / medians[0]:>7.2f}" for other in medians[1:]), flush=True)


if __name__ == "__main__":
    main()
