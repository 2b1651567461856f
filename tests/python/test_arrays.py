"""Input and result arrays through the buffer protocol and DLPack, without copies; NumPy is the reference."""

import array
import ctypes
import gc
import weakref

import dlpack
import numpy as np
import pytest

import backplane as bp

TYPES = ["float16", "float32", "float64", "complex64", "complex128"]


def some(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    parts = generator.integers(-8, 9, size=shape) / 4
    if np.dtype(dtype).kind == "c":
        parts = parts + 1j * generator.integers(-8, 9, size=shape) / 4
    return parts.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shapes", [((5, 7), (7, 3)), ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((2, 1, 4, 3), (5, 3, 2)),
                                    ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 4, 3), (3, 2)), ((1, 1), (1, 1))])
def test_every_type_and_shape(dtype, shapes):
    a, b = some(shapes[0], dtype), some(shapes[1], dtype, seed=1)
    result = bp.matmul(a, b)
    expected = np.asarray(np.matmul(a, b))
    assert type(result) is np.ndarray and result.dtype == expected.dtype and result.shape == expected.shape
    assert np.array_equal(result, expected)  # the values are quarters of small whole numbers, so every sum is exact


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", [
    lambda x: x[::-1, ::-1], lambda x: x[::2, ::3], lambda x: x.T, lambda x: x[1:, 2:], lambda x: np.asfortranarray(x),
    lambda x: np.broadcast_to(x[0], (12, 12)), lambda x: x[:, ::-2],
])
def test_strides_are_read_in_place(dtype, view):
    a = view(some((12, 12), dtype))
    b = view(some((12, 12), dtype, seed=3)).T
    assert np.array_equal(bp.matmul(a, b), np.matmul(a, b))


def test_read_only_arrays_are_read_and_not_written():
    a = some((3, 3), "f8")
    a.flags.writeable = False
    assert np.array_equal(bp.matmul(a, a), a @ a)
    with pytest.raises(ValueError, match="out: is read-only"):
        bp.matmul(np.eye(3), np.eye(3), out=a)
    with pytest.raises(TypeError, match="out: bytes"):
        bp.matmul(np.eye(1), np.eye(1), out=b"12345678")


def test_out_is_written_in_place_and_returned():
    a, b = some((4, 5), "f4"), some((5, 6), "f4", 2)
    whole = np.full((8, 12), np.nan, "f4")
    out = whole[::2, ::-2]
    assert bp.matmul(a, b, out=out) is out
    assert np.array_equal(out, a @ b)
    assert np.isnan(whole[1::2]).all() and np.isnan(whole[:, ::2]).all()


def test_out_may_not_overlap_an_input():
    a = some((4, 4), "f8")
    with pytest.raises(ValueError) as caught:
        bp.matmul(a, a, out=a)
    assert caught.value.status == "E_OVERLAP"


def test_zero_dimensions_are_refused():
    with pytest.raises(ValueError):
        bp.matmul(np.array(1.0), np.eye(2))


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint16", "int64", "bool", "longdouble", ">f8", "S4"])
def test_other_types_are_converted_or_a_type_error(dtype):
    a = np.array([[1, 1], [0, 1]]).astype(dtype)
    for function in (bp.matmul, bp.gemm):
        if dtype == "S4":
            with pytest.raises(TypeError):
                function(a, a)
        else:
            found = function(a, a)
            assert found.dtype == np.matmul(a, a).dtype and np.array_equal(found, np.matmul(a, a))


def test_unsupported_types_are_refused():
    dates = np.zeros((2, 2), "datetime64[s]")
    with pytest.raises(bp.BadTypeError, match="^b: cannot be read") as caught:
        bp.matmul(np.eye(2), dates)
    assert isinstance(caught.value.__cause__, BufferError)


def test_records_are_refused_and_their_fields_are_not():
    pairs = np.zeros((3, 3), [("x", "f8"), ("y", "f4")])
    with pytest.raises(TypeError):
        bp.matmul(pairs, pairs)
    pairs["x"] = np.eye(3) + 1  # 12 bytes apart
    assert np.array_equal(bp.matmul(pairs["x"], np.eye(3)), np.eye(3) + 1)


def test_masked_arrays_are_refused():
    masked, plain = np.ma.masked_array(np.eye(2), mask=np.eye(2)), np.eye(2)
    for function, last in ((bp.matmul, "out"), (bp.gemm, "c")):
        for name, given, more in (("a", (masked, plain), {}), ("b", (plain, masked), {}), (last, (plain, plain), {last: masked})):
            for attempt in (function, lambda *a, **n: bp.explain(function, *a, **n)):
                with pytest.raises(bp.BadTypeError, match=f"^{name}: a masked array") as caught:
                    attempt(*given, **more)
                assert caught.value.status == "E_DTYPE"
    with pytest.raises(TypeError, match="^c: a masked array"):
        bp.gemm(plain, plain, masked)
    assert np.array_equal(masked.data, np.eye(2))  # nothing was written


