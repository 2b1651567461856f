/* settings_table.h - the table of settings. The C accessors, bp_get/bp_set, files, environment, command line and
 * docs/reference/settings.md are all generated from it.
 *
 * X(identifier, number, "name", TYPE, "default", "allowed", "second environment variable", flags, "affects", "help")
 *
 * Settings are listed in the order of the table. The number is BP_SET_<identifier> in compiled programs: it never
 * changes and is never reused. A new entry may be anywhere in the table and takes the next number, so that
 * 0 .. BP_SETTING_COUNT-1 are each used once. The rows of BP_FAMILY_MAP (operation.h) have numbers too.
 * tests/checks/setting_numbers.txt pins the numbers.
 *
 * An ENUM value that ends in "-N" means any number from 1 to 1000000 in place of the N.
 *
 * The second environment variable is read if BACKPLANE_<NAME> is unset. "NAME=1:value,0:other" maps its values to
 * values of the setting; its other values are ignored. "NAME=KiB" is in units of 1024. "NAME=pairs" is a list of
 * ":KiB:count", as in cuBLAS.
 */
#ifndef BACKPLANE_SETTINGS_TABLE_H
#define BACKPLANE_SETTINGS_TABLE_H

#include "backplane/operation.h"

/* clang-format off */
/* The settings that follow from the rows of BP_FAMILY_MAP which have SETTINGS. */
#define BP__SETTING_PREFERRED(X, family, calls, kind, ...) BP__PREFERRED_OF_##kind(X, family, __VA_ARGS__)
#define BP__PREFERRED_OF_LISTED(...)
#define BP__PREFERRED_OF_SETTINGS(X, family, number, enabled, benchmark, affects, what, libraries) \
    X(family##_preferred, number, #family ".preferred", TEXT, "", "", "", BP_SETTING_POLICY, affects, \
      "Library to use if it can run the call: an id from `backplane list` (" libraries "), a path, or ID:ALGORITHM; empty: no preference.")
