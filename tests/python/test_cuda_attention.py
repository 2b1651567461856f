"""can_use_*_attention for tensors on CUDA: PyTorch's conditions, one after the other. No device is needed."""

import warnings

import pytest

import backplane as bp
from backplane.backends import cuda


class OnCuda:
    """What a tensor on CUDA tells without a copy, as torch's do."""

    def __init__(self, *shape, dtype="float16", strides=None, offset=0, requires_grad=False, device=2):
        self.shape, self.dtype, self.requires_grad, self.device = shape, f"torch.{dtype}", requires_grad, device
        self._offset, self._strides = offset, strides
        if strides is None:
            self._strides, step = [], 1
            for size in shape[::-1]:
                self._strides.insert(0, step)
                step *= size

    def __dlpack_device__(self):
        return self.device, 0

    def stride(self):
        return tuple(self._strides)

    def storage_offset(self):
        return self._offset


class Strided:
    """A tensor with strides in bytes, as CuPy's."""

    def __init__(self, last):
        self.shape, self.dtype, self.strides = (2, 4, 16, 64), "float16", (8192, 2048, 128, last)

    def __dlpack_device__(self):
        return 2, 0


def params(q=None, k=None, v=None, mask=None, dropout=0.0, causal=False, gqa=False):
    q = OnCuda(2, 4, 16, 64) if q is None else q
    k = q if k is None else k
    return cuda.SDPAParams(q, k, k if v is None else v, mask, dropout, causal, gqa)


KERNELS = {
    "flash": (cuda.can_use_flash_attention, "cuda.flash_sdp"),
    "efficient": (cuda.can_use_efficient_attention, "cuda.mem_efficient_sdp"),
    "cudnn": (cuda.can_use_cudnn_attention, "cuda.cudnn_sdp"),
}


