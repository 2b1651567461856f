"""Devices: what is there, tensors on them, random numbers, memory and plan caches."""

from __future__ import annotations

import math
import os
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core, _plan_cache
from ._elements import type_name
from ._errors import bad_type, bad_value, failure, whole
from ._help import helped
from ._torch_names import default_device, device
from ._traced import refuse_while_tracing

DeviceArgument = Union[None, str, int, device]


class Device(NamedTuple):
    """A device of this machine, or a runtime without one: ``state`` is ready, or ``reason`` says why not."""

    id: str
    """"host", "opencl:0"; the name of the runtime if it has no device."""
    state: str
    reason: str
    runtime: str
    name: str
    vendor: str
    driver: str
    version: str
    platform: str
    uuid: str
    extensions: str
    arch: str
    """Name for compilers, such as "sm_90"; "" if the driver tells none."""
    type: int
    """DLPack's number of the type, the first one of ``__dlpack_device__()``."""
    units: int
    clock_mhz: int
    vector_bytes: int
    group_items: int
    subgroup: int
    memory: int
    """Bytes; ``largest`` is the most of one block, ``local_memory`` the memory of a group of work items."""
    largest: int
    local_memory: int
    bandwidth_gb_s: int
    capability: int
    """Of CUDA: 900 for sm_90. Numbers that the driver does not tell are 0."""
    driver_number: int
    """The newest interface that the driver has: 13000 for CUDA 13.0."""
    l2: int
    """Bytes of the last cache before the memory."""
    shared_optin: int
    """Bytes for a group if a kernel asks for more than ``local_memory``."""
    can: Tuple[str, ...]
    """f64, f16, map, time, share_host, out_of_order, compile, atomics_64; cpu: it is a processor of the host; addresses: memory has them."""

    @property
    def is_ready(self) -> bool:
        """Whether operations can run there."""
        return self.state == "ready"


def devices() -> List[Device]:
    """Returns the devices of this machine, the host first. The first call looks for them in another process.

    >>> devices()[0].id, devices()[0].state
    ('host', 'ready')
    """
    return [Device(**{**row, "can": tuple(row["can"])}) for row in _core.devices()]


def device_id(given: DeviceArgument) -> str:
    """Returns the library's name of a device: torch's name, with "host" for the CPU."""
    if given is None:
        return "host"
    name = device(given) if isinstance(given, str) else given
    if not isinstance(name, device):
        raise bad_type(f"device: expects a name or a backplane.device, but got {type(given).__name__}")
    return "host" if name.type == "cpu" else str(name)


def _place(given: DeviceArgument) -> str:
    """Returns the library's name of the device for a new tensor: the argument's, or the ``with`` block's."""
    return device_id(default_device() if given is None else given)


# ---- Tensors ----


def _size(size: Sequence[Any]) -> Tuple[int, ...]:
    """Returns the shape from `f(2, 3)` or `f((2, 3))`."""
    numbers = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)
    whole_numbers = tuple(map(whole, numbers))
    for given, number in zip(numbers, whole_numbers):
        if number is None or isinstance(given, bool):
            raise bad_type(f"size: expects whole numbers, but got {given!r}")
        if number < 0:
            raise bad_value(f"size: {number} is negative", "E_SHAPE")
    return whole_numbers  # type: ignore[return-value]


def _type(dtype: Any) -> str:
    return "f32" if dtype is None else type_name(dtype)


