"""Types of backplane.settings. Written by tools/settings_stub.py (make docs) from include/backplane/settings_table.h."""

from typing import Literal, TypedDict, Union

from ._settings import Settings

class Root(Settings):
    num_threads: int
    @property
    def threads(self) -> Threads: ...
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
    def cumsum(self) -> Cumsum: ...
    @property
    def pad(self) -> Pad: ...
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
    @property
    def explain(self) -> Explain: ...
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
    def dist(self) -> Dist: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def quantized(self) -> Quantized: ...

class Threads(Settings):
    adapt: bool

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

class Cumsum(Settings):
    preferred: str
    enabled: str
    benchmark: Literal["inherit", "true", "false"]

class Pad(Settings):
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

class Explain(Settings):
    all: bool

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

class Dist(Settings):
    timeout: int
    grid: str
    block: int
    preferred: Literal["auto", "scalapack", "mkl"]

class Graph(Settings):
    backend: str
    block_bytes: int
    layout: Literal["auto", "row_major", "channels_last"]
    rewrite: Literal["exact", "fold", "fast"]

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

Named = TypedDict(
    "Named",
    {
        "num_threads": int,
        "threads.adapt": bool,
        "deterministic": Literal["off", "run", "threads"],
        "blas.preferred": str,
        "linalg.preferred": str,
        "fft.preferred": str,
        "conv.preferred": str,
        "einsum.preferred": str,
        "pool.preferred": str,
        "batch_norm.preferred": str,
        "layer_norm.preferred": str,
        "attention.preferred": str,
        "rnn.preferred": str,
        "elementwise.preferred": str,
        "reduce.preferred": str,
        "random.preferred": str,
        "cumsum.preferred": str,
        "pad.preferred": str,
        "blas.enabled": str,
        "linalg.enabled": str,
        "fft.enabled": str,
        "einsum.enabled": str,
        "pool.enabled": str,
        "batch_norm.enabled": str,
        "layer_norm.enabled": str,
        "attention.enabled": str,
        "rnn.enabled": str,
        "elementwise.enabled": str,
        "reduce.enabled": str,
        "random.enabled": str,
        "cumsum.enabled": str,
        "pad.enabled": str,
        "conv.enabled": str,
        "conv.deterministic": Literal["off", "run", "threads"],
        "dispatch.exclude": str,
        "dispatch.fallback": Literal["strict", "warn", "allow"],
        "dispatch.transfer": Literal["refuse", "allow"],
        "calibration": Literal["off", "read", "auto"],
        "dispatch.packed": Literal["none", "first", "second", "both"],
        "cpu.capability": Literal["auto", "default", "avx2", "avx512", "vsx", "zvector", "sve256"],
        "device.exclude": str,
        "device.memory_limit": int,
        "plan_cache.max_size": int,
        "fft.plan_cache.max_size": int,
        "einsum.path_cache.max_size": int,
        "registry.library_path": str,
        "registry.provider_path": str,
        "registry.system": bool,
        "registry.cache": Literal["off", "read-only", "read-write"],
        "registry.cache_dir": str,
        "registry.probe_timeout": int,
        "registry.probe_memory": int,
        "registry.deepbind": Literal["auto", "on", "off"],
        "verbose": int,
        "benchmark": bool,
        "matmul.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "einsum.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "fft.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "linalg.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "conv.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "pool.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "batch_norm.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "layer_norm.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "attention.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "rnn.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "elementwise.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "reduce.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "random.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "cumsum.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "pad.benchmark": Union[bool, Literal["inherit", "true", "false"]],
        "benchmark_limit": int,
        "conv.benchmark_limit": int,
        "tuning.start": Literal["auto", "now"],
        "tuning.store": Literal["off", "read", "read-write"],
        "tuning.store_path": str,
        "explain.all": bool,
        "trace": str,
        "fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "cudnn.fp32_precision": Literal["none", "ieee", "tf32"],
        "cuda.matmul.fp32_precision": Literal["none", "ieee", "tf32", "bfx9"],
        "cudnn.conv.fp32_precision": Literal["none", "ieee", "tf32"],
        "cudnn.rnn.fp32_precision": Literal["none", "ieee", "tf32"],
        "mkldnn.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "mkldnn.matmul.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "mkldnn.conv.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "conv.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "mkldnn.rnn.fp32_precision": Literal["none", "ieee", "tf32", "bf16"],
        "float32_matmul_precision": Literal["highest", "high", "medium"],
        "cuda.matmul.allow_tf32": bool,
        "cudnn.allow_tf32": bool,
        "mkldnn.allow_tf32": bool,
        "simulate.tf32": bool,
        "simulate.bf16": bool,
        "deterministic_algorithms": bool,
        "deterministic_algorithms.warn_only": bool,
        "deterministic_debug_mode": Literal["default", "warn", "error"],
        "fill_uninitialized_memory": bool,
        "cuda.matmul.allow_fp16_reduced_precision_reduction": bool,
        "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k": bool,
        "cuda.matmul.allow_bf16_reduced_precision_reduction": bool,
        "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k": bool,
        "cuda.matmul.allow_fp16_accumulation": bool,
        "cuda.matmul.prefer_cublaslt_grouped_gemm": bool,
        "cuda.preferred_linalg_library": Literal["default", "cusolver", "magma"],
        "cuda.preferred_blas_library": Literal["default", "cublas", "cublaslt", "ck"],
        "cuda.preferred_rocm_fa_library": Literal["default", "aotriton", "ck"],
        "cuda.cublas_workspace_size": int,
        "cuda.cublaslt_workspace_size": int,
        "cuda.flash_sdp": bool,
        "cuda.mem_efficient_sdp": bool,
        "cuda.math_sdp": bool,
        "cuda.cudnn_sdp": bool,
        "cuda.overrideable_sdp": bool,
        "cuda.fp16_bf16_reduction_math_sdp": bool,
        "cuda.sdp_priority": str,
        "cuda.cufft_plan_cache.max_size": int,
        "cudnn.enabled": bool,
        "cudnn.deterministic": bool,
        "cudnn.benchmark": bool,
        "cudnn.benchmark_limit": int,
        "cudnn.depthwise_kernel": Literal["auto", "cudnn", "native"],
        "fftw.planner": Literal["auto", "estimate", "measure", "patient"],
        "mkl.enabled": bool,
        "openmp.enabled": bool,
        "mkldnn.enabled": bool,
        "mkldnn.deterministic": bool,
        "opt_einsum.enabled": bool,
        "opt_einsum.strategy": str,
        "mha.fastpath": bool,
        "miopen.immediate": bool,
        "nnpack.enabled": bool,
        "dist.timeout": int,
        "dist.grid": str,
        "dist.block": int,
        "dist.preferred": Literal["auto", "scalapack", "mkl"],
        "graph.backend": str,
        "graph.block_bytes": int,
        "graph.layout": Literal["auto", "row_major", "channels_last"],
        "graph.rewrite": Literal["exact", "fold", "fast"],
        "quantized.engine": Literal["none", "fbgemm", "qnnpack", "onednn", "x86"],
    },
    total=False,
)

