"""backplane.compile: what functions record, that graphs give the bits of the calls one by one, arguments, and refusals."""

import array
import collections
import doctest
import importlib.util
import threading
import weakref

import numpy as np
import pytest

from compile_support import RNG, W, X, Y, assert_same, check

import backplane as bp

F = bp.nn.functional
MODULES = {"elementwise": bp.elementwise, "reduce": bp.reduce, "functional": F, "grad": bp.nn.grad, "linalg": bp.linalg, "fft": bp.fft}
IMAGE = RNG.standard_normal((2, 3, 6, 5)).astype("f4")
COMPLEX = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))


# ---- Every function of the package ----

# What is no call of the library: compositions, and gradients whose shape their operands do not tell.
REFUSED = {
    **{f"linalg.{name}": "has no elements" for name in (
        "cross diagonal householder_product matrix_exp matrix_sqrth matrix_transpose polar tensorinv tensorsolve trace vander").split()},
    **{f"grad.{kind}{n}d_{of}": "shape of a gradient" for n in (1, 2, 3) for kind, of in (
        ("adaptive_avg_pool", "input"), ("adaptive_max_pool", "input"), ("avg_pool", "input"), ("max_pool", "input"), ("conv", "input"),
        ("conv", "weight"))},
    **{f"fft.{name}": "are not recorded" for name in "dct dst idct idst dctn dstn idctn idstn".split()},
    **{f"fft.{name}": "takes complex input" for name in "hfft2 hfftn irfft2 irfftn".split()},
    "linalg.matmul": "a is i64", "linalg.matrix_power": "A is i64",
}  # fmt: skip
SAMPLES = {f"fft.{name}": (COMPLEX,) for name in "fft ifft fftshift ifftshift hfft irfft".split()}
SAMPLES.update({f"fft.{name}": (4,) for name in ("fftfreq", "rfftfreq")})
SAMPLES.update({f"fft.{name}": (X,) for name in "rfft ihfft dct dst idct idst".split()})
WITHOUT_ARRAYS = ("fft.fftfreq", "fft.rfftfreq")
NAMES = [f"{place}.{name}" for place, module in MODULES.items() for name in module.__all__ if name not in ("plan_cache", "LinAlgError")]


def as_array(given):
    is_array = isinstance(given, list) and given and not any(isinstance(one, np.ndarray) for one in given)
    return np.asarray(given) if is_array else given


def sample_of(module, name):
    """Returns the arguments of the example in the help of a function, with arrays in place of lists."""
    function, seen = getattr(module, name), []

    def spy(*arguments, **names):
        seen.append((arguments, names))
        return function(*arguments, **names)

    setattr(module, name, spy)
    try:
        known = {"backplane": bp, "np": np}
        for example in doctest.DocTestParser().get_examples(function.__doc__):
            exec(example.source, known)
    finally:
        setattr(module, name, function)
    arguments, names = seen[0]
    return tuple(map(as_array, arguments)), {key: as_array(value) for key, value in names.items()}


@pytest.mark.parametrize("name", NAMES)
def test_every_function(name):
    place, _, short = name.partition(".")
    function = getattr(MODULES[place], short)
    if isinstance(function, type):
        return
    arguments, names = (SAMPLES[name], {}) if name in SAMPLES else sample_of(MODULES[place], short)
    if name in REFUSED:
        with pytest.raises((bp.compiler.TraceError, bp.BadTypeError), match=REFUSED[name]):
            bp.compile(function)(*arguments, **names)
        return
    check(function, *arguments, graphs=0 if name in WITHOUT_ARRAYS else 1, **names)


def test_refused_names_are_functions():
    assert set(REFUSED) | set(SAMPLES) | set(WITHOUT_ARRAYS) <= set(NAMES)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "bool"])
def test_promotion_is_that_of_arrays(dtype):
    x = np.arange(6).astype(dtype)
    for name in ("add", "multiply", "divide", "maximum", "less", "where"):
        for other in (2, 2.5, True, np.float32(2), np.arange(6.0), np.arange(6)):
            call = (lambda a, other=other: bp.elementwise.where(a > 1, a, other)) if name == "where" else (
                lambda a, name=name, other=other: getattr(bp.elementwise, name)(a, other))
            try:
                wanted = call(x)
            except bp.Error as error:
                with pytest.raises(type(error)):
                    bp.compile(call)(x)
            else:
                assert_same(bp.compile(call)(x), wanted)
    for name in ("exp", "sqrt", "sin"):
        check(getattr(bp.elementwise, name), x)
    for name in ("sum", "mean", "max", "any", "var"):
        if dtype != "bool" or name not in ("max",):
            check(getattr(bp.reduce, name), x)