def empty(*size: Any, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns a tensor without defined elements; float32 on the CPU unless ``dtype`` and ``device`` say otherwise."""
    return _core.empty(_size(size), _type(dtype), _place(device))


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns a tensor with one value in all elements. Without ``dtype``: bool, int64, float32 or complex64, as the value is.

    >>> full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    if dtype is None:
        kinds = {bool: "bool", int: "i64", complex: "c64"}
        dtype = kinds.get(type(fill_value), "f32")
    made = _core.empty(_size(size if isinstance(size, (tuple, list)) else (size,)), _type(dtype), _place(device))
    made[...] = fill_value
    return made


def zeros(*size: Any, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns a tensor of zeros, float32 unless ``dtype`` says otherwise.

    >>> zeros(2, 3).shape
    (2, 3)
    """
    return full(_size(size), 0, dtype=_type(dtype), device=device)


def ones(*size: Any, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns a tensor of ones, float32 unless ``dtype`` says otherwise."""
    return full(_size(size), 1, dtype=_type(dtype), device=device)


def to(tensor: _core.Tensor, place: Any, dtype: Any, copy: bool) -> _core.Tensor:
    """Implements Tensor.to(): `place` is a device or an element type, as in torch."""
    if place is not None and dtype is None and not _is_device(place):
        place, dtype = None, place
    name = device_id(tensor.device if place is None else place)
    name = name + ":0" if name != "host" and ":" not in name else name
    kind = tensor.dtype if dtype is None else type_name(dtype)
    moves = name != device_id(tensor.device)
    if kind != tensor.dtype and _core.empty((), kind, "host").dtype != tensor.dtype:
        tensor, copy = _core.elementwise("unary", "copy", (tensor,), 0, kind, None, None, False), False
    return _core.transfer(tensor, name) if moves or copy else tensor


def _is_device(given: Any) -> bool:
    if isinstance(given, device):
        return True
    if not isinstance(given, str):
        return False
    try:
        device(given)
    except _core.Error:
        return False
    return True


# ---- Random numbers ----


class _Generator:
    """The seed of the process, and for each device how many blocks of random numbers were used."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.seeds: Dict[str, int] = {}
        self.used: Dict[str, int] = {}

    def take(self, name: str, blocks: int) -> Tuple[int, int]:
        with self.lock:
            offset = self.used.get(name, 0)
            self.used[name] = (offset + blocks) % 2**64
            return self.seeds.get(name, self.seed), offset

    def start(self, seed: int, name: Optional[str]) -> None:
        with self.lock:
            if name is None:
                self.seed = seed
                self.seeds.clear()
                self.used.clear()
            else:
                self.seeds[name] = seed
                self.used[name] = 0


_generator = _Generator()


def manual_seed(seed: int, device: DeviceArgument = None) -> None:
    """Sets the seed of random numbers, for all devices or for one of them, and begins its sequence again.

    The same seed gives the same numbers on every device and with any number of threads. Without it, a process has a seed that
    the system has chosen.
    """
    number = whole(seed)
    if number is None:
        raise bad_type(f"manual_seed: expects an int, but got {type(seed).__name__}")
    if not -(2**63) <= number < 2**64:
        raise bad_value(f"manual_seed: {number} does not fit 64 bits")
    _generator.start(number % 2**64, None if device is None else device_id(device))


def initial_seed() -> int:
    """Returns the seed of random numbers on the CPU."""
    return _generator.seeds.get("host", _generator.seed)


_WIDE = frozenset(("f64", "float64", "i64", "int64", "u64", "uint64"))


def _random(kind: str, size: Sequence[Any], dtype: Any, place: DeviceArgument) -> _core.Tensor:
    refuse_while_tracing("random numbers are drawn in a traced function, and each call of the graph would have the same")
    shape, name, element = _size(size), _place(place), _type(dtype)
    count = math.prod(shape)
    wide = element in _WIDE
    seed, offset = _generator.take(name, (count + 1) // 2 if wide else (count + 3) // 4)
    result = _core.empty(shape, element, name)
    _core.call("random", ("output",), None, result, None, False, kind=kind, seed=seed, offset=offset)
    return result


@helped("random")
def rand(*size: Any, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns random numbers that are uniform from 0, exclusive of 1; float32 unless ``dtype`` says otherwise.

    >>> backplane.rand(2, 3).shape
    (2, 3)
    """
    return _random("uniform", size, dtype, device)


@helped("random")
def randn(*size: Any, dtype: Any = None, device: DeviceArgument = None) -> _core.Tensor:
    """Returns normal random numbers with mean 0 and standard deviation 1; float32 unless ``dtype`` says otherwise.

    >>> backplane.manual_seed(0)
    >>> x = backplane.randn(5, 5)
    >>> backplane.manual_seed(0)
    >>> backplane.randn(5, 5).tolist() == x.tolist()
    True
    """
    return _random("normal", size, dtype, device)


# ---- Control ----


def synchronize(device: DeviceArgument = None) -> None:
    """Waits for all work on a device; without one, on all devices that are ready. Failures of that work are raised here."""
    names = [row["id"] for row in _core.devices() if row["state"] == "ready"] if device is None else [device_id(device)]
    for name in names:
        _core.device_control("wait", name, 0)


class MemoryInfo(NamedTuple):
    """Statistics of the memory of a device, in bytes and counts."""

    used: int
    """Of tensors and workspaces."""
    cached: int
    """Allocated, but unused."""
    peak: int
    limit: int
    """Largest ``used`` + ``cached``; 0: none."""
    allocations: int
    reuses: int
    failures: int


def memory_info(device: DeviceArgument) -> MemoryInfo:
    """Returns statistics of the memory of a device."""
    return MemoryInfo(**_core.device_memory(device_id(device)))


def empty_cache(device: DeviceArgument = None, keep: int = 0) -> None:
    """Frees unused memory of a device, or of all of them, until ``keep`` bytes are cached."""
    names = [row["id"] for row in _core.devices() if row["state"] == "ready"] if device is None else [device_id(device)]
    for name in names:
        _core.device_control("trim", name, keep)


def set_memory_limit(limit: Optional[int], device: DeviceArgument) -> None:
    """Limits the memory of a device in bytes; 0: no limit; None: the setting device.memory_limit."""
    number = 2**64 - 1 if limit is None else whole(limit)
    if number is None:
        raise bad_type(f"limit: expects an int or None, but got {type(limit).__name__}")
    if not 0 <= number < 2**64:
        raise bad_value(f"limit: {number} is not accepted; it must be 0 or a number of bytes")
    _core.device_control("limit", device_id(device), number)


class _PlanCache(_plan_cache.PlanCache):
    """size, max_size and clear() of a device's plan cache. max_size is the setting plan_cache.max_size, one for all devices."""

    _name = "plan_cache"
    _setting = "plan_cache.max_size"
    __slots__ = ("_device",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_device", name)

    def _count(self) -> int:
        return _core.device_plans(self._device)[0]

    def clear(self) -> None:
        """Removes all plans."""
        _core.device_control("plans", self._device, 0)


class _PlanCaches:
    """The plan caches of devices by name: ``backplane.plan_cache["opencl:0"].size``."""

    def __getitem__(self, given: DeviceArgument) -> _PlanCache:
        name = device_id(given)
        if name == "host":
            raise failure(_core.Error, "E_ARGUMENT", "plan_cache: the host's plans are not counted by device")
        _core.device_plans(name)  # raises an error if there is no such device
        return _PlanCache(name)


plan_cache = _PlanCaches()
