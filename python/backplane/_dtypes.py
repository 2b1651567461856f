"""Objects of the element types: float32, bfloat16, complex64 and the others, under the names of torch."""

from __future__ import annotations

from typing import Any, Dict, NoReturn, Tuple


class dtype(str):
    """An element type. It equals the library's name of the type, which Tensor.dtype is, and is accepted wherever a name is.

    >>> zeros(2).dtype == float32, float32 == "f32", float32
    (True, True, backplane.float32)
    >>> complex64.itemsize, complex64.is_complex, complex64.to_real()
    (8, True, backplane.float32)
    """

    __slots__ = ()

    def __new__(cls, name: str) -> dtype:
        if name not in _OBJECTS:
            raise TypeError("dtype: the element types are backplane.float32 and the others; there are no more")
        return _OBJECTS[name]

    def __reduce__(self) -> Tuple[Any, ...]:
        return dtype, (self + "",)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def __repr__(self) -> str:
        return f"backplane.{_NAMES[self]}"

    __str__ = __repr__

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"dtype.{name} cannot be assigned")

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return 1 if self == "bool" else int(self.lstrip("bcfiu")) // 8

    @property
    def is_floating_point(self) -> bool:
        """Whether the type is f16, bf16, f32 or f64."""
        return self != "bool" and self[0] in "fb"

    @property
    def is_complex(self) -> bool:
        """Whether the type is c64 or c128."""
        return self[0] == "c"

    @property
    def is_signed(self) -> bool:
        """Whether the type has negative numbers."""
        return self != "bool" and self[0] != "u"

    def to_real(self) -> dtype:
        """Returns the type of the real part."""
        return _OBJECTS[{"c64": "f32", "c128": "f64"}.get(self, self + "")]

    def to_complex(self) -> dtype:
        """Returns the complex type with parts of this type; a TypeError if there is none."""
        name = {"f32": "c64", "f64": "c128", "c64": "c64", "c128": "c128"}.get(self)
        if name is None:
            raise TypeError(f"there is no complex type with parts of {self!r}")
        return _OBJECTS[name]


_NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "bool": "bool",
}
SHORT_NAMES = {long: short for short, long in _NAMES.items()}
"""The library's names of element types, by the names of NumPy and torch."""
_OBJECTS: Dict[str, dtype] = {name: str.__new__(dtype, name) for name in _NAMES}

float16 = half = _OBJECTS["f16"]
bfloat16 = _OBJECTS["bf16"]
float32 = single = _OBJECTS["f32"]
float64 = double = _OBJECTS["f64"]
complex64 = cfloat = _OBJECTS["c64"]
complex128 = cdouble = _OBJECTS["c128"]
int8 = _OBJECTS["i8"]
int16 = short = _OBJECTS["i16"]
int32 = _OBJECTS["i32"]
int64 = long = _OBJECTS["i64"]
uint8 = _OBJECTS["u8"]
uint16 = _OBJECTS["u16"]
uint32 = _OBJECTS["u32"]
uint64 = _OBJECTS["u64"]
bool_ = _OBJECTS["bool"]
