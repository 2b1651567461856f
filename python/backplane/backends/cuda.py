"""CUDA: availability, precision, preferred libraries, the plan cache of cuFFT, and attention."""

from __future__ import annotations

import enum
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Type, TypeVar, Union, cast

from .._config import backend_status
from .._core import Error, UnknownNameError, prefer
from .._errors import bad_type, bad_value, failure
from .._products import explain
from .._settings import Settings, members, setting, table
from .._settings import flags as _scope
from ._cuda_attention import CUDA, device_of, reasons_on_cuda
from ._cufft import PlanCaches
from ._module import attach, scope

if TYPE_CHECKING:
    from .._settings_tree import CudaMatmul

__all__ = [
    "SDPAParams",
    "SDPBackend",
    "allow_fp16_bf16_reduction_math_sdp",
    "blas_workspace_size",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]

cufft_plan_cache = PlanCaches()


def is_built() -> bool:
    """Returns whether code for CUDA is compiled in, with or without a device."""
    return backend_status("cuda").built


# ---- Sums in 16 bits ----

_SPLIT = "_split_k"


class _MatmulMembers:
    """The two settings that accept (allow[, allow_split_k]), as in torch. The split_k settings themselves are read-only."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith(f"_reduction{_SPLIT}"):
            whole = name[: -len(_SPLIT)]
            raise failure(
                UnknownNameError, "E_READ_ONLY", f"cuda.matmul.{name}: cannot be assigned; assign (allow, allow_split_k) to {whole}"
            )
        if isinstance(value, (tuple, list)) and f"cuda.matmul.{name}{_SPLIT}" in table:
            _write_pair(self, f"cuda.matmul.{name}", value)
        else:
            super().__setattr__(name, value)


def _write_pair(place: object, name: str, pair: Sequence[Any]) -> None:
    if len(pair) not in (1, 2) or not all(isinstance(one, bool) for one in pair):
        raise bad_type(f"{name}: expects a bool or (allow[, allow_split_k]), both bool, but got {pair!r}")
    if tuple(pair) == (True, False):
        raise failure(Error, "E_BAD_VALUE", f"{name}: (True, False) is not supported; it allows the sums but not split-k, which makes them")
    for row, value in zip((setting(name), setting(name + _SPLIT)), pair):
        row.__set__(place, value)


def _matmul() -> Settings:
    kind = type(members("cuda.")["matmul"])
    return cast(Settings, type("Settings", (_MatmulMembers, kind), {"__slots__": (), "__doc__": Settings.__doc__})())


matmul: CudaMatmul = cast("CudaMatmul", _matmul())


# ---- Preferred libraries ----


class _LinalgBackend(enum.Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


# AMD's names for the same choices.
_ALIASES = {"hipblas": "cublas", "hipblaslt": "cublaslt"}
Choice = TypeVar("Choice", bound=enum.Enum)


def _prefer(name: str, kind: Type[Choice], backend: Union[None, str, Choice], here: Optional[str] = None) -> Choice:
    """Sets CUDA's preference if ``backend`` is one of its values, and returns it. Other text sets ``here``, the preference for
    the CPU; "default" removes both."""
    if here is not None and isinstance(backend, str):
        known = _ALIASES.get(backend.lower(), backend.lower())
        if known.capitalize() not in kind.__members__:
            prefer(here, backend)
            backend = None
        elif known == "default":
            prefer(here, known)
    elif here is not None and backend is kind["Default"]:
        prefer(here, "default")
    row = setting(name)
    if backend is not None:
        word = backend.name if isinstance(backend, kind) else backend
        row.set(_ALIASES.get(word.lower(), word) if isinstance(word, str) else word)  # type: ignore[arg-type]
    return kind[str(row.get()).capitalize()]


def preferred_linalg_library(backend: Union[None, str, _LinalgBackend] = None) -> _LinalgBackend:
    """Sets the preferred library for linear algebra on CUDA, if one is given, and returns it: default, cusolver, magma.
    magma is deprecated: cuSOLVER runs, with a warning.

    Any other text is the id, family, SONAME or path of a library of this machine for linear algebra on the CPU
    (linalg.preferred). It is checked before it is stored. "default" removes both preferences. Returns the preference for CUDA.
    """
    return _prefer("cuda.preferred_linalg_library", _LinalgBackend, backend, "linalg.preferred")


def preferred_blas_library(backend: Union[None, str, _BlasBackend] = None) -> _BlasBackend:
    """Sets the preferred BLAS on CUDA, if one is given, and returns it: default, cublas (hipblas), cublaslt (hipblaslt), ck.

    Any other text is a library of this machine for products on the CPU (blas.preferred), as in preferred_linalg_library().
    """
    return _prefer("cuda.preferred_blas_library", _BlasBackend, backend, "blas.preferred")


class _ROCmFABackend(enum.Enum):
    Default = 0
    Aotriton = 1
    AOTriton = 1  # PyTorch's spelling
    Ck = 2


def preferred_rocm_fa_library(backend: Union[None, str, _ROCmFABackend] = None) -> _ROCmFABackend:
    """Sets the preferred flash attention on ROCm, if one is given, and returns it: default, aotriton, ck."""
    return _prefer("cuda.preferred_rocm_fa_library", _ROCmFABackend, backend)


def _workspace(name: str, size: Optional[int]) -> int:
    row = setting(name)
    if size is not None:
        row.set(size)
    return int(row.get())


def cublas_workspace_size(size: Optional[int] = None) -> int:
    """Sets the workspace of cuBLAS in bytes, if a size is given, and returns it; 0: the best size for the device."""
    return _workspace("cuda.cublas_workspace_size", size)


def cublaslt_workspace_size(size: Optional[int] = None) -> int:
    """Sets the workspace of cuBLASLt in bytes, if a size is given, and returns it; 0: the best size for the device."""
    return _workspace("cuda.cublaslt_workspace_size", size)


def blas_workspace_size(size: Optional[int] = None, backend: Union[None, str, _BlasBackend] = None) -> int:
    """Sets the workspace of a BLAS (None: the preferred one), if a size is given, and returns it in bytes.

    The Composable Kernel library has no workspace.
    """
    chosen = preferred_blas_library()
    if isinstance(backend, _BlasBackend):
        chosen = backend
    elif backend is not None:
        if not isinstance(backend, str):
            raise bad_type(f"backend: expects a str, but got {type(backend).__name__}")
        word = _ALIASES.get(backend.lower(), backend.lower()).capitalize()
        if word not in _BlasBackend.__members__:
            raise bad_value(f"backend: {backend!r} is unknown; it must be default, cublas, cublaslt, hipblas, hipblaslt or ck")
        chosen = _BlasBackend[word]
    if chosen is _BlasBackend.Ck:
        raise failure(Error, "E_UNSUPPORTED", "the Composable Kernel library (ck) has no workspace")
    return cublaslt_workspace_size(size) if chosen is _BlasBackend.Cublaslt else cublas_workspace_size(size)


# ---- Attention ----


def is_ck_sdpa_available() -> bool:
    """Returns whether attention of AMD's Composable Kernel library can run. Always False: there is no provider for it."""
    return False


