"""Types of backplane.settings. Generated from include/backplane/settings_table.h by tools/settings_stub.py (make docs)."""

from typing import Literal

from ._settings import Settings

class Root(Settings):
    num_threads: int
    deterministic: Literal["off", "run", "threads"]
    @property
    def blas(self) -> Blas: ...
    @property
    def linalg(self) -> Linalg: ...
    @property
    def fft(self) -> Fft: ...
    @property
    def conv(self) -> Conv: ...
    @property
    def einsum(self) -> Einsum: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def batch_norm(self) -> BatchNorm: ...
    @property
    def layer_norm(self) -> LayerNorm: ...
    @property
    def attention(self) -> Attention: ...
    @property
    def rnn(self) -> Rnn: ...
    @property
    def elementwise(self) -> Elementwise: ...
    @property
    def reduce(self) -> Reduce: ...
    @property
    def random(self) -> Random: ...
    @property
    def dispatch(self) -> Dispatch: ...
    calibration: Literal["off", "read", "auto"]
    @property
    def cpu(self) -> Cpu: ...
    @property
    def device(self) -> Device: ...
    @property
    def plan_cache(self) -> PlanCache: ...
    @property
    def registry(self) -> Registry: ...
    verbose: int
    benchmark: bool
    @property
    def matmul(self) -> Matmul: ...
    benchmark_limit: int
    @property
    def tuning(self) -> Tuning: ...
    trace: str
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    @property
    def cudnn(self) -> Cudnn: ...
    @property
    def cuda(self) -> Cuda: ...
    @property
    def mkldnn(self) -> Mkldnn: ...
    float32_matmul_precision: Literal["highest", "high", "medium"]
    @property
    def simulate(self) -> Simulate: ...
    deterministic_algorithms: bool
    deterministic_algorithms__warn_only: bool
    deterministic_debug_mode: Literal["default", "warn", "error"]
    fill_uninitialized_memory: bool
    @property
    def fftw(self) -> Fftw: ...
    @property
    def mkl(self) -> Mkl: ...
    @property
    def openmp(self) -> Openmp: ...
    @property
    def opt_einsum(self) -> OptEinsum: ...
    @property
    def mha(self) -> Mha: ...
    @property
    def miopen(self) -> Miopen: ...
    @property
    def nnpack(self) -> Nnpack: ...
    @property
    def xnnpack(self) -> Xnnpack: ...
    @property
    def quantized(self) -> Quantized: ...

class Blas(Settings):
    preferred: str
    enabled: str

class Linalg(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Fft(Settings):
    preferred: str
    enabled: str
    @property
    def plan_cache(self) -> FftPlanCache: ...
    benchmark: Literal["inherit", "true", "false"]

class Conv(Settings):
    preferred: str
    enabled: str
    deterministic: Literal["off", "run", "threads"]
    benchmark: Literal["inherit", "true", "false"]
    benchmark_limit: int
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class Einsum(Settings):
    preferred: str
    enabled: str
    @property
    def path_cache(self) -> EinsumPathCache: ...
    benchmark: Literal["inherit", "true", "false"]

class Pool(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class BatchNorm(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class LayerNorm(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Attention(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Rnn(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Elementwise(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Reduce(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Random(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Dispatch(Settings):
    exclude: str
    fallback: Literal["strict", "warn", "allow"]
    transfer: Literal["refuse", "allow"]
    packed: Literal["none", "first", "second", "both"]

class Cpu(Settings):
    capability: Literal["auto", "default", "avx2", "avx512", "vsx", "zvector", "sve256"]

class Device(Settings):
    exclude: str
    memory_limit: int

class PlanCache(Settings):
    max_size: int

class Registry(Settings):
    library_path: str
    provider_path: str
    system: bool
    cache: Literal["off", "read-only", "read-write"]
    cache_dir: str
    probe_timeout: int
    probe_memory: int
    deepbind: Literal["auto", "on", "off"]

class Matmul(Settings):
    benchmark: Literal["inherit", "true", "false"]

class Tuning(Settings):
    start: Literal["auto", "now"]
    store: Literal["off", "read", "read-write"]
    store_path: str

class Cudnn(Settings):
    fp32_precision: Literal["none", "ieee", "tf32"]
    @property
    def conv(self) -> CudnnConv: ...
    @property
    def rnn(self) -> CudnnRnn: ...
    allow_tf32: bool
    enabled: bool
    deterministic: bool
    benchmark: bool
    benchmark_limit: int
    depthwise_kernel: Literal["auto", "cudnn", "native"]

class Cuda(Settings):
    @property
    def matmul(self) -> CudaMatmul: ...
    preferred_linalg_library: Literal["default", "cusolver", "magma"]
    preferred_blas_library: Literal["default", "cublas", "cublaslt", "ck"]
    preferred_rocm_fa_library: Literal["default", "aotriton", "ck"]
    cublas_workspace_size: int
    cublaslt_workspace_size: int
    flash_sdp: bool
    mem_efficient_sdp: bool
    math_sdp: bool
    cudnn_sdp: bool
    overrideable_sdp: bool
    fp16_bf16_reduction_math_sdp: bool
    sdp_priority: str
    @property
    def cufft_plan_cache(self) -> CudaCufftPlanCache: ...

class Mkldnn(Settings):
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    @property
    def matmul(self) -> MkldnnMatmul: ...
    @property
    def conv(self) -> MkldnnConv: ...
    @property
    def rnn(self) -> MkldnnRnn: ...
    allow_tf32: bool
    enabled: bool
    deterministic: bool

class Simulate(Settings):
    tf32: bool
    bf16: bool

class Fftw(Settings):
    planner: Literal["auto", "estimate", "measure", "patient"]

class Mkl(Settings):
    enabled: bool

class Openmp(Settings):
    enabled: bool

class OptEinsum(Settings):
    enabled: bool
    strategy: str

class Mha(Settings):
    fastpath: bool

class Miopen(Settings):
    immediate: bool

class Nnpack(Settings):
    enabled: bool

class Xnnpack(Settings):
    @property
    def enabled(self) -> bool: ...

class Quantized(Settings):
    engine: Literal["none", "fbgemm", "qnnpack", "onednn", "x86"]

class FftPlanCache(Settings):
    max_size: int

class EinsumPathCache(Settings):
    max_size: int

class CudnnConv(Settings):
    fp32_precision: Literal["none", "ieee", "tf32"]

class CudnnRnn(Settings):
    fp32_precision: Literal["none", "ieee", "tf32"]

class CudaMatmul(Settings):
    fp32_precision: Literal["none", "ieee", "tf32", "bfx9"]
    allow_tf32: bool
    allow_fp16_reduced_precision_reduction: bool
    allow_fp16_reduced_precision_reduction_split_k: bool
    allow_bf16_reduced_precision_reduction: bool
    allow_bf16_reduced_precision_reduction_split_k: bool
    allow_fp16_accumulation: bool
    prefer_cublaslt_grouped_gemm: bool

class CudaCufftPlanCache(Settings):
    max_size: int

class MkldnnMatmul(Settings):
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnConv(Settings):
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]

class MkldnnRnn(Settings):
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