@pytest.mark.parametrize("wrong", [b"12345678", bytearray(8), "text", None, object()])
def test_an_object_that_is_no_array_is_a_type_error(wrong):
    with pytest.raises(TypeError):
        bp.matmul(wrong, np.eye(2))


@pytest.mark.parametrize("wrong", [b"12345678", "text", None, object()])
def test_gemm_takes_arrays_and_lists_only(wrong):
    with pytest.raises(TypeError):
        bp.gemm(wrong, np.eye(2))


@pytest.mark.parametrize("wrong", [[[1.0]], 1.0])
def test_lists_and_numbers_have_a_shape(wrong):
    with pytest.raises(ValueError):
        bp.gemm(wrong, np.eye(2))


def test_array_array_memoryview_and_ctypes():
    numbers = array.array("d", [1, 2, 3, 4, 5, 6])
    matrix = memoryview(numbers).cast("B").cast("d", (2, 3))
    column = (ctypes.c_double * 3)(1, 1, 1)
    result = bp.matmul(matrix, column)
    assert type(result) is bp.Tensor
    assert memoryview(result).tolist() == [6.0, 15.0]
    dot = bp.matmul(numbers, numbers)
    assert dot.shape == () and memoryview(dot).tolist() == 91.0
    out = array.array("d", [0, 0])
    assert bp.matmul(matrix, column, out=out) is out and list(out) == [6, 15]


def test_buffers_are_released_after_the_call():
    numbers = array.array("d", [1, 2])
    bp.matmul(numbers, numbers)
    numbers.append(3)  # an array with an exported buffer cannot be resized
    with pytest.raises(ValueError):
        bp.matmul(numbers, array.array("d", [1]))
    numbers.append(4)


@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize("right", ["int8", "uint8"])
def test_products_of_8_bit_integers(left, right):
    rng = np.random.default_rng(7)
    a = rng.integers(0, 256, (5, 3, 70), dtype=np.uint8).view(left)
    b = rng.integers(0, 256, (70, 9), dtype=np.uint8).view(right)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    result = bp.matmul(a, b)
    assert result.dtype == np.int32 and np.array_equal(result, expected)
    strided = a[:, ::-1, ::2].astype(np.int32) @ b[::2, ::-1].astype(np.int32)
    assert np.array_equal(bp.matmul(a[:, ::-1, ::2], b[::2, ::-1]), strided)
    out = np.ones((3, 9), np.int32)
    assert np.array_equal(bp.gemm(a[0], b, out, beta=1), expected[0] + 1)
    with pytest.raises(TypeError, match="the product of integers is i32"):
        bp.matmul(a[0], b, out=np.zeros((3, 9), np.int8))
    with pytest.raises(ValueError, match="alpha must be 1"):
        bp.gemm(a[0], b, alpha=2)


# ---- DLPack ----


@pytest.mark.parametrize("old", [False, True])
def test_capsules_of_both_versions(old):
    a = dlpack.f64_array([1, 2, 3, 4, 5, 6], (2, 3), old=old)
    b = dlpack.f64_array([1, 0, 0, 1, 1, 1], (2, 3), strides=(1, 2), old=old)  # column-major
    result = bp.matmul(a, dlpack.f64_array([1, 0, 0, 1, 1, 1], (3, 2), old=old))
    assert np.array_equal(np.from_dlpack(result), [[4, 5], [10, 11]])
    assert np.array_equal(bp.gemm(b, np.eye(3)), [[1, 0, 1], [0, 1, 1]])
    assert (a.releases, b.releases) == (1, 1)


def test_memory_is_released_when_the_call_fails():
    a, b = dlpack.f64_array([1, 2], (1, 2)), dlpack.f64_array([1, 2, 3], (3, 1))
    with pytest.raises(ValueError):
        bp.matmul(a, b)
    assert (a.releases, b.releases) == (1, 1)


def test_byte_offsets_and_missing_strides():
    a = dlpack.f64_array([9, 9, 1, 2, 3, 4], (2, 2), offset=16)
    assert np.array_equal(bp.matmul(a, np.eye(2)), [[1, 2], [3, 4]])


def test_bfloat16_through_dlpack():
    a = dlpack.bf16_array([1, 2, 3, 4], (2, 2))
    result = bp.matmul(a, dlpack.bf16_array([2, 0, 0, 2], (2, 2)))
    assert result.dtype == "bf16"
    with pytest.raises(BufferError, match="bf16"):
        memoryview(result)
    again = bp.matmul(result, dlpack.bf16_array([1, 0, 0, 1], (2, 2)))
    assert again.shape == (2, 2) and a.releases == 1
    with pytest.raises(BufferError):
        memoryview(again)


