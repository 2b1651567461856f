"""Calls that programs for PyTorch make: one rule for the inputs of products, arguments by name, devices, and unusual weights."""

import copy
import pickle
import threading

import numpy as np
import pytest

import backplane as bp
import backplane.nn.functional as F

WHOLE = np.arange(4).reshape(2, 2)


@pytest.mark.parametrize("multiply", [bp.matmul, bp.linalg.matmul])
def test_products_convert_lists_integers_and_mixed_types(multiply):
    assert multiply([[1, 2]], [[3], [4]]).tolist() == [[11]] and multiply([1.5], [2]).tolist() == 3
    found = multiply(WHOLE, WHOLE)
    assert found.dtype == np.int64 and found.tolist() == (WHOLE @ WHOLE).tolist()
    assert multiply(WHOLE, WHOLE + 0.5).tolist() == (WHOLE @ (WHOLE + 0.5)).tolist()
    mixed = multiply(np.ones((2, 2), "f4"), np.ones((2, 2)))
    assert mixed.dtype == np.float64 and mixed.tolist() == [[2, 2], [2, 2]]
    out = np.zeros((2, 2))
    assert multiply([[1.0, 2], [3, 4]], np.eye(2, dtype="f4"), out=out) is out and out.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="are not accepted"):
        multiply(["text"], [1.0])


def test_products_of_bytes_stay_int32():
    a = np.full((2, 2), 100, "i1")
    assert bp.matmul(a, a).dtype == np.int32 and bp.matmul(a, a)[0, 0] == 20000
    with pytest.raises(TypeError):
        bp.matmul(a, a, out=np.zeros((2, 2), "i2"))


def test_arguments_by_name():
    a, b = np.ones((2, 3)), np.ones((3, 2))
    assert bp.matmul(input=a, other=b).tolist() == bp.matmul(a, other=b).tolist() == [[3, 3], [3, 3]]
    assert bp.explain(bp.matmul, input=a, other=b).problem == bp.explain(bp.matmul, a.tolist(), b).problem == "f64 2x3 @ 3x2 -> 2x2"


@pytest.mark.parametrize("shape", [(2, 3), (3,), (4, 2, 3), (0, 3)])
def test_linear_with_a_weight_of_one_dimension(shape):
    x, w = np.arange(np.prod(shape), dtype=float).reshape(shape), np.array([1.0, 2, 3])
    assert np.array_equal(F.linear(x, w), x @ w) and np.array_equal(F.linear(x, w, np.array(1.0)), x @ w + 1)
    assert np.array_equal(F.linear(-x, w, activation="relu"), np.zeros(shape[:-1]))
    out = np.empty(shape[:-1])
    assert F.linear(x, w, np.array(1.0), out=out) is out and np.array_equal(out, x @ w + 1)


@pytest.mark.parametrize("rows, features, outputs", [((2,), 0, 3), ((), 0, 3), ((2, 2), 0, 3), ((2,), 4, 0), ((0,), 0, 0)])
def test_linear_of_empty_weights(rows, features, outputs):
    x, w, bias = np.ones((*rows, features)), np.ones((outputs, features)), np.arange(outputs, dtype=float)
    for given in (x, w), (x, w, bias):
        found = F.linear(*given)
        assert np.array_equal(found, x @ w.T + (bias if len(given) > 2 else 0)) and found.shape == (*rows, outputs)
    tensors = [bp.from_dlpack(one) for one in (x, w, bias)]
    assert F.linear(*tensors).tolist() == (x @ w.T + bias).tolist()


def test_norms_in_another_type():
    x = np.array([3e200, 4e200])
    assert bp.linalg.vector_norm(np.array([3, 4], "f4"), dtype=np.float64).dtype == np.float64
    assert bp.linalg.vector_norm(x / 1e200, dtype="float32").dtype == np.float32
    assert bp.linalg.norm(bp.from_dlpack(np.array([3, 4])), dtype="f32").dtype == "f32"
    assert bp.linalg.norm(np.array([[3, 0], [0, 4]], "f4"), "fro", dtype=np.float64) == 5


def test_devices_are_values():
    one = bp.device(type="cuda", index=1)
    assert one == bp.device("cuda:1") == bp.device("cuda", index=1) and bp.device(type="cpu").index is None
    for same in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert same == one and hash(same) == hash(one) and type(same) is bp.device
    for wrong in (dict(), dict(device="cpu", type="cpu")):
        with pytest.raises(TypeError, match="one of"):
            bp.device(**wrong)


def test_new_tensors_are_on_the_device_of_the_block():
    makers = (lambda: bp.empty(2), lambda: bp.zeros(2), lambda: bp.full((2,), 1), lambda: bp.rand(2))
    with bp.device("cpu") as outer:
        assert outer == bp.device("cpu")
        with bp.device("cuda"):
            for make in makers:
                with pytest.raises(bp.Error, match="cuda"):
                    make()
            assert bp.empty(2, device="cpu").device == outer
            others = []
            thread = threading.Thread(target=lambda: others.append(bp.empty(2).device))
            thread.start()
            thread.join()
            assert others == [outer]
        assert bp.empty(2).device == outer
