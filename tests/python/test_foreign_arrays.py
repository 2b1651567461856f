"""Arrays that need special treatment: torch's lazy negation and conjugation, unaligned memory, and bfloat16 of ml_dtypes."""

import sys
import types

import numpy as np
import pytest

import backplane as bp


def every_call(a, b):
    """Returns the result of each family of operations with input `a`; a and b are square matrices of one type."""
    return {
        "matmul": bp.matmul(a, b),
        "matmul, second": bp.matmul(b, a),
        "gemm": bp.gemm(a, b, alpha=2.0),
        "einsum": bp.einsum("ij,jk->ik", a, b),
        "einsum of four": bp.einsum("ij,jk,kl,lm->im", b, b, b, a),
        "inv": bp.linalg.inv(a),
        "solve": bp.linalg.solve(b, a),
        "det": bp.linalg.det(a),
        "fft": bp.fft.fft(a),
        "fftshift": bp.fft.fftshift(a),
    }


# ---- Lazy signs and conjugates ----


class Lazy:
    """Imitates a lazily conjugated or negated torch tensor: DLPack exports memory with another sign than the values."""

    def __init__(self, memory, negative=False, conjugate=False):
        self.memory, self.negative, self.conjugate = memory, negative, conjugate

    def __dlpack__(self, **names):
        return self.memory.__dlpack__(**names)

    def is_neg(self):
        return self.negative

    def is_conj(self):
        return self.conjugate

    def resolve_neg(self):
        return Lazy(-self.memory, False, self.conjugate)

    def resolve_conj(self):
        return Lazy(self.memory.conj(), self.negative, False)

    def shown(self):
        array = self.memory.conj() if self.conjugate else self.memory
        return -array if self.negative else array


@pytest.mark.parametrize("negative, conjugate", [(True, False), (False, True), (True, True), (False, False)])
def test_lazy_bits_are_resolved(negative, conjugate):
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) for _ in range(2))
    lazy = Lazy(a, negative, conjugate)
    results = every_call(lazy, b)
    for name, wanted in every_call(lazy.shown(), b).items():
        assert np.allclose(np.asarray(results[name]), wanted), name
    assert np.array_equal(lazy.memory, a)
    assert bp.explain(bp.matmul, lazy, b).problem == bp.explain(bp.matmul, a, b).problem


@pytest.mark.parametrize("bit", ["neg", "conj"])
def test_results_do_not_go_into_lazy_memory(bit):
    a, memory = np.eye(2), np.zeros((2, 2))
    out = Lazy(memory, negative=bit == "neg", conjugate=bit == "conj")
    calls = [lambda: bp.matmul(a, a, out=out), lambda: bp.gemm(a, a, out), lambda: bp.einsum("ij,jk->ik", a, a, out=out),
             lambda: bp.linalg.inv(a, out=out), lambda: bp.explain(bp.matmul, a, a, out=out)]
    for call in calls:
        with pytest.raises(ValueError, match=rf"is_{bit}\(\) is true.*resolve_{bit}\(\)"):
            call()
    assert not memory.any()


def test_attributes_that_are_not_predicates():
    class Odd:
        is_neg = True  # not a method, so not torch's predicate

        def __dlpack__(self, **names):
            return np.eye(2).__dlpack__(**names)

    class Failing(Odd):
        def is_neg(self):
            raise RuntimeError("cannot say")

    assert np.array_equal(np.from_dlpack(bp.matmul(Odd(), memoryview(np.eye(2)))), np.eye(2))
    with pytest.raises(RuntimeError, match="cannot say"):
        bp.matmul(Failing(), np.eye(2))


