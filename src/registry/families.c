/* families.c - defines the entries of the family table; see families.h. */
#include "registry/families.h"

#include <string.h>

const char *const bp__affix_prefixes[] = {"", "scipy_", NULL};
const char *const bp__affix_fortran[] = {"_", "", "64_", "_64_", "_64", "64", "__", NULL};
const char *const bp__affix_c[] = {"", "64_", "_64", "64", "_64_", NULL};

/* FFTW has a library for each precision, and another file with its threads. */
#define FFTW(stem, debian)                                                                                             \
    {.name = "fftw",                                                                                                   \
     .id = stem,                                                                                                       \
     .markers = stem "_execute",                                                                                       \
     .kinds = BP_LIB_FFT,                                                                                              \
     .version = BP__ANSWER_DATA_WORD,                                                                                  \
     .version_symbol = stem "_version",                                                                                \
     .thread_scope = "process",                                                                                        \
     .package = debian " (Debian), fftw (Fedora, conda)"},                                                             \
    {                                                                                                                  \
        .name = "fftw", .id = stem "-threads", .markers = stem "_init_threads", .kinds = BP_LIB_FFT,                   \
        .thread_scope = "process", .package = debian " (Debian), fftw (Fedora, conda)"                                 \
    }

/* Omitted fields are 0 and NULL: none. */
const bp__family bp__families[] = {
    {.name = "openblas",
     .id = "openblas",
     .markers = "openblas_get_config openblas_get_corename",
     .version = BP__ANSWER_SECOND_WORD,
     .version_symbol = "openblas_get_config",
     .kernels = BP__ANSWER_TEXT,
     .kernels_symbol = "openblas_get_corename",
     .parallel_symbol = "openblas_get_parallel",
     .thread_setter = "openblas_set_num_threads",
     .thread_getter = "openblas_get_num_threads",
     .thread_scope = "process",
     .package = "libopenblas0-pthread or libopenblas0-openmp (Debian), openblas (Fedora, conda)"},
    {.name = "mkl",
     .id = "mkl",
     .markers = "blas+MKL_Set_Interface_Layer blas+MKL_Set_Threading_Layer",
     .kinds = BP_LIB_FFT,
     .flags = BP__FAMILY_PARTS,
     .version = BP__ANSWER_MKL_STRUCT,
     .version_symbol = "MKL_Get_Version",
     .kernels = BP__ANSWER_MKL_BRANCH,
     .kernels_symbol = "MKL_CBWR_Get_Auto_Branch",
     .thread_scope = "thread",
     .package = "intel-mkl (Debian non-free), mkl (PyPI, conda)"},
    {.name = "mkl", .id = "mkl", .markers = "blas+MKL_Get_Version", .flags = BP__FAMILY_LAYER},
    {.name = "blis",
     .id = "blis",
     .markers = "bli_info_get_version_str bli_arch_query_id blas+text:BLIS_ARCH_TYPE",
     .version = BP__ANSWER_TEXT,
     .version_symbol = "bli_info_get_version_str",
     .kernels = BP__ANSWER_BLIS_ARCH,
     .kernels_symbol = "bli_arch_query_id",
     .thread_setter = "bli_thread_set_num_threads",
     .thread_getter = "bli_thread_get_num_threads",
     .thread_scope = "unknown",
     .package = "libblis4-openmp or libblis4-pthread (Debian), blis (Fedora, conda)"},
    {.name = "nvpl",
     .id = "nvpl",
     .markers = "nvpl_blas_get_version",
     .flags = BP__FAMILY_PARTS,
     .version = BP__ANSWER_NUMBER,
     .version_symbol = "nvpl_blas_get_version",
     .thread_scope = "thread",
     .package = "nvpl-blas (NVIDIA's repository), nvpl-blas (PyPI)"},
    {.name = "armpl",
     .id = "armpl",
     .markers = "armplversion blas+armpl_get_num_threads",
     .version = BP__ANSWER_INTS_TAG,
     .version_symbol = "armplversion",
     .thread_scope = "unknown",
     .package = "arm-performance-libraries (Arm's repository)"},
    {.name = "flexiblas",
     .id = "flexiblas",
     .markers = "flexiblas_get_version flexiblas_current_backend",
     .flags = BP__FAMILY_FORWARDS,
     .version = BP__ANSWER_INTS,
     .version_symbol = "flexiblas_get_version",
     .thread_scope = "process",
     .package = "libflexiblas3 (Debian), flexiblas (Fedora)"},
    {.name = "libblastrampoline",
     .id = "libblastrampoline",
     .markers = "lbt_forward+lbt_get_config",
     .flags = BP__FAMILY_FORWARDS | BP__FAMILY_QUIET,
     .thread_scope = "process",
     .package = "libblastrampoline5 (Debian), libblastrampoline (Fedora)"},
    {.name = "atlas",
     .id = "atlas",
     .markers = "ATL_buildinfo ATL_dgemm blas+ATL_xerbla blas+text:ATL_dgemm",
     .thread_scope = "none",
     .package = "libatlas3-base (Debian 12 and older)"},
    {.name = "essl", .id = "essl", .markers = "iessl", .thread_scope = "unknown", .package = "IBM ESSL"},
    {.name = "nvblas",
     .id = "nvblas",
     .markers = "blas+needed:libcublas.so",
     .kinds = BP_LIB_GPU,
     .flags = BP__FAMILY_GPU | BP__FAMILY_QUIET | BP__FAMILY_NAMED,
     .package = "libnvblas12 (Debian non-free)"},
    {.name = "netlib",
     .id = "netlib",
     .markers = "blas+RowMajorStrg+small blas+lsame_+xerbla_array_+small lapack+not:dgemm_+ilaver_ "
                "LAPACKE_dpotrf+not:dgemm_+not:dpotrf_",
     .flags = BP__FAMILY_NAMED,
     .thread_scope = "none",
     .package = "libblas3 and liblapack3 (Debian), blas and lapack (Fedora), libblas=*=*netlib (conda)"},
    {.name = "cublas",
     .id = "cublas",
     .markers = "cublasDgemm_v2+cublasGetVersion_v2",
     .kinds = BP_LIB_GPU,
     .flags = BP__FAMILY_GPU | BP__FAMILY_HEAVY | BP__FAMILY_NAMED,
     .version = BP__ANSWER_NUMBER_HANDLE_OUT,
     .version_symbol = "cublasGetVersion_v2",
     .package = "libcublas12 (Debian non-free), nvidia-cublas-cu12 (PyPI)"},
    {.name = "cublas",
     .id = "cublaslt",
     .markers = "cublasLtGetVersion",
     .kinds = BP_LIB_GPU,
     .flags = BP__FAMILY_GPU | BP__FAMILY_HEAVY | BP__FAMILY_NAMED,
     .version = BP__ANSWER_NUMBER,
     .version_symbol = "cublasLtGetVersion",
     .package = "libcublaslt12 (Debian non-free), nvidia-cublas-cu12 (PyPI)"},
    {.name = "cufft",
     .id = "cufftw",
     .markers = "fftw_execute+needed:libcufft.so",
     .kinds = BP_LIB_FFT | BP_LIB_GPU,
     .flags = BP__FAMILY_GPU | BP__FAMILY_QUIET | BP__FAMILY_NAMED,
     .package = "libcufftw11 (Debian non-free)"},
    FFTW("fftw", "libfftw3-double3"),
    FFTW("fftwf", "libfftw3-single3"),
    FFTW("fftwl", "libfftw3-long3"),
    FFTW("fftwq", "libfftw3-quad3"),
    {.name = "cufft",
     .id = "cufft",
     .markers = "cufftGetVersion",
     .kinds = BP_LIB_FFT | BP_LIB_GPU,
     .flags = BP__FAMILY_GPU | BP__FAMILY_HEAVY | BP__FAMILY_NAMED,
     .version = BP__ANSWER_NUMBER_OUT,
     .version_symbol = "cufftGetVersion",
     .package = "libcufft11 (Debian non-free), nvidia-cufft-cu12 (PyPI)"},
    {.name = "onednn",
     .id = "onednn",
     .markers = "dnnl_version",
     .kinds = BP_LIB_DNN,
     .version = BP__ANSWER_DNNL_STRUCT,
     .version_symbol = "dnnl_version",
     .thread_scope = "unknown",
     .package = "libdnnl2 or libdnnl3 (Debian), onednn (conda), onednn-cpu-gomp (PyPI)"},
    {.name = "cudnn",
     .id = "cudnn",
     .markers = "cudnnGetVersion+soname:libcudnn.so",
     .kinds = BP_LIB_DNN | BP_LIB_GPU,
     .flags = BP__FAMILY_GPU,
     .version = BP__ANSWER_NUMBER,
     .version_symbol = "cudnnGetVersion",
     .package = "nvidia-cudnn (Debian non-free), nvidia-cudnn-cu12 (PyPI)"},
    {.name = "libgomp",
     .id = "libgomp",
     .markers = "GOMP_parallel+omp_get_num_threads+not:__kmpc_fork_call",
     .kinds = BP_LIB_OPENMP,
     .flags = BP__FAMILY_QUIET,
     .thread_scope = "thread",
     .package = "libgomp1 (Debian), libgomp (Fedora, conda)"},
    {.name = "libiomp5",
     .id = "libiomp5",
     .markers = "__kmpc_fork_call+__kmp_omp_debug_struct_info __kmpc_fork_call+soname:libiomp5",
     .kinds = BP_LIB_OPENMP,
     .flags = BP__FAMILY_QUIET,
     .thread_scope = "thread",
     .package = "intel-openmp (PyPI, conda)"},
    {.name = "libomp",
     .id = "libomp",
     .markers = "__kmpc_fork_call",
     .kinds = BP_LIB_OPENMP,
     .flags = BP__FAMILY_QUIET,
     .thread_scope = "thread",
     .package = "libomp5 (Debian), libomp (Fedora), llvm-openmp (conda)"},
    {.name = "unknown",
     .id = "blas",
     .markers = "blas lapack",
     .thread_scope = "unknown",
     .package = "libopenblas0 (Debian)"},
};

const int bp__family_count = (int)(sizeof bp__families / sizeof bp__families[0]);

const bp__family *bp__family_with_id(const char *id) {
    for (int i = 0; i < bp__family_count; i++) {
        if (strcmp(bp__families[i].id, id) == 0) {
            return &bp__families[i];
        }
    }
    return &bp__families[bp__family_count - 1];
}
