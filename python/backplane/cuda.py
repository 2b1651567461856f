"""The functions of torch.cuda that programs call before they use a GPU. Products, linear layers and transforms run on CUDA."""

from __future__ import annotations

from typing import Tuple

from . import _runtime
from ._config import backend_status
from ._core import Error
from ._devices import Device, DeviceArgument, manual_seed
from ._devices import synchronize as _synchronize
from ._errors import failure
from .backends._module import close as _close

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """Returns whether operations can run on a GPU; backplane.backend_status("cuda") has the reason."""
    return backend_status("cuda").available


def device_count() -> int:
    """Returns the number of GPUs that operations can run on."""
    return _runtime.ready_count("cuda") if is_available() else 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Returns whether the first GPU can compute in bfloat16, or its libraries do so in float32."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_initialized() -> bool:
    """Returns False: the first use of a device, such as tensor.to("cuda:0"), initialises it."""
    return False


def manual_seed_all(seed: int) -> None:
    """Sets the seed as manual_seed() does."""
    manual_seed(seed)


def empty_cache() -> None:
    """Frees the unused memory of all GPUs."""
    _runtime.empty_caches("cuda")


def _row(name: str, device: DeviceArgument) -> Device:
    if not is_available():
        reason = backend_status("cuda").reason
        raise failure(Error, "E_DEVICE", f"cuda.{name}: there is no GPU that operations can run on: {reason}")
    return _runtime.row_of("cuda", device)


def current_device() -> int:
    """Returns 0: tensors and functions name their device, and the first GPU is the one without a number."""
    _row("current_device", None)
    return 0


def get_device_name(device: DeviceArgument = None) -> str:
    """Returns the driver's name of a GPU."""
    return _row("get_device_name", device).name


def get_device_capability(device: DeviceArgument = None) -> Tuple[int, int]:
    """Returns the compute capability of a GPU, such as (9, 0)."""
    capability = _row("get_device_capability", device).capability
    return capability // 100, capability % 100 // 10


def set_device(device: DeviceArgument) -> None:
    """Accepts the first GPU, which is always the current one; for another one name it: tensor.to("cuda:1")."""
    row = _row("set_device", device)
    if row.id != "cuda:0":
        raise failure(Error, "E_UNSUPPORTED", f"cuda.set_device: the current device is always cuda:0; use tensor.to('{row.id}')")


def synchronize(device: DeviceArgument = None) -> None:
    """Waits for all work on a GPU; without one, on the first."""
    _row("synchronize", device)
    _synchronize(_runtime.named("cuda", device))


_close(__name__)
