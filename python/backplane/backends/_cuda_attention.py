"""Which of PyTorch's attention kernels for CUDA accept a call: PyTorch's own conditions, read from the tensors without a copy.

Nothing here needs a device. Conditions on its compute capability use the device of a torch tensor if torch can read it, and 8.0
otherwise; those on the version of cuDNN are left out if there is no cuDNN.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .._config import backend_status
from .._modes import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled

CUDA = 2  # kDLCUDA
ASSUMED = (8, 0)

_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def device_of(tensor: Any) -> Optional[Tuple[int, int]]:
    """Returns DLPack's type and number of a tensor's device; None if the object is no tensor."""
    ask = getattr(tensor, "__dlpack_device__", None)
    if ask is None:
        return None
    kind, index = ask()
    return int(kind), int(index)


@dataclass(frozen=True)
class _Tensor:
    """What the conditions need of a tensor."""

    name: str
    on_cuda: bool
    dtype: str
    shape: Tuple[int, ...]
    last_stride: int  # in elements
    offset: int  # bytes from the start of its memory, if known
    trains: bool


def _last_stride(tensor: Any, shape: Tuple[int, ...], size: int) -> int:
    strides = getattr(tensor, "stride", None)
    if callable(strides):  # torch: elements
        return int(tuple(strides())[-1]) if shape else 1
    strides = getattr(tensor, "strides", None)  # CuPy: bytes
    return int(strides[-1]) // size if strides else 1


def _read(name: str, tensor: Any) -> _Tensor:
    word = str(tensor.dtype).rsplit(".", 1)[-1]
    dtype = _TYPES.get(word, word)
    shape = tuple(int(one) for one in tensor.shape)
    size = _BYTES.get(dtype, 1)
    offset = getattr(tensor, "storage_offset", None)
    device = device_of(tensor)
    return _Tensor(
        name,
        device is not None and device[0] == CUDA,
        dtype,
        shape,
        _last_stride(tensor, shape, size),
        int(offset()) * size if callable(offset) else 0,
        bool(getattr(tensor, "requires_grad", False)),
    )


def _capability(tensor: Any) -> Tuple[int, int]:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, getattr(torch, "Tensor", ())) or not torch.cuda.is_available():
        return ASSUMED
    major, minor = torch.cuda.get_device_capability(getattr(tensor, "device"))
    return int(major), int(minor)


def _cudnn_version() -> Optional[int]:
    return backend_status("cudnn").version_number or None


class _Call:
    """One call, as the conditions read it."""

    def __init__(self, params: Any) -> None:
        self.query, self.key, self.value = (_read(name, getattr(params, name)) for name in ("query", "key", "value"))
        self.inputs = (self.query, self.key, self.value)
        self.mask = None if params.attn_mask is None else _read("attn_mask", params.attn_mask)
        self.dropout = float(params.dropout)
        self.causal = bool(params.is_causal)
        self.gqa = bool(params.enable_gqa)
        self.capability = _capability(params.query)
        self.trains = any(one.trains for one in self.inputs)
        self.ranks = all(len(one.shape) == 4 for one in self.inputs)

    @property
    def sizes(self) -> Tuple[int, int, int]:
        """Sizes of a row of query, key and value."""
        return self.query.shape[-1], self.key.shape[-1], self.value.shape[-1]

    @property
    def lengths(self) -> Tuple[int, int]:
        """Numbers of queries and of keys."""
        return self.query.shape[-2], self.key.shape[-2]


Reasons = List[str]


def _sm(capability: Tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _devices(call: _Call) -> Reasons:
    return [f"{one.name} is not on CUDA" for one in call.inputs if not one.on_cuda]


def _ranks(call: _Call) -> Reasons:
    found = ", ".join(f"{one.name} {len(one.shape)}" for one in call.inputs)
    return [] if call.ranks else [f"query, key and value must have 4 dimensions; they have: {found}"]


def _capabilities(call: _Call, least: Tuple[int, int]) -> Reasons:
    fits = least <= call.capability <= (12, 1)
    return [] if fits else [f"needs a device of compute capability {_sm(least)} to 12.1; this one has {_sm(call.capability)}"]


def _types(call: _Call, accepted: Tuple[str, ...]) -> Reasons:
    kinds = [one.dtype for one in call.inputs]
    if len(set(kinds)) == 1 and kinds[0] in accepted:
        return []
    return [f"query, key and value must all be one of {', '.join(accepted)}; they are {', '.join(kinds)}"]


def _filled(call: _Call) -> Reasons:
    return [] if min(call.lengths) > 0 else ["there must be queries and keys"]


def _contiguous(call: _Call, mask: bool, ignores_single: bool) -> Reasons:
    rows = [one for one in call.inputs if not (ignores_single and one.shape[-1] == 1)]
    rows += [call.mask] if mask and call.mask is not None and call.mask.shape else []
    return [f"the last dimension of {one.name} has stride {one.last_stride}; it must be 1" for one in rows if one.last_stride != 1]


def _heads(call: _Call, values_differ: bool) -> Reasons:
    q, k, v = (one.shape for one in call.inputs)
    if not q[0] == k[0] == v[0]:
        return [f"query, key and value must have one batch size; they have {q[0]}, {k[0]} and {v[0]}"]
    heads = f"query, key and value have {q[1]}, {k[1]} and {v[1]} heads"
    if not call.gqa:
        return [] if q[1] == k[1] == v[1] else [f"{heads}; they must be equal without enable_gqa"]
    if k[1] != v[1] and not values_differ:
        return [f"{heads}; the numbers of key and value must be equal"]
    divide = all(one[1] > 0 and q[1] % one[1] == 0 for one in (k, v))
    return [] if divide else [f"{heads}; the numbers of key and value must divide query's"]


def _mask_shape(call: _Call) -> Reasons:
    if call.mask is None:
        return []
    if call.mask.trains:
        return ["attn_mask needs a gradient"]
    full = (*call.query.shape[:2], *call.lengths)
    shape = call.mask.shape
    fits = len(shape) in (2, 4) and all(own in (1, whole) for own, whole in zip(shape[::-1], full[::-1]))
    return [] if fits else [f"attn_mask has shape {shape}; it must have 2 or 4 dimensions that broadcast to {full}"]


def _flash(call: _Call) -> Reasons:
    reasons = _ranks(call)
    reasons += ["there must be no attn_mask"] if call.mask is not None else []
    q, k, v = call.sizes
    if not q == k == v <= 256:
        reasons.append(f"rows of query, key and value must have one size of at most 256; they have {q}, {k} and {v}")
    reasons += _capabilities(call, (8, 0))
    small = call.capability in ((8, 6), (8, 7), (8, 8), (8, 9), (12, 0), (12, 1))
    if call.trains and small and (192 < q <= 224 or (224 < q <= 256 and call.dropout > 0)):
        reasons.append(f"gradients of rows of size {q} do not run on a device of compute capability {_sm(call.capability)}")
    if call.causal and call.lengths[0] != call.lengths[1]:
        reasons.append(f"is_causal needs as many queries as keys; there are {call.lengths[0]} and {call.lengths[1]}")
    reasons += _types(call, ("f16", "bf16") if call.capability >= (8, 0) else ("f16",))
    if call.ranks:
        reasons += _heads(call, False) + _filled(call) + _contiguous(call, True, True)
    return reasons


def _alignment(call: _Call) -> int:
    """Returns the number of elements that rows must be a multiple of."""
    half = call.query.dtype in ("f16", "bf16")
    if call.capability >= (8, 0):
        return 8 if half else 4
    return 8 if half and call.capability >= (7, 0) else 1


def _efficient(call: _Call) -> Reasons:
    reasons = _capabilities(call, (5, 0)) + _ranks(call)
    q, k, v = call.sizes
    align = _alignment(call)
    if q != k or min(q, v) < 1 or q % align or v % align:
        reasons.append(f"rows of query and key must have one size, and all sizes be multiples of {align}; they are {q}, {k} and {v}")
    if call.capability >= (8, 0):
        step = align * _BYTES.get(call.query.dtype, 1)
        reasons += [f"{one.name} begins {one.offset} bytes into its memory; it must be a multiple of {step}"
                    for one in call.inputs if one.offset % step]  # fmt: skip
    if call.ranks:
        reasons += _filled(call) + _contiguous(call, True, False) + _heads(call, False)
    return reasons + _types(call, ("f16", "f32", "bf16") if call.capability >= (8, 0) else ("f16", "f32"))


def _cudnn_sizes(call: _Call, version: Optional[int]) -> Reasons:
    q, k, v = call.sizes
    known = version if version is not None else 0
    wide = call.capability[0] in (9, 10) and known > 92200
    pair = (q, v) == (192, 128) and (version is None or known >= 91100)
    most = 256 if wide else 128
    reasons = []
    if q != k or q % 8 or v % 8 or (max(q, v) > most and not pair):
        reasons.append(f"rows must have sizes that are multiples of 8 and at most {most}, or 192 and 128 for values; they have {q}, {k} and {v}")
    elif wide and call.trains and max(q, v) > 128 and (q, v) not in ((192, 128), (256, 256)):
        reasons.append(f"gradients of rows of sizes {q} and {v} do not run")
    return reasons


def _cudnn(call: _Call) -> Reasons:
    version = _cudnn_version()
    reasons = []
    if version is not None and version < 90000:
        reasons.append(f"cuDNN {version} is older than 9.0")
    if call.dropout > 0 and version is not None and 91101 <= version < 91400:
        reasons.append(f"cuDNN {version} computes wrong dropout")
    reasons += _ranks(call)
    if are_deterministic_algorithms_enabled() and not is_deterministic_algorithms_warn_only_enabled():
        reasons.append("deterministic algorithms are required, and its gradients are not")
    reasons += _types(call, ("f16", "bf16") if call.capability >= (8, 0) else ("f16",))
    reasons += _capabilities(call, (8, 0))
    if call.dropout * 16 != int(call.dropout * 16):
        reasons.append(f"dropout is {call.dropout:g}; it must be a multiple of 1/16")
    if not call.ranks:
        return reasons
    reasons += _mask_shape(call) + _filled(call) + _contiguous(call, True, True) + _heads(call, True)
    if max(call.query.shape[:2]) > 65535:
        reasons.append("the batch and the heads of query must be at most 65535 each")
    reasons += _cudnn_sizes(call, version)
    if call.lengths[1] == 1:
        reasons.append("there must be more than one key")
    if call.dropout > 0 and call.lengths[0] == 1:
        reasons.append("there is dropout, and one query")
    return reasons


_CONDITIONS = {"cuda.flash_sdp": _flash, "cuda.mem_efficient_sdp": _efficient, "cuda.cudnn_sdp": _cudnn}


def reasons_on_cuda(switch: str, params: Any, enabled: bool) -> Reasons:
    """Returns all reasons why PyTorch's kernel of a switch does not accept a call whose query is on CUDA."""
    call = _Call(params)
    own: Dict[bool, Reasons] = {True: [], False: [f"{switch} is false"]}
    missing = [one.name for one in call.inputs if len(one.shape) < 2]
    if missing:  # the other conditions need both last dimensions
        return own[enabled] + _devices(call) + [f"{name} has fewer than 2 dimensions" for name in missing]
    return own[enabled] + _devices(call) + _CONDITIONS[switch](call)
