"""The modules of backends: names, errors for unknown names, flags of each module, and results without a GPU."""

import importlib
import inspect
import pydoc
import shutil
import subprocess
import sys
import types
from unittest import mock

import numpy as np
import pytest

import backplane as torch
from backplane.nn.attention import SDPBackend, sdpa_kernel

MODULES = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "miopen", "mkl", "mkldnn", "mps", "mtia", "nnpack", "openmp",
           "opt_einsum", "python_native", "quantized", "xnnpack", "xpu"]
# Module, and arguments in the order of PyTorch.
FLAGS = {
    "cudnn": ["enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision", "depthwise_kernel"],
    "mkldnn": ["enabled", "deterministic", "allow_tf32", "fp32_precision"],
    "opt_einsum": ["enabled", "strategy"],
    "miopen": ["immediate"],
    "nnpack": ["enabled"],
}


def need(*names):
    for name in names:
        if name not in torch.settings:
            pytest.skip(f"the table has no setting {name}")


def module(name):
    return getattr(torch.backends, name)


@pytest.mark.parametrize("name", MODULES)
def test_modules_refuse_unknown_names(name):
    place = module(name)
    assert place is importlib.import_module(f"backplane.backends.{name}")
    with pytest.raises(AttributeError, match=f"{name} has no 'enabledd'"):
        place.enabledd
    for value in (True, None, print):
        with pytest.raises(AttributeError, match=f"{name} has no 'enabledd'"):
            place.enabledd = value
    assert not hasattr(place, "nonsense")


@pytest.mark.parametrize("name", MODULES)
def test_every_name_has_help(name):
    place = module(name)
    public = [value for key, value in vars(place).items() if not key.startswith("_") and inspect.isfunction(value)
              and value.__module__ == place.__name__]
    assert place.__doc__ and all(value.__doc__ for value in public)
    page = pydoc.plain(pydoc.render_doc(place))
    for row in torch.settings:
        head, _, last = row.rpartition(".")
        if head == name and last in dir(place) and last not in vars(place):
            assert torch.setting(row).environment in page or isinstance(vars(type(place))[last], property)


@pytest.mark.parametrize("name", ["mps", "mtia", "xpu", "cuda"])
def test_is_built_and_is_available_match_the_status(name):
    status = torch.backend_status(name)
    assert module(name).is_built() is status.built
    if name != "cuda":
        assert module(name).is_available() is status.available
    assert bool(status.reason) is not status.available


@pytest.mark.parametrize("name", ["cudnn", "mkl", "mkldnn", "openmp", "nnpack", "kleidiai", "cusparselt", "miopen"])
def test_is_available_matches_the_status(name):
    assert module(name).is_available() is torch.backend_status(name).available


def test_statuses():
    names = [row.name for row in torch.backends_status()]
    assert len(set(names)) == len(names) and set(MODULES) - {"python_native"} <= set(names)
    with pytest.raises(AttributeError):
        torch.backend_status("no such backend")
    with pytest.raises(TypeError):
        torch.backend_status(3)
    assert torch.backends.mkl.is_enabled() is torch.backend_status("mkl").enabled
    assert torch.backends.openmp.is_enabled() is torch.backend_status("openmp").enabled
    assert torch.backends.cudnn.version() == (torch.backend_status("cudnn").version_number or None)
    assert torch.backends.cusparselt.version() is None or torch.backends.cusparselt.version() > 0
    assert torch.backends.cusparselt.get_max_alg_id() in (None, 4, 5, 37)
    assert torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512", "VSX", "Z VECTOR", "SVE256")


@pytest.mark.parametrize("name", FLAGS)
def test_flags_change_only_the_given_settings(name):
    place, words = module(name), FLAGS[name]
    need(*(f"{name}.{word}" for word in words))
    assert list(inspect.signature(place.flags).parameters) == words
    assert list(inspect.signature(place.set_flags).parameters) == [f"_{word}" for word in words]
    before = [getattr(place, word) for word in words]
    for word in words:
        row = torch.setting(f"{name}.{word}")
        other = (not row.get() if row.type == "bool" else row.get() + 1 if row.type == "int"
                 else next(one for one in row.allowed.split("|") if one != row.get()))
        with place.flags(**{word: other}):
            assert row.get() == other
            assert all(torch.setting(f"{name}.{one}").stored("thread scope") is None for one in words
                       if one != word and {name, one, word} != {"mkldnn", "allow_tf32", "fp32_precision"})
        assert [getattr(place, one) for one in words] == before
    with pytest.raises(TypeError):
        place.flags(nonsense=True)


