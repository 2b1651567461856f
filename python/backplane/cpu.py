"""The functions of torch.cpu for the host, which is one device. Calls have ended when they return, so nothing is waited for."""

from __future__ import annotations

from ._devices import DeviceArgument, device_id
from ._errors import bad_value
from .backends._module import close as _close

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def _check(given: DeviceArgument) -> None:
    if device_id(given) != "host":
        raise bad_value(f"device: is {given!r}; it must be the CPU", "E_DEVICE")


def is_available() -> bool:
    """Returns True."""
    return True


def is_initialized() -> bool:
    """Returns True: the host needs no initialization."""
    return True


def device_count() -> int:
    """Returns 1: the processors of the machine are one device."""
    return 1


def current_device() -> str:
    """Returns "cpu"."""
    return "cpu"


def set_device(device: DeviceArgument) -> None:
    """Checks that the device is the CPU. There is no other one to choose here."""
    _check(device)


def synchronize(device: DeviceArgument = None) -> None:
    """Checks that the device is the CPU. Calls have ended when they return."""
    _check(device)


_close(__name__)