def test_other_devices_are_refused():
    with pytest.raises(ValueError) as caught:
        bp.matmul(dlpack.f64_array([1], (1, 1), device=dlpack.CUDA), np.eye(1))
    assert caught.value.status == "E_DEVICE"


def test_read_only_and_newer_capsules():
    a = dlpack.f64_array([1], (1, 1), read_only=True)
    assert bp.matmul(a, np.eye(1)) == 1
    with pytest.raises(ValueError, match="out: is read-only"):
        bp.matmul(np.eye(1), np.eye(1), out=dlpack.f64_array([1], (1, 1), read_only=True))
    newer = dlpack.f64_array([1], (1, 1), major=2)
    with pytest.raises(bp.BadTypeError, match="^a: gives DLPack version 2"):
        bp.matmul(newer, np.eye(1))
    assert newer.releases == 0  # a refused capsule is not consumed


def test_too_many_dimensions():
    shape = (1,) * 65
    with pytest.raises(ValueError, match="65 dimensions"):
        bp.matmul(dlpack.f64_array([1], shape), np.eye(1))


def test_the_exception_of_an_exporter_is_kept():
    class Broken:
        def __dlpack__(self, **names):
            raise RuntimeError("not today")

    class Odd:
        def __dlpack__(self, **names):
            return "capsule"

    with pytest.raises(RuntimeError, match="not today"):
        bp.matmul(Broken(), np.eye(2))
    with pytest.raises(bp.BadTypeError, match="did not return a DLPack capsule"):
        bp.matmul(Odd(), np.eye(2))


# ---- Results ----


def tensor(rows=2, columns=3):
    return bp.matmul(memoryview(np.ones((rows, 4))), memoryview(np.ones((4, columns))))


def test_results_outlive_the_tensor():
    result = tensor()
    alive = weakref.ref(result)
    view, other = memoryview(result), np.from_dlpack(result)
    del result
    gc.collect()
    assert alive() is not None  # the view holds a reference
    view.release()
    del view
    gc.collect()
    assert alive() is None
    assert np.array_equal(other, np.full((2, 3), 4.0))  # the memory has its own reference count


def test_dlpack_of_results():
    result = tensor()
    assert result.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(result.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(result.__dlpack__())

    class Copying:
        __dlpack_device__ = result.__dlpack_device__

        def __dlpack__(self, **names):
            return result.__dlpack__(copy=True, max_version=names.get("max_version"))

    shared, copied = np.asarray(result), np.from_dlpack(Copying())
    shared[0, 0] = 7
    assert memoryview(result).tolist()[0][0] == 7 and copied[0, 0] == 4
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            result.__dlpack__(**wrong)
    assert repr(result).startswith("backplane.Tensor([[") and result.ndim == 2


def by_dlpack_alone(given):
    class Plain:
        def __dlpack__(self, **names):
            return given.__dlpack__(**names)

    return Plain()


@pytest.mark.parametrize("dtype, letters", [("f2", "e"), ("f4", "f"), ("f8", "d"), ("c8", "Zf"), ("c16", "Zd")])
def test_buffer_of_results(dtype, letters):
    a = some((3, 2), dtype)
    result = bp.matmul(by_dlpack_alone(a), by_dlpack_alone(a.T))
    view = memoryview(result)
    assert view.format == letters and view.shape == (3, 3) and view.c_contiguous and not view.readonly
    assert np.array_equal(np.asarray(result), a @ a.T)


def test_a_column_major_buffer_is_refused():
    column_major, view = 0x40 | 0x18, ctypes.create_string_buffer(256)
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    with pytest.raises(BufferError, match="row-major"):
        get(tensor(), view, column_major)
    for flat in (tensor(1, 3), tensor(3, 1), tensor(0, 3)):
        assert get(flat, view, column_major) == 0
        ctypes.pythonapi.PyBuffer_Release(view)


@pytest.mark.parametrize("name", ["dl_device", "max_version"])
def test_pairs_of_dlpack_are_tuples(name):
    for wrong in ([1, 0], 1, "10", (1,), ("1", 0)):
        with pytest.raises(TypeError):
            tensor().__dlpack__(**{name: wrong})


def test_tensor_cannot_be_called():
    for kind in (bp.Tensor, bp.Setting):
        with pytest.raises(TypeError):
            kind()


def test_torch_tensors_give_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    a = torch.ones(3, 4)
    result = bp.matmul(a, a.T)
    assert isinstance(result, torch.Tensor) and torch.equal(result, a @ a.T)
    out = torch.zeros(3, 3, dtype=torch.bfloat16)
    assert bp.matmul(a.to(torch.bfloat16), a.T.to(torch.bfloat16), out=out) is out and out[0, 0] == 4