def other(row):
    """Returns a valid value of the setting that is not the current one."""
    now = row.get()
    return not now if row.type == "bool" else now + 1 if row.type == "int" else next(
        word for word in row.allowed.split("|")[1:] if word != now)


def process_layer_now():
    return {one: torch.setting(one).stored("process") for one in torch.settings}


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("stored", [False, True])
def test_set_flags_ignores_none_and_returns_previous_values(name, stored):
    place, rows = module(name), [torch.setting(f"{name}.{word}") for word in FLAGS[name]]
    for row in rows if stored else []:
        row.set(other(row))
    values, process = tuple(row.get() for row in rows), process_layer_now()
    assert place.set_flags(*[None] * len(rows)) == values  # as in PyTorch: None changes and removes nothing
    assert place.set_flags() == values and process_layer_now() == process
    for row in rows:
        word = f"_{row.name.rpartition('.')[2]}"
        wanted = other(row)
        before = place.set_flags(**{word: wanted})
        assert type(before[rows.index(row)]) is type(wanted) and before == values and row.get() == wanted
        assert place.set_flags(**{word: None}) != values and row.get() == wanted
        before.restore()
        assert process_layer_now() == process
    before = place.set_flags(**{f"_{word}": other(torch.setting(f"{name}.{word}")) for word in FLAGS[name]})
    place.set_flags(*before)
    assert before == values == tuple(row.get() for row in rows)


def test_previous_values_can_be_set_again():
    need("cudnn.benchmark", "cudnn.deterministic")
    before = torch.backends.cudnn.set_flags(_benchmark=True, _deterministic=True)
    assert isinstance(before, tuple) and before[1] is False and before[3] is False
    torch.backends.cudnn.set_flags(*before)
    assert not torch.backends.cudnn.benchmark and not torch.backends.cudnn.deterministic
    with pytest.raises(TypeError, match="^cudnn.benchmark: expects a bool"):
        torch.backends.cudnn.set_flags(None, 1)


def test_precision_settings_that_differ_are_restored():
    need("cudnn.allow_tf32")
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    before = torch.backends.cudnn.set_flags(_allow_tf32=True)
    assert torch.setting("cudnn.rnn.fp32_precision").stored("process") == "tf32"
    before.restore()
    assert torch.setting("cudnn.rnn.fp32_precision").stored("process") is None
    assert torch.backends.cudnn.conv.fp32_precision == "ieee"


def test_bools_are_strict_and_the_message_has_the_setting():
    need("cudnn.allow_tf32", "cudnn.benchmark", "cuda.flash_sdp")
    for name in ("allow_tf32", "benchmark", "enabled", "deterministic"):
        for wrong in (0, 1, "true", None):
            with pytest.raises(TypeError, match=f"^cudnn.{name}: expects a bool"):
                setattr(torch.backends.cudnn, name, wrong)
    with pytest.raises(TypeError, match="^cuda.flash_sdp: expects a bool"):
        torch.backends.cuda.enable_flash_sdp(1)


def test_read_only_attributes_cannot_be_assigned():
    for place, name in ((torch.backends.xnnpack, "enabled"), (torch.backends.quantized, "supported_engines")):
        getattr(place, name)
        with pytest.raises(RuntimeError, match="cannot be assigned"):
            setattr(place, name, True)


def test_precision_and_its_scope():
    need("fp32_precision")
    before = torch.backends.fp32_precision
    with torch.backends.flags(fp32_precision="ieee"):
        assert torch.backends.fp32_precision == "ieee"
    assert torch.backends.fp32_precision == before
    assert torch.backends.set_flags(_fp32_precision="tf32") == (before,)
    assert torch.backends.fp32_precision == "tf32"
    with pytest.raises(ValueError):
        torch.backends.fp32_precision = "fp8"
    with pytest.raises(AttributeError):
        torch.backends.fp32_precisions = "ieee"