def why(kernel, of):
    """The reasons; "" if the kernel can run."""
    can_use = KERNELS[kernel][0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = can_use(of, debug=True)
        assert answer is can_use(of)  # without a warning
    assert len(caught) == (0 if answer else 1)
    return str(caught[0].message) if caught else ""


def tensor(*shape, **more):
    return OnCuda(*shape, **more)


# A call, and for flash, efficient and cudnn a part of the reason; None: it can run.
CASES = {
    "usual": (params(), None, None, None),
    "bfloat16": (params(tensor(2, 4, 16, 64, dtype="bfloat16")), None, None, None),
    "float32": (params(tensor(2, 4, 16, 64, dtype="float32")), "must all be one of f16, bf16", None, "must all be one of f16, bf16"),
    "float64": (params(tensor(2, 4, 16, 64, dtype="float64")), "they are f64", "they are f64", "they are f64"),
    "mixed": (params(k=tensor(2, 4, 16, 64, dtype="bfloat16")), "they are f16, bf16", "they are f16, bf16", "they are f16, bf16"),
    "3 dimensions": (params(tensor(4, 16, 64)), "must have 4 dimensions", "must have 4 dimensions", "must have 4 dimensions"),
    "1 dimension": (params(tensor(64)), "fewer than 2", "fewer than 2", "fewer than 2"),
    "mask": (params(mask=tensor(16, 16)), "there must be no attn_mask", None, None),
    "mask of heads": (params(mask=tensor(2, 1, 1, 16)), "no attn_mask", None, None),
    "wrong mask": (params(mask=tensor(3, 16)), "no attn_mask", None, "must have 2 or 4 dimensions"),
    "mask of 3 dimensions": (params(mask=tensor(4, 16, 16)), "no attn_mask", None, "must have 2 or 4 dimensions"),
    "mask with gradient": (params(mask=tensor(16, 16, requires_grad=True)), "no attn_mask", None, "needs a gradient"),
    "strided mask": (params(mask=tensor(16, 16, strides=(1, 16))), "attn_mask has stride 16", "attn_mask has stride 16", "attn_mask has stride 16"),
    "rows of 256": (params(tensor(2, 4, 16, 256)), None, None, "at most 128"),
    "rows of 264": (params(tensor(2, 4, 16, 264)), "at most 256", None, "at most 128"),
    "rows of 4": (params(tensor(2, 4, 16, 4)), None, "multiples of 8", "multiples of 8"),
    "f32 rows of 4": (params(tensor(2, 4, 16, 4, dtype="float32")), "must all be", None, "multiples of 8"),
    "values of 32": (params(v=tensor(2, 4, 16, 32)), "one size", None, None),
    "values of 128": (params(tensor(2, 4, 16, 192), v=tensor(2, 4, 16, 128)), "one size", None, None),
    "keys of 32": (params(k=tensor(2, 4, 16, 32)), "one size", "one size", "they have 64, 32"),
    "causal, 16 and 20": (params(k=tensor(2, 4, 20, 64), causal=True), "as many queries as keys", None, None),
    "causal, 16 and 16": (params(causal=True), None, None, None),
    "grouped": (params(k=tensor(2, 2, 16, 64), gqa=True), None, None, None),
    "grouped, values differ": (params(k=tensor(2, 2, 16, 64), v=tensor(2, 1, 16, 64), gqa=True), "must be equal", "must be equal", None),
    "grouped, 3 of 4": (params(k=tensor(2, 3, 16, 64), gqa=True), "must divide", "must divide", "must divide"),
    "heads differ": (params(k=tensor(2, 2, 16, 64)), "must be equal without", "must be equal without", "must be equal without"),
    "batches differ": (params(k=tensor(1, 4, 16, 64)), "one batch size", "one batch size", "one batch size"),
    "no keys": (params(k=tensor(2, 4, 0, 64)), "must be queries", "must be queries", "must be queries"),
    "one key": (params(k=tensor(2, 4, 1, 64)), None, None, "more than one key"),
    "strided": (params(tensor(2, 4, 16, 64, strides=(4096, 1024, 1, 16))), "query has stride 16", "value has stride 16", "key has stride 16"),
    "strided rows of 1": (params(tensor(2, 4, 16, 1, strides=(64, 16, 1, 7))), None, "query has stride 7", "multiples of 8"),
    "strides in bytes": (params(Strided(4)), "query has stride 2", "query has stride 2", "query has stride 2"),
    "contiguous in bytes": (params(Strided(2)), None, None, None),
    "offset": (params(tensor(2, 4, 16, 64, offset=4)), None, "begins 8 bytes", None),
    "aligned offset": (params(tensor(2, 4, 16, 64, offset=8)), None, None, None),
    "dropout": (params(dropout=0.125), None, None, None),
    "dropout 0.1": (params(dropout=0.1), None, None, "multiple of 1/16"),
    "dropout, one query": (params(tensor(2, 4, 1, 64), tensor(2, 4, 16, 64), dropout=0.125), None, None, "one query"),
    "many heads": (params(tensor(1, 70000, 2, 8)), None, None, "at most 65535"),
    "keys on the CPU": (params(k=tensor(2, 4, 16, 64, device=1)), "key is not on CUDA", "key is not on CUDA", "key is not on CUDA"),
}


@pytest.mark.parametrize("case", CASES)
def test_conditions(case):
    of, *expected = CASES[case]
    for kernel, part in zip(KERNELS, expected):
        found = why(kernel, of)
        assert found == "" if part is None else part in found, (kernel, found)


def test_all_reasons_are_listed():
    of = params(tensor(2, 4, 16, 264, dtype="float64"), k=tensor(2, 3, 20, 264, dtype="float64"), mask=tensor(16, 20), causal=True)
    with bp.flags({"cuda.flash_sdp": False}):
        found = why("flash", of)
    for part in ("cuda.flash_sdp is false", "no attn_mask", "at most 256", "as many queries", "f64", "must be equal"):
        assert part in found


@pytest.mark.parametrize("kernel", KERNELS)
def test_switches(kernel):
    with bp.flags({KERNELS[kernel][1]: False}):
        assert why(kernel, params()).endswith(f"cannot be used: {KERNELS[kernel][1]} is false")


def test_deterministic_algorithms_exclude_cudnn():
    with bp.flags({"deterministic_algorithms": True}):
        assert "deterministic" in why("cudnn", params())
        assert why("flash", params()) == "" and why("efficient", params()) == ""
    with bp.flags({"deterministic_algorithms": True, "deterministic_algorithms.warn_only": True}):
        assert why("cudnn", params()) == ""


@pytest.mark.parametrize("capability, kernel, of, part", [
    ((7, 5), "flash", params(), "8.0 to 12.1"),
    ((7, 5), "efficient", params(), None),
    ((7, 5), "efficient", params(tensor(2, 4, 16, 64, dtype="bfloat16")), "f16, f32"),
    ((7, 0), "efficient", params(tensor(2, 4, 16, 3, dtype="float32")), None),
    ((7, 0), "efficient", params(tensor(2, 4, 16, 3)), "multiples of 8"),
    ((6, 1), "efficient", params(tensor(2, 4, 16, 3)), None),
    ((4, 0), "efficient", params(), "5.0 to 12.1"),
    ((13, 0), "cudnn", params(), "8.0 to 12.1"),
    ((8, 6), "flash", params(tensor(2, 4, 16, 200, requires_grad=True)), "gradients of rows of size 200"),
    ((8, 0), "flash", params(tensor(2, 4, 16, 200, requires_grad=True)), None),
    ((8, 6), "flash", params(tensor(2, 4, 16, 256, requires_grad=True)), None),
    ((8, 6), "flash", params(tensor(2, 4, 16, 256, requires_grad=True), dropout=0.5), "gradients of rows of size 256"),
])  # fmt: skip
def test_capability(monkeypatch, capability, kernel, of, part):
    monkeypatch.setattr("backplane.backends._cuda_attention._capability", lambda tensor: capability)
    found = why(kernel, of)
    assert found == "" if part is None else part in found


@pytest.mark.parametrize("version, capability, of, part", [
    (80900, (8, 0), params(), "older than 9.0"),
    (91200, (8, 0), params(dropout=0.125), "wrong dropout"),
    (91400, (8, 0), params(dropout=0.125), None),
    (91000, (8, 0), params(tensor(2, 4, 16, 192), v=tensor(2, 4, 16, 128)), "at most 128"),
    (92300, (9, 0), params(tensor(2, 4, 16, 256)), None),
    (92300, (8, 0), params(tensor(2, 4, 16, 256)), "at most 128"),
    (92300, (9, 0), params(tensor(2, 4, 16, 160, requires_grad=True)), "gradients of rows of sizes 160"),
    (92300, (9, 0), params(tensor(2, 4, 16, 256, requires_grad=True)), None),
])  # fmt: skip
def test_versions_of_cudnn(monkeypatch, version, capability, of, part):
    monkeypatch.setattr("backplane.backends._cuda_attention._capability", lambda tensor: capability)
    monkeypatch.setattr("backplane.backends._cuda_attention._cudnn_version", lambda: version)
    found = why("cudnn", of)
    assert found == "" if part is None else part in found
