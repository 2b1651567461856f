"""Names at the top of torch: element types, products, switches of gradients, cpu, version, and methods of tensors."""

import copy
import json
import pickle
import threading

import numpy as np
import pytest

import backplane as bp

TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
         "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
         "uint64": "u64", "bool": "bool"}


# ---- Element types ----


@pytest.mark.parametrize("name", TYPES)
def test_element_types(name):
    kind = getattr(bp, name)
    assert isinstance(kind, bp.dtype) and repr(kind) == str(kind) == f"backplane.{name}"
    made = bp.zeros(2, 3, dtype=kind)
    assert made.dtype == kind and kind == made.dtype and made.dtype == TYPES[name] and hash(made.dtype) == hash(kind)
    assert {kind: 1}[made.dtype] == 1 and kind != "float" and kind != bp.dtype("i8" if name != "int8" else "u8")
    assert made.to(kind) is made and made.to("cpu", kind) is made
    if name in ("bfloat16", "float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"):
        assert bp.zeros(2).to(kind).dtype == kind and bp.zeros(2).to("cpu", kind).dtype == kind
    for same in (copy.copy(kind), copy.deepcopy([kind])[0], *(pickle.loads(pickle.dumps(kind, one)) for one in range(6))):
        assert same is kind
    if name != "bfloat16":
        of = np.dtype(name)
        assert kind.itemsize == of.itemsize == made.element_size() and kind.is_complex == made.is_complex() == (of.kind == "c")
        assert kind.is_floating_point == made.is_floating_point() == (of.kind == "f") and kind.is_signed == (of.kind in "fci")
        if name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8"):
            assert bp.elementwise.astype(np.ones(2), kind).dtype == of
    with pytest.raises(AttributeError):
        kind.itemsize = 3


def test_element_types_where_types_are_taken():
    assert bp.linalg.vector_norm(np.ones(3, "f4"), dtype=bp.float64).dtype == "f8"
    assert bp.linalg.trace(np.ones((2, 2), "i4"), dtype=bp.float32).dtype == "f4"
    assert bp.fft.fftfreq(4, dtype=bp.float32).dtype == bp.float32
    wide, short = (bp.einsum_path("ij,jk,kl", *[(8, 8)] * 3, shapes=True, dtype=one)[1].peak_bytes for one in (bp.float64, bp.half))
    assert wide == 4 * short
    assert bp.rand(2, dtype=bp.double).dtype == "f64" and bp.full((2,), 1, dtype=bp.long).dtype == "i64"
    assert (bp.half, bp.float, bp.double, bp.cfloat, bp.cdouble) == (bp.float16, bp.float32, bp.float64, bp.complex64, bp.complex128)
    assert (bp.short, bp.int, bp.long) == (bp.int16, bp.int32, bp.int64)
    assert bp.bfloat16.is_floating_point and bp.bfloat16.itemsize == 2 and bp.float64.to_complex() is bp.complex128
    assert bp.complex64.to_real() is bp.float32 and bp.int8.to_real() is bp.int8
    assert bp.zeros(1, dtype=complex).dtype == bp.complex128
    for wrong in (lambda: bp.int8.to_complex(), lambda: bp.dtype("float32"), lambda: bp.dtype("f8")):
        with pytest.raises(TypeError):
            wrong()
    names = {}
    exec("from backplane import *", names)
    assert names["float32"] is bp.float32 and not {"float", "bool", "int"} & set(names)


@pytest.mark.parametrize("name, right", [("f8", "f64"), ("f4", "f32"), ("<f4", "f32"), ("i4", "i32"), ("c16", "c128"), ("u2", "u16"), ("<i8", "i64")])
def test_abbreviations_of_numpy(name, right):
    for call in (lambda: bp.zeros(2, dtype=name), lambda: bp.zeros(2).to(name), lambda: bp.elementwise.astype(np.ones(2), name),
                 lambda: bp.linalg.vector_norm(np.ones(2), dtype=name)):
        with pytest.raises(TypeError, match=f"counts bytes.*write '{right}'") as caught:
            call()
        assert caught.value.status == "E_DTYPE"
    assert bp.zeros(2, dtype=np.dtype(name)).dtype == right
    assert bp.zeros(2, dtype="i8").dtype == "i8" and bp.zeros(2, dtype="u8").dtype == "u8"


# ---- Products ----


def test_products_by_rank():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    out = np.empty((2, 4))
    assert (bp.mm(a, b) == a @ b).all() and bp.mm(a, b, out=out) is out and (out == a @ b).all()
    assert (bp.mm(input=a, mat2=b, settings={"blas.preferred": "native"}) == a @ b).all()
    assert bp.last_plan().library == "native"
    assert (bp.bmm(np.stack([a, a + 1]), np.stack([b, b])) == np.stack([a @ b, (a + 1) @ b])).all()
    assert (bp.mv(a, [1, 2, 3]) == a @ [1, 2, 3]).all() and bp.dot([1, 2], [3, 4]) == 11
    assert bp.dot([1j], [1j]) == -1
    assert bp.mm([[2**53 + 1]], [[1]]).tolist() == [[2**53 + 1]]
    for call, x, y in ((bp.mm, a[0], b), (bp.mm, a[None], b), (bp.mv, a, b), (bp.bmm, a, b), (bp.dot, a, a[0]),
                       (bp.bmm, a[None], np.stack([b, b])), (bp.mm, a, a)):
        with pytest.raises(ValueError) as caught:
            call(x, y)
        assert caught.value.status == "E_SHAPE"
    assert "2x3" in bp.explain(bp.mm, a, b).problem and "2x3" in bp.explain(bp.mm, a, mat2=b).problem


# ---- Gradients ----


