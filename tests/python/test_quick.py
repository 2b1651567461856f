"""Functions whose frequent form runs without a frame of Python: it gives what the function of Python gives, and nothing else takes it."""

import inspect
import pickle
import sys

import numpy as np
import pytest

import backplane as bp
from backplane import elementwise, linalg, reduce
from backplane._quick import SLOW
from backplane.nn import functional as F

RANDOM = np.random.default_rng(5)
TYPES = ("f2", "f4", "f8")


def frames(call):
    """Returns how many functions of Python a call has entered."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count - 1  # the lambda


def arrays(dtype):
    """Yields arrays of all kinds of shapes and strides."""
    x = RANDOM.standard_normal((6, 8)).astype(dtype)
    yield from (x, x.T, x[::2, ::-3], x[1], x[:, 2], x[:0], x[:1, :1], np.asarray(x[0, 0]), np.broadcast_to(x[0], (3, 8)), x.reshape(2, 3, 2, 4))


def same(got, wanted):
    assert type(got) is type(wanted) is np.ndarray and got.dtype == wanted.dtype and got.shape == wanted.shape
    assert got.strides == wanted.strides and got.tobytes() == wanted.tobytes()


def both(function, *given, **names):
    """Compares the function with the one of Python, results or exceptions."""
    outcomes = []
    for one in (function, SLOW[function]):
        try:
            outcomes.append(one(*given, **names))
        except Exception as error:  # noqa: BLE001 every kind must be the same
            outcomes.append((type(error), str(error)))
    if isinstance(outcomes[1], tuple):
        assert outcomes[0] == outcomes[1]
    else:
        same(*outcomes)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_one_array(dtype):
    for name in ("abs", "exp", "log", "negative", "sqrt", "tanh"):
        for x in arrays(dtype):
            with np.errstate(all="ignore"):
                both(getattr(elementwise, name), x)
    for x in arrays(dtype):
        both(F.relu, x)
        both(F.gelu, x)
        both(linalg.norm, x)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_two_arrays(dtype):
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        function = getattr(elementwise, name)
        for x in arrays(dtype):
            both(function, x, x)
            for y in (x[..., :1] if x.ndim else x, np.ones((5, 1, 1) + (1,) * x.ndim, dtype), np.ones(7, dtype)):
                both(function, x, y)
                both(function, y, x)


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(dtype):
    for name in reduce.__all__:
        function = getattr(reduce, name)
        for x in arrays(dtype):
            for names in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": None}, {"keepdims": True}, {"axis": 7}, {"axis": -100},
                          {"axis": 10**30}, {"axis": (0,)}, {"axis": True}, {"keepdims": 1}):
                both(function, x, **names)


@pytest.mark.parametrize("dtype", TYPES)
def test_layers(dtype):
    x, w = (RANDOM.standard_normal(shape).astype(dtype) for shape in ((3, 4), (5, 4)))
    for given in ((x, w), (x, w, w[:, 0]), (x, w, w[0]), (x, w[0]), (x[:0], w), (x, w[:0]), (x[0], w), (x, w.T), (x[None], w[:, ::-1]), (x, x, x)):
        both(F.linear, *given)
    q, k = (RANDOM.standard_normal(shape).astype(dtype) for shape in ((2, 4, 3, 8), (2, 2, 5, 8)))
    for given in ((q, q, q), (q[0], q[0], q[0]), (q[..., ::-1], q, q), (q, k, k), (q, q[:, :, :0], q[:, :, :0]), (q[:0], q[:0], q[:0]), (q, q, k)):
        for names in ({}, {"is_causal": True}, {"enable_gqa": True}, {"is_causal": True, "enable_gqa": False}, {"is_causal": 1}):
            both(F.scaled_dot_product_attention, *given, **names)


X, Y = np.ones((4, 4)), np.ones((4, 4), "f4")
QUICK = {
    "add": lambda: elementwise.add(X, X),
    "exp": lambda: elementwise.exp(Y),
    "sum": lambda: reduce.sum(X),
    "sum of an axis": lambda: reduce.sum(X, axis=0, keepdims=True),
    "norm": lambda: linalg.norm(X),
    "relu": lambda: F.relu(X),
    "linear": lambda: F.linear(X, X),
    "attention": lambda: F.scaled_dot_product_attention(X, X, X, is_causal=True),
}


@pytest.mark.parametrize("name", QUICK)
def test_the_frequent_form_has_no_frame(name):
    QUICK[name]()
    assert frames(QUICK[name]) == 0


class Own(np.ndarray):
    pass


@pytest.mark.parametrize("call", [
    lambda: elementwise.add(X, Y), lambda: elementwise.add(X, 1), lambda: elementwise.add([1.0], X), lambda: elementwise.add(X, X, out=X.copy()),
    lambda: elementwise.add(X.view(Own), X), lambda: elementwise.add(X.astype(int), X.astype(int)), lambda: elementwise.exp(X.astype(int)),
    lambda: reduce.sum(X.astype("i1")), lambda: reduce.sum(X, settings={"num_threads": 1}),
    lambda: linalg.norm(X.astype("f2")), lambda: linalg.norm(X, 1), lambda: F.linear(X, X[0]), lambda: F.relu(X, True),
    lambda: F.scaled_dot_product_attention(X, X, X, scale=2.0), lambda: elementwise.add(np.ma.array(X).filled(), bp.ones((4, 4), dtype="f64")),
])
def test_other_forms_are_those_of_python(call):
    assert frames(call) > 0


def test_unfused_kernels_are_looked_for(monkeypatch):
    monkeypatch.setattr(bp.nn.attention, "WARN_FOR_UNFUSED_KERNELS", True)
    assert frames(QUICK["attention"]) > 0


def test_settings_and_plans():
    with bp.flags({"elementwise.preferred": "native", "num_threads": 1}):
        elementwise.add(X, X)
    assert (bp.last_plan().operation, bp.last_plan().library, bp.last_plan().threads) == ("binary", "native", 1)
    assert bp.explain(elementwise.add, X, X).chosen.library == "native"
    assert bp.explain(reduce.sum, X, axis=0).chosen and bp.explain(F.linear, X, X).chosen


def test_wrong_arguments_have_the_messages_of_python():
    for call in (lambda: elementwise.add(X), lambda: elementwise.add(X, X, X), lambda: elementwise.add(X, X, other=1), lambda: reduce.sum(),
                 lambda: reduce.sum(X, 0), lambda: F.linear(X), lambda: F.scaled_dot_product_attention(X, X, X, is_caused=True)):
        with pytest.raises(TypeError, match=r"(add|sum|linear|scaled_dot_product_attention)\(\)"):
            call()
    with pytest.raises(TypeError, match="byte order"):
        elementwise.add(X.astype(">f8"), X.astype(">f8"))
    with pytest.raises(TypeError, match="masked"):
        elementwise.add(np.ma.array(X, mask=X > 0), X)


def test_they_look_like_functions():
    for function, slow in SLOW.items():
        assert inspect.isbuiltin(function) and pickle.loads(pickle.dumps(function)) is function
        assert (function.__module__, function.__name__, function.__qualname__) == (slow.__module__, slow.__name__, slow.__name__)
        assert function.__doc__ == slow.__doc__
        plain = [one.replace(annotation=one.empty) for one in inspect.signature(slow).parameters.values()]
        assert list(inspect.signature(function).parameters.values()) == plain
