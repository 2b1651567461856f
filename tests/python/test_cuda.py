"""Tensors on CUDA devices, on the double of the driver's library (tests/cuda/doubles), and products, transforms and linear
algebra on the doubles of NVIDIA's libraries (tests/cublas/doubles, tests/cufft/doubles, tests/cusolver/doubles)."""

import os
import pathlib

import pytest

BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", "build")).resolve()
DOUBLES = BUILD / "tests/cuda-doubles/good"
CUBLAS = BUILD / "tests/cublas-doubles"
CUDNN = BUILD / "tests/cudnn-doubles/good"
CUFFT = BUILD / "tests/cufft-doubles/good"
CUSOLVER = BUILD / "tests/cusolver-doubles/good"
WITHOUT_SYSTEM = {"BACKPLANE_REGISTRY_CACHE": "off", "BACKPLANE_REGISTRY_SYSTEM": "false", "CUDA_VISIBLE_DEVICES": "0,1"}

PROGRAM = """
import numpy as np
import backplane

assert [row.state for row in backplane.devices() if row.runtime == "cuda"] == ["ready", "ready"]
values = np.arange(60, dtype=np.float32).reshape(5, 12)
x = backplane.from_dlpack(values).to("cuda:0")
assert str(x.device) == "cuda:0" and x.__dlpack_device__() == (2, 0)
assert (x.cpu().numpy() == values).all()
turned = backplane.from_dlpack(values.T).to("cuda:1").to("cuda:0")
assert (turned.cpu().numpy() == values.T).all()

# Exchange with streams: of ours, the default ones, and none.
for stream in (None, 1, 2, -1):
    again = backplane.from_dlpack(x)
    capsule = x.__dlpack__(stream=stream)
    del capsule
    assert (again.cpu().numpy() == values).all()
    del again

# Without a library no candidate runs operations there; transfers do.
try:
    backplane.matmul(x, turned)
    raise SystemExit("a product has run")
except backplane.Error as error:
    assert error.status == "E_NO_CANDIDATE", error.status
product = backplane.matmul(x, turned, settings={"dispatch.transfer": "allow"})
assert str(product.device) == "cuda:0" and (product.cpu().numpy() == values @ values.T).all()
assert backplane.memory_info("cuda:0").used > 0
del x, turned, product
backplane.synchronize("cuda:0")
backplane.empty_cache("cuda:0")
assert backplane.memory_info("cuda:0").used == 0
assert not backplane.backend_status("cuda").available and "cublas" in backplane.backend_status("cuda").reason
print("done")
"""


@pytest.mark.skipif(not DOUBLES.exists(), reason="the double of libcuda.so.1 is not built")
def test_tensors_are_on_cuda(python):
    run = python("-c", PROGRAM, BACKPLANE_LIBRARY_PATH=str(DOUBLES), **WITHOUT_SYSTEM)
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout


PRODUCTS = """
import numpy as np
import backplane as torch
import backplane.nn.functional as F

cuda, random = torch.backends.cuda, np.random.default_rng(1)
status = torch.backend_status("cuda")
assert status.available and cuda.is_built() and status.version == "13.1.0" and not status.reason
assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.cuda.current_device() == 0
assert torch.cuda.get_device_capability() == (9, 0) and torch.cuda.get_device_capability("cuda:1") == (8, 0)
assert torch.cuda.get_device_name(1).startswith("Double") and torch.cuda.is_bf16_supported(False)
torch.cuda.set_device("cuda:0")
torch.cuda.synchronize(1)
torch.cuda.empty_cache()
for wrong, status in ((lambda: torch.cuda.set_device(1), "E_UNSUPPORTED"), (lambda: torch.cuda.get_device_name(5), "E_NOT_FOUND"),
                      (lambda: cuda.cufft_plan_cache[2], "E_ARGUMENT")):
    try:
        wrong()
        raise SystemExit(status)
    except torch.Error as error:
        assert error.status == status, error
assert cuda.cufft_plan_cache[1].size == 0
assert torch.setting("cuda.cufft_plan_cache.max_size").has_effect
for name in ("matmul.allow_tf32", "matmul.fp32_precision", "matmul.allow_fp16_accumulation", "preferred_blas_library",
             "matmul.allow_fp16_reduced_precision_reduction", "matmul.allow_bf16_reduced_precision_reduction", "cublas_workspace_size",
             "cublaslt_workspace_size", "preferred_linalg_library"):
    assert torch.setting("cuda." + name).has_effect, name
assert not torch.setting("cuda.matmul.prefer_cublaslt_grouped_gemm").has_effect

host = [random.standard_normal(shape).astype("f4") for shape in ((3, 5, 6), (3, 6, 4), (7, 6), (7,))]
a, b, weight, bias = (torch.from_dlpack(one).to("cuda:0") for one in host)
def close(x, expected, tolerance=1e-5):
    return str(x.device) == "cuda:0" and np.allclose(x.cpu().numpy(), expected, atol=tolerance)
assert close(torch.matmul(a, b), host[0] @ host[1])
assert close(torch.bmm(a, b), host[0] @ host[1])
assert close(torch.einsum("bij,bjk->bik", a, b), host[0] @ host[1])
assert close(F.linear(a, weight, bias), host[0] @ host[2].T + host[3])

exact = torch.matmul(a, b).cpu().numpy()
cuda.matmul.allow_tf32 = True
rounded = torch.matmul(a, b).cpu().numpy()
assert (rounded != exact).any() and np.allclose(rounded, exact, atol=1e-2)
assert "CUBLAS_COMPUTE_32F_FAST_TF32" in str(torch.explain(torch.matmul, a, b))
cuda.matmul.fp32_precision = "ieee"
assert (torch.matmul(a, b).cpu().numpy() == exact).all()

for library in ("cublas", "cublaslt"):
    cuda.preferred_blas_library(library)
    page = torch.explain(torch.matmul, a, b)
    assert f"chosen    {library}\\n" in str(page), str(page)
half = torch.from_dlpack(host[0].astype("f2")).to("cuda:0")
cuda.matmul.allow_fp16_reduced_precision_reduction = (False, False)
assert "k is not split" in str(torch.explain(torch.matmul, half, torch.from_dlpack(host[1].astype("f2")).to("cuda:0")))
cuda.matmul.allow_fp16_reduced_precision_reduction = (False, True)
assert "parts of k are added in the type of the sum" in str(
    torch.explain(torch.matmul, half, torch.from_dlpack(host[1].astype("f2")).to("cuda:0")))
print("done")
"""


