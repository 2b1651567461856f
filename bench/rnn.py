"""rnn.py - times recurrent layers with backplane.nn.functional and with torch in interleaved rounds.

    python bench/rnn.py [package] [threads] [rounds]        default: build/python 1 7

f32, one layer, 64 steps, as many columns as hidden units. Each call allocates its results and copies the recurrent weights.
torch is left out if it is not installed. Times are medians in milliseconds with quartiles, ratios are times of torch by
Backplane's."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

STEPS = 64
CASES = [(mode, hidden, batch) for mode in ("lstm", "gru", "rnn_tanh") for hidden in (256, 1024) for batch in (1, 32)]
GATES = {"rnn_tanh": 1, "lstm": 4, "gru": 3}


def candidates(libraries, case):
    numpy, torch, functional = libraries.numpy, libraries.torch, libraries.backplane.nn.functional
    mode, hidden, batch = case
    random, rows = numpy.random.default_rng(1), GATES[mode] * hidden
    x = random.standard_normal((STEPS, batch, hidden), "float32")
    params = [0.05 * random.standard_normal(shape, "float32") for shape in ((rows, hidden), (rows, hidden), (rows,), (rows,))]
    layer = getattr(functional, mode)
    yield "layer", lambda: layer(x, None, params)
    if torch:
        given, weights = torch.from_numpy(x), [torch.from_numpy(one) for one in params]
        zeros = torch.zeros(1, batch, hidden)
        state = (zeros, zeros) if mode == "lstm" else zeros
        theirs = getattr(torch, mode)

        def run():
            with torch.no_grad():
                return theirs(given, state, weights, True, 1, 0.0, False, False, False)

        yield "torch", run


def main(package="build/python", threads=1, rounds=7):
    libraries = timing.load(Path(package).resolve(), int(threads))
    print(timing.versions(libraries, ("backplane", "numpy", "torch")))
    for case in CASES:
        mode, hidden, batch = case
        times = timing.interleave(dict(candidates(libraries, case)), int(threads), int(rounds), 3e6)
        spread = {name: [one / 1e6 for one in statistics.quantiles(of, n=4)] for name, of in times.items()}
        work = 4 * GATES[mode] * hidden * hidden * batch * STEPS
        middle = {name: of[1] for name, of in spread.items()}
        print(f"{mode} {hidden} units, {batch} items:",
              *(f"{name} {of[1]:.3f} [{of[0]:.3f}, {of[2]:.3f}]" for name, of in spread.items()),
              f"| {work / middle['layer'] / 1e6:.1f} GFLOP/s",
              f"| torch/layer {middle['torch'] / middle['layer']:.2f}" if "torch" in middle else "")


main(*sys.argv[1:])