class SDPBackend(enum.IntEnum):
    """The implementations of scaled dot product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@dataclass(frozen=True)
class SDPAParams:
    """The arguments of one call of attention."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool = False


def enable_flash_sdp(enabled: bool) -> None:
    """Allows or forbids flash attention for the process."""
    setting("cuda.flash_sdp").set(enabled)


def flash_sdp_enabled() -> bool:
    """Returns whether flash attention is allowed."""
    return bool(setting("cuda.flash_sdp").get())


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allows or forbids memory-efficient attention for the process."""
    setting("cuda.mem_efficient_sdp").set(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Returns whether memory-efficient attention is allowed."""
    return bool(setting("cuda.mem_efficient_sdp").get())


def enable_math_sdp(enabled: bool) -> None:
    """Allows or forbids attention as separate products and softmax for the process."""
    setting("cuda.math_sdp").set(enabled)


def math_sdp_enabled() -> bool:
    """Returns whether attention as separate products and softmax is allowed."""
    return bool(setting("cuda.math_sdp").get())


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allows or forbids cuDNN's attention for the process."""
    setting("cuda.cudnn_sdp").set(enabled)


def cudnn_sdp_enabled() -> bool:
    """Returns whether cuDNN's attention is allowed."""
    return bool(setting("cuda.cudnn_sdp").get())


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allows or forbids 16-bit accumulation inside attention as separate products, for the process."""
    setting("cuda.fp16_bf16_reduction_math_sdp").set(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Returns whether 16-bit accumulation is allowed inside attention as separate products."""
    return bool(setting("cuda.fp16_bf16_reduction_math_sdp").get())