# ---- Operators, methods, NumPy and the array API ----

PROGRAMS = {
    "operators": lambda x, y: (x + y, x - 1, 2 * x, 1 - x, -x, +x, abs(x), x**2),
    "comparisons": lambda x, y: (x < y, x <= 0, x > y, x >= 0, x == y, x != y, (x > 0) & (x < 1) | ~(x > 2) ^ (y > 0)),
    "products": lambda x, y: (bp.matmul(x, y), bp.mm(x, x.T), bp.einsum("ij,j->i", x, y), bp.linalg.vecdot(x, y)),
    "views": lambda x, y: (x[1:3, ::2], x[0], x[..., None], x[-1, -1], x[None], x[::-1], x[:, 1:4][..., ::-1], x[()], x[2:2]),
    "shapes": lambda x, y: (x.reshape(-1), x.reshape(2, 12), x.reshape((3, 8)), x.T, x.mT, x.ravel(), x.flatten(), x.transpose(1, 0)),
    "arrays as indices": lambda x, y: (x[np.array([3, 0, -1])], x[:, np.array([[1, 0], [2, -2]])]),
    "reductions": lambda x, y: (x.max(), x.min(axis=1), x.argmax(axis=0), x.argmin(), (x > 0).any(), (x > 0).all(axis=1, keepdims=True)),
    "clips": lambda x, y: (x.clip(-1, 1), np.clip(x, 0, None), bp.elementwise.clip(x, None, 0.5)),
    "numpy": lambda x, y: (np.concatenate([x, x * 2]), np.stack([x, x], axis=1), np.where(x > 0, x, y), np.transpose(x), np.squeeze(x[None])),
    "iteration": lambda x, y: [row * 2 for row in x],
    "types": lambda x, y: (x.astype("f8"), x.astype(np.int64), (x > 0).astype(bool), x.astype("f4")),
    "words": lambda x, y: {"a": {"b": [x + y]}, "c": (1, "text", None)},
    "the same twice": lambda x, y: [x + y] * 2,
    "an argument": lambda x, y: (x, y + 1),
    "constants": lambda x, y: (x + Y, np.ones(3), bp.elementwise.add(x, W[0])),
    "swapped": lambda x, y: (Y + x, Y < x, Y * x, 3 / (x * x + 1)),
    "no elements": lambda x, y: (x[:0] + y, x[:, :0] * 2, bp.reduce.sum(x[:0], axis=0)),
    "repeated": lambda x, y: np.tile(x, (2, 1)),
    "broadcast": lambda x, y: np.broadcast_to(y, (2, 6)) * 2,
    "exchanged": lambda x, y: (np.swapaxes(x, 0, 1), np.moveaxis(x[None], 0, -1), np.expand_dims(x, (0, 2)), np.split(x, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    """Bits are compared where NumPy's own arithmetic rounds as Backplane's."""
    check(PROGRAMS[name], X, Y)


def test_close_to_numpy():
    def program(x, y):
        return np.exp(x) + np.sum(x, axis=0) * y, x @ x.T, np.dot(x, y), x**3, 2.0**x, x.mean(axis=1), np.var(x), x.std(ddof=1), np.tensordot(x, x, ([1], [1])), np.outer(y, y)

    for got, wanted in zip(bp.compile(program)(X, Y), program(X, Y)):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_the_array_api():
    def program(x):
        xp = x.__array_namespace__()
        assert x.dtype == xp.float32 and x.ndim == 2 and x.size == 24 and len(x) == 4 and x.device.type == "cpu"
        made = xp.permute_dims(xp.exp(x), (1, 0)) + xp.astype(xp.ones(4), x.dtype) + xp.zeros_like(x).T
        return xp.concat([made, xp.full_like(made, 2.0)]), xp.stack([made, made]), xp.sum(made, axis=0), xp.matmul(x, made), xp.squeeze(x[None])

    got = bp.compile(program)(X)
    made = bp.elementwise.exp(X).T + 1
    assert_same(got[0], np.concatenate([made, np.full_like(made, 2)]))
    assert_same(got[2], bp.reduce.sum(made, axis=0))
    assert_same(got[3], bp.matmul(X, made))


def test_networks():
    conv, dense = RNG.standard_normal((4, 3, 3, 3)).astype("f4"), RNG.standard_normal((10, 4)).astype("f4")

    def network(image):
        hidden = F.batch_norm(F.conv2d(image, conv, padding=1), np.zeros(4, "f4"), np.ones(4, "f4"))
        hidden = F.max_pool2d(F.relu(hidden), 2)
        return F.log_softmax(F.linear(F.adaptive_avg_pool2d(hidden, 1).reshape(2, 4), dense), 1)

    def attention(x):
        q, k, v = (bp.matmul(x, RNG_WEIGHTS[i]) for i in range(3))
        return F.layer_norm(x + F.scaled_dot_product_attention(q, k, v), 6)

    check(network, IMAGE)
    check(attention, X)
    check(lambda x: F.avg_pool2d(x, 2, stride=1), IMAGE)
    check(lambda x: F.max_pool2d(x, (2, 1), return_indices=True), IMAGE)


RNG_WEIGHTS = RNG.standard_normal((3, 6, 6)).astype("f4")

# ---- Libraries of arrays, arguments ----


def test_tensors():
    x = bp.from_dlpack(X)
    compiled = bp.compile(lambda a, b: bp.elementwise.add(bp.elementwise.exp(a), b))
    got = compiled(x, x[0])
    assert isinstance(got, bp.Tensor) and got.dtype == "f32"
    assert_same(np.asarray(got), bp.elementwise.add(bp.elementwise.exp(X), X[0]))
    assert compiled(X, X[0]).dtype == np.float32 and len(compiled.graphs) == 2  # of another library


def test_other_arrays():
    compiled = bp.compile(lambda a: bp.elementwise.sqrt(a))
    assert compiled(array.array("d", [4, 9])).tolist() == [2, 3]
    assert compiled(memoryview(array.array("d", [4, 16]))).tolist() == [2, 4]
    assert compiled(np.float64(4)) == 2


def test_one_graph_for_each_type_and_shape():
    calls = []

    @bp.compile
    def double(x, factor=2):
        calls.append(x.shape)
        return bp.elementwise.multiply(x, factor)

    for _ in range(2):
        for x in (np.ones(3), np.ones(4), np.ones(3, "f4"), np.ones((3, 1)).T, np.ones((1, 3), order="F")):
            assert double(x).sum() == 2 * x.size
    assert len(calls) == len(double.graphs) == 4
    assert double(np.ones(3), 3)[0] == 3 and double(np.ones(3), factor=3)[0] == 3 and double(np.ones(3), 3.0)[0] == 3
    assert double(np.ones(3), float("nan"))[0] != 1 and double(np.ones(3), float("nan"))[0] != 1
    assert len(calls) == 8
    assert double.__name__ == "double" and "double" in repr(double)
    double.reset()
    assert not double.graphs and double(np.ones(3))[0] == 2


def test_at_most_64_graphs():
    compiled = bp.compile(lambda x: x + 1)
    for n in range(200):
        assert compiled(np.zeros(n)).sum() == n
        assert 1 <= len(compiled.graphs) <= 64


def test_calls_with_arrays_alone(monkeypatch):
    """They find their graph without a look at trees, and no call asks the recorder when nothing is traced."""
    compiled, asked = bp.compile(lambda x, y: (x + y, x)), []
    assert_same(compiled(X, Y), (X + Y, X))
    monkeypatch.setattr(compiled, "_find", None)
    assert_same(compiled(X, Y), (X + Y, X))
    assert compiled(X, Y)[1] is X
    monkeypatch.setattr(bp.compiler._compiled, "record", lambda *call: asked.append(call) or NotImplemented)
    bp.compile(lambda x: bp.elementwise.clip(np.ones(2), 0, 1) and 3)
    count = len(asked)
    bp.reduce.sum(X, axis=(0, 1))
    assert len(asked) == count


def test_linear_algebra_of_two_types():
    check(lambda a: bp.linalg.solve(a, np.ones((6, 2))), X.T[:, :4] @ X + np.eye(6, dtype="f4"))
    check(lambda a, b: bp.linalg.lstsq(a, b).solution, X.astype("f8"), X[:, :2])


def test_trees():
    Pair = collections.namedtuple("Pair", "a b")
    check(lambda p, d: (Pair(p.a + d["x"], p.b), {"out": [p.b * 2]}), Pair(X, Y), {"x": X})
    check(lambda *a, **k: sum(a) + k["z"], X, X, z=X)


def test_objects_and_methods():
    class Layer:
        def __init__(self, weight):
            self.weight = weight

        @bp.compile
        def __call__(self, x):
            return F.linear(x, self.weight)

    first, second = Layer(W), Layer(W * 2)
    assert_same(first(X), F.linear(X, W))
    assert_same(second(X), F.linear(X, W * 2))
    assert_same(first(X), F.linear(X, W))
    assert_same(bp.compile(lambda x, chosen: x[list(chosen)[0]])(X, {0}), X[0])  # a set has no hash


def test_constants_are_copied():
    weight = np.ones(3)
    compiled = bp.compile(lambda x: bp.elementwise.multiply(x, weight))
    assert compiled(np.ones(3)).tolist() == [1, 1, 1]
    weight[:] = 5
    assert compiled(np.ones(3)).tolist() == [1, 1, 1]

    def changes_it(x):
        local = np.ones(3)
        first = bp.elementwise.add(x, local)
        local += 1
        return first, bp.elementwise.add(x, local)

    check(changes_it, np.zeros(3))


def test_strides_and_what_is_beyond():
    compiled = bp.compile(lambda x, y: x @ y + 1)
    big = RNG.standard_normal((8, 12))
    for x, y in ((big[::2, ::3], big[::2, :1]), (big[:4, :4].T, big[4:, ::-1][:, :1]), (big[::-2, :4], big[4:, :1])):
        np.testing.assert_allclose(compiled(x, y), x @ y + 1, rtol=1e-12)


def test_without_arrays_the_function_is_called():
    calls = []
    compiled = bp.compile(lambda n: calls.append(n) or np.full(2, n))
    assert compiled(3).tolist() == [3, 3] and compiled(3).tolist() == [3, 3] and calls == [3, 3] and not compiled.graphs
    constant = bp.compile(lambda x: (1, "text"))
    assert constant(X) == (1, "text") and constant(X) == (1, "text") and not constant.graphs


def test_functions_in_functions():
    inner = bp.compile(lambda x: x * 2)
    outer = bp.compile(lambda x: inner(x) + inner(x + 1))
    assert_same(outer(X), X * 2 + (X + 1) * 2)
    assert len(inner.graphs) == 0 and len(outer.graphs) == 1
    assert_same(bp.compile(outer)(X), X * 2 + (X + 1) * 2)


# ---- Changes in place ----


def test_changes_in_place():
    def program(x):
        y = x * 2
        z = y  # the same array
        y += x
        y -= 1
        copy = y.copy()
        copy *= 3
        same = y.astype(y.dtype)
        same /= 2
        total = y.sum()
        total **= 2
        return y, z, copy, same, (y > 0).astype("i4")

    check(program, X)

    def shares(x):
        y = x + 1
        y.T.sum()
        y += 1
        return y

    with pytest.raises(bp.compiler.TraceError, match="shares memory"):
        bp.compile(shares)(X)


# ---- Refusals ----


def with_one_thread(x):
    with bp.flags(num_threads=1):
        return x @ x.T


REFUSALS = {
    "the truth": lambda x: x if x.sum() > 0 else -x,
    "a number": lambda x: float(x[0, 0]),
    "a whole number": lambda x: range(x.argmax()),
    "an array of a traced value": lambda x: np.asarray(x),
    "a list": lambda x: x.tolist(),
    "an element": lambda x: x.sum().item(),
    "out is given": lambda x: bp.elementwise.exp(x, out=np.empty((4, 6), "f4")),
    "settings are given": lambda x: bp.elementwise.exp(x, settings={"num_threads": 1}),
    "assigned to": lambda x: x.__setitem__(0, 1),
    "numpy.sort of": lambda x: np.sort(x),
    "numpy.add.accumulate": lambda x: np.add.accumulate(x),
    "numpy.spacing": lambda x: np.spacing(x),
    "numpy.exp with where": lambda x: np.exp(x, where=X > 0),
    "random numbers": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "gemm": lambda x: bp.gemm(x, x.T),
    "explanations of": lambda x: bp.explain(F.softmax, x, 1),
    "an index of a traced value": lambda x: x[x > 0],
    "an order is given": lambda x: bp.einsum("ij,kj,lj->ikl", x, x, x, optimize="greedy"),
    "row-major": lambda x: np.reshape(x, (6, 4), order="F"),
    "changes an argument": lambda x: x.__iadd__(1),
    "shares memory": lambda x: (x * 2)[0].__imul__(2),
    "changes the type": lambda x: (x > 0).__iadd__(1.5),
    "random numbers are drawn": lambda x: x + bp.rand(6),
    "flags.. is in a traced": lambda x: with_one_thread(x),
    "axis is empty": lambda x: bp.reduce.sum(x, axis=()),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text):
    with pytest.raises(bp.compiler.TraceError, match=text) as caught:
        bp.compile(REFUSALS[text])(X)
    assert __file__ in str(caught.value) and caught.value.status == "E_UNSUPPORTED"
    assert_same(bp.elementwise.exp(X), bp.compile(bp.elementwise.exp)(X))  # nothing is left of the trace
    assert not bp.compiler.is_compiling()


def test_errors_of_calls_and_functions():
    with pytest.raises(ValueError, match="node 1"):
        bp.compile(lambda x: (x * 2) @ W)(X)
    with pytest.raises(ZeroDivisionError):
        bp.compile(lambda x: x + 1 / 0)(X)
    with pytest.raises(IndexError):
        bp.compile(lambda x: x[4])(X)
    with pytest.raises(IndexError):
        bp.compile(lambda x: x[0, 0, 0])(X)
    with pytest.raises(TypeError):
        bp.compile(lambda x, y: x)(X)
    with pytest.raises(bp.linalg.LinAlgError):
        bp.compile(bp.linalg.inv)(np.zeros((2, 2)))
    compiled = bp.compile(lambda i: bp.elementwise.take(X, i, axis=0))
    assert_same(compiled(np.array([1])), X[1:2])
    with pytest.raises(ValueError):
        compiled(np.array([4]))


def test_kept_values():
    kept = []
    bp.compile(lambda x: kept.append(x) or x + 1)(X)
    with pytest.raises(bp.compiler.TraceError, match="memory|array"):
        bp.elementwise.exp(kept[0])
    with pytest.raises(bp.compiler.TraceError, match="another trace"):
        bp.compile(lambda x: bp.elementwise.add(x, kept[0]))(X)


@pytest.mark.parametrize("words", [{"mode": "max-autotune"}, {"dynamic": True}, {"options": {"depth": 1}}, {"backend": "nowhere"},
                                   {"backend": "eager", "options": {"settings": {"num_threads": 1}}}])  # fmt: skip
def test_words_that_are_refused(words):
    with pytest.raises(ValueError):
        bp.compile(lambda x: x, **words)
    with pytest.raises(TypeError):
        bp.compile(3)


# ---- Threads, lifetimes ----


def test_threads():
    compiled = bp.compile(lambda x, n: bp.elementwise.add(x @ x.T, n))
    wanted = {n: bp.elementwise.add(bp.matmul(X, X.T), n) for n in range(8)}
    failures = []

    def work(first):
        for i in range(40):
            n = (first + i) % 8
            if compiled(X, n).tobytes() != wanted[n].tobytes() or bp.elementwise.exp(X)[0, 0] != np.float32(EXP):
                failures.append(n)
            if i % 10 == 0:
                compiled.reset()

    EXP = bp.elementwise.exp(X)[0, 0]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_fork_while_another_thread_traces(python):
    """The child is not kept waiting, and records nothing."""
    program = """if True:
        import os, threading
        import numpy as np
        import backplane as bp
        inside, go = threading.Event(), threading.Event()
        compiled = bp.compile(lambda x: (inside.set(), go.wait(), x + 1)[2])
        thread = threading.Thread(target=compiled, args=(np.zeros(2),))
        thread.start()
        inside.wait()
        child = os.fork()
        go.set()
        result = compiled(np.ones(3))
        assert result.tolist() == [2, 2, 2]
        if child == 0:
            os._exit(bp.compiler._compiled._Recording._count)
        thread.join()
        assert os.waitpid(child, 0)[1] == 0 and bp.compiler._compiled._Recording._count == 0
    """
    done = python("-c", program)
    assert done.returncode == 0, done.stderr


def test_compiled_functions_end():
    compiled = bp.compile(lambda x: x + 1)
    compiled(X)
    reference = weakref.ref(compiled)
    del compiled
    assert reference() is None


# ---- Under the name of torch ----

_PROGRAM = """
import backplane
backplane.install_as_torch()
import numpy as np, torch, torch.compiler
from torch.compiler import list_backends, disable

@torch.compile
def first(x):
    return torch.nn.functional.relu(x) * 2

second = torch.compile(lambda x: torch.nn.functional.relu(x) * 2, backend="aot_eager", fullgraph=True)
x = np.array([-1.0, 3.0], np.float32)
assert first(x).tolist() == second(x).tolist() == [0, 6] and list_backends() == ["auto", "inductor"]
assert torch.compiler.is_compiling() is False and len(first.graphs) == 1
"""


def test_as_torch(python, tmp_path):
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed, whose name install_as_torch() does not take")
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    done = python(program)
    assert done.returncode == 0, done.stderr
