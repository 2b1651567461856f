"""conv.py - times convolutions of networks with backplane.nn.functional and with torch.nn.functional in interleaved rounds.

    python bench/conv.py [package] [threads] [batch] [rounds]        default: build/python 1 1 7

f32; the layers are in bench/conv/layers.c. Each call allocates its result and converts its weight, as in user code. PyTorch
gets contiguous and channels-last tensors, and the faster of both counts; Backplane gets channels-last ones. Times are medians in
microseconds; the last lines add up the layers of each network."""
import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

LAYER = re.compile(r'\{"(\w+)", ' + ", ".join([r"(\d+)"] * 7) + r"\}")


def layers():
    """Yields (network, count, input channels, output channels, size, kernel, stride, groups)."""
    for match in LAYER.finditer((Path(__file__).parent / "conv" / "layers.c").read_text()):
        yield match[1], *map(int, match.groups()[1:])


def candidates(libraries, layer, batch):
    numpy, torch = libraries.numpy, libraries.torch
    _, _, channels, kernels, size, taps, stride, groups = layer
    random = numpy.random.default_rng(1)
    last = random.standard_normal((batch, size, size, channels), "float32").transpose(0, 3, 1, 2)
    weight = random.standard_normal((kernels, channels // groups, taps, taps), "float32")
    words = {"stride": stride, "padding": taps // 2, "groups": groups}
    conv2d = libraries.backplane.nn.functional.conv2d
    yield "backplane", lambda: conv2d(last, weight, **words)
    if torch:
        for name, array in (("torch, contiguous", numpy.ascontiguousarray(last)), ("torch, channels-last", last)):
            x, w = torch.from_numpy(array), torch.from_numpy(weight)
            w = w if name.endswith("contiguous") else w.to(memory_format=torch.channels_last)
            yield name, lambda x=x, w=w: torch.nn.functional.conv2d(x, w, **words)


def main(package="build/python", threads=1, batch=1, rounds=7):
    libraries = timing.load(Path(package).resolve(), int(threads))
    print(timing.versions(libraries, ("backplane", "numpy", "torch")), f"| batch {batch}")
    sums = {}
    for layer in layers():
        times = timing.interleave(dict(candidates(libraries, layer, int(batch))), int(threads), int(rounds), 3e6)
        us = {name: statistics.median(of) / 1e3 for name, of in times.items()}
        ours, peers = us.pop("backplane"), us
        peer = min(peers.values(), default=float("nan"))
        print(f"{layer[0]:9} {layer[1]} of {layer[2:]}: {ours:9.1f}", *(f"{name} {time:9.1f}" for name, time in peers.items()), f"ratio {peer / ours:.2f}")
        total = sums.setdefault(layer[0], [0, 0])
        total[0] += ours * layer[1]
        total[1] += peer * layer[1]
    for network, (ours, peer) in sums.items():
        print(f"{network}, all layers: {ours / 1e3:.2f} ms, torch {peer / 1e3:.2f} ms, ratio {peer / ours:.2f}")


main(*sys.argv[1:])
