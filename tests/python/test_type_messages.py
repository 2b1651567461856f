"""A refused element type is answered with those that are accepted."""

import backplane
import numpy as np
import pytest

ACCEPTED = "must be one of f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool"


@pytest.mark.parametrize("call", [
    lambda: backplane.rand(3, dtype="f4"),
    lambda: backplane.elementwise.astype(np.ones(3), "f4"),
    lambda: backplane.linalg.inv(np.array([[1]], dtype=object)),
    lambda: backplane.nn.functional.softmax(np.array([1, 2], dtype=object), 0),
    lambda: backplane.linalg.norm(np.array(["a"])),
])
def test_accepted_types_are_named(call):
    with pytest.raises(backplane.BadTypeError, match=ACCEPTED):
        call()
