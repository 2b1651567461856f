"""Patterns of use of torch.backends in public programs, rewritten: they run after install_as_torch(), and with `import
backplane as torch`."""

import importlib.util
import re
import sys

import pytest

import backplane as bp

PATTERNS = {
    "device_choice": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        assert str(device) == device.type and device == torch.device(device.type)
    """,
    "device_with_mps": """
        import torch
        if torch.cuda.is_available():
            name = "cuda:0"
        elif torch.backends.mps.is_available():
            name = "mps"
        else:
            name = "cpu"
        assert torch.device(name).type == name.split(":")[0]
    """,
    "mps_guarded_by_getattr": """
        import torch
        mps = getattr(torch.backends, "mps", None)
        usable = mps is not None and mps.is_available() and mps.is_built()
        assert usable in (True, False)
    """,
    "device_index": """
        import torch
        one = torch.device("cuda", 1)
        assert (one.type, one.index, repr(one)) == ("cuda", 1, "device(type='cuda', index=1)") and len({one, torch.device("cuda:1")}) == 1
    """,
    "seed_everything": """
        import random, torch
        def seed_everything(seed):
            random.seed(seed)
            torch.manual_seed(seed)
            torch.cuda.manual_seed(seed)
            torch.cuda.manual_seed_all(seed)
            torch.backends.cudnn.deterministic = True
            torch.backends.cudnn.benchmark = False
        seed_everything(7)
        assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark
    """,
    "cudnn_as_name": """
        import torch.backends.cudnn as cudnn
        cudnn.benchmark = True
        assert cudnn.benchmark is True
    """,
    "cudnn_from_import": """
        from torch.backends import cudnn
        cudnn.enabled = False
        assert not cudnn.enabled
    """,
    "cudnn_when_available": """
        import torch
        if torch.cuda.is_available() and torch.backends.cudnn.is_available():
            torch.backends.cudnn.benchmark = True
        assert torch.backends.cudnn.benchmark in (True, False)
    """,
    "cudnn_version": """
        import torch
        version = torch.backends.cudnn.version()
        assert version is None or version >= 1000
    """,
    "tf32_old_names": """
        import torch
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    """,
    "tf32_new_names": """
        import torch
        torch.backends.fp32_precision = "ieee"
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        torch.backends.cudnn.conv.fp32_precision = "tf32"
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    """,
    "matmul_precision": """
        import torch
        torch.set_float32_matmul_precision("high")
        assert torch.get_float32_matmul_precision() == "high"
    """,
    "deterministic_algorithms": """
        import os, torch
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(False)
    """,
    "reduced_precision_sums": """
        import torch
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        assert not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    """,
    "save_and_restore": """
        import torch
        before = torch.backends.cudnn.benchmark
        try:
            torch.backends.cudnn.benchmark = not before
        finally:
            torch.backends.cudnn.benchmark = before
        assert torch.backends.cudnn.benchmark == before
    """,
    "cudnn_flags_context": """
        import torch
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False):
            assert torch.backends.cudnn.deterministic
        assert not torch.backends.cudnn.deterministic
    """,
    "cudnn_flags_off": """
        import torch
        with torch.backends.cudnn.flags(enabled=False):
            assert not torch.backends.cudnn.enabled
        assert torch.backends.cudnn.enabled
    """,
    "flags_as_decorator": """
        import torch
        @torch.backends.cudnn.flags(deterministic=True)
        def step():
            return torch.backends.cudnn.deterministic
        assert step() and not torch.backends.cudnn.deterministic
    """,
    "mkldnn_flags": """
        import torch
        with torch.backends.mkldnn.flags(enabled=False):
            assert not torch.backends.mkldnn.enabled
        assert torch.backends.mkldnn.is_available() in (True, False)
    """,
    "set_flags_and_back": """
        import torch
        before = torch.backends.cudnn.set_flags(_benchmark=True)
        assert torch.backends.cudnn.benchmark
        torch.backends.cudnn.set_flags(*before)
        assert not torch.backends.cudnn.benchmark
    """,
    "sdpa_switches": """
        import torch
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_math_sdp(True)
        assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.flash_sdp_enabled()
    """,
    "sdpa_kernel_context": """
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel(SDPBackend.MATH):
            assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.flash_sdp_enabled()
    """,
    "threads": """
        import torch
        before = torch.get_num_threads()
        torch.set_num_threads(max(1, before // 2))
        assert torch.get_num_threads() == max(1, before // 2)
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        assert (torch.get_num_threads(), torch.get_num_interop_threads()) == (1, 1)
    """,
    "config_show": """
        import torch
        text = torch.__config__.show()
        assert isinstance(text, str) and "libraries" in text and "threads" in torch.__config__.parallel_info()
    """,
    "environment_report": """
        import torch
        report = {
            "mkl": torch.backends.mkl.is_available(), "mkldnn": torch.backends.mkldnn.is_available(),
            "openmp": torch.backends.openmp.is_available(), "cuda": torch.cuda.is_available(),
            "built": torch.backends.cuda.is_built(), "cudnn": torch.backends.cudnn.version(),
            "cpu": torch.backends.cpu.get_cpu_capability(), "gpus": torch.cuda.device_count(),
        }
        assert report["gpus"] == 0 or report["cuda"]
    """,
    "version_comparison": """
        import torch
        major, minor = (int(part) for part in torch.__version__.split(".")[:2])
        assert (major, minor) >= (0, 0)
    """,
    "opt_einsum": """
        import torch
        torch.backends.opt_einsum.enabled = True
        torch.backends.opt_einsum.strategy = "greedy"
        assert torch.backends.opt_einsum.is_available() and torch.backends.opt_einsum.strategy == "greedy"
    """,
    "preferred_linalg": """
        import torch
        torch.backends.cuda.preferred_linalg_library("default")
        assert torch.backends.quantized.engine == "none" or torch.backends.quantized.engine
    """,
    "plan_cache": """
        import torch
        torch.backends.cuda.cufft_plan_cache.max_size = 32
        assert torch.backends.cuda.cufft_plan_cache.max_size == 32 and torch.backends.cuda.cufft_plan_cache.size == 0
    """,
    "tests_replace_functions": """
        import torch
        from unittest import mock
        with mock.patch("torch.cuda.is_available", return_value=True), mock.patch.object(torch.backends.mps, "is_available", lambda: True):
            assert torch.cuda.is_available() and torch.backends.mps.is_available()
        assert torch.cuda.is_available() in (True, False)
    """,
    "tests_replace_modules": """
        import sys, torch, types
        from unittest import mock
        fake = types.SimpleNamespace(is_available=lambda: True)
        with mock.patch.object(torch, "cuda", fake):
            assert torch.cuda.is_available()
        with mock.patch.dict(sys.modules, {"torch.cuda": None}):
            pass
        assert torch.cuda is not fake
    """,
    "guarded_calls": """
        import torch
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        torch.cuda.empty_cache()
        try:
            torch.cuda.get_device_name(0)
        except RuntimeError as error:
            assert "GPU" in str(error)
    """,
}
# Uses that cannot run, and what they say instead.
CANNOT = {
    "import torch; torch.eye(2)": (AttributeError, "has no 'eye'"),
    "import torch; torch.tensor([1.0])": (AttributeError, "has no 'tensor'"),
    "import torch; torch.backends.cudnn.benchmrk = True": (AttributeError, "did you mean 'benchmark'"),
    "import torch.nn.init": (ImportError, "torch.nn.init"),
    "import torch.distributed": (ImportError, "torch.distributed"),
    "import torch; torch.cuda.set_device(0)": (RuntimeError, "no GPU"),
}


@pytest.fixture
def as_torch(monkeypatch):
    if "torch" in sys.modules:
        pytest.skip("torch is imported")
    if importlib.util.find_spec("torch"):
        monkeypatch.setitem(sys.modules, "torch", None)  # as if it could not be imported
    try:
        bp.install_as_torch()
        yield
    finally:
        bp.uninstall_as_torch()


def program(name):
    lines = PATTERNS[name].splitlines()[1:-1]
    return "\n".join(line[8:] for line in lines)


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern(name, as_torch):
    exec(compile(program(name), name, "exec"), {"__name__": name})


PLAIN = [name for name in PATTERNS if re.search(r"^import torch$|^import .*, torch$", program(name), re.M)
         and not re.search(r"from torch|mock|torch\.__version__", program(name))]


@pytest.mark.parametrize("name", PLAIN)
def test_pattern_with_backplane_as_torch(name):
    source = re.sub(r"^import (.*, )?torch(, types)?$", lambda found: f"import {found[1] or ''}backplane as torch", program(name), flags=re.M)
    exec(compile(source, name, "exec"), {"__name__": name})


def test_counts():
    assert len(PATTERNS) >= 30 and len(PLAIN) >= 25


@pytest.mark.parametrize("source", CANNOT)
def test_what_cannot_run_says_so(source, as_torch):
    kind, text = CANNOT[source]
    with pytest.raises(kind, match=re.escape(text)):
        exec(source, {})


def test_undone(as_torch):
    import torch.backends.cudnn

    assert torch.backends is bp.backends and torch.backends.cudnn is bp.backends.cudnn and not isinstance(bp.backends, torch.Tensor)
    bp.install_as_torch()  # once more changes nothing
    assert sys.modules["torch"] is torch
    bp.uninstall_as_torch()
    bp.uninstall_as_torch()
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
    assert torch.backends.cudnn.version() == bp.backends.cudnn.version()


def test_operations_while_installed(as_torch):
    np = pytest.importorskip("numpy")
    a = np.eye(2)
    assert isinstance(bp.matmul(a, a), np.ndarray) and isinstance(bp.fft.fft(a), np.ndarray)
    assert isinstance(bp.linalg.norm(a, axis=0), np.ndarray) and isinstance(bp.matmul(memoryview(a), memoryview(a)), bp.Tensor)
    assert isinstance(bp.linalg.inv(memoryview(a)), bp.Tensor) and isinstance(bp.fft.fft(memoryview(a)), bp.Tensor)


def test_refused_if_torch_is_there(python, tmp_path):
    """With a torch that can be imported, and with one that is imported."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("Tensor = int")
    done = python("-c", f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import backplane
for imported in (False, True):
    if imported:
        import torch
    try:
        backplane.install_as_torch()
    except backplane.Error as error:
        print(error.status, error)
    assert ("torch" in sys.modules) is imported
""")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "E_UNSUPPORTED" in first and "torch is installed at" in first and str(tmp_path) in first
    assert "E_UNSUPPORTED" in second and "torch is imported already" in second


@pytest.mark.parametrize("wrong", ["gpu", "cuda:x", "cuda:-1", "", 5])
def test_wrong_devices(wrong):
    with pytest.raises(ValueError):
        bp.device(wrong)


def test_wrong_numbers():
    for call in (lambda: bp.set_num_threads(0), lambda: bp.set_num_interop_threads(0), lambda: bp.device("cuda", -1), lambda: bp.device("cuda:1", 1)):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: bp.set_num_threads("2"), lambda: bp.set_num_threads(True), lambda: bp.manual_seed("x")):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(AttributeError):
        bp.device("cpu").type = "cuda"