@pytest.mark.skipif(not (CUBLAS / "lt").exists(), reason="the doubles of cuBLAS are not built")
def test_products_obey_the_switches(python):
    folders = ":".join(map(str, (CUBLAS / "lt", CUBLAS / "classic", DOUBLES)))
    run = python("-c", PRODUCTS, BACKPLANE_LIBRARY_PATH=folders, **WITHOUT_SYSTEM)
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout


CONVOLUTIONS = """
import numpy as np
import backplane as torch
from backplane.nn import functional as F

cudnn, random = torch.backends.cudnn, np.random.default_rng(1)
host = [random.standard_normal(shape).astype("f4") for shape in ((2, 3, 7, 6), (4, 3, 3, 2), (4,))]
x, weight, bias = (torch.from_dlpack(one).to("cuda:0") for one in host)
expected = F.conv2d(*map(torch.from_dlpack, host), padding=1).numpy()

assert cudnn.is_available() and cudnn.version() == 92801 and cudnn.is_acceptable(x)
for name in ("enabled", "deterministic", "benchmark", "benchmark_limit", "allow_tf32", "conv.fp32_precision", "depthwise_kernel"):
    assert torch.setting("cudnn." + name).has_effect, name
assert not torch.setting("cudnn.rnn.fp32_precision").has_effect

def page():
    return str(torch.explain(F.conv2d, x, weight, bias, padding=1))
def conv():
    return F.conv2d(x, weight, bias, padding=1).cpu().numpy()
assert "chosen    cudnn" in page() and "TF32 allowed" in page()
assert not np.allclose(conv(), expected, rtol=1e-6, atol=1e-6) and np.allclose(conv(), expected, atol=2e-2)
cudnn.allow_tf32 = False
assert "no tensor cores" in page() and np.allclose(conv(), expected, rtol=1e-5, atol=1e-5)
with cudnn.flags(deterministic=True):
    assert "deterministic engines only" in page()
with cudnn.flags(benchmark=True, benchmark_limit=3):
    assert "measures up to 3 engines" in page() and np.allclose(conv(), expected, rtol=1e-5, atol=1e-5)
with cudnn.flags(enabled=False):
    assert not cudnn.is_acceptable(x)
    try:
        conv()
        raise SystemExit("cudnn.enabled is ignored")
    except torch.Error as error:
        assert "cudnn.enabled is false" in str(error), error
print("done")
"""


@pytest.mark.skipif(not CUDNN.exists(), reason="the double of cuDNN is not built")
def test_convolutions_obey_the_switches(python):
    run = python("-W", "ignore", "-c", CONVOLUTIONS, BACKPLANE_LIBRARY_PATH=f"{CUDNN}:{DOUBLES}", **WITHOUT_SYSTEM)
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout


