"""The functions of torch.cuda that programs call before they use a GPU. No operation runs on CUDA in this version."""

from __future__ import annotations

from typing import Any, NoReturn

from ._config import backend_status
from ._core import Error
from ._errors import failure
from ._devices import manual_seed
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
    return int(is_available())


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Returns whether a GPU can compute in bfloat16."""
    return is_available()


def is_initialized() -> bool:
    """Returns False: no operation needs CUDA. tensor.to("cuda:0") initialises it."""
    return False


def manual_seed_all(seed: int) -> None:
    """Sets the seed as manual_seed() does."""
    manual_seed(seed)


def empty_cache() -> None:
    """Does nothing, as there is no GPU that operations can run on; backplane.empty_cache("cuda:0") frees unused memory."""


def _no_device(name: str) -> NoReturn:
    raise failure(Error, "E_DEVICE", f"cuda.{name}: there is no GPU that operations can run on: {backend_status('cuda').reason}")


def current_device() -> int:
    """Raises an error if there is no GPU to run on."""
    _no_device("current_device")


def get_device_name(device: Any = None) -> str:
    """Raises an error if there is no GPU to run on."""
    _no_device("get_device_name")


def get_device_capability(device: Any = None) -> Any:
    """Raises an error if there is no GPU to run on."""
    _no_device("get_device_capability")


def set_device(device: Any) -> None:
    """Raises an error if there is no GPU to run on."""
    _no_device("set_device")


def synchronize(device: Any = None) -> None:
    """Raises an error if there is no GPU to run on."""
    _no_device("synchronize")


_close(__name__)