def test_lazy_bits_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = (1j * torch.ones(2, 2, dtype=torch.complex64)).conj().imag
    assert x.is_neg() and torch.equal(bp.matmul(x, torch.eye(2)), -torch.ones(2, 2))
    b = torch.randn(3, 3, dtype=torch.complex128)
    plain = torch.randn(3, 3, dtype=torch.complex128)
    for lazy in (plain.conj(), torch._neg_view(plain), torch._neg_view(plain.conj())):
        results = every_call(lazy, b)
        for name, wanted in every_call(lazy.resolve_conj().resolve_neg(), b).items():
            assert torch.allclose(results[name], wanted), name
    with pytest.raises(ValueError, match="resolve_neg"):
        bp.matmul(torch.eye(2), torch.eye(2), out=torch._neg_view(torch.zeros(2, 2)))
    with pytest.raises(bp.BadTypeError, match="^a: cannot be read: .*detach"):
        bp.matmul(torch.eye(2, requires_grad=True), torch.eye(2))


# ---- Alignment ----


def odd_bytes(array):
    """Returns a copy that starts at an odd address."""
    memory = np.zeros(array.nbytes + 1, "u1")[1:]
    copy = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def field(array):
    """Returns a copy in a field of records, so that strides are not multiples of the element size."""
    records = np.zeros(array.shape, [("tag", "u1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


@pytest.mark.parametrize("place", [odd_bytes, field, lambda a: odd_bytes(a.T).T, lambda a: field(a[::-1])[::-1]])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_memory_that_is_not_aligned_is_copied(place, dtype):
    rng = np.random.default_rng(3)
    a, b = ((rng.standard_normal((3, 3)) + (1j * rng.standard_normal((3, 3)) if dtype[0] == "c" else 0)).astype(dtype)
            for _ in range(2))
    got = every_call(place(a), b)
    for name, wanted in every_call(a, b).items():
        assert np.allclose(got[name], wanted), name
    out = place(np.full((3, 3), 7, dtype))
    for call in (lambda: bp.matmul(a, b, out=out), lambda: bp.einsum("ij,jk->ik", a, b, out=out),
                 lambda: bp.gemm(a, b, out)):
        out[...] = 7
        assert call() is out and np.allclose(out, a @ b)
    assert bp.gemm(a, b, out, beta=1.0) is out and np.allclose(out, 2 * (a @ b))
    assert bp.linalg.inv(a, out=out) is out and np.allclose(out, np.linalg.inv(a))


def test_memory_around_an_unaligned_array_is_not_written():
    records = np.zeros((4, 4), [("before", "u1"), ("value", "f8"), ("after", "u2")])
    records["before"], records["after"] = 17, 4711
    bp.matmul(np.eye(2), np.ones((2, 2)), out=records["value"][::2, ::3])
    assert (records["before"] == 17).all() and (records["after"] == 4711).all()
    assert records["value"].sum() == 4 and (records["value"][::2, ::3] == 1).all()


def test_a_failing_call_leaves_an_unaligned_result_as_it_was():
    out = field(np.full((2, 2), 5.0))
    with pytest.raises(bp.linalg.LinAlgError):
        bp.linalg.inv(np.full((2, 2), np.nan), out=out)
    with pytest.raises(ValueError, match="shape"):
        bp.matmul(np.eye(3), np.eye(3), out=out)
    frozen = field(np.eye(2))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="^out: is read-only"):
        bp.matmul(np.eye(2), np.eye(2), out=frozen)
    assert bp.matmul(frozen, np.zeros((2, 0))).shape == (2, 0) and (frozen == np.eye(2)).all()


def test_explaining_reads_and_writes_no_unaligned_array():
    a, out = odd_bytes(np.eye(4)), field(np.full((4, 4), 3.0))
    wanted = bp.explain(bp.matmul, np.eye(4), np.eye(4), out=np.empty((4, 4)))
    assert bp.explain(bp.matmul, a, a, out=out).problem == wanted.problem
    assert bp.explain(bp.fft.fft, a, out=field(np.empty((4, 4), "c16"))).chosen
    assert [part.problem for part in bp.explain(bp.einsum, "ij,jk->ik", a, a, out=out).parts] == [wanted.problem]
    assert bp.explain(bp.linalg.inv, a, out=out).chosen
    assert (out == 3).all()


# ---- bfloat16 ----


@pytest.fixture
def bfloat16():
    return pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16


def test_bfloat16_of_ml_dtypes(bfloat16):
    a = (np.arange(12).reshape(3, 4) / 4).astype(bfloat16)
    wanted = a.astype("f4") @ a.astype("f4").T
    for result in (bp.matmul(a, a.T), bp.gemm(a, a.T), bp.einsum("ij,kj->ik", a, a)):
        assert type(result) is np.ndarray and result.dtype == bfloat16 and np.array_equal(result.astype("f4"), wanted.astype(bfloat16).astype("f4"))
    out = np.zeros((6, 3), bfloat16)[::2]
    assert bp.matmul(a, a.T, out=out) is out and np.array_equal(out, bp.matmul(a, a.T))
    assert np.array_equal(bp.matmul(odd_bytes(a), a.T), out) and np.array_equal(bp.matmul(a[::-1], a.T), out[::-1])
    assert "bf16 3x4" in bp.explain(bp.matmul, a, a.T).problem
    assert bp.matmul(a[:, :0], a.T[:0]).shape == (3, 3) and bp.matmul(a[0], a[0]).dtype == bfloat16
    out.flags.writeable = False
    with pytest.raises(ValueError, match="^out: is read-only"):
        bp.matmul(a, a.T, out=out)
    mixed = bp.matmul(a, np.eye(4, dtype="f4"))
    assert mixed.dtype == np.float32 and np.array_equal(mixed, a.astype("f4"))
    assert np.array_equal(bp.gemm(a, np.eye(4, dtype="f4")), mixed)
    with pytest.raises(TypeError):
        bp.linalg.inv(np.eye(2).astype(bfloat16))


def test_a_bfloat16_result_of_einsum_in_another_order(bfloat16):
    a, b = (np.ones(shape, bfloat16) * 2 for shape in ((9, 8, 30), (9, 30, 7)))
    for expression in ("bij,bjk->ikb", "bij,bjk->kbi", "bij,bjk->bki", "bij,bjk->kib"):
        result = bp.einsum(expression, a, b)
        assert result.dtype == bfloat16 and (result == 120).all()
        assert result.shape == np.einsum(expression, a.astype("f4"), b.astype("f4")).shape


def test_bits_of_results(bfloat16):
    half = np.ones((2, 2), bfloat16)
    result = bp._core.einsum("ij,jk", (half, half), None, None, None, False)  # before it becomes an array of NumPy
    assert result.dtype == "bf16" and result.bits().dtype == "u16"
    assert np.asarray(result.bits()).tolist() == [[0x4000] * 2] * 2
    assert np.array_equal(np.from_dlpack(result.bits()), np.asarray(result.bits()))
    bits = result.bits()
    del result
    assert memoryview(bits).format == "H" and memoryview(bits)[1, 1] == 0x4000


def test_bits_of_other_types():
    for dtype, name in (("float16", "uint16"), ("float32", "uint32"), ("float64", "uint64"), ("complex64", "uint64")):
        result = bp.matmul(memoryview(np.ones((1, 2), dtype)), memoryview(np.ones((2, 1), dtype)))
        words = np.asarray(result.bits())
        assert words.dtype == name and np.array_equal(words, np.asarray(result).view(name))
    with pytest.raises(bp.BadTypeError, match="bits: there is no unsigned integer as large as c128"):
        bp.matmul(memoryview(np.ones((1, 2), "c16")), memoryview(np.ones((2, 1), "c16"))).bits()


# ---- Arrays of other libraries ----


class Standing:
    """An array of a library that exports and imports DLPack, as jax and CuPy do."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **names):
        return self.values.__dlpack__(**names)

    def __dlpack_device__(self):
        return (1, 0)


def library(name, kind, imports=True):
    """Returns a module with from_dlpack() that makes arrays of `kind`, and how often it was called."""
    module, calls = types.ModuleType(name), []

    def from_dlpack(array):
        calls.append(array)
        if not imports:
            raise BufferError("host memory is not taken")
        return kind(np.from_dlpack(array))

    module.from_dlpack = from_dlpack
    return module, calls


def test_results_are_of_the_library_of_the_array_api_namespace():
    class Array(Standing):
        def __array_namespace__(self, api_version=None):
            return module

    module, calls = library("a_library", Array)
    a = np.random.default_rng(3).standard_normal((3, 3))
    wanted = every_call(a, a)
    for name, got in every_call(Array(a), Array(a)).items():
        assert type(got) is Array and np.allclose(got.values, wanted[name]), name
    assert calls and all(type(one) is bp.Tensor for one in calls)
    assert type(bp.matmul(memoryview(a), Array(a))) is Array and type(bp.fft.dctn(Array(a))) is Array
    assert type(bp.matmul(a, Array(a))) is np.ndarray
    values, vectors = bp.linalg.eigh(Array(a + a.T))
    assert type(values) is Array and type(vectors) is Array
    out = np.empty((3, 3))
    assert bp.matmul(Array(a), Array(a), out=out) is out


def test_results_are_of_the_package_of_the_type(monkeypatch):
    class Array(Standing):
        __module__ = "another_library._core.core"

    module, calls = library("another_library", Array)
    a = np.arange(4.0).reshape(2, 2)
    monkeypatch.setitem(sys.modules, "another_library", module)
    got = bp.matmul(Array(a), Array(a))
    assert type(got) is Array and np.array_equal(got.values, a @ a) and len(calls) == 1


def test_a_library_that_does_not_import_host_memory():
    class Array(Standing):
        def __array_namespace__(self, api_version=None):
            return module

    module, calls = library("a_library_of_devices", Array, imports=False)
    a = np.arange(4.0).reshape(2, 2)
    got = bp.matmul(Array(a), Array(a))
    assert type(got) is bp.Tensor and np.array_equal(np.asarray(got), a @ a) and calls


def test_integers_become_the_default_float_type_of_their_library():
    class Typed(Standing):  # has NumPy's element types, and f32 is the default, as in jax
        dtype = property(lambda self: self.values.dtype)

        def __array_namespace__(self, api_version=None):
            return module

        def astype(self, kind):
            return Typed(self.values.astype("f4" if kind is float else kind))

    module, _ = library("a_library_of_types", Typed)
    matrix = np.array([[2, 0], [0, 4]])
    for kind in ("i4", "u1", "?"):
        given = matrix.astype(kind)
        for function, model in ((bp.fft.fft, np.fft.fft), (bp.fft.irfft, np.fft.irfft), (bp.linalg.svdvals, np.linalg.svdvals)):
            got, wanted = function(Typed(given)), model(given)
            assert type(got) is Typed and got.dtype == ("c8" if wanted.dtype.kind == "c" else "f4")
            np.testing.assert_allclose(got.values, wanted, rtol=1e-6)
        assert bp.fft.dctn(Typed(given)).dtype == "f4"


@pytest.mark.parametrize("kind", ["i4", "i8", "u1", "?"])
def test_products_of_integers_are_arrays_of_their_library(kind):
    class Array(Standing):
        def __array_namespace__(self, api_version=None):
            return module

    def check(got, wanted, of=Array):
        values = got.values if of is Array else got
        assert type(got) is of and values.dtype == kind and np.array_equal(values, wanted)

    module, _ = library("a_library_of_integers", Array)
    a, b = np.arange(6).reshape(2, 3).astype(kind), (np.arange(12) % 5).reshape(3, 4).astype(kind)
    A, B, one = Array(a), Array(b), Array(a[0])
    check(bp.linalg.matmul(A, B), a @ b)
    check(bp.linalg.matmul(A, b), a @ b, np.ndarray)
    check(bp.linalg.matmul(memoryview(a), memoryview(b)), a @ b, np.ndarray)
    check(bp.linalg.matmul(one, one), a[0] @ a[0])
    check(bp.linalg.outer(one, one), np.outer(a[0], a[0]))
    check(bp.linalg.tensordot(A, B, 1), a @ b)
    check(bp.linalg.multi_dot([A, B, Array(b.T)]), a @ b @ b.T)
    check(bp.linalg.vecdot(A, A), (a[..., None, :] @ a[..., :, None])[..., 0, 0])
    check(bp.linalg.matrix_power(Array(a[:, :2]), 3), np.linalg.matrix_power(a[:, :2], 3))
    check(bp.linalg.diagonal(A), a.diagonal())
    check(bp.linalg.matrix_transpose(A), a.T)
    assert not np.shares_memory(bp.linalg.diagonal(A).values, a)  # arrays of other libraries may be immutable
    out = np.empty((2, 4), kind)
    assert bp.linalg.matmul(A, B, out=out) is out and bp.linalg.tensordot(A, B, 1, out=out) is out
    check(out, a @ b, np.ndarray)
    if kind == "u1":  # whose products are int32
        product = bp.matmul(A, B).values
        assert product.dtype == "i4" and np.array_equal(product, a.astype("i4") @ b.astype("i4"))
    else:
        check(bp.matmul(A, B), a @ b)
        check(bp.gemm(A, B), a @ b)
    with pytest.raises(TypeError):
        bp.explain(bp.linalg.matmul, A, B)


def test_products_that_are_not_computed_by_numpy():
    class Device(Standing):
        def __dlpack_device__(self):
            return (2, 0)

    class Array(Standing):
        def __array_namespace__(self, api_version=None):
            return module

    module, _ = library("a_library_of_two_kinds", Array)
    whole, real = np.eye(2, dtype=int), np.eye(2)
    masked = np.ma.masked_array(whole, mask=whole)
    with pytest.raises(TypeError):  # memory of a device is not copied
        bp.linalg.matmul(Device(whole), Device(whole))
    for function in (bp.linalg.matmul, bp.linalg.vecdot, bp.linalg.tensordot):
        for A, B in ((Array(whole), Array(real)), (Array(real), Array(real.astype("f4"))), (masked, masked), (masked, whole)):
            with pytest.raises(TypeError):
                function(A, B)
    a = Array(real)
    for got in (bp.linalg.trace(a), bp.linalg.diagonal(a), bp.linalg.matrix_transpose(a), bp.linalg.tensorinv(a, 1)):
        assert type(got) is Array


def test_arrays_without_a_library():
    a = np.arange(4.0).reshape(2, 2)
    for array in (memoryview(a), Standing(a), bp.matmul(memoryview(a), memoryview(a))):
        assert type(bp.matmul(array, array)) is bp.Tensor
    for kind in [type(f"Array{i}", (Standing,), {}) for i in range(300)]:
        assert type(bp.matmul(kind(a), kind(a))) is bp.Tensor
    assert len(bp._products._IMPORTERS) <= 101


@pytest.mark.parametrize("name", ["jax.numpy", "cupy"])
def test_installed_libraries(name):
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    try:
        a = library.ones((3, 3), dtype="float32")
    except Exception as error:
        pytest.skip(f"{name} cannot make an array: {error}")
    if a.__dlpack_device__()[0] != 1:
        pytest.skip(f"{name} has its arrays on a device")
    assert type(bp.matmul(a, a)) is type(a)
    assert type(bp.linalg.matrix_power(a, 3)) is type(a) and type(bp.fft.dct(a)) is type(a)
    whole = library.asarray([[2, 0], [0, 4]])
    for got in (bp.linalg.inv(whole), bp.fft.rfft(whole), bp.fft.dct(whole)):
        assert type(got) is type(a) and got.dtype.kind in "fc"
