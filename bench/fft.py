"""fft.py - runs the fft program, then times backplane.fft, numpy.fft, scipy.fft and torch.fft in interleaved rounds, if installed.

    python bench/fft.py build/bench/fft [threads] [rounds] [peers]

`peers` skips the program. The package `backplane` is imported from build/python of the program's build. All transforms are
forward and complex. Each call allocates its result, as in user code. peers.py uses the same calls with other lengths."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

SHAPES = [str(2**k) for k in range(4, 21, 2)] + ["1000", "10007", "512x512", "64*1024"]


def candidates(libraries, x, dims):
    yield "backplane", lambda: libraries.backplane.fft.fftn(x, dim=dims)
    yield "numpy", lambda: libraries.numpy.fft.fftn(x, axes=dims)
    if libraries.scipy:
        yield "scipy", lambda: libraries.scipy.fft.fftn(x, axes=dims, workers=libraries.threads)
    if libraries.torch:
        t = libraries.torch.from_numpy(x)
        yield "torch", lambda: libraries.torch.fft.fftn(t, dim=dims)


def cases(libraries, shapes=SHAPES):
    """Yields (element type, title, candidates); 512x512 is one transform in two dimensions, 64*1024 are 64 transforms."""
    numpy = libraries.numpy
    random = numpy.random.default_rng(1)
    for dtype in ("complex64", "complex128"):
        for shape in shapes:
            batch, _, rest = shape.rpartition("*")
            sizes = tuple(int(size) for size in rest.split("x"))
            dims = tuple(range(-len(sizes), 0))
            sizes = (int(batch), *sizes) if batch else sizes
            x = (random.standard_normal(sizes) + 1j * random.standard_normal(sizes)).astype(dtype)
            yield dtype, shape, dict(candidates(libraries, x, dims))


def main():
    program = Path(sys.argv[1])
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 11
    libraries = timing.load(program.resolve().parent.parent / "python", threads)
    if "peers" not in sys.argv:
        subprocess.run([str(program)], check=True)
    print(timing.versions(libraries, ("numpy", "scipy", "torch")))
    timing.show_all(cases(libraries), threads, rounds)


if __name__ == "__main__":
    main()