def test_float32_matmul_precision():
    need("float32_matmul_precision")
    for word in ("highest", "high", "medium", "HIGH"):
        torch.set_float32_matmul_precision(word)
        assert torch.get_float32_matmul_precision() == word.lower()
    with pytest.raises(ValueError):
        torch.set_float32_matmul_precision("low")
    with pytest.raises(TypeError):
        torch.set_float32_matmul_precision(1)


def test_deterministic_algorithms():
    need("deterministic_algorithms", "deterministic_algorithms.warn_only")
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    with pytest.raises(TypeError):
        torch.use_deterministic_algorithms(1)
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()


def test_deterministic_debug_mode():
    need("deterministic_debug_mode")
    for mode, number in (("warn", 1), (2, 2), ("default", 0), (1, 1), ("error", 2), (0, 0), (True, 1), (False, 0)):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == number
    for wrong, kind in ((3, ValueError), ("loud", ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(kind):
            torch.set_deterministic_debug_mode(wrong)


def test_fill_uninitialized_memory():
    need("fill_uninitialized_memory")
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert torch.settings.fill_uninitialized_memory is False
    with pytest.raises(AttributeError):
        torch.utils.deterministic.fill_memory = True


# ---- CUDA without a device ----


def no_device():
    if torch.backend_status("cuda").available:
        pytest.skip("there is a CUDA device")


def test_plan_cache_of_cufft():
    no_device()
    need("cuda.cufft_plan_cache.max_size")
    cache = torch.backends.cuda.cufft_plan_cache
    cache.max_size = 10
    assert cache.max_size == 10 and cache.size == 0 and cache.clear() is None
    for index in (0, 1, -1):
        with pytest.raises(RuntimeError, match="range of valid indices"):
            cache[index]
    with pytest.raises(TypeError):
        cache["cuda"]
    with pytest.raises(RuntimeError, match="read-only"):
        cache.size = 3
    with pytest.raises(RuntimeError):
        cache.max_size = -1
    with pytest.raises(AttributeError):
        cache.max_sizes = 1
    with pytest.raises(AttributeError):
        cache.sizes
    assert cache.max_size == 10


def test_plan_cache_by_device(monkeypatch):
    need("cuda.cufft_plan_cache.max_size")
    monkeypatch.setattr("backplane.backends._cufft._device_count", lambda: 2)
    cache = torch.backends.cuda.cufft_plan_cache
    with pytest.raises(RuntimeError, match="0 to 1"):
        cache[2]
    for wrong in ("cuda", "cpu:0", "cuda:x", True, None, 1.0):
        with pytest.raises(TypeError):
            cache[wrong]
    names = [cache[index]._device for index in (0, np.int64(1), "cuda:1", types.SimpleNamespace(index=1))]
    assert names == ["cuda:0", "cuda:1", "cuda:1", "cuda:1"]


def test_can_use_attention_warns_with_the_reason():
    no_device()
    need("cuda.flash_sdp")
    q = np.ones((1, 2, 3, 4), "f4")
    params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, True)
    cuda = torch.backends.cuda
    for can_use, name in ((cuda.can_use_flash_attention, "flash_sdp"), (cuda.can_use_efficient_attention, "mem_efficient_sdp"),
                          (cuda.can_use_cudnn_attention, "cudnn_sdp")):
        host = name != "cudnn_sdp"  # kernels that the provider native has
        assert can_use(params) is host
        if not host:
            with pytest.warns(UserWarning, match="cannot be used: " + torch.backend_status("cuda").reason[:10]):
                assert can_use(params, debug=True) is False
        else:
            assert can_use(cuda.SDPAParams(q, q[..., :2], q, None, 0.0, True)) is False
            with torch.flags({f"cuda.{name}": False}):
                with pytest.warns(UserWarning, match=f"cannot be used: cuda.{name} is false"):
                    assert can_use(params, debug=True) is False
        with pytest.raises(TypeError):
            can_use(q)
    assert params.enable_gqa is False
    with pytest.raises(AttributeError):
        params.query = None
    with pytest.warns(UserWarning, match="does not accept"):
        assert torch.backends.cudnn.is_acceptable(q) is False
    assert torch.backends.cuda.is_flash_attention_available() is True


def test_attention_switches():
    need("cuda.flash_sdp", "cuda.math_sdp", "cuda.mem_efficient_sdp", "cuda.cudnn_sdp", "cuda.fp16_bf16_reduction_math_sdp")
    cuda = torch.backends.cuda
    for name in ("flash", "math", "mem_efficient", "cudnn"):
        assert getattr(cuda, f"{name}_sdp_enabled")() is True
        getattr(cuda, f"enable_{name}_sdp")(False)
        assert getattr(cuda, f"{name}_sdp_enabled")() is False
        getattr(cuda, f"enable_{name}_sdp")(True)
    cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert cuda.fp16_bf16_reduction_math_sdp_allowed() is True
    with pytest.warns(FutureWarning, match="sdpa_kernel"):
        old = cuda.sdp_kernel(enable_flash=False)
    with old:
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    with sdpa_kernel(SDPBackend.MATH):
        assert cuda.math_sdp_enabled() and not cuda.flash_sdp_enabled() and not cuda.cudnn_sdp_enabled()
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
            assert cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled() and not cuda.math_sdp_enabled()
        assert cuda.math_sdp_enabled() and not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    for wrong in ("math", [1.5], [SDPBackend.ERROR], 0, 1, [0], [True], None):
        with pytest.raises(torch.BadTypeError):
            sdpa_kernel(wrong)


def test_names_without_effect():
    from backplane.nn import attention
    assert torch.backends.cudnn.CUDNN_TENSOR_DTYPES == {"f16", "f32", "f64"}
    with mock.patch.object(attention, "WARN_FOR_UNFUSED_KERNELS", True):
        assert attention.WARN_FOR_UNFUSED_KERNELS is True
    assert attention.WARN_FOR_UNFUSED_KERNELS is False


def test_overrideable_attention():
    need("cuda.overrideable_sdp")
    with sdpa_kernel(SDPBackend.OVERRIDEABLE):
        assert torch.settings.cuda.overrideable_sdp and not torch.settings.cuda.flash_sdp
    with sdpa_kernel(SDPBackend.MATH):
        assert not torch.settings.cuda.overrideable_sdp


def test_priority_of_attention():
    need("cuda.sdp_priority")
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        assert torch.settings.cuda.sdp_priority == "math,flash"


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_reductions_with_split_k(kind):
    name = f"allow_{kind}_reduced_precision_reduction"
    need(f"cuda.matmul.{name}", f"cuda.matmul.{name}_split_k")
    place = torch.backends.cuda.matmul
    both = lambda: (getattr(place, name), getattr(place, name + "_split_k"))
    for given, state in (((False, False), (False, False)), ([True, True], (True, True)), ((False,), (False, True)), (True, (True, True))):
        setattr(place, name, given)
        assert both() == state
    for wrong in ((), (1,), (True, None), (True, True, True), ["yes"], 1):
        with pytest.raises(torch.BadTypeError, match=name):
            setattr(place, name, wrong)
    with pytest.raises(torch.Error, match="not supported") as caught:
        setattr(place, name, (True, False))
    assert isinstance(caught.value, RuntimeError) and both() == (True, True)
    with pytest.raises(AttributeError, match="cannot be assigned"):
        setattr(place, name + "_split_k", False)
    with pytest.raises(AttributeError):
        place.nonsense = True


def test_preferred_libraries():
    need("cuda.preferred_linalg_library", "cuda.preferred_blas_library")
    linalg, blas = torch.backends.cuda.preferred_linalg_library, torch.backends.cuda.preferred_blas_library
    assert linalg().name == "Default" and linalg("cusolver").name == "Cusolver" and linalg().name == "Cusolver"
    assert linalg(linalg("Magma")).name == "Magma"
    assert blas("cublaslt").name == "Cublaslt" and blas("hipblas").name == "Cublas"
    with pytest.raises(RuntimeError):
        linalg("lapac")
    with pytest.raises(TypeError):
        blas(3)
    assert linalg().name == "Magma"
    assert blas("native").name == "Cublas" and torch.setting("blas.preferred").get() == "native"  # the CPU's preference, and CUDA's
    with pytest.raises(RuntimeError, match="matrix products are offered by native.*did you mean 'native'"):
        blas("nativ")
    assert torch.setting("blas.preferred").get() == "native"
    assert blas("default").name == "Default" and torch.setting("blas.preferred").get() == ""
    blas("native")
    assert blas(type(blas()).Default).name == "Default" and torch.setting("blas.preferred").get() == ""


# ---- Single modules ----


def test_opt_einsum():
    need("opt_einsum.enabled", "opt_einsum.strategy")
    place = torch.backends.opt_einsum
    assert place.is_available() is torch.backend_status("opt_einsum").available is True
    package = importlib.util.find_spec("opt_einsum")
    assert (place.get_opt_einsum() is None) is (package is None)
    place.strategy = "greedy"
    with place.flags(strategy="optimal"):
        assert place.strategy == "optimal"
    assert place.strategy == "greedy"
    # The names of opt_einsum.paths and PyTorch's documentation.
    for word in ("auto", "auto-hq", "optimal", "dp", "dynamic-programming", "branch-all", "branch-2", "branch-1", "greedy",
                 "eager", "opportunistic", "random-greedy", "random-greedy-128"):
        place.strategy = word
        assert place.strategy == word
        assert np.allclose(torch.einsum("ij,jk,kl->il", *[np.eye(3)] * 3), np.eye(3))
    with pytest.raises(ValueError, match="auto-hq"):
        place.strategy = "fast"
    place.strategy = None
    assert place.strategy == "auto" and torch.setting("opt_einsum.strategy").stored("process") is None
    with torch.flags({"opt_einsum.strategy": "dp"}):
        assert place.strategy == "dp"
    row = torch.setting("opt_einsum.enabled")
    assert place.enabled is row.get() is True
    place.enabled = False
    assert place.enabled is row.get() is False
    place.set_flags(True)
    assert place.enabled is row.get() is True
    del place.enabled
    assert row.stored("process") is None


def test_workspaces_and_rocm():
    cuda = torch.backends.cuda
    assert cuda.cublas_workspace_size() == 0 and cuda.cublas_workspace_size(1 << 20) == 1 << 20
    assert cuda.blas_workspace_size() == 1 << 20 and cuda.blas_workspace_size(backend="hipblaslt") == 0
    assert cuda.blas_workspace_size(4096, "cublaslt") == 4096 == cuda.cublaslt_workspace_size()
    for wrong in (-1, "8", 1.5):
        with pytest.raises((TypeError, ValueError)):
            cuda.cublas_workspace_size(wrong)
    for backend in ("ck", "cublass"):
        with pytest.raises(RuntimeError):
            cuda.blas_workspace_size(backend=backend)
    with pytest.raises(torch.BadTypeError, match="backend"):
        cuda.blas_workspace_size(backend=3)
    assert cuda.cublas_workspace_size() == 1 << 20
    assert cuda.preferred_rocm_fa_library().name == "Default"
    assert cuda.preferred_rocm_fa_library("AOTriton").name == "Aotriton"
    with pytest.raises(ValueError):
        cuda.preferred_rocm_fa_library("cutlass")
    assert not cuda.is_ck_sdpa_available()


def test_mha_quantized_and_verbose():
    need("mha.fastpath", "quantized.engine")
    torch.backends.mha.set_fastpath_enabled(False)
    assert torch.backends.mha.get_fastpath_enabled() is False
    with pytest.raises(TypeError):
        torch.backends.mha.set_fastpath_enabled(0)
    place = torch.backends.quantized
    assert place.supported_engines == ["none"]
    place.engine = "none"
    for wrong, kind in (("fbgemm", RuntimeError), ("X86", RuntimeError), ("mine", ValueError), (3, TypeError)):
        with pytest.raises(kind) as caught:
            place.engine = wrong
        assert isinstance(caught.value, torch.Error)
    assert place.engine == "none" and "engine" in dir(place)
    del place.engine
    assert (torch.backends.mkl.VERBOSE_OFF, torch.backends.mkl.VERBOSE_ON, torch.backends.mkldnn.VERBOSE_ON_CREATION) == (0, 1, 2)


MKL_PRODUCTS = """
import backplane as torch, numpy as np
mkl, a, lines = torch.backends.mkl, np.ones((64, 64)), []
with torch.flags({"blas.preferred": "mkl", "dispatch.fallback": "strict"}):
    with mkl.verbose(mkl.VERBOSE_ON, lines.append):
        torch.matmul(a, a)
    torch.matmul(a, a)
    assert [line.split("(")[0] for line in lines if "GEMM" in line] == ["MKL_VERBOSE DGEMM"], lines
    print("collected", flush=True)
    with mkl.verbose(mkl.VERBOSE_ON):
        with mkl.verbose(mkl.VERBOSE_OFF):
            torch.matmul(a, a)
        torch.matmul(a, a)
    torch.matmul(a, a)
"""


def test_verbose_of_mkl(python, tmp_path):
    if not torch.backends.mkl.is_available():
        with pytest.raises(torch.Error, match="mkl"):
            torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON).__enter__()
        pytest.skip("MKL is not installed")
    script = tmp_path / "products.py"
    script.write_text(MKL_PRODUCTS)
    done = python(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("collected") and done.stdout.count("MKL_VERBOSE DGEMM") == 1


def test_verbose_levels_are_checked():
    with pytest.raises(ValueError, match="level"):
        torch.backends.mkldnn.verbose(9).__enter__()
    assert torch.backends.mkl.verbose(True)._level == torch.backends.mkl.VERBOSE_ON
    for wrong in (1.5, "1", None):
        with pytest.raises(torch.BadTypeError, match="level"):
            torch.backends.mkl.verbose(wrong)
    with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_OFF):
        pass


