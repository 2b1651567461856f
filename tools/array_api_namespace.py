"""array_api_namespace.py - NumPy's namespace with backplane's linalg and fft, for the array API test suite"""

import os
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", HERE.parent / "build")).resolve()
sys.path[:0] = [str(BUILD / "python")]

import backplane  # noqa: E402
import numpy  # noqa: E402
import numpy_adapter  # noqa: E402
from numpy import *  # noqa: E402, F403

__array_api_version__ = numpy.__array_api_version__
__array_namespace_info__ = numpy.__array_namespace_info__
fft = numpy_adapter.fft
# In the standard, unlike in NumPy, eigenvalues are complex for every input.
complex_results = {"eig": backplane.linalg.eig, "eigvals": backplane.linalg.eigvals}
linalg = types.SimpleNamespace(**{**vars(numpy_adapter.linalg), **complex_results})
matmul, matrix_transpose, tensordot, vecdot = linalg.matmul, linalg.matrix_transpose, linalg.tensordot, linalg.vecdot
