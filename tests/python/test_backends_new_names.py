"""Names that PyTorch 2.15 added to torch.backends, and names that a program replaces."""

from unittest import mock

import pytest

import backplane as torch


def test_python_native():
    place = torch.backends.python_native
    assert place.available_dsls == [] and place.all_dsls == ["cutedsl", "helion", "triton"]
    for name in place.all_dsls:
        one = getattr(place, name)
        assert one.name == name and one.available is False and one.version is None and one.enabled is True
        assert place.get_dsl_operations(name) == []
        one.enabled = False
        assert place.is_dsl_disabled(name) and not one.enabled and "disabled" in repr(one)
        one.enable()
        with one.disabled():
            assert place.is_dsl_disabled(name)
        assert one.enabled
        with pytest.raises(TypeError, match=f"{name}.enabled: expects a bool"):
            one.enabled = 1
        with pytest.raises(AttributeError):
            one.enabledd = True
        with pytest.raises(AttributeError):
            one.version = "3"
    place.disable_operations("scaled_mm", "other")
    with place.operations_disabled("scaled_mm", "third"):
        assert place.is_operation_disabled("third")
    assert place.is_operation_disabled("scaled_mm") and not place.is_operation_disabled("third")
    place.enable_operations("scaled_mm", "other")
    assert not place.is_operation_disabled("other")
    place.disable_dispatch_keys("CUDA")
    place.enable_dispatch_keys("CUDA")
    with pytest.raises(TypeError):
        place.disable_operations(3)


def test_python_native_is_frozen(python):
    code = """
from backplane import backends
backends.disable_global_flags()
with backends.python_native.triton.disabled():
    assert not backends.python_native.triton.enabled
try:
    backends.python_native.triton.enabled = False
except RuntimeError as error:
    assert "disable_global_flags" in str(error)
else:
    raise SystemExit("the assignment was not refused")
try:
    backends.opt_einsum.strategy = None
except RuntimeError as error:
    print("frozen")
"""
    done = python("-c", code)
    assert done.stdout == "frozen\n", done.stderr


def test_grouped_products_of_cublaslt_steer_nothing():
    place, row = torch.backends.cuda.matmul, torch.setting("cuda.matmul.prefer_cublaslt_grouped_gemm")
    assert place.prefer_cublaslt_grouped_gemm is False
    place.prefer_cublaslt_grouped_gemm = True
    assert place.prefer_cublaslt_grouped_gemm is row.get() is True and not row.has_effect and row.why_not
    with pytest.raises(TypeError, match="prefer_cublaslt_grouped_gemm: expects a bool"):
        place.prefer_cublaslt_grouped_gemm = 1


def test_functions_can_be_replaced():
    with mock.patch("backplane.backends.mps.is_available", return_value=True):
        assert torch.backends.mps.is_available()
    assert torch.backends.mps.is_available() is torch.backend_status("mps").available
    with mock.patch("backplane.backends.mps.is_available", False):  # as in torch, by anything
        assert torch.backends.mps.is_available is False
    before = torch.backends.mkl.is_available
    torch.backends.mkl.is_available = False
    assert torch.backends.mkl.is_available is False
    torch.backends.mkl.is_available = before
    assert torch.backends.mkl.is_available() is torch.backend_status("mkl").available