TRANSFORMS = """
import numpy as np
import backplane as torch

random = np.random.default_rng(1)
host = random.standard_normal((3, 4, 6))
x, y = (torch.from_dlpack(one).to("cuda:0") for one in (host, host.astype("c16")))
def close(result, expected):
    return str(result.device) == "cuda:0" and np.allclose(result.cpu().numpy(), expected)
for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"):
    assert close(getattr(torch.fft, name)(y), getattr(np.fft, name)(host)), name
for name in ("rfft", "rfft2", "rfftn", "ihfft"):
    assert close(getattr(torch.fft, name)(x), getattr(np.fft, name)(host)), name
for name in ("irfft", "irfftn", "hfft"):
    assert close(getattr(torch.fft, name)(y), getattr(np.fft, name)(host + 0j)), name
assert "chosen    cufft" in str(torch.explain(torch.fft.fft, y))

cache = torch.backends.cuda.cufft_plan_cache
assert torch.setting("cuda.cufft_plan_cache.max_size").has_effect or not torch.backend_status("cuda").available
assert cache.size == cache[0].size > 10 and cache[1].size == 0 and cache["cuda:1"].max_size == cache.max_size == 4096
cache.clear()
assert cache.size == 0
for n in range(5, 10):
    torch.fft.fft(y, n=n)
assert cache.size == 5
cache.max_size = 2                      # the setting
assert cache.size == cache[0].size == 2 and cache[1].max_size == 2
assert torch.settings.cuda.cufft_plan_cache.max_size == 2
cache[1].max_size = 7                   # of one device
assert cache[1].max_size == 7 and cache.max_size == 2
cache[0].max_size = 3
assert cache.max_size == cache[0].max_size == 3 and torch.settings.cuda.cufft_plan_cache.max_size == 2
cache.max_size = 0
assert cache[0].max_size == 0 and cache.size == 0 and cache[1].max_size == 7
torch.fft.fft(y)
assert cache.size == 0
cache[0].max_size = 10
torch.fft.fft(y)
assert cache[0].size == 1
cache[0].clear()
assert cache[0].size == 0
for wrong, kind in ((-1, RuntimeError), (2**63, RuntimeError), ("3", TypeError), (1.5, TypeError), (None, TypeError), (True, TypeError)):
    for each in (cache, cache[0]):
        try:
            each.max_size = wrong
            raise SystemExit(f"{wrong!r} was accepted")
        except kind:
            pass
for wrong in (lambda: cache[2], lambda: cache[-1]):
    try:
        wrong()
        raise SystemExit("an index was accepted")
    except RuntimeError as error:
        assert "0 to 1" in str(error)
for name in ("size", "sizes"):
    try:
        setattr(cache[0], name, 1)
        raise SystemExit(name)
    except (AttributeError, RuntimeError):
        pass
print("done")
"""


@pytest.mark.skipif(not CUFFT.exists(), reason="the double of cuFFT is not built")
def test_transforms_and_their_plans(python):
    run = python("-c", TRANSFORMS, BACKPLANE_LIBRARY_PATH=f"{CUFFT}:{DOUBLES}", **WITHOUT_SYSTEM)
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout


LINALG = """
import numpy as np
import backplane as torch

random = np.random.default_rng(1)
a, b = random.standard_normal((3, 5, 5)), random.standard_normal((3, 5, 2))
definite = a @ a.transpose(0, 2, 1) + 5 * np.eye(5)
x, y, z = (torch.from_dlpack(one).to("cuda:0") for one in (a, b, definite))
def close(result, expected):
    return str(result.device) == "cuda:0" and np.allclose(result.cpu().numpy(), expected)
assert close(torch.linalg.cholesky(z), np.linalg.cholesky(definite))
assert close(torch.linalg.inv(x), np.linalg.inv(a)) and close(torch.linalg.solve(x, y), np.linalg.solve(a, b))
assert close(torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y), np.linalg.solve(a, b))
assert close(torch.linalg.solve_triangular(z, y, upper=False), np.linalg.solve(np.tril(definite), b))
assert "chosen    cusolver" in str(torch.explain(torch.linalg.inv, x))
q, r = torch.linalg.qr(x)
u, s, vh = torch.linalg.svd(x, full_matrices=False)
w, v = torch.linalg.eigh(z)
assert close(torch.matmul(q.cpu(), r.cpu()).to("cuda:0"), a) and close(s, np.linalg.svd(a, compute_uv=False))
assert np.allclose((u.cpu().numpy() * s.cpu().numpy()[:, None]) @ vh.cpu().numpy(), a)
assert close(w, np.linalg.eigvalsh(definite)) and np.allclose(definite @ v.cpu().numpy(), v.cpu().numpy() * w.cpu().numpy()[:, None])
assert close(torch.linalg.eigvalsh(z), np.linalg.eigvalsh(definite))
p, l, u = (part.cpu().numpy() for part in torch.linalg.lu(x))
assert np.allclose(p @ l @ u, a) and close(torch.linalg.det(x), np.linalg.det(a))
assert all(close(x, y) for x, y in zip(torch.linalg.slogdet(x), np.linalg.slogdet(a)))

definite[1, 2, 2] = -1
z = torch.from_dlpack(definite).to("cuda:0")
result, info = torch.linalg.cholesky_ex(z)
assert str(info.device) == "cuda:0" and info.cpu().tolist() == [0, 3, 0]
for wait in (lambda result: torch.synchronize("cuda:0"), lambda result: result.cpu()):
    result = torch.linalg.cholesky(z)  # fails later
    try:
        wait(result)
        raise SystemExit("no failure")
    except torch.linalg.LinAlgError as error:
        assert "(Batch element 1): the input is not positive-definite" in str(error), error
print("done")
"""


@pytest.mark.skipif(not CUSOLVER.exists(), reason="the double of cuSOLVER is not built")
def test_linear_algebra_runs_on_cuda(python):
    run = python("-c", LINALG, BACKPLANE_LIBRARY_PATH=f"{CUSOLVER}:{DOUBLES}", **WITHOUT_SYSTEM)
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout
