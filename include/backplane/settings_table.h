/* settings_table.h - THE table of settings. Everything that knows a setting is made from these rows: the C accessors,
 * bp_get/bp_set, files, environment, the command line and docs/settings.md (regenerated and compared by a test).
 *
 * X(identifier, number, "name", TYPE, "default", "allowed", "environment alias", flags, "what it affects", "help")
 *
 * The order of the rows is the order in which settings are listed. The number is BP_SET_<identifier> in compiled
 * programs: it never changes and is never given to another setting. A new row may stand anywhere and takes the next
 * number, so that 0 .. BP_SETTING_COUNT-1 are each used once. tests/checks/setting_numbers.txt pins them.
 *
 * A ENUM that ends in "-N" stands for all words with a number from 1 to 1000000 in place of the N.
 *
 * An alias may say which of its values stand for which words: "NAME=1:word,0:other"; its other values count for
 * nothing. "NAME=KiB" counts in units of 1024, and "NAME=pairs" is a list of ":KiB:count", as cuBLAS has it.
 */
#ifndef BACKPLANE_SETTINGS_TABLE_H
#define BACKPLANE_SETTINGS_TABLE_H

/* clang-format off */
/* The library itself: choice, threads, discovery, observation. */
#define BP_SETTINGS_CORE(X)                                                                                             \
    X(num_threads, 0, "num_threads", INT, "0", "0..1024", "", BP_SETTING_POLICY, "all operations",                      \
      "Threads that one call may use; 0 means every core this process may run on. Unless set, it is the smallest limit of OMP_NUM_THREADS, OMP_THREAD_LIMIT, OPENBLAS_NUM_THREADS, GOTO_NUM_THREADS, MKL_NUM_THREADS and BLIS_NUM_THREADS, and 1 inside a parallel region of OpenMP.")                                     \
    X(deterministic, 1, "deterministic", ENUM, "off", "off|run|threads", "", BP_SETTING_POLICY, "all operations",       \
      "Refuse candidates that do not promise the same bits: run = again with as many threads, threads = with any number.") \
    X(blas_preferred, 2, "blas.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "matmul, gemm",                         \
      "Library to use where it can: an id from `backplane list` (openblas, mkl, blis, netlib, native, ...), a path, or ID:ALGORITHM; default: none.")  \
    X(linalg_preferred, 3, "linalg.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "linear algebra",                    \
      "Library to use where it can: an id from `backplane list` (openblas, mkl, netlib-lapack, native, ...), a path, or ID:ALGORITHM; default: none.") \
    X(fft_preferred, 4, "fft.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "fft",                                     \
      "Library to use where it can: an id from `backplane list` (fftw, fftwf, mkl, native, ...), a path, or ID:ALGORITHM; default: none.")             \
    X(dispatch_exclude, 5, "dispatch.exclude", TEXT, "", "", "", BP_SETTING_POLICY, "all operations",                   \
      "Comma-separated ids or families that must not run (quote the list inside a scope's text).")                      \
    X(dispatch_fallback, 6, "dispatch.fallback", ENUM, "warn", "strict|warn|allow", "", BP_SETTING_POLICY, "all operations", \
      "When the preferred library cannot run a call: fail, run another and warn once per reason, or run another silently.") \
    X(dispatch_packed, 7, "dispatch.packed", ENUM, "none", "none|first|second|both", "", BP_SETTING_POLICY, "matmul, gemm",  \
      "Inputs that will be handed in packed (bp_plan_pack), so that candidates are compared without the time of packing.") \
    X(cpu_capability, 8, "cpu.capability", ENUM, "auto", "auto|default|avx2|avx512|vsx|zvector|sve256",                  \
      "ATEN_CPU_CAPABILITY", BP_SETTING_POLICY, "native",                                                              \
      "Highest instruction set that our own kernels use; checked against the hardware.")                                \
    X(plan_cache_max_size, 9, "plan_cache.max_size", INT, "1024", "0..1048576", "", 0, "all operations but fft",        \
      "Plans kept for the whole process, least recently used thrown away first; 0 keeps none.")                         \
    X(fft_plan_cache_max_size, 10, "fft.plan_cache.max_size", INT, "4096", "0..1048576", "", 0, "fft",                  \
      "Plans of Fourier transforms on the CPU kept for the whole process; 0 keeps none.")                               \
    X(einsum_path_cache_max_size, 11, "einsum.path_cache.max_size", INT, "1024", "0..1048576", "", 0, "einsum",          \
      "Paths of contractions kept for the whole process, those of up to 1000 operands; 0 keeps none.")                  \
    X(registry_library_path, 12, "registry.library_path", TEXT, "", "", "BACKPLANE_LIBRARY_PATH", BP_SETTING_STARTUP,    \
      "discovery", "Colon-separated folders or files searched for libraries before all others.")                        \
    X(registry_provider_path, 13, "registry.provider_path", TEXT, "", "", "BACKPLANE_PROVIDER_PATH", BP_SETTING_STARTUP, \
      "discovery", "Colon-separated folders searched for provider modules after the installed ones.")                   \
    X(registry_system, 14, "registry.system", BOOL, "true", "", "", BP_SETTING_STARTUP, "discovery",                    \
      "Search the loader cache, the system's folders, virtual environment and conda prefix; false: only library_path.") \
    X(registry_cache, 15, "registry.cache", ENUM, "read-write", "off|read-only|read-write", "", BP_SETTING_STARTUP, "discovery", \
      "Use of the probe cache: results of earlier probes of the same libraries.")                                       \
    X(registry_cache_dir, 16, "registry.cache_dir", TEXT, "", "", "BACKPLANE_CACHE_DIR", BP_SETTING_STARTUP, "discovery",    \
      "Directory of the probe cache; empty: $XDG_CACHE_HOME/backplane or ~/.cache/backplane.")                          \
    X(registry_probe_timeout, 17, "registry.probe_timeout", INT, "5000", "100..600000", "", BP_SETTING_STARTUP, "discovery", \
      "Milliseconds that the probe of one library may take before it is ended.")                                        \
    X(registry_probe_memory, 18, "registry.probe_memory", INT, "0", "0..1048576", "", BP_SETTING_STARTUP, "discovery",  \
      "Mebibytes of memory that the probe of one library may use; 0: 2048 and 256 for each processor.")                 \
    X(registry_deepbind, 19, "registry.deepbind", ENUM, "auto", "auto|on|off", "", BP_SETTING_STARTUP, "loading",        \
      "Bind a library's own symbols first (RTLD_DEEPBIND); auto: on, but off under a sanitizer.")                       \
    X(verbose, 20, "verbose", INT, "0", "0..2", "", BP_SETTING_POLICY, "all operations",                                                \
      "1: one comma-separated line per call on standard error; 2: also each new plan's candidates.")                    \
    X(trace, 21, "trace", TEXT, "", "", "", BP_SETTING_STARTUP, "all operations",                                       \
      "File that receives every call as a Chrome/Perfetto trace (JSON).")

/* Precision of f32 inside operations: a tree of nodes (settings/precision_tree.c), older views of it, and its simulation. */
#define BP_SETTINGS_PRECISION(X) \
    X(fp32_precision, 22, "fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 operations of every backend", \
      "Least precision of f32 inputs inside an operation, for all nodes that say none; none here means ieee.") \
    X(cudnn_fp32_precision, 23, "cudnn.fp32_precision", ENUM, "none", "none|ieee|tf32", "", BP_SETTING_INHERITS, "f32 operations on CUDA", \
      "The node of all CUDA operations, below fp32_precision; none follows it.") \
    X(cuda_matmul_fp32_precision, 24, "cuda.matmul.fp32_precision", ENUM, "none", "none|ieee|tf32|bfx9", "", BP_SETTING_INHERITS, "f32 matrix products on CUDA", \
      "none follows cudnn.fp32_precision; bfx9 emulates f32 with nine bf16 products.") \
    X(cudnn_conv_fp32_precision, 25, "cudnn.conv.fp32_precision", ENUM, "tf32", "none|ieee|tf32", "", BP_SETTING_INHERITS, "f32 convolutions on CUDA", \
      "none follows cudnn.fp32_precision; the default gives way to any node above that is set.") \
    X(cudnn_rnn_fp32_precision, 26, "cudnn.rnn.fp32_precision", ENUM, "tf32", "none|ieee|tf32", "", BP_SETTING_INHERITS, "f32 recurrent networks on CUDA", \
      "none follows cudnn.fp32_precision; the default gives way to any node above that is set.") \
    X(mkldnn_fp32_precision, 27, "mkldnn.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "f32 operations on the CPU", \
      "The node of all CPU operations, below fp32_precision; none follows it.") \
    X(mkldnn_matmul_fp32_precision, 28, "mkldnn.matmul.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS | BP_SETTING_POLICY, "matmul and gemm in f32 on the CPU", \
      "ieee refuses providers that shorten their inputs, tf32 and bf16 allow them; none follows mkldnn.fp32_precision.") \
    X(mkldnn_conv_fp32_precision, 29, "mkldnn.conv.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS, "f32 convolutions on the CPU", \
      "none follows mkldnn.fp32_precision.") \
    X(mkldnn_rnn_fp32_precision, 30, "mkldnn.rnn.fp32_precision", ENUM, "none", "none|ieee|tf32|bf16", "", BP_SETTING_INHERITS, "f32 recurrent networks on the CPU", \
      "none follows mkldnn.fp32_precision.") \
    X(float32_matmul_precision, 31, "float32_matmul_precision", ENUM, "highest", "highest|high|medium", "", BP_SETTING_ALIAS, "cuda.matmul.fp32_precision, mkldnn.matmul.fp32_precision", \
      "Both nodes at once: highest is ieee, ieee; high is tf32, tf32; medium is tf32 on CUDA and bf16 on the CPU.") \
    X(cuda_matmul_allow_tf32, 32, "cuda.matmul.allow_tf32", BOOL, "false", "", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1:true", BP_SETTING_ALIAS, "cuda.matmul.fp32_precision", \
      "Older words for that node: true is tf32, false is ieee.") \
    X(cudnn_allow_tf32, 33, "cudnn.allow_tf32", BOOL, "true", "", "", BP_SETTING_ALIAS, "cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision", \
      "Older words for both nodes: true is tf32, false is ieee.") \
    X(mkldnn_allow_tf32, 34, "mkldnn.allow_tf32", BOOL, "false", "", "", BP_SETTING_ALIAS | BP_SETTING_POLICY, "mkldnn.fp32_precision", \
      "Older words for that node: true is tf32, false is ieee.") \
    X(simulate_tf32, 35, "simulate.tf32", BOOL, "false", "", "", BP_SETTING_POLICY, "matmul and gemm in f32", \
      "Round inputs to TF32 first (10 bits of fraction, nearest, ties away from zero), as tensor cores are fed.") \
    X(simulate_bf16, 36, "simulate.bf16", BOOL, "false", "", "", BP_SETTING_POLICY, "matmul and gemm in f32", \
      "Round inputs to bfloat16 first (7 bits of fraction, nearest, ties to even); goes before simulate.tf32.")

/* Determinism under PyTorch's names. */
#define BP_SETTINGS_DETERMINISM(X) \
    X(deterministic_algorithms, 37, "deterministic_algorithms", BOOL, "false", "", "", BP_SETTING_POLICY, "all operations", \
      "Ask for the same bits again from the same call with as many threads: deterministic=run, under PyTorch's name.") \
    X(deterministic_algorithms_warn_only, 38, "deterministic_algorithms.warn_only", BOOL, "false", "", "", BP_SETTING_POLICY, "all operations", \
      "Where no candidate keeps deterministic_algorithms, warn and run one that promises nothing.") \
    X(deterministic_debug_mode, 39, "deterministic_debug_mode", ENUM, "default", "default|warn|error", "", BP_SETTING_ALIAS, "deterministic_algorithms, deterministic_algorithms.warn_only", \
      "Both at once: default is off, warn is on and warn_only, error is on alone.") \
    X(fill_uninitialized_memory, 40, "fill_uninitialized_memory", BOOL, "true", "", "", 0, "nothing here: new tensors are always zeros", \
      "In PyTorch, with deterministic_algorithms on: fill new tensors with NaN, the largest integer, or true.")

/* CUDA and ROCm. */
#define BP_SETTINGS_CUDA(X) \
    X(cuda_matmul_allow_fp16_reduced_precision_reduction, 41, "cuda.matmul.allow_fp16_reduced_precision_reduction", BOOL, "true", "", "", 0, "f16 matrix products on CUDA", \
      "Let cuBLAS add partial results in f16.") \
    X(cuda_matmul_allow_fp16_reduced_precision_reduction_split_k, 42, "cuda.matmul.allow_fp16_reduced_precision_reduction_split_k", BOOL, "true", "", "", 0, "f16 matrix products on CUDA", \
      "Let cuBLAS split k where it adds in f16.") \
    X(cuda_matmul_allow_bf16_reduced_precision_reduction, 43, "cuda.matmul.allow_bf16_reduced_precision_reduction", BOOL, "true", "", "", 0, "bf16 matrix products on CUDA", \
      "Let cuBLAS add partial results in bf16.") \
    X(cuda_matmul_allow_bf16_reduced_precision_reduction_split_k, 44, "cuda.matmul.allow_bf16_reduced_precision_reduction_split_k", BOOL, "true", "", "", 0, "bf16 matrix products on CUDA", \
      "Let cuBLAS split k where it adds in bf16.") \
    X(cuda_matmul_allow_fp16_accumulation, 45, "cuda.matmul.allow_fp16_accumulation", BOOL, "false", "", "", 0, "f16 matrix products on CUDA", \
      "Let whole sums be kept in f16.") \
    X(cuda_preferred_linalg_library, 46, "cuda.preferred_linalg_library", ENUM, "default", "default|cusolver|magma", "TORCH_LINALG_PREFER_CUSOLVER=1:cusolver", 0, "linear algebra on CUDA", \
      "Library to use where it can; default leaves the choice to dispatch.") \
    X(cuda_preferred_blas_library, 47, "cuda.preferred_blas_library", ENUM, "default", "default|cublas|cublaslt|ck", "TORCH_BLAS_PREFER_CUBLASLT=1:cublaslt,0:cublas", 0, "matrix products on CUDA", \
      "Library to use where it can; default leaves the choice to dispatch.") \
    X(cuda_preferred_rocm_fa_library, 48, "cuda.preferred_rocm_fa_library", ENUM, "default", "default|aotriton|ck", "TORCH_ROCM_FA_PREFER_CK=1:ck", 0, "attention on ROCm", \
      "Library of flash attention to use where it can.") \
    X(cuda_cublas_workspace_size, 49, "cuda.cublas_workspace_size", INT, "0", "0..1099511627776", "CUBLAS_WORKSPACE_CONFIG=pairs", 0, "matrix products on CUDA", \
      "Bytes of memory for cuBLAS; 0 is what the device is best served with.") \
    X(cuda_cublaslt_workspace_size, 50, "cuda.cublaslt_workspace_size", INT, "0", "0..1099511627776", "CUBLASLT_WORKSPACE_SIZE=KiB", 0, "matrix products on CUDA", \
      "Bytes of memory for cuBLASLt; 0 is what the device is best served with.") \
    X(cuda_flash_sdp, 51, "cuda.flash_sdp", BOOL, "true", "", "", 0, "attention", \
      "Let attention run on the flash kernels.") \
    X(cuda_mem_efficient_sdp, 52, "cuda.mem_efficient_sdp", BOOL, "true", "", "", 0, "attention", \
      "Let attention run on the memory-efficient kernels.") \
    X(cuda_math_sdp, 53, "cuda.math_sdp", BOOL, "true", "", "", 0, "attention", \
      "Let attention run as separate products and a softmax.") \
    X(cuda_cudnn_sdp, 54, "cuda.cudnn_sdp", BOOL, "true", "", "", 0, "attention", \
      "Let attention run on cuDNN.") \
    X(cuda_overrideable_sdp, 55, "cuda.overrideable_sdp", BOOL, "true", "", "", 0, "attention", \
      "Let attention run on kernels that a program brings along.") \
    X(cuda_fp16_bf16_reduction_math_sdp, 56, "cuda.fp16_bf16_reduction_math_sdp", BOOL, "false", "", "", 0, "attention", \
      "Let the separate products of attention in f16 and bf16 add in these types.") \
    X(cuda_sdp_priority, 57, "cuda.sdp_priority", TEXT, "flash,efficient,math,cudnn,overrideable", "flash,efficient,math,cudnn,overrideable", "", 0, "attention", \
      "Kernels of attention in the order in which they are tried.") \
    X(cuda_cufft_plan_cache_max_size, 58, "cuda.cufft_plan_cache.max_size", INT, "4096", "0..4611686018427387904", "", 0, "FFT on CUDA", \
      "Plans of cuFFT kept for each device; 0 keeps none.")

/* Vendors' libraries, and parts of PyTorch that are a backend there. */
#define BP_SETTINGS_VENDOR(X) \
    X(cudnn_enabled, 59, "cudnn.enabled", BOOL, "true", "", "", 0, "operations on cuDNN", \
      "Let dispatch use cuDNN.") \
    X(cudnn_deterministic, 60, "cudnn.deterministic", BOOL, "false", "", "", 0, "operations on cuDNN", \
      "Use algorithms of cuDNN that give the same bits again only.") \
    X(cudnn_benchmark, 61, "cudnn.benchmark", BOOL, "false", "", "", 0, "convolutions on cuDNN", \
      "Measure algorithms at the first call of each shape, and keep the fastest.") \
    X(cudnn_benchmark_limit, 62, "cudnn.benchmark_limit", INT, "10", "0..2147483647", "", 0, "convolutions on cuDNN", \
      "How many algorithms cudnn.benchmark measures; 0 measures all.") \
    X(cudnn_depthwise_kernel, 63, "cudnn.depthwise_kernel", ENUM, "auto", "auto|cudnn|native", "", 0, "depthwise convolutions on CUDA", \
      "Whose kernels run them.") \
    X(fftw_planner, 64, "fftw.planner", ENUM, "auto", "auto|estimate|measure|patient", "", BP_SETTING_POLICY, "FFT on FFTW", \
      "How FFTW finds its plans: by rules, by measuring, by measuring more; auto measures for half a second at most.") \
    X(mkl_enabled, 65, "mkl.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Let dispatch use MKL.") \
    X(openmp_enabled, 66, "openmp.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Let dispatch use libraries whose threads are those of an OpenMP runtime.") \
    X(mkldnn_enabled, 67, "mkldnn.enabled", BOOL, "true", "", "", BP_SETTING_POLICY, "all operations", \
      "Let dispatch use oneDNN.") \
    X(mkldnn_deterministic, 68, "mkldnn.deterministic", BOOL, "false", "", "", 0, "operations on oneDNN", \
      "Use algorithms of oneDNN that give the same bits again only.") \
    X(opt_einsum_enabled, 69, "opt_einsum.enabled", BOOL, "true", "", "", 0, "einsum", \
      "Search for a good order of contractions; false goes from left to right.") \
    X(opt_einsum_strategy, 70, "opt_einsum.strategy", ENUM, "auto", "auto|auto-hq|optimal|dp|dynamic-programming|branch-all|branch-2|branch-1|greedy|eager|opportunistic|random-greedy|random-greedy-N|left-to-right", "", 0, "einsum", \
      "How that order is searched for; random-greedy-N makes N trials, 1000000 at most.") \
    X(mha_fastpath, 71, "mha.fastpath", BOOL, "true", "", "", 0, "attention", \
      "Let a whole attention layer run as one operation.") \
    X(miopen_immediate, 72, "miopen.immediate", BOOL, "false", "", "", 0, "convolutions on ROCm", \
      "Take the algorithm of MIOpen that needs no search.") \
    X(nnpack_enabled, 73, "nnpack.enabled", BOOL, "true", "", "", 0, "convolutions on NNPACK", \
      "Let dispatch use NNPACK.") \
    X(xnnpack_enabled, 74, "xnnpack.enabled", BOOL, "false", "", "", BP_SETTING_READ_ONLY, "operations on XNNPACK", \
      "Whether XNNPACK is used; no version here does.") \
    X(quantized_engine, 75, "quantized.engine", ENUM, "none", "none|fbgemm|qnnpack|onednn|x86", "", 0, "quantised operations", \
      "Library of quantised operations; no version here has them.")

#define BP_SETTINGS_MAP(X) \
    BP_SETTINGS_CORE(X) BP_SETTINGS_PRECISION(X) BP_SETTINGS_DETERMINISM(X) BP_SETTINGS_CUDA(X) BP_SETTINGS_VENDOR(X)
/* clang-format on */

#endif
