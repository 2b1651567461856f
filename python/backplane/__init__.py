"""One interface to all math libraries of a machine, with the names of torch.backends.

``backplane.matmul(a, b)`` chooses a library for the call and runs it. ``backplane.last_plan()`` returns which one ran;
``backplane.explain(backplane.matmul, a, b)`` returns why. ``backplane.settings`` has all settings.
``with backplane.flags(...)`` changes settings for the calling thread, ``backplane.set_flags(...)`` for the process. After
``import backplane as torch``, code that uses torch.backends runs unchanged.
"""

import sys as _sys
from typing import TYPE_CHECKING

from . import _environment  # first: the library reads it when it is used  # noqa: F401
from . import __config__, backends, compiler, cpu, cuda, elementwise, fft, linalg, nn, opencl, reduce, utils, version
from ._config import Backend, Library, backend_status, backends_status, libraries, show_config
from ._core import BadTypeError, BadValueError, Error, Options, Setting, Tensor, UnknownNameError, Warning
from ._core import version as __version__
from ._core import from_dlpack
from ._devices import (
    Device,
    MemoryInfo,
    devices,
    empty,
    empty_cache,
    full,
    initial_seed,
    manual_seed,
    memory_info,
    ones,
    plan_cache,
    rand,
    randn,
    set_memory_limit,
    synchronize,
    zeros,
)
from ._dtypes import (
    bfloat16,
    bool_ as bool,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    float16,
    float32,
    float32 as float,
    float64,
    half,
    int8,
    int16,
    int32,
    int32 as int,
    int64,
    long,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._einsum import PathReport, Step, einsum_path
from ._graph import Graph
from ._gradients import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._modes import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from ._products import Candidate, Explanation, Plan, explain, last_plan
from ._record import RecordedCall, RecordedPlan, record
from ._settings import Settings, flags, set_flags, setting, settings
from ._torch_names import (
    device,
    get_num_interop_threads,
    get_num_threads,
    install_as_torch,
    set_num_interop_threads,
    set_num_threads,
    uninstall_as_torch,
)
from .backends._module import close as _close
from .compiler import compile
from .linalg import cholesky_inverse, cholesky_solve

if TYPE_CHECKING:  # with the overloads that follow from their signatures
    from ._typed import bmm, cumsum, dot, einsum, gemm, matmul, mm, mv
else:
    from ._cumsum import cumsum
    from ._einsum import einsum
    from ._products import bmm, dot, gemm, matmul, mm, mv

# These hide Python's own names, so that `import *` must not copy them.
_ALSO = ("bool", "compile", "float", "int")
__all__ = [
    "Backend",
    "BadTypeError",
    "BadValueError",
    "Candidate",
    "Device",
    "Error",
    "Explanation",
    "Graph",
    "Library",
    "MemoryInfo",
    "Options",
    "PathReport",
    "Plan",
    "RecordedCall",
    "RecordedPlan",
    "Setting",
    "Settings",
    "Step",
    "Tensor",
    "UnknownNameError",
    "Warning",
    "__config__",
    "__version__",
    "are_deterministic_algorithms_enabled",
    "backend_status",
    "backends",
    "backends_status",
    "bfloat16",
    "bmm",
    "cdouble",
    "cfloat",
    "cholesky_inverse",
    "cholesky_solve",
    "compiler",
    "complex128",
    "complex64",
    "cpu",
    "cuda",
    "cumsum",
    "device",
    "devices",
    "dot",
    "double",
    "dtype",
    "einsum",
    "einsum_path",
    "elementwise",
    "empty",
    "empty_cache",
    "enable_grad",
    "explain",
    "fft",
    "flags",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "gemm",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "half",
    "inference_mode",
    "initial_seed",
    "install_as_torch",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "last_plan",
    "libraries",
    "linalg",
    "long",
    "manual_seed",
    "matmul",
    "memory_info",
    "mm",
    "mv",
    "nn",
    "no_grad",
    "ones",
    "opencl",
    "plan_cache",
    "rand",
    "randn",
    "record",
    "reduce",
    "set_deterministic_debug_mode",
    "set_flags",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_memory_limit",
    "set_num_interop_threads",
    "set_num_threads",
    "setting",
    "settings",
    "short",
    "show_config",
    "synchronize",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uninstall_as_torch",
    "use_deterministic_algorithms",
    "utils",
    "version",
    "zeros",
]

if hasattr(_sys.modules.get("threadpoolctl"), "register"):
    from .utils import threadpoolctl as _threadpoolctl  # noqa: F401

_close(__name__)
