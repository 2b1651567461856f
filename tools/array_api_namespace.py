"""array_api_namespace.py - backplane.utils.array_namespace() of NumPy's arrays, for the array API test suite"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", HERE.parent / "build")).resolve()
sys.path[:0] = [str(BUILD / "python")]

import backplane  # noqa: E402
import numpy  # noqa: E402
from numpy import *  # noqa: E402, F403

__array_api_version__ = numpy.__array_api_version__
__array_namespace_info__ = numpy.__array_namespace_info__
_namespace = backplane.utils.array_namespace(numpy.ones(1))
linalg, fft = _namespace.linalg, _namespace.fft
matmul, matrix_transpose, tensordot, vecdot = _namespace.matmul, _namespace.matrix_transpose, _namespace.tensordot, _namespace.vecdot