class Keywords(TypedDict, total=False):
    num_threads: int
    threads__adapt: bool
    deterministic: Literal["off", "run", "threads"]
    blas__preferred: str
    linalg__preferred: str
    fft__preferred: str
    conv__preferred: str
    einsum__preferred: str
    pool__preferred: str
    batch_norm__preferred: str
    layer_norm__preferred: str
    attention__preferred: str
    rnn__preferred: str
    elementwise__preferred: str
    reduce__preferred: str
    random__preferred: str
    cumsum__preferred: str
    pad__preferred: str
    blas__enabled: str
    linalg__enabled: str
    fft__enabled: str
    einsum__enabled: str
    pool__enabled: str
    batch_norm__enabled: str
    layer_norm__enabled: str
    attention__enabled: str
    rnn__enabled: str
    elementwise__enabled: str
    reduce__enabled: str
    random__enabled: str
    cumsum__enabled: str
    pad__enabled: str
    conv__enabled: str
    conv__deterministic: Literal["off", "run", "threads"]
    dispatch__exclude: str
    dispatch__fallback: Literal["strict", "warn", "allow"]
    dispatch__transfer: Literal["refuse", "allow"]
    calibration: Literal["off", "read", "auto"]
    dispatch__packed: Literal["none", "first", "second", "both"]
    cpu__capability: Literal["auto", "default", "avx2", "avx512", "vsx", "zvector", "sve256"]
    device__exclude: str
    device__memory_limit: int
    plan_cache__max_size: int
    fft__plan_cache__max_size: int
    einsum__path_cache__max_size: int
    registry__library_path: str
    registry__provider_path: str
    registry__system: bool
    registry__cache: Literal["off", "read-only", "read-write"]
    registry__cache_dir: str
    registry__probe_timeout: int
    registry__probe_memory: int
    registry__deepbind: Literal["auto", "on", "off"]
    verbose: int
    benchmark: bool
    matmul__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    einsum__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    fft__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    linalg__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    conv__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    pool__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    batch_norm__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    layer_norm__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    attention__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    rnn__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    elementwise__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    reduce__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    random__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    cumsum__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    pad__benchmark: Union[bool, Literal["inherit", "true", "false"]]
    benchmark_limit: int
    conv__benchmark_limit: int
    tuning__start: Literal["auto", "now"]
    tuning__store: Literal["off", "read", "read-write"]
    tuning__store_path: str
    explain__all: bool
    trace: str
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    cudnn__fp32_precision: Literal["none", "ieee", "tf32"]
    cuda__matmul__fp32_precision: Literal["none", "ieee", "tf32", "bfx9"]
    cudnn__conv__fp32_precision: Literal["none", "ieee", "tf32"]
    cudnn__rnn__fp32_precision: Literal["none", "ieee", "tf32"]
    mkldnn__fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    mkldnn__matmul__fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    mkldnn__conv__fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    conv__fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    mkldnn__rnn__fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
    float32_matmul_precision: Literal["highest", "high", "medium"]
    cuda__matmul__allow_tf32: bool
    cudnn__allow_tf32: bool
    mkldnn__allow_tf32: bool
    simulate__tf32: bool
    simulate__bf16: bool
    deterministic_algorithms: bool
    deterministic_algorithms__warn_only: bool
    deterministic_debug_mode: Literal["default", "warn", "error"]
    fill_uninitialized_memory: bool
    cuda__matmul__allow_fp16_reduced_precision_reduction: bool
    cuda__matmul__allow_fp16_reduced_precision_reduction_split_k: bool
    cuda__matmul__allow_bf16_reduced_precision_reduction: bool
    cuda__matmul__allow_bf16_reduced_precision_reduction_split_k: bool
    cuda__matmul__allow_fp16_accumulation: bool
    cuda__matmul__prefer_cublaslt_grouped_gemm: bool
    cuda__preferred_linalg_library: Literal["default", "cusolver", "magma"]
    cuda__preferred_blas_library: Literal["default", "cublas", "cublaslt", "ck"]
    cuda__preferred_rocm_fa_library: Literal["default", "aotriton", "ck"]
    cuda__cublas_workspace_size: int
    cuda__cublaslt_workspace_size: int
    cuda__flash_sdp: bool
    cuda__mem_efficient_sdp: bool
    cuda__math_sdp: bool
    cuda__cudnn_sdp: bool
    cuda__overrideable_sdp: bool
    cuda__fp16_bf16_reduction_math_sdp: bool
    cuda__sdp_priority: str
    cuda__cufft_plan_cache__max_size: int
    cudnn__enabled: bool
    cudnn__deterministic: bool
    cudnn__benchmark: bool
    cudnn__benchmark_limit: int
    cudnn__depthwise_kernel: Literal["auto", "cudnn", "native"]
    fftw__planner: Literal["auto", "estimate", "measure", "patient"]
    mkl__enabled: bool
    openmp__enabled: bool
    mkldnn__enabled: bool
    mkldnn__deterministic: bool
    opt_einsum__enabled: bool
    opt_einsum__strategy: str
    mha__fastpath: bool
    miopen__immediate: bool
    nnpack__enabled: bool
    dist__timeout: int
    dist__grid: str
    dist__block: int
    dist__preferred: Literal["auto", "scalapack", "mkl"]
    graph__backend: str
    graph__block_bytes: int
    graph__layout: Literal["auto", "row_major", "channels_last"]
    graph__rewrite: Literal["exact", "fold", "fast"]
    quantized__engine: Literal["none", "fbgemm", "qnnpack", "onednn", "x86"]
