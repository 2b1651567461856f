"""backplane.compiler: backends, settings, stances, explanations and names of torch."""

import numpy as np
import pytest
from compile_support import X, Y, assert_same

import backplane as bp

F = bp.nn.functional

# ---- Backends, stances ----


def test_backends():
    assert bp.compiler.list_backends() == ["auto", "inductor"]
    assert bp.compiler.list_backends(exclude_tags=()) == ["aot_eager", "auto", "eager", "inductor"]
    function = lambda x: F.softmax(x @ x.T + 1, 1)  # noqa: E731
    for name in (None, *bp.compiler.list_backends(None)):
        compiled = bp.compile(function, backend=name, fullgraph=True, dynamic=False, mode="default")
        assert_same(compiled(X), function(X))
        assert_same(compiled(X), function(X))
    seen = []

    def own(graph, example_inputs):
        seen.append((graph, example_inputs))
        return lambda *arrays: [graph(*arrays)]  # a list is taken too

    compiled = bp.compile(function, backend=own)
    for _ in range(3):
        assert_same(compiled(X), function(X))
    assert len(seen) == 1 and isinstance(seen[0][0], bp.Graph) and seen[0][1][0] is X
    with pytest.raises(bp.compiler.BackendCompilerFailed, match="ZeroDivisionError") as caught:
        bp.compile(function, backend=lambda graph, inputs: 1 / 0)(X)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(bp.compiler.BackendCompilerFailed, match="callable"):
        bp.compile(function, backend=lambda graph, inputs: None)(X)


@pytest.mark.parametrize("name", ["eager", "aot_eager"])
def test_eager_runs_calls_one_by_one(name, monkeypatch):
    call, seen = bp.Graph.__call__, []
    monkeypatch.setattr(bp.Graph, "__call__", lambda graph, *arrays, **names: seen.append(names) or call(graph, *arrays, **names))
    assert_same(bp.compile(lambda x: x + 1, backend=name)(X), X + 1)
    assert seen == [{"settings": {"graph.backend": "eager"}}]


def test_registered_backends():
    names = []
    bp.compiler.register_backend(lambda graph, inputs: names.append(1) or graph, name="test_one", tags=("experimental",))
    try:
        assert "test_one" not in bp.compiler.list_backends() and "test_one" in bp.compiler.list_backends(("debug",))
        with pytest.raises(bp.compiler.InvalidBackend):
            bp.compiler.register_backend(lambda graph, inputs: graph, name="test_one")
        bp.compiler.set_default_backend("test_one")
        assert bp.compiler.get_default_backend() == "test_one"
        assert bp.compile(lambda x: x + 1)(np.zeros(1))[0] == 1 and names == [1]
    finally:
        bp.compiler.set_default_backend("auto")
        del bp.compiler._backends._ROWS["test_one"]
    with pytest.raises(bp.compiler.InvalidBackend):
        bp.compiler.set_default_backend("test_one")


def test_settings_of_a_compiled_function():
    compiled = bp.compile(lambda x: x @ x.T, options={"settings": {"blas.preferred": "native"}})
    assert_same(compiled(X), bp.matmul(X, X.T, settings={"blas.preferred": "native"}))
    assert compiled.explain(X)[0].parts[0].chosen.library == "native"
    with pytest.raises(ValueError):
        bp.compile(lambda x: x, options={"settings": {"num_threads": -1}})


def test_stances():
    calls = []
    compiled = bp.compile(lambda x: calls.append(1) or x + 1)
    compiled(X)
    with bp.compiler.set_stance("force_eager"):
        compiled(X), compiled(X)
    assert len(calls) == 3
    with bp.compiler.set_stance("eager_on_recompile"):
        compiled(X), compiled(Y)
        assert len(calls) == 4 and len(compiled.graphs) == 1
    with bp.compiler.set_stance("fail_on_recompile"):
        compiled(X)
        with pytest.raises(bp.compiler.RecompileLimitHit):
            compiled(Y)

    @bp.compiler.set_stance("force_eager")
    def eagerly():
        return compiled(X)

    eagerly(), compiled(X)
    assert len(calls) == 5 and bp.compiler.FailOnRecompileLimitHit is bp.compiler.RecompileLimitHit
    bp.compiler.set_stance("force_eager")
    compiled(X)
    bp.compiler.set_stance("default")
    compiled(X)
    assert len(calls) == 6
    with pytest.raises(ValueError):
        bp.compiler.set_stance("often")
    bp.compiler.reset()
    compiled(X)
    assert len(calls) == 7


def test_disable():
    @bp.compiler.disable(reason="it reads a file")
    def helper(x):
        return x + 1

    assert bp.compile(helper) is helper and helper(1) == 2 and helper.__name__ == "helper"
    with pytest.raises(bp.compiler.TraceError, match="it reads a file"):
        bp.compile(lambda x: helper(x))(X)
    plain = lambda x: x  # noqa: E731
    assert bp.compile(plain, disable=True) is plain
    assert bp.compile(disable=True)(plain) is plain
    seen = []
    bp.compile(lambda x: seen.append((bp.compiler.is_compiling(), bp.compiler.is_dynamo_compiling())) or x + 1)(X)
    assert seen == [(True, True)] and not bp.compiler.is_compiling()


def test_explanations_and_export():
    function = bp.compile(lambda x: F.relu(x @ x.T))
    (why,) = bp.compiler.explain(function)(X)
    assert why.parts[0].chosen and str(bp.explain(function, X)) == str(why)
    assert bp.compiler.explain(lambda n: n)(3) == []
    with pytest.raises(ValueError):
        bp.explain(function, 3)
    graph = bp.compiler.export(function, X)
    again = bp.Graph.parse(graph.text())
    assert_same(again(X), function(X)) and again.hash() == graph.hash()
    with pytest.raises(ValueError):
        bp.compiler.export(lambda x: 3, X)


def test_names_of_torch():
    assert bp.compiler.compile is bp.compile
    names = {}
    exec("from backplane import *", names)
    assert "compile" not in names and names["compiler"] is bp.compiler
