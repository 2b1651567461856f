"""launch and drop-in libraries: calls with arrays that end at a page without access run on libraries that read nothing
beyond it.

OpenBLAS 0.3.21 reads past the end of the vector in these products, which NumPy's own library does not.
"""

import json
import os

import pytest

from conftest import BUILD, ROOT, loading, needs_hooks

PYTHON = ROOT / ".venv/bin/python"
DROPIN = BUILD / "libbackplane_blas.so"

# Arrays of `count` complex numbers, all 1, whose last byte is in front of a page without access.
ARRAYS = """
import ctypes, math, os
PAGE, SIZE = 4096, 1 << 19
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def ones(number, count):
    size = 2 * count * ctypes.sizeof(number)
    block = libc.mmap(None, SIZE + 2 * PAGE, 0, 0x22, -1, 0)
    assert libc.mprotect(block + PAGE, SIZE, 3) == 0
    made = (number * (2 * count)).from_address(block + PAGE + SIZE - size)
    made[:] = [1.0, 0.0] * count
    return made
"""

CODE = ARRAYS + """
import numpy as np

def array(shape):
    return np.frombuffer(ones(ctypes.c_float, math.prod(shape)), np.complex64).reshape(shape)

for k in (3, 7, 40):
    a, b, x, y = array((k, 126)), array((126, k)), array((k,)), array((126,))
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


OWN = ARRAYS + """
blas = ctypes.CDLL(os.environ["OWN_LIBRARY"])

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


# Routines that are not products, by their names in Fortran and C.
OTHERS = ARRAYS + """
own = ctypes.CDLL(os.environ["OWN_LIBRARY"])

def identity(number, n):
    made = ones(number, n * n)
    made[::2] = [float(i % (n + 1) == 0) for i in range(n * n)]
    return made

integer = lambda value: ctypes.byref(ctypes.c_int(value))

def check_dots(number, letter):
    for n, step in ((1, 1), (7, -3), (8, 1), (9, -3), (17, 1), (33, 2)):
        x, y, result = ones(number, 1 + (n - 1) * abs(step)), ones(number, n), (number * 2)()
        for stem in ("dotu", "dotc"):
            getattr(own, f"cblas_{letter}{stem}_sub")(n, x, step, y, 1, result)
            assert list(result) == [n, 0], (stem, n, step, list(result))

def check_hemv(number, letter):
    for n in (1, 2, 3, 5, 6, 7, 9, 17):
        one, a, x, y = (number * 2)(1, 0), ones(number, n * n), ones(number, n), ones(number, n)
        for uplo in (b"U", b"L"):
            getattr(own, letter + "hemv_")(uplo, integer(n), one, a, integer(n), x, integer(1), one, y, integer(1))
        assert list(y[::2]) == n * [1.0 + 2 * n], (n, list(y))

def check_trsv(number, letter):
    for n in (1, 3, 66, 70, 126, 130):
        a, x = identity(number, n), ones(number, n)
        for trans in (b"N", b"T", b"C"):
            for uplo in (b"U", b"L"):
                getattr(own, letter + "trsv_")(uplo, trans, b"U", integer(n), a, integer(n), x, integer(1))
        assert list(x[::2]) == n * [1.0]

def check_lapack(number, letter):
    for n in (1, 2, 3, 7, 9, 34, 66):
        for uplo in (b"U", b"L"):
            a, info = identity(number, n), ctypes.c_int(1)
            getattr(own, letter + "potri_")(uplo, integer(n), a, integer(n), ctypes.byref(info))
            assert info.value == 0 and list(a[::2]) == list(identity(number, n)[::2]), n
    for m, n in ((7, 4), (13, 9), (15, 33)):
        a, b, work = ones(number, m * n), ones(number, max(m, n)), ones(number, 2000)
        a[::2] = [float(i % (m + 1) == 0 and i < m * m) for i in range(m * n)]
        info = ctypes.c_int(1)
        getattr(own, letter + "gels_")(b"N", integer(m), integer(n), integer(1), a, integer(m), b, integer(max(m, n)), work,
                                       integer(2000), ctypes.byref(info))
        assert info.value == 0 and all(math.isclose(abs(x), 1, rel_tol=1e-5) for x in b[:2 * min(m, n):2])

for number, letter in ((ctypes.c_float, "c"), (ctypes.c_double, "z")):
    globals()["check_" + os.environ["KIND"]](number, letter)
print("right")
"""


def faulty_own_libraries(backplane, state):
    """The paths of libraries with a product that accesses memory outside of its operands, or of those in front of them."""
    all_libraries = json.loads(backplane("list", "--json", "--all").out)["libraries"]
    versions = [lib["version"] for lib in all_libraries if any("gemv c64" in fault for fault in lib["faults"])]
    own = [lib for lib in all_libraries if lib["version"] in versions and lib["state"] == state]
    return [lib["path"] for lib in own if "blas" in os.path.basename(lib["path"])]


@needs_hooks
@pytest.mark.parametrize("options", [[], ["--library", "openblas"]], ids=str)
@pytest.mark.parametrize(("kind", "state"), [("dots", "ok"), ("hemv", "ok"), ("trsv", "ok"), ("lapack", "ok"), ("dots", "facade")])
def test_other_routines_of_a_faulty_own_library(launch, backplane, kind, state, options):
    """They leave that library too, each routine and type in which the probe found an access, also if it is asked for."""
    own = faulty_own_libraries(backplane, state)
    if not own:
        pytest.skip("needs OpenBLAS 0.3.21 on a processor with AVX2")
    environment = {"OWN_LIBRARY": own[0], "KIND": kind}
    assert backplane("-c", OTHERS, env=environment, command=PYTHON).code != 0  # without launch it reads beyond a page
    done, _ = launch(options, str(PYTHON), "-c", OTHERS, env=environment)
    assert done.code == 0 and done.out == "right\n", done.err


@pytest.mark.skipif(not DROPIN.exists(), reason="this build has no drop-in libraries (see the output of cmake)")
@pytest.mark.parametrize("kind", ["dots", "hemv", "trsv", "lapack"])
def test_other_routines_of_a_drop_in_library(backplane, kind):
    """They do not go to the library that was asked for if the probe found an access there and another one has them."""
    if not faulty_own_libraries(backplane, "ok"):
        pytest.skip("needs OpenBLAS 0.3.21 on a processor with AVX2")
    own = BUILD / "libbackplane_lapack.so" if kind == "lapack" else DROPIN
    environment = {"OWN_LIBRARY": str(own), "KIND": kind, "BACKPLANE_DROPIN_LIBRARY": "openblas"}
    done = backplane("-c", OTHERS, env=loading(environment), command=PYTHON)
    assert done.code == 0 and done.out == "right\n", done.err


@needs_hooks
@pytest.mark.parametrize("state", ["ok", "facade"])
def test_small_products_of_a_faulty_own_library(launch, backplane, state):
    """They do not stay in that library, because the probe found that it reads past the end of an operand."""
    own = faulty_own_libraries(backplane, state)
    if not own:
        pytest.skip("needs OpenBLAS 0.3.21 on a processor with AVX2")
    environment = {"OWN_LIBRARY": own[0]}
    assert backplane("-c", OWN, env=environment, command=PYTHON).code != 0  # without launch it reads beyond a page
    done, _ = launch([], str(PYTHON), "-c", OWN, env=environment)
    assert done.code == 0 and done.out == "right\n", done.err