#define BP__SETTING_ENABLED(X, family, calls, kind, ...) BP__ENABLED_OF_##kind(X, family, __VA_ARGS__)
#define BP__ENABLED_OF_LISTED(...)
#define BP__ENABLED_OF_SETTINGS(X, family, preferred, number, benchmark, affects, what, libraries) \
    X(family##_enabled, number, #family ".enabled", TEXT, "", "", "", BP_SETTING_POLICY, affects, \
      "Comma-separated libraries that may run " what ", each as in " #family ".preferred; empty: all. dispatch.exclude applies too.")
#define BP__SETTING_BENCHMARK(X, family, calls, kind, ...) BP__BENCHMARK_OF_##kind(X, family, __VA_ARGS__)
#define BP__BENCHMARK_OF_LISTED(...)
#define BP__BENCHMARK_OF_SETTINGS(X, family, preferred, enabled, number, affects, what, libraries) \
    X(family##_benchmark, number, #family ".benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, affects, \
      "The same for " what "; inherit: as benchmark says.")

/* The library itself: choice, threads, discovery, trace. */
#define BP_SETTINGS_CORE(X) \
    X(num_threads, 0, "num_threads", INT, "0", "0..1024", "", BP_SETTING_POLICY, "all operations", \
      "Maximum number of threads of one call; 0 means every core available to the process. If unset, it is the smallest of OMP_NUM_THREADS, OMP_THREAD_LIMIT, OPENBLAS_NUM_THREADS, GOTO_NUM_THREADS, MKL_NUM_THREADS and BLIS_NUM_THREADS, and 1 inside an OpenMP parallel region.") \
    X(threads_adapt, 135, "threads.adapt", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "While other processes keep processors busy, calls use no more threads than the processors that are left. The number that num_threads sets is used as it is, and with deterministic no call is limited.") \
    X(deterministic, 1, "deterministic", ENUM, "off", "off|run|threads", "", BP_SETTING_POLICY, "all operations", \
      "Refuse candidates that do not guarantee bitwise reproducible results: run = with the same number of threads, threads = with any number.") \
    X(blas_preferred, 2, "blas.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "matmul, gemm", \
      "Library to use if it can run the call: an id from `backplane list` (openblas, mkl, blis, netlib, native, ...), a path, or ID:ALGORITHM; empty: no preference.") \
    X(linalg_preferred, 3, "linalg.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "linear algebra", \
      "Library to use if it can run the call: an id from `backplane list` (openblas, mkl, netlib-lapack, native, ...), a path, or ID:ALGORITHM; empty: no preference.") \
    X(fft_preferred, 4, "fft.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "fft", \
      "Library to use if it can run the call: an id from `backplane list` (fftw, fftwf, mkl, native, ...), a path, or ID:ALGORITHM; empty: no preference.") \
    X(conv_preferred, 86, "conv.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "convolutions", \
      "Library to use if it can run the call: an id from `backplane list` (onednn, native), a path, or ID:ALGORITHM; empty: no preference.") \
    X(einsum_preferred, 96, "einsum.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "einsum", \
      "Library to use for contractions that are not a matrix product if it can run the call: an id from `backplane list` (native), a path, or ID:ALGORITHM; empty: no preference.") \
    BP_FAMILY_MAP(BP__SETTING_PREFERRED, X) \
    X(blas_enabled, 105, "blas.enabled", TEXT, "", "", "", BP_SETTING_POLICY, "matmul, gemm", \
      "Comma-separated libraries that may run matrix products, each as in blas.preferred; empty: all. dispatch.exclude applies too.") \
    X(linalg_enabled, 106, "linalg.enabled", TEXT, "", "", "", BP_SETTING_POLICY, "linear algebra", \
      "Comma-separated libraries that may run linear algebra, each as in linalg.preferred; empty: all. dispatch.exclude applies too.") \
    X(fft_enabled, 107, "fft.enabled", TEXT, "", "", "", BP_SETTING_POLICY, "fft", \
      "Comma-separated libraries that may run Fourier transforms, each as in fft.preferred; empty: all. dispatch.exclude applies too.") \
    X(einsum_enabled, 108, "einsum.enabled", TEXT, "", "", "", BP_SETTING_POLICY, "einsum", \
      "Comma-separated libraries that may run contractions that are not a matrix product, each as in einsum.preferred; empty: all. dispatch.exclude applies too.") \
    BP_FAMILY_MAP(BP__SETTING_ENABLED, X) \
    X(conv_enabled, 88, "conv.enabled", TEXT, "", "", "", BP_SETTING_POLICY, "convolutions", \
      "Comma-separated libraries that may run convolutions, each as in conv.preferred; empty: all. dispatch.exclude applies too.") \
    X(conv_deterministic, 89, "conv.deterministic", ENUM, "off", "off|run|threads", "", BP_SETTING_POLICY, "convolutions", \
      "As deterministic, for convolutions alone; the stricter of the two applies.") \
    X(dispatch_exclude, 5, "dispatch.exclude", TEXT, "", "", "", BP_SETTING_POLICY, "all operations", \
      "Comma-separated library ids or families that must not run (in the text of a scope, put the list in quotes).") \
    X(dispatch_fallback, 6, "dispatch.fallback", ENUM, "warn", "strict|warn|allow", "", BP_SETTING_POLICY, "all operations", \
      "If the preferred library cannot run a call: strict fails, warn runs another and warns once per reason, allow runs another silently.") \
    X(dispatch_transfer, 94, "dispatch.transfer", ENUM, "refuse", "refuse|allow", "", BP_SETTING_POLICY, "operations on devices", \
      "If no provider accepts an operation on the device of its operands: refuse fails; allow copies the operands to the host, runs it there and copies the results back.") \
    X(calibration, 85, "calibration", ENUM, "auto", "off|read|auto", "", BP_SETTING_POLICY, "all operations", \
      "Choice by times measured on this machine: auto = measure libraries that have no stored times when a choice first needs them; read = use stored times only; off = use estimates. Never used if deterministic is set.") \
    X(dispatch_packed, 7, "dispatch.packed", ENUM, "none", "none|first|second|both", "", BP_SETTING_POLICY, "matmul, gemm", \
      "Inputs that the caller will pass in packed form (bp_plan_pack); cost estimates then exclude the time to pack them.") \
    X(cpu_capability, 8, "cpu.capability", ENUM, "auto", "auto|default|avx2|avx512|vsx|zvector|sve256", \
      "ATEN_CPU_CAPABILITY", BP_SETTING_POLICY, "native", \
      "Highest instruction set that the native kernels use; must be supported by the hardware.") \
    X(device_exclude, 92, "device.exclude", TEXT, "", "", "", BP_SETTING_STARTUP, "devices", \
      "Comma-separated devices (opencl:0) or runtimes (opencl) that are not used; the library of an excluded runtime is not opened.") \
    X(device_memory_limit, 93, "device.memory_limit", INT, "0", "0..4611686018427387904", "", 0, "devices", \
      "Maximum memory that the pool of each device takes, in bytes, used or kept for reuse; 0: no limit.") \
    X(plan_cache_max_size, 9, "plan_cache.max_size", INT, "1024", "0..1048576", "", 0, "all operations but fft", \
      "Maximum number of cached plans; the least recently used is evicted first. 0 disables the cache.") \
    X(fft_plan_cache_max_size, 10, "fft.plan_cache.max_size", INT, "4096", "0..1048576", "", 0, "fft", \
      "Maximum number of cached plans of Fourier transforms on the CPU. 0 disables the cache.") \
    X(einsum_path_cache_max_size, 11, "einsum.path_cache.max_size", INT, "1024", "0..1048576", "", 0, "einsum", \
      "Maximum number of cached contraction paths (of up to 1000 operands). 0 disables the cache.") \
    X(registry_library_path, 12, "registry.library_path", TEXT, "", "", "BACKPLANE_LIBRARY_PATH", BP_SETTING_STARTUP, \
      "discovery", "Colon-separated folders or files searched for libraries before all others.") \
    X(registry_provider_path, 13, "registry.provider_path", TEXT, "", "", "BACKPLANE_PROVIDER_PATH", BP_SETTING_STARTUP, \
      "discovery", "Colon-separated folders searched for provider modules after the installed ones.") \
    X(registry_system, 14, "registry.system", BOOL, "true", "", "", BP_SETTING_STARTUP, "discovery", \
      "Search the loader cache, system folders, virtual environment and conda prefix; false: only registry.library_path.") \
    X(registry_cache, 15, "registry.cache", ENUM, "read-write", "off|read-only|read-write", "", BP_SETTING_STARTUP, "discovery", \
      "Use of the probe cache, the stored probe results of libraries, and of compiled kernels of devices: read-write, read-only, or off.") \
    X(registry_cache_dir, 16, "registry.cache_dir", TEXT, "", "", "BACKPLANE_CACHE_DIR", BP_SETTING_STARTUP, "discovery", \
      "Folder of the probe cache and of compiled kernels; empty: $XDG_CACHE_HOME/backplane or ~/.cache/backplane.") \
    X(registry_probe_timeout, 17, "registry.probe_timeout", INT, "5000", "100..600000", "", BP_SETTING_STARTUP, "discovery", \
      "Time limit for the probe of one library, in milliseconds.") \
    X(registry_probe_memory, 18, "registry.probe_memory", INT, "0", "0..1048576", "", BP_SETTING_STARTUP, "discovery", \
      "Memory limit for the probe of one library, in MiB; 0: 2048 plus 256 per processor.") \
    X(registry_deepbind, 19, "registry.deepbind", ENUM, "auto", "auto|on|off", "", BP_SETTING_STARTUP, "loading", \
      "Make a library use its own symbols first (RTLD_DEEPBIND); auto: on, but off under a sanitizer.") \
    X(verbose, 20, "verbose", INT, "0", "0..2", "", BP_SETTING_POLICY, "all operations", \
      "1: one comma-separated line per call on standard error; 2: also the candidates of each new plan.") \
    X(benchmark, 76, "benchmark", BOOL, "false", "", "", BP_SETTING_POLICY, "all operations", \
      "Measure the candidates of problems that take much time, and use the fastest. Under deterministic only tuning.start=now measures.") \
    X(matmul_benchmark, 77, "matmul.benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, "matmul, gemm", \
      "The same for matrix products; inherit: as benchmark says.") \
    X(einsum_benchmark, 78, "einsum.benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, "einsum", \
      "The same for contractions that are not a matrix product; inherit: as benchmark says.") \
    X(fft_benchmark, 79, "fft.benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, "fft", \
      "The same for Fourier transforms; inherit: as benchmark says.") \
    X(linalg_benchmark, 80, "linalg.benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, "linear algebra", \
      "The same for linear algebra; inherit: as benchmark says.") \
    X(conv_benchmark, 87, "conv.benchmark", ENUM, "inherit", "inherit|true|false", "", BP_SETTING_POLICY, "convolutions", \
      "The same for convolutions; inherit: as benchmark says.") \
    BP_FAMILY_MAP(BP__SETTING_BENCHMARK, X) \
    X(benchmark_limit, 81, "benchmark_limit", INT, "10", "0..2147483647", "", BP_SETTING_POLICY, "all operations", \
      "Maximum number of candidates that are measured for one problem, those with the least estimates first; 0 means all.") \
    X(conv_benchmark_limit, 91, "conv.benchmark_limit", INT, "-1", "-1..2147483647", "", BP_SETTING_POLICY, "convolutions", \
      "The same for convolutions; -1: as benchmark_limit says.") \
    X(tuning_start, 82, "tuning.start", ENUM, "auto", "auto|now", "", BP_SETTING_POLICY, "all operations", \
      "When benchmark measures: auto = once a problem has taken 50 times what measuring is expected to take, and for at most 2 % of all calls' time; now = when its plan is made.") \
    X(tuning_store, 83, "tuning.store", ENUM, "read-write", "off|read|read-write", "", BP_SETTING_POLICY, "all operations", \
      "Use of measured times of earlier processes (tuning.txt next to the probe cache): read and add new ones, read only, or off.") \
    X(tuning_store_path, 84, "tuning.store_path", TEXT, "", "", "", BP_SETTING_STARTUP, "all operations", \
      "File of measured times that is read in place of that one and never written. Only such times are used if deterministic is set.") \
    X(explain_all, 128, "explain.all", BOOL, "false", "", "", 0, "explanations", \
      "Explanations also list the algorithms of a library's own list, which benchmark measures; a library may be opened for it.") \
    X(trace, 21, "trace", TEXT, "", "", "", BP_SETTING_STARTUP, "all operations", \
      "File that receives every call as a Chrome/Perfetto trace (JSON).")

/* Precision of f32 inside operations: a tree of settings (settings/precision_tree.c), legacy aliases, simulation. */
#define BP_SETTINGS_PRECISION(X) \
    X(fp32_precision, 22, "fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 operations of every backend", \
      "Lowest precision to which an operation may round f32 inputs; applies to all precision settings with the value none, and alone on devices other than CUDA and ROCm. If this one is none too, inputs are not rounded; algorithms with larger errors than a direct sum (Winograd, Fourier) may still run; ieee excludes them.") \
    X(cudnn_fp32_precision, 23, "cudnn.fp32_precision", ENUM, "none", "none|ieee|tf32", "", BP_SETTING_INHERITS | BP_SETTING_CUDA, "f32 operations on CUDA", \
      "For all CUDA operations; none inherits fp32_precision.") \
    X(cuda_matmul_fp32_precision, 24, "cuda.matmul.fp32_precision", ENUM, "none", "none|ieee|tf32|bfx9", "", BP_SETTING_INHERITS | BP_SETTING_CUDA, "f32 matrix products on CUDA", \
      "none inherits cudnn.fp32_precision; bfx9 emulates f32 with nine bf16 products.") \
    X(cudnn_conv_fp32_precision, 25, "cudnn.conv.fp32_precision", ENUM, "tf32", "none|ieee|tf32", "", BP_SETTING_INHERITS | BP_SETTING_CUDA, "f32 convolutions on CUDA", \
      "none inherits cudnn.fp32_precision; the default applies only if no parent setting is set.") \
    X(cudnn_rnn_fp32_precision, 26, "cudnn.rnn.fp32_precision", ENUM, "tf32", "none|ieee|tf32", "", BP_SETTING_INHERITS | BP_SETTING_CUDA, "f32 recurrent networks on CUDA", \
      "none inherits cudnn.fp32_precision; the default applies only if no parent setting is set.") \
    X(mkldnn_fp32_precision, 27, "mkldnn.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 operations on the CPU", \
      "For all CPU operations; none inherits fp32_precision.") \
    X(mkldnn_matmul_fp32_precision, 28, "mkldnn.matmul.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "matmul, gemm and attention in f32 on the CPU", \
      "ieee refuses providers that round their inputs, tf32 and bf16 allow them; none inherits mkldnn.fp32_precision.") \
    X(mkldnn_conv_fp32_precision, 29, "mkldnn.conv.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 convolutions on the CPU", \
      "ieee refuses candidates with larger errors than a sum of products has, tf32 and bf16 allow rounding of inputs; none inherits mkldnn.fp32_precision.") \
    X(conv_fp32_precision, 90, "conv.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 convolutions", \
      "For convolutions on any device, before the settings of the device; none: mkldnn.conv.fp32_precision on the host, cudnn.conv.fp32_precision on CUDA and ROCm, fp32_precision on other devices.") \
    X(mkldnn_rnn_fp32_precision, 30, "mkldnn.rnn.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS, "f32 recurrent networks on the CPU", \
      "none inherits mkldnn.fp32_precision.") \
    X(float32_matmul_precision, 31, "float32_matmul_precision", ENUM, "highest", "highest|high|medium", "", BP_SETTING_ALIAS, "cuda.matmul.fp32_precision, mkldnn.matmul.fp32_precision", \
      "Alias of both settings: highest means ieee; high means tf32; medium means tf32 on CUDA and bf16 on the CPU.") \
    X(cuda_matmul_allow_tf32, 32, "cuda.matmul.allow_tf32", BOOL, "false", "", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1:true", BP_SETTING_ALIAS, "cuda.matmul.fp32_precision", \
      "Legacy alias of that setting: true means tf32, false means ieee.") \
    X(cudnn_allow_tf32, 33, "cudnn.allow_tf32", BOOL, "true", "", "", BP_SETTING_ALIAS, "cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision", \
      "Legacy alias of both settings: true means tf32, false means ieee.") \
    X(mkldnn_allow_tf32, 34, "mkldnn.allow_tf32", BOOL, "false", "", "", BP_SETTING_ALIAS | BP_SETTING_POLICY, "mkldnn.fp32_precision", \
      "Legacy alias of that setting: true means tf32, false means ieee.") \
    X(simulate_tf32, 35, "simulate.tf32", BOOL, "false", "", "", BP_SETTING_POLICY, "matmul and gemm in f32", \
      "Round inputs to TF32 first (10 fraction bits, to nearest, ties away from zero), as for tensor cores.") \
    X(simulate_bf16, 36, "simulate.bf16", BOOL, "false", "", "", BP_SETTING_POLICY, "matmul and gemm in f32", \
      "Round inputs to bfloat16 first (7 fraction bits, to nearest, ties to even); overrides simulate.tf32.")

/* Determinism under PyTorch's names. */
#define BP_SETTINGS_DETERMINISM(X) \
    X(deterministic_algorithms, 37, "deterministic_algorithms", BOOL, "false", "", "", BP_SETTING_POLICY, "all operations", \
      "PyTorch's name for deterministic=run: bitwise reproducible results with the same number of threads.") \
    X(deterministic_algorithms_warn_only, 38, "deterministic_algorithms.warn_only", BOOL, "false", "", "", BP_SETTING_POLICY, "all operations", \
      "If no candidate satisfies deterministic_algorithms, warn and run one without the guarantee.") \
    X(deterministic_debug_mode, 39, "deterministic_debug_mode", ENUM, "default", "default|warn|error", "", BP_SETTING_ALIAS, "deterministic_algorithms, deterministic_algorithms.warn_only", \
      "Alias of both settings: default means off, warn means on with warn_only, error means on without it.") \
    X(fill_uninitialized_memory, 40, "fill_uninitialized_memory", BOOL, "true", "", "", 0, "nothing; new tensors are always zero", \
      "In PyTorch, if deterministic_algorithms is on: fill new tensors with NaN, the largest integer, or true.")

/* CUDA and ROCm. */
#define BP_SETTINGS_CUDA(X) \
    X(cuda_matmul_allow_fp16_reduced_precision_reduction, 41, "cuda.matmul.allow_fp16_reduced_precision_reduction", BOOL, "true", "", "", BP_SETTING_CUDA, "f16 matrix products on CUDA", \
      "Allow cuBLAS to add partial results in f16.") \
    X(cuda_matmul_allow_fp16_reduced_precision_reduction_split_k, 42, "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k", BOOL, "true", "", "", BP_SETTING_CUDA, "f16 matrix products on CUDA", \
      "Allow cuBLAS to split k if it adds in f16.") \
    X(cuda_matmul_allow_bf16_reduced_precision_reduction, 43, "cuda.matmul.allow_bf16_reduced_precision_reduction", BOOL, "true", "", "", BP_SETTING_CUDA, "bf16 matrix products on CUDA", \
      "Allow cuBLAS to add partial results in bf16.") \
    X(cuda_matmul_allow_bf16_reduced_precision_reduction_split_k, 44, "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k", BOOL, "true", "", "", BP_SETTING_CUDA, "bf16 matrix products on CUDA", \
      "Allow cuBLAS to split k if it adds in bf16.") \
    X(cuda_matmul_allow_fp16_accumulation, 45, "cuda.matmul.allow_fp16_accumulation", BOOL, "false", "", "", BP_SETTING_CUDA, "f16 matrix products on CUDA", \
      "Allow sums to be accumulated in f16.") \
    X(cuda_matmul_prefer_cublaslt_grouped_gemm, 95, "cuda.matmul.prefer_cublaslt_grouped_gemm", BOOL, "false", "", "", 0, "grouped matrix products on CUDA", \
      "Prefer cuBLASLt for groups of matrix products of several shapes.") \
    X(cuda_preferred_linalg_library, 46, "cuda.preferred_linalg_library", ENUM, "default", "default|cusolver|magma", "TORCH_LINALG_PREFER_CUSOLVER=1:cusolver", BP_SETTING_CUDA, "linear algebra on CUDA", \
      "Library to use if it can run the call; default leaves the choice to dispatch. magma is deprecated, and means cusolver.") \
    X(cuda_preferred_blas_library, 47, "cuda.preferred_blas_library", ENUM, "default", "default|cublas|cublaslt|ck", "TORCH_BLAS_PREFER_CUBLASLT=1:cublaslt,0:cublas", BP_SETTING_CUDA, "matrix products on CUDA", \
      "Library to use if it can run the call; default leaves the choice to dispatch.") \
    X(cuda_preferred_rocm_fa_library, 48, "cuda.preferred_rocm_fa_library", ENUM, "default", "default|aotriton|ck", "TORCH_ROCM_FA_PREFER_CK=1:ck", 0, "attention on ROCm", \
      "Library to use for flash attention if it can run the call.") \
    X(cuda_cublas_workspace_size, 49, "cuda.cublas_workspace_size", INT, "0", "0..1099511627776", "CUBLAS_WORKSPACE_CONFIG=pairs", BP_SETTING_CUDA, "matrix products on CUDA", \
      "Workspace of cuBLAS in bytes; 0: the best size for the device.") \
    X(cuda_cublaslt_workspace_size, 50, "cuda.cublaslt_workspace_size", INT, "0", "0..1099511627776", "CUBLASLT_WORKSPACE_SIZE=KiB", BP_SETTING_CUDA, "matrix products on CUDA", \
      "Workspace of cuBLASLt in bytes; 0: the best size for the device.") \
    X(cuda_flash_sdp, 51, "cuda.flash_sdp", BOOL, "true", "", "", BP_SETTING_POLICY, "attention", \
      "Allow attention to use the flash kernels.") \
    X(cuda_mem_efficient_sdp, 52, "cuda.mem_efficient_sdp", BOOL, "true", "", "", BP_SETTING_POLICY, "attention", \
      "Allow attention to use the memory-efficient kernels.") \
    X(cuda_math_sdp, 53, "cuda.math_sdp", BOOL, "true", "", "", BP_SETTING_POLICY, "attention", \
      "Allow attention to run as separate matrix products and a softmax.") \
    X(cuda_cudnn_sdp, 54, "cuda.cudnn_sdp", BOOL, "true", "", "", BP_SETTING_POLICY, "attention", \
      "Allow attention to use cuDNN.") \
    X(cuda_overrideable_sdp, 55, "cuda.overrideable_sdp", BOOL, "true", "", "", BP_SETTING_POLICY, "attention", \
      "Allow attention to use kernels that the program registers.") \
    X(cuda_fp16_bf16_reduction_math_sdp, 56, "cuda.fp16_bf16_reduction_math_sdp", BOOL, "false", "", "", BP_SETTING_CUDA, "attention", \
      "Allow the matrix products of attention in f16 and bf16 to accumulate in these types.") \
    X(cuda_sdp_priority, 57, "cuda.sdp_priority", TEXT, "flash,efficient,math,cudnn,overrideable", "flash,efficient,math,cudnn,overrideable", "", BP_SETTING_POLICY, "attention", \
      "Attention kernels, in the order in which they are tried. The default leaves the choice to dispatch.") \
    X(cuda_cufft_plan_cache_max_size, 58, "cuda.cufft_plan_cache.max_size", INT, "4096", "0..4611686018427387904", "", 0, "FFT on CUDA", \
      "Maximum number of cached cuFFT plans per device. 0 disables the cache.")

/* Libraries of vendors, and parts of PyTorch that are one of its backends. */
#define BP_SETTINGS_VENDOR(X) \
    X(cudnn_enabled, 59, "cudnn.enabled", BOOL, "true", "", "", BP_SETTING_CUDA, "operations on cuDNN", \
      "Allow dispatch to use cuDNN.") \
    X(cudnn_deterministic, 60, "cudnn.deterministic", BOOL, "false", "", "", BP_SETTING_CUDA, "operations on cuDNN", \
      "Use only cuDNN algorithms with bitwise reproducible results.") \
    X(cudnn_benchmark, 61, "cudnn.benchmark", BOOL, "false", "", "", BP_SETTING_CUDA, "convolutions on cuDNN", \
      "Measure the algorithms at the first call of each shape and use the fastest.") \
    X(cudnn_benchmark_limit, 62, "cudnn.benchmark_limit", INT, "10", "0..2147483647", "", BP_SETTING_CUDA, "convolutions on cuDNN", \
      "Number of algorithms that cudnn.benchmark measures; 0 means all.") \
    X(cudnn_depthwise_kernel, 63, "cudnn.depthwise_kernel", ENUM, "auto", "auto|cudnn|native", "", BP_SETTING_CUDA, "depthwise convolutions on CUDA", \
      "Library whose kernels run depthwise convolutions.") \
    X(fftw_planner, 64, "fftw.planner", ENUM, "auto", "auto|estimate|measure|patient", "", BP_SETTING_POLICY, "FFT on FFTW", \
      "FFTW planner: estimate uses rules, measure and patient time algorithms; auto measures for at most 0.5 s.") \
    X(mkl_enabled, 65, "mkl.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Allow dispatch to use MKL.") \
    X(openmp_enabled, 66, "openmp.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Allow dispatch to use libraries that run on an OpenMP runtime.") \
    X(mkldnn_enabled, 67, "mkldnn.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Allow dispatch to use oneDNN.") \
    X(mkldnn_deterministic, 68, "mkldnn.deterministic", BOOL, "false", "", "", BP_SETTING_POLICY, "operations on oneDNN", \
      "Use only oneDNN algorithms with bitwise reproducible results.") \
    X(opt_einsum_enabled, 69, "opt_einsum.enabled", BOOL, "true", "", "", 0, "einsum", \
      "Search for a good contraction order; false: from left to right.") \
    X(opt_einsum_strategy, 70, "opt_einsum.strategy", ENUM, "auto", "auto|auto-hq|optimal|dp|dynamic-programming|branch-all|branch-2|branch-1|greedy|eager|opportunistic|random-greedy|random-greedy-N|left-to-right", "", 0, "einsum", \
      "Search method for that order; random-greedy-N makes N trials (at most 1000000).") \
    X(mha_fastpath, 71, "mha.fastpath", BOOL, "true", "", "", 0, "attention", \
      "Allow a whole attention layer to run as one operation.") \
    X(miopen_immediate, 72, "miopen.immediate", BOOL, "false", "", "", BP_SETTING_CUDA, "convolutions on ROCm", \
      "Use the MIOpen algorithm that needs no search.") \
    X(nnpack_enabled, 73, "nnpack.enabled", BOOL, "true", "", "", 0, "convolutions on NNPACK", \
      "Allow dispatch to use NNPACK.") \
    X(xnnpack_enabled, 74, "xnnpack.enabled", BOOL, "false", "", "", BP_SETTING_READ_ONLY, "operations on XNNPACK", \
      "Whether XNNPACK is used; this version has no provider for it.") \
    X(dist_timeout, 136, "dist.timeout", INT, "300", "0..86400", "", 0, "distributed operands", \
      "Seconds that a rank waits until all others take part in a call with distributed operands; 0: as long as it takes.") \
    X(dist_grid, 137, "dist.grid", TEXT, "auto", "", "", 0, "distributed operands", \
      "Grid of a distribution that names none (grid 0, 0): rows and columns of ranks, such as 2x3; auto = all ranks, as square as possible, with no more rows than columns.") \
    X(dist_block, 138, "dist.block", INT, "64", "1..2147483647", "", 0, "distributed operands", \
      "Rows and columns of a block, in a distribution that names none (block 0).") \
    X(dist_preferred, 140, "dist.preferred", ENUM, "auto", "auto|scalapack|mkl", "", BP_SETTING_POLICY, "distributed operands", \
      "Library to use for distributed operands if it can run the call on all ranks: scalapack, the library that is built for the MPI; mkl, MKL's ScaLAPACK; auto = the first of them that can.") \
    X(graph_backend, 129, "graph.backend", TEXT, "auto", "", "", 0, "graphs", \
      "How graphs run: auto = planned as a whole, with packed constants and one workspace; eager = node by node, each as its own call; or planned, with a comma-separated list of backends of regions (graph_backend.h): names in order of preference, and -NAME for one that runs none.") \
    X(graph_block_bytes, 133, "graph.block_bytes", INT, "0", "0..4611686018427387904", "", 0, "graphs", \
      "Bytes of the tensors of a block, in which neighbouring functions of single elements run together: 0 = half of the first cache. A number as large as the tensors keeps the functions apart.") \
    X(graph_layout, 134, "graph.layout", ENUM, "auto", "auto|row_major|channels_last", "", 0, "graphs", \
      "Layout of images between the nodes of a graph: row_major = channels before the sizes; channels_last = channels behind them; auto = the one with the lower estimated time of the whole graph. Outputs have the layout of the caller's tensor.") \
    X(graph_rewrite, 139, "graph.rewrite", ENUM, "exact", "exact|fold|fast", "", 0, "graphs", \
      "Whether graphs run in another form with results that are equal up to rounding: exact = no; fold = batch normalization with constants is part of the weights of the convolution or linear layer in front of it; fast = also, a softmax between two products is attention.") \
    X(quantized_engine, 75, "quantized.engine", ENUM, "none", "none|fbgemm|qnnpack|onednn|x86", "", 0, "quantised operations", \
      "Library for quantised operations; this version has none.")

#define BP_SETTINGS_MAP(X) \
    BP_SETTINGS_CORE(X) BP_SETTINGS_PRECISION(X) BP_SETTINGS_DETERMINISM(X) BP_SETTINGS_CUDA(X) BP_SETTINGS_VENDOR(X)
/* clang-format on */

#endif
