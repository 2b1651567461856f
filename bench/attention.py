"""attention.py - times attention with backplane.nn.functional, torch.nn.functional and ONNX Runtime in interleaved rounds.

    python bench/attention.py [package] [threads] [rounds]        default: build/python 1 7

f32, one item, 8 heads of size 64; and decoding: one query for each of 8 items. Each call allocates its result. The columns "naive"
are matmul, softmax and matmul of torch with fresh results; "ort" is MultiHeadAttention of onnxruntime, if that and onnx are
installed: its heads are columns of a row. Times are medians in milliseconds, ratios are times of the other by
Backplane's."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

# Items, queries, keys, causal.
CASES = [(1, 512, 512, False), (1, 2048, 2048, False), (1, 4096, 4096, False), (1, 512, 512, True), (1, 2048, 2048, True),
         (1, 4096, 4096, True), (8, 1, 4096, False), (1, 77, 333, False)]


def onnx_model(causal):
    """An ONNX model of one MultiHeadAttention with 8 heads, or None if onnx is not installed."""
    onnx = timing.module("onnx")
    if not onnx:
        return None
    helper, f32 = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node(
        "MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=8, unidirectional=int(causal)
    )
    tensors = {name: helper.make_tensor_value_info(name, f32, ["items", "rows_" + name, 512]) for name in "qkvo"}
    graph = helper.make_graph([node], "attention", [tensors[name] for name in "qkv"], [tensors["o"]])
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9).SerializeToString()


def onnx_runtime(libraries, arrays, causal):
    runtime, model = timing.module("onnxruntime"), onnx_model(causal)
    if not runtime or not model:
        return None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = libraries.threads
    session = runtime.InferenceSession(model, options)
    feeds = {}
    for name, array in zip("qkv", arrays):
        items, heads, rows, size = array.shape
        feeds[name] = libraries.numpy.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(items, rows, heads * size)
    return lambda: session.run(None, feeds)


def candidates(libraries, case):
    numpy, torch, attend = libraries.numpy, libraries.torch, libraries.backplane.nn.functional.scaled_dot_product_attention
    items, queries, keys, causal = case
    random = numpy.random.default_rng(1)
    arrays = [random.standard_normal((items, 8, rows, 64), "float32") for rows in (queries, keys, keys)]
    for kernel, others in (("flash", "mem_efficient math"), ("mem_efficient", "flash math"), ("math", "flash mem_efficient")):
        switches = {f"cuda.{other}_sdp": False for other in others.split()}
        yield kernel, lambda switches=switches: attend(*arrays, is_causal=causal, settings=switches)
    runtime = onnx_runtime(libraries, arrays, causal)
    if runtime:
        yield "ort", runtime
    if torch:
        tensors = [torch.from_numpy(array) for array in arrays]
        yield "torch", lambda: torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
        mask = torch.full((queries, keys), float("-inf")).triu(1) if causal else 0.0

        def naive(q, k, v):
            return torch.softmax(q @ k.transpose(-1, -2) / 8 + mask if causal else q @ k.transpose(-1, -2) / 8, -1) @ v

        yield "naive", lambda: naive(*tensors)


def main(package="build/python", threads=1, rounds=7):
    libraries = timing.load(Path(package).resolve(), int(threads))
    print(timing.versions(libraries, ("backplane", "numpy", "torch")))
    for case in CASES:
        items, queries, keys, causal = case
        times = timing.interleave(dict(candidates(libraries, case)), int(threads), int(rounds), 3e6)
        ms = {name: statistics.median(of) / 1e6 for name, of in times.items()}
        work = 4 * 64 * 8 * items * (queries * (queries + 1) / 2 if causal else queries * keys)
        print(f"{items} x 8 x {queries} queries, {keys} keys{', causal' if causal else ''}:",
              *(f"{name} {time:.3f}" for name, time in ms.items()), f"| flash {work / ms['flash'] / 1e6:.1f} GFLOP/s |",
              *(f"{name}/flash {time / ms['flash']:.2f}" for name, time in ms.items() if name != "flash"))


main(*sys.argv[1:])