def test_gradient_switches():
    assert bp.is_grad_enabled() and not bp.is_inference_mode_enabled()
    with bp.no_grad():
        assert not bp.is_grad_enabled() and not bp.is_inference_mode_enabled()
        with bp.enable_grad():
            assert bp.is_grad_enabled()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(bp.is_grad_enabled()))
        thread.start()
        thread.join()
        assert seen == [True] and not bp.is_grad_enabled()
    with bp.inference_mode():
        assert not bp.is_grad_enabled() and bp.is_inference_mode_enabled()
    with bp.inference_mode(False):
        assert bp.is_grad_enabled() and not bp.is_inference_mode_enabled()
    with pytest.raises(ZeroDivisionError), bp.no_grad():
        1 / 0
    assert bp.is_grad_enabled()


def test_gradient_switches_as_decorators():
    def state(of=1):
        """Help."""
        return bp.is_grad_enabled(), bp.is_inference_mode_enabled()

    for decorator, expected in ((bp.no_grad(), (False, False)), (bp.no_grad, (False, False)), (bp.enable_grad(), (True, False)),
                                (bp.inference_mode(), (False, True)), (bp.inference_mode, (False, True)),
                                (lambda function: bp.set_grad_enabled(False)(function), (False, False))):
        wrapped = decorator(state)
        assert wrapped() == wrapped(of=2) == expected and wrapped.__doc__ == "Help." and bp.is_grad_enabled()
    block = bp.no_grad()
    with block, block:  # a block may be used again
        assert not bp.is_grad_enabled()
    assert bp.is_grad_enabled()


def test_set_grad_enabled():
    with bp.set_grad_enabled(False):
        assert not bp.is_grad_enabled()
    assert bp.is_grad_enabled()
    bp.set_grad_enabled(False)
    assert not bp.is_grad_enabled()
    bp.set_grad_enabled(True)
    assert bp.is_grad_enabled()
    for call in (lambda: bp.set_grad_enabled(1), lambda: bp.inference_mode(1)):
        with pytest.raises(TypeError, match="expects a bool"):
            call()


# ---- cpu, version, tensors ----


def test_cpu_and_version():
    assert bp.version.cuda is None and bp.version.hip is None and bp.version.__version__ == bp.__version__
    assert bp.cpu.is_available() and bp.cpu.device_count() == 1 and bp.cpu.current_device() == "cpu"
    bp.cpu.synchronize()
    bp.cpu.synchronize(bp.device("cpu"))
    bp.cpu.set_device("cpu")
    for call in (bp.cpu.synchronize, bp.cpu.set_device):
        with pytest.raises(ValueError, match="the CPU"):
            call("cuda:0")
    with pytest.raises(AttributeError):
        bp.cpu.device_counts  # noqa: B018


def test_methods_of_tensors():
    x = bp.rand(2, 3, 4, dtype=bp.float64)
    assert x.size == 24 and x.size() == (2, 3, 4) and x.size(0) == 2 and x.size(-1) == 4 and x.size(dim=1) == 3
    assert isinstance(x.size, int) and json.dumps(x.size) == "24" and type(pickle.loads(pickle.dumps(x.size))) is int
    assert x.dim() == x.ndimension() == 3 and x.numel() == x.nelement() == 24 and bp.zeros(()).size() == ()
    assert x.stride() == (12, 4, 1) and x.stride(-1) == 1 and x.T.stride() == (1, 4, 12)
    assert x.is_contiguous() and not x.T.is_contiguous() and x.contiguous() is x
    turned = x.T.contiguous()
    assert turned.is_contiguous() and turned.tolist() == x.T.tolist()
    copied = x.clone()
    copied[0] = 5
    view = x.detach()
    view[1] = 7
    assert x[0].tolist() != copied[0].tolist() and (np.asarray(x)[1] == 7).all() and x.requires_grad is False
    assert bp.zeros(0, 3).size == 0 and bp.zeros(0, 3).size() == (0, 3)
    for wrong, kind in ((3, IndexError), (-4, IndexError), ("a", TypeError)):
        with pytest.raises(kind, match="dim"):
            x.size(wrong)
        with pytest.raises(kind, match="dim"):
            x.stride(wrong)


def test_devices_are_values():
    d = bp.device(type="cuda", index=1)
    assert d == bp.device("cuda", 1) == bp.device("cuda:1") and d.index == 1 and hash(d) == hash(bp.device("cuda:1"))
    assert copy.copy(d) == copy.deepcopy(d) == pickle.loads(pickle.dumps(d)) == d
    with bp.device("cpu"):
        assert bp.zeros(2).device == bp.device("cpu")


def test_after_install_as_torch(python):
    code = """
import backplane
backplane.install_as_torch()
import torch, torch.cpu, torch.version
assert torch.version.cuda is None and torch.cpu.is_available()
x = torch.zeros(2, 3, dtype=torch.float64)
assert x.dtype == torch.double and x.size(1) == 3 and x.to(torch.bfloat16).dtype == torch.bfloat16
assert isinstance(torch.float32, torch.dtype) and torch.bool == torch.zeros(1, dtype=torch.bool).dtype and torch.int is torch.int32
@torch.no_grad()
def run():
    return torch.mm(x, torch.ones(3, 2, dtype=torch.float)
                    .to(torch.float64)), torch.is_grad_enabled()
assert run()[1] is False and torch.is_grad_enabled()
with torch.inference_mode(), torch.set_grad_enabled(False):
    assert torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)).size() == (2, 3, 5)
assert torch.mv(torch.ones(2, 3), torch.ones(3)).tolist() == [3, 3]
assert torch.linalg.vander([1, 2]).tolist() == [[1, 1], [1, 2]]
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
