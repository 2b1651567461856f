"""DLPack exporters made with ctypes, for cases that no installed library has: bfloat16, other devices, NULL strides,
read-only memory, old and new capsules. They count how often memory is released."""

import ctypes

CPU, CUDA = 1, 2
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", Deleter),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exporter:
    """An array with __dlpack__ only. `releases` counts the calls of the deleter."""

    def __init__(self, memory, shape, dtype, strides=None, device=CPU, offset=0, read_only=False, old=False, major=1):
        self.memory = memory
        self.old = old
        self.releases = 0
        self.deleter = Deleter(self._count)
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.steps = (ctypes.c_int64 * len(shape))(*strides) if strides is not None else None
        tensor = Tensor(ctypes.addressof(memory), Device(device, 0), len(shape), Type(*dtype, 1),
                        ctypes.cast(self.sizes, ctypes.POINTER(ctypes.c_int64)),
                        ctypes.cast(self.steps, ctypes.POINTER(ctypes.c_int64)) if self.steps else None, offset)
        self.managed = (Managed(tensor, None, self.deleter) if old
                        else Versioned(major, 0, None, self.deleter, int(read_only), tensor))

    def _count(self, managed):
        self.releases += 1

    def __dlpack__(self, **names):
        if self.old and names:
            raise TypeError("unexpected argument")
        return new_capsule(ctypes.addressof(self.managed), b"dltensor" if self.old else b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return (CPU, 0)


def f64_array(values, shape, **more):
    return Exporter((ctypes.c_double * len(values))(*values), shape, (FLOAT, 64), **more)


def bf16_array(values, shape, **more):
    """Returns bfloat16 values: the upper half of each float, which must be exact."""
    memory = (ctypes.c_uint16 * len(values))()
    for i, value in enumerate(values):
        bits = ctypes.cast(ctypes.pointer(ctypes.c_float(value)), ctypes.POINTER(ctypes.c_uint32)).contents.value
        assert bits & 0xFFFF == 0
        memory[i] = bits >> 16
    return Exporter(memory, shape, (BFLOAT, 16), **more)


# ---- DLPack's C exchange interface ----


class Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("share", ctypes.c_void_p), ("wrap", ctypes.c_void_p),
                ("borrow", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
Share = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
Wrap = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.c_void_p))
kept = []  # capsules point to these


def exchange_capsule(borrow, share, wrap, name=b"dlpack_exchange_api", major=1):
    """Returns a capsule with the functions borrow(object, pointer to a Tensor), share(object, pointer to an address) and
    wrap(pointer to a Versioned, pointer to the result); each may be None."""
    given = ((Borrow, borrow), (Share, share), (Wrap, wrap))
    functions = [kind(function) if function else None for kind, function in given]
    borrows, shares, wraps = [ctypes.cast(one, ctypes.c_void_p) if one else None for one in functions]
    table = Exchange(major, 3, None, None, shares, wraps, borrows, None)
    kept.extend([functions, table, name])
    return new_capsule(ctypes.addressof(table), name, None)
