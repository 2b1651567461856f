"""Names at the top of torch that have no settings of their own: devices and threads; and the stand-in for `import torch`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

from . import _core
from ._errors import bad_type, bad_value, failure, whole
from ._settings import refuse_name, setting

_DEVICES = ("cpu", "cuda", "mps", "xpu", "mtia", "meta", "hpu", "xla", "vulkan", "privateuseone", "opencl")


class _Defaults(threading.local):
    """The devices of the ``with`` blocks of a thread, the innermost last."""

    def devices(self) -> List[device]:
        return list(self.__dict__.get("stack", ()))


_defaults = _Defaults()


def default_device() -> Optional[device]:
    """Returns the device of the innermost ``with`` block of the calling thread, or None."""
    devices = _defaults.devices()
    return devices[-1] if devices else None


class device:
    """A device by name: ``device("cpu")``, ``device("opencl", 0)``, ``device("cuda:1")``. It is a name only: the device need not
    exist, but a name that torch does not have must be a runtime of this machine. ``backplane.devices()`` lists the devices of this machine. In ``with device(...)``, tensors that the thread makes without
    ``device`` are on it.

    >>> with device("cpu"):
    ...     empty(2).device
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: Optional[int]

    def __init__(
        self, device: Union[None, str, device] = None, index: Optional[int] = None, *, type: Optional[str] = None
    ) -> None:
        if (device is None) == (type is None):
            raise bad_type("device: expects one of a name and type=")
        device = type if device is None else device
        text = "cpu" if device == "host" else str(device)
        name, colon, number = text.partition(":")
        known = name in _DEVICES or any(name == row["runtime"] for row in _core.devices())
        if not known or (colon and (not number.isdigit() or index is not None)):
            raise bad_value(f"device: '{text}' is not accepted; it must be {', '.join(_DEVICES)}, or one with an index as cuda:0")
        found = int(number) if colon else None if index is None else whole(index)
        if index is not None and (found is None or found < 0):
            raise bad_value(f"device: index is {index!r}; it must be a whole number from 0")
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", found)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"device.{name} cannot be assigned")

    def __reduce__(self) -> Tuple[Any, ...]:
        return device, (str(self),)

    def __enter__(self) -> device:
        _defaults.stack = [*_defaults.devices(), self]
        return self

    def __exit__(self, *error: Any) -> None:
        _defaults.stack = _defaults.devices()[:-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"


# ---- Threads and seeds ----


def get_num_threads() -> int:
    """Returns the most threads that a call may use: the setting num_threads, or if that is 0 the number of usable CPUs."""
    return int(setting("num_threads").get()) or int(_core.machine()["usable_cpus"])


def set_num_threads(number: int) -> None:
    """Sets num_threads for the process; at least 1."""
    count = None if isinstance(number, bool) else whole(number)
    if count is None:
        raise bad_type(f"set_num_threads: expects an int, but got {type(number).__name__}")
    if count < 1:
        raise bad_value(f"set_num_threads: {count} is not accepted; it must be at least 1")
    setting("num_threads").set(count)


def get_num_interop_threads() -> int:
    """Returns 1: operations run one after the other."""
    return 1


def set_num_interop_threads(number: int) -> None:
    """Checks the number. It has no effect, because operations run one after the other."""
    if whole(number) is None or number < 1:
        raise bad_value(f"set_num_interop_threads: {number!r} is not accepted; it must be a whole number from 1")


# ---- import torch ----

_NAMES = (
    "__config__ backends cuda nn utils linalg fft device einsum matmul cholesky_inverse cholesky_solve "
    "set_float32_matmul_precision get_float32_matmul_precision use_deterministic_algorithms "
    "are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
    "get_deterministic_debug_mode get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads "
    "manual_seed initial_seed empty zeros ones full rand randn mm bmm mv dot version cpu no_grad enable_grad inference_mode "
    "set_grad_enabled is_grad_enabled is_inference_mode_enabled dtype float16 half bfloat16 float32 float float64 double "
    "compile compiler complex64 cfloat complex128 cdouble int8 int16 short int32 int int64 long uint8 uint16 uint32 uint64 bool"
).split()


class _Absent:
    """torch.Tensor of the stand-in. No object is an instance of it: libraries that look for tensors of torch find none."""


class _Torch(ModuleType):
    """The module torch that install_as_torch() makes."""

    def __getattr__(self, name: str) -> NoReturn:
        refuse_name("torch (by backplane.install_as_torch())", name, list(_NAMES))


_installed: Dict[str, ModuleType] = {}


def _settings_module(name: str, prefix: str) -> ModuleType:
    """Returns a module whose attributes are the settings below a prefix."""
    from .backends._module import attach

    made = sys.modules[name] = ModuleType(name)
    attach(name, prefix)
    return made


def install_as_torch() -> None:
    """Makes ``import torch`` and ``import torch.backends.cudnn`` give Backplane's modules, for programs that use torch.backends.

    Applies to the whole process until uninstall_as_torch(). Refused if torch is imported or can be imported. Names that Backplane
    does not have raise AttributeError or ImportError.
    """
    if "torch" in _installed:
        return
    if sys.modules.get("torch") is not None:
        raise failure(_core.Error, "E_UNSUPPORTED", "install_as_torch: torch is imported already; use 'import backplane as torch' instead")
    found = importlib.util.find_spec("torch")
    if found is not None:
        place = found.origin or "this environment"
        raise failure(
            _core.Error, "E_UNSUPPORTED", f"install_as_torch: torch is installed at {place}; use 'import backplane as torch' instead"
        )
    package = sys.modules[__package__ or "backplane"]
    made = _Torch("torch", "Backplane under the name of torch; see backplane.install_as_torch().")
    made.__dict__.update({name: getattr(package, name) for name in _NAMES})
    made.__dict__.update(__version__="2.9.0+backplane", __path__=[], Tensor=_Absent)
    # The launcher is not imported by the package; importing it under torch's name imports it under its own.
    places = {"torch": made, "torch.__config__": package.__dict__["__config__"]}
    for name, module in list(sys.modules.items()):
        head, _, rest = name.partition(".")
        if head == package.__name__ and rest.partition(".")[0] in ("backends", "cuda", "nn", "utils", "linalg", "fft", "cpu", "version", "compiler"):
            if not any(part.startswith("_") for part in rest.split(".")):
                places[f"torch.{rest}"] = module
    # Modules of their own in PyTorch: the launcher's package, and settings that are objects here.
    places["torch.backends.xeon"] = importlib.import_module(f"{package.__name__}.backends.xeon")
    places["torch.backends.cudnn.rnn"] = _settings_module("torch.backends.cudnn.rnn", "cudnn.rnn.")
    _installed.update(places)
    sys.modules.update(places)


def uninstall_as_torch() -> None:
    """Undoes install_as_torch(): ``import torch`` fails again. Modules that the program has imported keep working."""
    if _installed:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]
        _installed.clear()