def sdp_kernel(
    enable_flash: Optional[bool] = None,
    enable_math: Optional[bool] = None,
    enable_mem_efficient: Optional[bool] = None,
    enable_cudnn: Optional[bool] = None,
) -> _scope:
    """Allows or forbids implementations of attention for the calling thread inside a ``with`` block.

    Deprecated, as in torch. Use backplane.nn.attention.sdpa_kernel().
    """
    warnings.warn("sdp_kernel() is deprecated; use backplane.nn.attention.sdpa_kernel()", FutureWarning, stacklevel=2)
    return scope(
        "cuda.",
        flash_sdp=enable_flash,
        math_sdp=enable_math,
        mem_efficient_sdp=enable_mem_efficient,
        cudnn_sdp=enable_cudnn,
    )


def is_flash_attention_available() -> bool:
    """Returns whether flash attention is compiled in. Always True: the provider native has it for the CPU."""
    return True


_KERNELS = ("cuda.flash_sdp", "cuda.mem_efficient_sdp", "cuda.math_sdp", "cuda.cudnn_sdp", "cuda.overrideable_sdp")


def _why_not(switch: str, params: SDPAParams) -> Sequence[str]:
    """Returns why the kernel cannot run the call with the settings in force; nothing if it can."""
    device = device_of(params.query)
    if device is not None and device[0] == CUDA:
        return reasons_on_cuda(switch, params, bool(setting(switch).get()))
    reason = _why_not_here(switch, params)
    return [reason] if reason else []


def _why_not_here(switch: str, params: SDPAParams) -> str:
    """Returns why the kernel of the CPU cannot run the call; "" if it can."""
    from ..nn.functional import scaled_dot_product_attention  # which needs the modules of this package

    cuda = backend_status("cuda")
    if switch == "cuda.cudnn_sdp" and setting(switch).get():
        return "there is no provider for cuDNN's attention" if cuda.available else cuda.reason
    others = {other: False for other in _KERNELS if other != switch}
    try:
        page = explain(
            scaled_dot_product_attention,
            params.query,
            params.key,
            params.value,
            params.attn_mask,
            params.dropout,
            params.is_causal,
            enable_gqa=params.enable_gqa,
            settings=others,
        )
    except Error as error:
        return str(error)
    refused = [one.text for one in page.candidates if switch in one.text]
    return "" if page.chosen else refused[0] if refused else page.decision


def _can_use(what: str, switch: str, params: SDPAParams, debug: bool) -> bool:
    if not isinstance(params, SDPAParams):
        raise bad_type(f"params: expects SDPAParams, but got {type(params).__name__}")
    reasons = _why_not(switch, params)
    if debug and reasons:
        warnings.warn(f"{what} cannot be used: {'; '.join(reasons)}", stacklevel=3)
    return not reasons


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Returns whether flash attention can run a call; with debug, warns with all reasons if it cannot.

    For tensors on the CPU, that is the kernel of this machine with the settings in force. For tensors on CUDA, these are the
    conditions of PyTorch's kernel: nothing runs there.
    """
    return _can_use("flash attention", "cuda.flash_sdp", params, debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Returns whether memory-efficient attention can run a call; with debug, warns with all reasons if it cannot.

    For tensors on the CPU and on CUDA, as in can_use_flash_attention().
    """
    return _can_use("memory-efficient attention", "cuda.mem_efficient_sdp", params, debug)


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Returns whether cuDNN's attention can run a call; with debug, warns with all reasons if it cannot.

    For tensors on the CPU it is False. For tensors on CUDA, these are PyTorch's conditions for it.
    """
    return _can_use("cuDNN attention", "cuda.cudnn_sdp", params, debug)


attach(__name__, "cuda.")
