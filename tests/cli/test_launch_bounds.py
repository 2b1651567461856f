"""launch: products of arrays that end at a page without access run on libraries that read nothing beyond it.

OpenBLAS 0.3.21 reads past the end of the vector in these products, which NumPy's own library does not.
"""

import json
import os

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


OWN = """
import ctypes, os
PAGE, SIZE = 4096, 1 << 16
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
blas = ctypes.CDLL(os.environ["OWN_LIBRARY"])

def ones(type_of_number, count):
    parts = 2 * count
    size = parts * ctypes.sizeof(type_of_number)
    block = libc.mmap(None, SIZE + 2 * PAGE, 0, 0x22, -1, 0)
    assert libc.mprotect(block + PAGE, SIZE, 3) == 0
    made = (type_of_number * parts).from_address(block + PAGE + SIZE - size)
    made[:] = [1.0, 0.0] * count
    return made

for name, number in (("cblas_cgemv", ctypes.c_float), ("cblas_zgemv", ctypes.c_double)):
    for transpose in (111, 112):
        for m, n in ((1, 1), (2, 3), (3, 2), (6, 1), (7, 9), (9, 8), (7, 126), (126, 7)):
            a, x = ones(number, m * n), ones(number, n if transpose == 111 else m)
            length = m if transpose == 111 else n
            y, one = ones(number, length), (number * 2)(1, 0)
            getattr(blas, name)(102, transpose, m, n, one, a, m, x, 1, one, y, 1)
            assert list(y[::2]) == length * [1.0 + (n if transpose == 111 else m)], (name, m, n, list(y))
print("right")
"""


@needs_hooks
@pytest.mark.parametrize("state", ["ok", "facade"])
def test_small_products_of_a_faulty_own_library(launch, backplane, state):
    """They do not stay in that library, because the probe found that it reads past the end of an operand."""
    all_libraries = json.loads(backplane("list", "--json", "--all").out)["libraries"]
    versions = [lib["version"] for lib in all_libraries if any("gemv c64" in fault for fault in lib["faults"])]
    own = [lib for lib in all_libraries if lib["version"] in versions and lib["state"] == state]
    own = [lib["path"] for lib in own if "blas" in os.path.basename(lib["path"])]
    if not own:
        pytest.skip("needs OpenBLAS 0.3.21 on a processor with AVX2")
    done, _ = launch([], str(PYTHON), "-c", OWN, env={"OWN_LIBRARY": own[0]})
    assert done.code == 0 and done.out == "right\n", done.err
