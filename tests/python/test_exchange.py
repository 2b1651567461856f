"""Tensors of a type that has DLPack's C exchange interface, as torch's. The type is made with ctypes, so that these tests run
without torch; its functions can fail in ways that torch's do not."""

import ctypes
import gc
import sys
import types

import numpy as np
import pytest

import backplane as bp
import dlpack

A = np.arange(9.0).reshape(3, 3)
COMPLEX = A + 1j * A.T


class Lent:
    """A tensor around a NumPy array, without __dlpack__: it can only be borrowed. One type for all tests of this file, since
    the package keeps types with the interface."""

    requires_grad = False
    negative = conjugate = False
    wrapped = None  # what wrap() gives: an object, or a status
    borrowed = shared = 0  # statuses
    shares = releases = 0
    read_only = False
    major = 1

    def __init__(self, array, **attributes):
        self.array = array
        vars(self).update(attributes)

    def is_neg(self):
        self.asked()
        return self.negative

    def is_conj(self):
        return self.conjugate

    def asked(self):
        pass


def borrow(lent, to):
    array = lent.array
    lent.shape = (ctypes.c_int64 * 8)(*array.shape)
    lent.strides = (ctypes.c_int64 * 8)(*[step // array.itemsize for step in array.strides])
    code = {"f": dlpack.FLOAT, "c": dlpack.COMPLEX}[array.dtype.kind]
    ndim = getattr(lent, "ndim", array.ndim)
    to[0] = dlpack.Tensor(array.ctypes.data, dlpack.Device(dlpack.CPU, 0), ndim, dlpack.Type(code, 8 * array.itemsize, 1),
                          ctypes.cast(lent.shape, ctypes.POINTER(ctypes.c_int64)),
                          ctypes.cast(lent.strides, ctypes.POINTER(ctypes.c_int64)), 0)
    return lent.borrowed


def count_release(memory):
    Lent.releases += 1


deleter = dlpack.Deleter(count_release)


def share(lent, to):
    tensor = dlpack.Tensor()
    borrow(lent, ctypes.pointer(tensor))
    lent.memory = dlpack.Versioned(lent.major, 0, None, deleter, int(lent.read_only), tensor)
    to[0] = ctypes.addressof(lent.memory) if lent.shared == 0 else None
    Lent.shares += lent.shared == 0
    return lent.shared


def wrap(memory, to):
    given = memory[0].tensor
    kind = {32: ctypes.c_float, 64: ctypes.c_double}[given.dtype.bits if given.dtype.code == dlpack.FLOAT else 64]
    count = (2 if given.dtype.code == dlpack.COMPLEX else 1) * int(np.prod([given.shape[i] for i in range(given.ndim)]))
    values = np.array((kind * count).from_address(given.data))
    values = values.view("c16") if given.dtype.code == dlpack.COMPLEX else values
    memory[0].deleter(ctypes.addressof(memory[0]))
    if Lent.wrapped is not None:
        return Lent.wrapped
    made = Lent(values.reshape([given.shape[i] for i in range(given.ndim)]))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    to[0] = id(made)
    return 0


Lent.__dlpack_c_exchange_api__ = dlpack.exchange_capsule(borrow, share, wrap)


class Exported(Lent):
    """A subclass does not have the interface itself, so it is read by __dlpack__."""

    def __dlpack__(self, **names):
        return self.array.__dlpack__(**names)


def test_results_have_the_type_of_what_was_borrowed():
    for a in (A, A.T, A[::-1, ::-1], COMPLEX):
        result = bp.matmul(Lent(a), Lent(a))
        assert type(result) is Lent and np.allclose(result.array, a @ a)
    out = np.zeros((3, 3))
    given = Lent(out)
    assert bp.matmul(Lent(A), Lent(A), out=given) is given and np.allclose(out, A @ A)


@pytest.mark.parametrize("special", ["negative", "conjugate", "requires_grad"])
def test_what_the_memory_does_not_say_is_not_borrowed(special):
    with pytest.raises(TypeError):
        bp.matmul(Lent(COMPLEX, **{special: True}), Lent(COMPLEX))
    assert type(bp.matmul(Lent(COMPLEX), Lent(COMPLEX))) is Lent


# As torch's, its predicates are methods in C: b"1" has a negative bit, b"a" a conjugate bit.
InC = type("InC", (bytearray,), {"__dlpack_c_exchange_api__": Lent.__dlpack_c_exchange_api__, "requires_grad": False, "borrowed": 0,
                                 "is_neg": bytearray.isdigit, "is_conj": bytearray.islower})


@pytest.mark.parametrize(("bits", "array", "borrowed"), [
    (b"", COMPLEX, True), (b"1", COMPLEX, False), (b"1", A, False), (b"a", COMPLEX, False), (b"a", A, True)])
def test_predicates_in_c(bits, array, borrowed):
    given = InC(bits)
    given.array = array
    if borrowed:
        assert np.allclose(bp.matmul(given, Lent(array)).array, array @ array)
        return
    with pytest.raises((TypeError, ValueError, BufferError)):
        bp.matmul(given, Lent(array))


# Without a negative bit: torch, which has it, has no read-only memory, and its tensors are not asked.
Unsigned = type("Unsigned", (), {name: value for name, value in vars(Lent).items() if name not in ("is_neg", "__dict__", "__weakref__")})


@pytest.mark.parametrize("attributes", [{"read_only": True}, {"shared": -1}, {"major": 2}])
def test_what_may_be_read_only_is_not_written(attributes):
    out = np.zeros((3, 3))
    before = Lent.shares - Lent.releases
    with pytest.raises(TypeError, match="out: "):
        bp.matmul(A, A, out=Unsigned(out, **attributes))
    assert not out.any() and type(bp.matmul(Unsigned(A, **attributes), A)) is Lent
    assert bp.matmul(A, A, out=Unsigned(out)) and (out == A @ A).all()
    assert Lent.shares - Lent.releases == before


def test_shape_and_strides_are_copied_before_python_code_runs():
    def overwrite(lent):
        lent.shape[:] = [1 << 40] * 8
        lent.strides[:] = [1 << 40] * 8

    a = Lent(A)
    a.asked = types.MethodType(overwrite, a)
    assert np.allclose(bp.matmul(a, Lent(A)).array, A @ A)


@pytest.mark.parametrize("attributes", [{"borrowed": -1}, {"ndim": -1}, {"ndim": 65}, {"ndim": 2**31 - 1}])
def test_what_cannot_be_borrowed_is_read_otherwise(attributes):
    with pytest.raises(TypeError, match="supports neither the buffer protocol nor __dlpack__"):
        bp.matmul(Lent(A, **attributes), Lent(A))


@pytest.mark.parametrize("status", [-1, 0])
def test_a_result_that_cannot_be_wrapped(status, monkeypatch):
    monkeypatch.setattr(Lent, "wrapped", status)
    with pytest.raises(bp.Error, match="Lent.* made no tensor"):
        bp.matmul(Lent(A), Lent(A))
    with pytest.raises(bp.Error, match="Lent.* made no tensor"):
        bp.linalg.inv(Lent(A + np.eye(3)))


@pytest.mark.parametrize("wrong", [
    {"name": b"other"}, {"name": None}, {"borrow": None}, {"share": None}, {"wrap": None}, {"major": 2}, "no capsule",
], ids=str)
def test_interfaces_that_are_not_used(wrong):
    functions = {"borrow": borrow, "share": share, "wrap": wrap}
    capsule = wrong if isinstance(wrong, str) else dlpack.exchange_capsule(**{**functions, **wrong})
    kind = type("Kind", (Exported,), {"__dlpack_c_exchange_api__": capsule})
    result = bp.matmul(kind(A), kind(A))
    assert type(result) is bp.Tensor and np.allclose(np.asarray(result), A @ A)


def test_types_whose_attributes_call_the_package():
    calls = []

    class Meta(type):
        def __getattribute__(cls, name):
            if name == "__dict__":
                for _ in range(12):  # more than the package keeps
                    calls.append(bp.matmul(type("Other", (Exported,), {})(A), A))
            return super().__getattribute__(name)

    class Kind(Exported, metaclass=Meta):
        pass

    capsule = dlpack.exchange_capsule(borrow, share, wrap)
    lender = Meta("Lender", (Lent,), {"__dlpack_c_exchange_api__": capsule})
    for kind, made in ((Kind, bp.Tensor), (lender, Lent), (Kind, bp.Tensor), (lender, Lent)):
        assert type(bp.matmul(kind(A), kind(A))) is made
    assert len(calls) >= 24


def test_replaced_types_are_released():
    before = sys.getrefcount(Exported)
    for _ in range(100):
        bp.matmul(type("Other", (Exported,), {})(A), A)
    gc.collect()
    assert sys.getrefcount(Exported) - before < 100  # about 5 for each of the 8 types that are kept, 500 for all


@pytest.mark.parametrize("operation", [
    lambda a, b: bp.matmul(a, b), lambda a, b: bp.gemm(a, b), lambda a, b: bp.einsum("ij,jk", a, b),
    lambda a, b: bp.einsum("ij,jk,kl", a, b, b), lambda a, b: bp.linalg.solve(a + np.eye(3) if a is A else a, b),
])
def test_the_first_input_decides_also_if_it_is_read_by_dlpack(operation, monkeypatch):
    class Torch(types.ModuleType):
        Tensor = Exported

        @staticmethod
        def from_dlpack(result):
            return Exported(np.from_dlpack(result))

    monkeypatch.setitem(sys.modules, "torch", Torch("torch"))
    assert type(operation(Exported(A + np.eye(3)), A + np.eye(3))) is Exported
    assert type(operation(A + np.eye(3), Exported(A + np.eye(3)))) is np.ndarray
    assert type(operation(memoryview(A + np.eye(3)), A + np.eye(3))) is np.ndarray


# ---- Modules in the place of NumPy's ----

FAKE = """
import ctypes, sys, types
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
import backplane as bp
name = "numpy._core._multiarray_umath"
plain = memoryview(bytearray(32)).cast("d", (2, 2))
table = (ctypes.c_void_p * 400)()
def put(**attributes):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(attributes)
    assert type(bp.matmul(plain, plain)) is bp.Tensor
put()
put(_ARRAY_API=3, ndarray=int)
put(_ARRAY_API=new_capsule(ctypes.addressof(table), b"numpy", None), ndarray=int)
put(_ARRAY_API=new_capsule(ctypes.addressof(table), None, None))
put(_ARRAY_API=new_capsule(ctypes.addressof(table), None, None), ndarray=int)
table[2] = id(int)
put(_ARRAY_API=new_capsule(ctypes.addressof(table), None, None), ndarray=int)
sys.modules[name] = None
assert type(bp.matmul(plain, plain)) is bp.Tensor
del sys.modules[name]
import numpy
assert type(bp.matmul(plain, numpy.ones((2, 2)))) is numpy.ndarray
for each in [each for each in sys.modules if each.partition(".")[0] == "numpy"]:
    del sys.modules[each]
assert type(bp.matmul(plain, numpy.ones((2, 2)))) is numpy.ndarray
"""


def test_modules_in_the_place_of_numpys(python):
    done = python("-c", FAKE)
    assert done.returncode == 0, done.stderr


NEWER = """
import ctypes, sys, types
import numpy as np
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
version = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 3 << 24)
table = (ctypes.c_void_p * 400)()
table[0], table[2], table[93] = ctypes.cast(version, ctypes.c_void_p).value, id(np.ndarray), 1
name = "numpy._core._multiarray_umath"
sys.modules[name] = types.ModuleType(name)
vars(sys.modules[name]).update(_ARRAY_API=new_capsule(ctypes.addressof(table), None, None), ndarray=np.ndarray)
import backplane as bp
a = np.ones((2, 2))
for _ in range(3):
    assert type(bp.matmul(a, a)) is np.ndarray and (bp.matmul(a, a) == 2).all()
    assert type(bp.einsum("ij,jk", a, a)) is np.ndarray and type(bp.fft.fft(a)) is np.ndarray
try:
    bp.matmul(a, np.ma.array(a, mask=True))
except TypeError as error:
    assert "mask" in str(error)
else:
    raise AssertionError
"""


def test_a_numpy_with_another_interface_is_read_by_the_buffer_protocol(python):
    done = python("-c", NEWER)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_libraries_that_another_thread_is_importing(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))  # without its types so far
    plain = memoryview(A)
    for result in (bp.matmul(plain, plain), bp.gemm(plain, plain), bp.einsum("ij,jk", plain, plain)):
        assert type(result) is bp.Tensor
