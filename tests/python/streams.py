"""Checks of DLPack's streams on the runtimes of tests/device, whose devices are threads. The first argument is the path of
their module, the second the name of a function. Runtime "other" has DLPack's type of ROCm."""

import ctypes
import gc
import sys

import dlpack

import backplane
from backplane import _core

ROCM, SIZE, PLACE = 10, 1000, "other:0"


class Controls(ctypes.Structure):
    """fake_controls of tests/device/fake_runtime.h."""

    _fields_ = [("longest_delay_us", ctypes.c_int), ("fail_at", ctypes.c_int), ("fail_with", ctypes.c_int), ("chain", ctypes.c_bool),
                ("refuse_copies", ctypes.c_bool), ("refuse_foreign", ctypes.c_bool), ("refuse_peers", ctypes.c_bool), ("refuse_captures", ctypes.c_bool),
                ("memory", ctypes.c_longlong), ("closed", ctypes.c_bool), ("changed", ctypes.c_int), ("counts", ctypes.c_int * 10),
                ("bytes", ctypes.c_longlong), ("commands", ctypes.c_int), ("violations", ctypes.c_int), ("violation", ctypes.c_char * 128),
                ("add", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint8)),
                ("bytes_of", ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_uint8), ctypes.c_void_p)),
                ("release_event", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("device_of", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)),
                ("pending_of", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
                ("allocate", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
                ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("native_queue", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)),
                ("free_native_queue", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("open_gate", ctypes.CFUNCTYPE(None, ctypes.c_bool))]


fake = Controls.in_dll(ctypes.CDLL(sys.argv[1]), "fake_control")
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype = ctypes.c_void_p
pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


def on_device(value):
    return _core.transfer(backplane.full((SIZE,), value, dtype="u8"), PLACE)


def address_of(capsule):
    return dlpack.Versioned.from_address(pointer_in(capsule, b"dltensor_versioned")).tensor.data


def add_on(queue, address, value):
    fake.release_event(fake.add(queue, address, 0, SIZE, value))


def give():
    """The consumer's stream waits for the copy to the device, and its memory is not reused before its work has ended."""
    x = on_device(0)
    probe = x.__dlpack__(stream=-1, max_version=(1, 0))
    queue = fake.native_queue(fake.device_of(address_of(probe)))
    _core.device_control("wait", PLACE, 0)
    del probe, x
    for _ in range(20):
        fake.longest_delay_us = 2000
        fake.open_gate(False)
        x = on_device(1)  # its values are written when the gate opens
        capsule = x.__dlpack__(stream=queue, max_version=(1, 0))
        address = address_of(capsule)
        add_on(queue, address, 40)
        del capsule, x  # the consumer's reference ends first
        y = on_device(2)
        other = address_of(y.__dlpack__(stream=-1, max_version=(1, 0)))
        assert other != address
        fake.open_gate(True)
        _core.device_control("wait", PLACE, 0)
        assert fake.pending_of(address) == 0
        assert list(fake.bytes_of(address)[:SIZE]) == [41] * SIZE
        del y
    fake.free_native_queue(queue)


def reuse():
    """What a stream has used stays in the pool; what is used on unknown queues goes back to the driver."""
    x = on_device(1)
    capsule = x.__dlpack__(stream=0, max_version=(1, 0))
    del capsule, x
    _core.device_control("wait", PLACE, 0)
    assert _core.device_memory(PLACE)["cached"] > 0
    _core.device_control("trim", PLACE, 0)
    for names in ({}, {"stream": None}, {"stream": -1}):
        x = on_device(1)
        capsule = x.__dlpack__(max_version=(1, 0), **names)
        _core.device_control("wait", PLACE, 0)
        del capsule, x
        assert _core.device_memory(PLACE)["cached"] == 0, names


def numbers():
    x = on_device(1)
    assert x.__dlpack_device__() == (ROCM, 0)
    for wrong in (1, 2, -2):
        try:
            x.__dlpack__(stream=wrong)
        except BufferError as error:
            assert f"{wrong} is no stream of ROCm" in str(error)
        else:
            raise AssertionError(wrong)
    for wrong in ("1", 2**70):
        try:
            x.__dlpack__(stream=wrong)
        except (TypeError, OverflowError):
            continue
        raise AssertionError(wrong)
    try:
        x.cpu().__dlpack__(stream=0)
    except BufferError as error:
        assert "host memory has no stream" in str(error)
    else:
        raise AssertionError("host")


class Producer(dlpack.Exporter):
    """Gives memory of the device; notes the arguments and the commands that use the memory when it gets it back."""

    def __init__(self, address, old=False):
        super().__init__(ctypes.c_uint8.from_address(address), (SIZE,), (dlpack.UINT, 8), device=ROCM)
        self.address, self.refuses, self.asked, self.pending = address, old, [], None

    def _count(self, managed):
        self.releases += 1
        self.pending = fake.pending_of(self.address)

    def __dlpack__(self, **names):
        self.asked.append(names)
        if self.refuses and "max_version" in names:
            raise TypeError("unexpected argument")
        return super().__dlpack__(**names)

    def __dlpack_device__(self):
        return (ROCM, 0)


def take():
    """A producer gets the number of our queue, and its memory back after our work."""
    x = on_device(7)
    capsule = x.__dlpack__(stream=-1, max_version=(1, 0))
    address = address_of(capsule)
    for old in (False, True):
        producer = Producer(address, old)
        fake.longest_delay_us = 20000
        t = backplane.from_dlpack(producer)
        stream = producer.asked[-1]["stream"]
        assert isinstance(stream, int) and stream > 2
        assert ("max_version" in producer.asked[-1]) != old
        add_on(stream, address, 1)
        del t
        gc.collect()
        assert producer.releases == 1 and producer.pending == 0
    assert x.cpu().tolist() == [9] * SIZE
    host = dlpack.f64_array([1.0], (1,))  # no stream of the host
    assert backplane.from_dlpack(host).tolist() == [1.0]


globals()[sys.argv[2]]()
assert fake.violations == 0, fake.violation
