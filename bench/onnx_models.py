"""onnx_models.py - times models in ONNX files with backplane and onnxruntime, in interleaved rounds, and compares their outputs.

    python bench/onnx_models.py [--threads N] [--rounds N] [--size NAME=N]... [--constant NAME=NUMBER]... MODEL.onnx...

Inputs are random. Times are medians in microseconds with quartiles, the ratio is onnxruntime's time by backplane's. The difference is the
largest one of all outputs, relative to the largest element of its output. A model that backplane refuses is named with the reason."""
import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402


PAUSE = 0.05  # seconds in which the threads of the other one, which wait busily for their next run, go to sleep


def session(path, threads):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(numpy, graph):
    random = numpy.random.default_rng(1)
    made = []
    for port in graph.inputs:
        name = {"f16": "float16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "bool": "bool", "u8": "uint8"}[port.dtype + ""]
        numbers = random.standard_normal(port.shape) if name.startswith("float") else random.integers(0, 2, port.shape)
        made.append(numpy.asarray(numbers).astype(name))
    return made


def named(given):
    return {name: int(number) for name, number in (one.split("=") for one in given)}


def difference(numpy, ours, theirs):
    worst = 0.0
    for a, b in zip(ours, theirs):
        if b.size:
            gap = numpy.abs(a.astype("f8") - b.astype("f8")).max()
            worst = max(worst, float(gap / max(numpy.abs(b.astype("f8")).max(), 1e-30)))
    return worst


def quartiles(times):
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:9.1f} ({low:.1f} to {high:.1f})"


def measure(libraries, path, arguments):
    """Prints a line about one model."""
    numpy, constants = libraries.numpy, named(arguments.constant)
    peer = session(path, libraries.threads)
    kinds = {port.name: numpy.int64 if "int64" in port.type else numpy.float32 for port in peer.get_inputs()}
    values = {name: numpy.array(number, kinds[name]) for name, number in constants.items()}
    start = time.perf_counter()
    graph = libraries.backplane.Graph.from_onnx(path, sizes=named(arguments.size), values=values)
    read = time.perf_counter() - start
    inputs = random_inputs(numpy, graph)
    names = [port.name for port in peer.get_inputs() if port.name not in values]
    feeds = {**dict(zip(names, inputs)), **values}
    ways = {"backplane": lambda: graph(*inputs), "onnxruntime": lambda: peer.run(None, feeds)}
    ours = ways["backplane"]()
    gap = difference(numpy, ours if isinstance(ours, tuple) else (ours,), ways["onnxruntime"]())
    times = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, run in ways.items():
            time.sleep(PAUSE if libraries.threads > 1 else 0)
            run()  # its data is in the caches then, not the other one's
            times[name].append(timing.per_call(run, 1) / 1e3)
    ratio = statistics.median(times["onnxruntime"]) / statistics.median(times["backplane"])
    print(f"{Path(path).stem:32} backplane {quartiles(times['backplane'])}  onnxruntime {quartiles(times['onnxruntime'])}"
          f"  ratio {ratio:.2f}  difference {gap:.1e}  read {read * 1e3:.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", default="build/python")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", action="append", default=[])
    parser.add_argument("--constant", action="append", default=[])
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    libraries = timing.load(arguments.package, arguments.threads)
    for path in arguments.models:
        try:
            measure(libraries, path, arguments)
        except libraries.backplane.Error as error:
            print(f"{Path(path).stem:32} refused: {error}")


main()
