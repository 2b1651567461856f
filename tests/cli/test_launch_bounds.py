"""launch: products of arrays that end at a page without access run on libraries that read nothing beyond it.

OpenBLAS 0.3.21 reads past the end of the vector in these products, which NumPy's own library does not.
"""

import pytest

from conftest import ROOT, needs_hooks

PYTHON = ROOT / ".venv/bin/python"

CODE = """
import ctypes, numpy as np
PAGE, SIZE = 4096, 1 << 16
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def array(shape):
    size = int(np.prod(shape)) * 8
    block = libc.mmap(None, SIZE + 2 * PAGE, 0, 0x22, -1, 0)
    assert libc.mprotect(block + PAGE, SIZE, 3) == 0
    memory = (ctypes.c_char * size).from_address(block + PAGE + SIZE - size)
    return np.frombuffer(memory, np.complex64).reshape(shape)

for k in (3, 7, 40):
    a, b, x, y = array((k, 126)), array((126, k)), array((k,)), array((126,))
    a[...] = b[...] = x[...] = 1
    np.matmul(x, a, out=y)
    assert (y == k).all()
    np.matmul(b, x, out=y)
    assert (y == k).all()
print("right")
"""


@needs_hooks
@pytest.mark.parametrize("options", [[], ["--deterministic"], ["--library", "openblas"]], ids=str)
def test_products_at_the_end_of_a_page(launch, backplane, options):
    if "openblas" in options and backplane("list").out.find("\nopenblas ") < 0:
        pytest.skip("needs OpenBLAS")
    done, _ = launch(options, str(PYTHON), "-c", CODE)
    assert done.code == 0 and done.out == "right\n", done.err