def test_one_verbose_object_is_open_once_at_a_time():
    mode = torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_OFF)
    with mode:
        with pytest.raises(torch.Error, match="open already") as caught:
            mode.__enter__()
        assert caught.value.status == "E_SCOPE"
    with mode:
        pass


# A fake oneDNN with a slow verbose switch that prints its argument.
SLOW_SWITCH = """
#include <stdio.h>
#include <unistd.h>
typedef struct { int major, minor, patch; const char *hash; unsigned cpu, gpu; } version;
static version mine = {2, 7, 3, "", 0, 0}; /* version 3 would need all functions of the provider */
const version *dnnl_version(void) { return &mine; }
int dnnl_sgemm(void) { return 0; }
int dnnl_set_verbose(int level) { usleep(1000000); return printf("onednn_verbose,switch,%d\\n", level) < 0; }
"""
OTHERS_GO_ON = """
import threading, time, backplane
ticks, stop, lines = [], threading.Event(), []
def tick():
    while not stop.wait(0.01):
        ticks.append(time.perf_counter())
mode = backplane.backends.mkldnn.verbose(1, lines.append)
backplane.libraries()
thread = threading.Thread(target=tick, daemon=True)
thread.start()
begin = time.perf_counter()
with mode:
    inside = time.perf_counter()
end = time.perf_counter()
stop.set()
thread.join()
assert lines and all(line.startswith("onednn_verbose,switch") for line in lines), lines
for start, stop in ((begin, inside), (inside, end)):
    seen = sum(start < one < stop for one in ticks)
    assert stop - start > 0.3 and seen > 5, (stop - start, seen)
print("went on")
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler")
def test_other_threads_run_while_a_verbose_scope_is_entered_and_left(python, tmp_path):
    source = tmp_path / "slow.c"
    source.write_text(SLOW_SWITCH)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libdnnl.so.3", "-o", tmp_path / "libdnnl.so.3", source], check=True)
    done = python("-c", OTHERS_GO_ON, BACKPLANE_LIBRARY_PATH=str(tmp_path),
                  BACKPLANE_REGISTRY_SYSTEM="false", BACKPLANE_CACHE_DIR=str(tmp_path))
    assert done.stdout.endswith("went on\n"), done.stdout + done.stderr


def test_mps_without_metal():
    if sys.platform == "darwin":
        pytest.skip("this is macOS")
    assert not torch.backends.mps.is_macos13_or_newer() and not torch.backends.mps.is_macos_or_newer(12, 0)
    for function in (torch.backends.mps.get_name, torch.backends.mps.get_core_count):
        with pytest.raises(RuntimeError, match="no Metal device"):
            function()


def test_disable_global_flags(python):
    done = python("-c", """
import backplane as torch
assert not torch.backends.flags_frozen()
torch.backends.disable_global_flags()
assert torch.backends.flags_frozen()
for place, name in ((torch.settings, "num_threads"), (torch.settings.dispatch, "fallback")):
    try:
        setattr(place, name, 1)
        print("assigned", name)
    except RuntimeError as error:
        assert error.status == "E_READ_ONLY" and "flags()" in str(error)
with torch.flags(num_threads=2):
    assert torch.settings.num_threads == 2
torch.set_flags(num_threads=3)
print(torch.settings.num_threads)
""")
    assert done.stdout == "3\n", done.stderr
