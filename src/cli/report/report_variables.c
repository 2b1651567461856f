/* report_variables.c - reports the variables that libraries, runtimes and the loader read.
 *
 * Only variables that are known by their whole name are shown. A name that merely begins as theirs may be anybody's,
 * and its value may be a secret: a report is sent to others.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *const known[] = {
    "LD_AUDIT",
    "LD_BIND_NOW",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "R_HOME",
    "JULIA_NUM_THREADS",
    /* drop-in libraries and `launch`; the table has the variables of settings */
    "BACKPLANE_SETTINGS_FILE",
    "BACKPLANE_DROPIN_LIBRARY",
    "BACKPLANE_DROPIN_ONLY",
    "BACKPLANE_DROPIN_EXCLUDE",
    "BACKPLANE_DROPIN_SMALL",
    "BACKPLANE_DROPIN_OBSERVE",
    "BACKPLANE_DROPIN_RECORD",
    "BACKPLANE_DROPIN_COMPLEX_RETURN",
    "BACKPLANE_LAUNCH_LIBRARY",
    "BACKPLANE_LAUNCH_ONLY",
    "BACKPLANE_LAUNCH_EXCLUDE",
    "BACKPLANE_LAUNCH_SMALL",
    "BACKPLANE_LAUNCH_FAULTS",
    "BACKPLANE_LAUNCH_OBSERVE",
    "BACKPLANE_LAUNCH_RECORD",
    "BACKPLANE_LAUNCH_COMPLEX_RETURN",
    /* OpenBLAS, GotoBLAS, BLIS, Arm Performance Libraries */
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_MAIN_FREE",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_DEFAULT_NUM_THREADS",
    "OPENBLAS_THREAD_TIMEOUT",
    "OPENBLAS_VERBOSE",
    "GOTO_NUM_THREADS",
    "GOTOBLAS_MAIN_FREE",
    "BLIS_ARCH_DEBUG",
    "BLIS_ARCH_TYPE",
    "BLIS_IC_NT",
    "BLIS_IR_NT",
    "BLIS_JC_NT",
    "BLIS_JR_NT",
    "BLIS_MODEL_TYPE",
    "BLIS_NUM_THREADS",
    "BLIS_PC_NT",
    "BLIS_THREAD_IMPL",
    "ARMPL_CORE_TYPE",
    "ARMPL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    /* MKL */
    "MKLROOT",
    "MKL_BLAS_NUM_THREADS",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_DISABLE_FAST_MM",
    "MKL_DOMAIN_NUM_THREADS",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_FAST_MEMORY_LIMIT",
    "MKL_INTERFACE_LAYER",
    "MKL_NUM_STRIPES",
    "MKL_NUM_THREADS",
    "MKL_THREADING_LAYER",
    "MKL_VERBOSE",
    "MKL_VERBOSE_OUTPUT_FILE",
    /* OpenMP, and its runtimes of GNU and LLVM */
    "OMP_CANCELLATION",
    "OMP_DISPLAY_AFFINITY",
    "OMP_DISPLAY_ENV",
    "OMP_DYNAMIC",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_NESTED",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "OMP_STACKSIZE",
    "OMP_TARGET_OFFLOAD",
    "OMP_THREAD_LIMIT",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "GOMP_DEBUG",
    "GOMP_SPINCOUNT",
    "GOMP_STACKSIZE",
    "KMP_AFFINITY",
    "KMP_ALL_THREADS",
    "KMP_BLOCKTIME",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_HW_SUBSET",
    "KMP_INIT_AT_FORK",
    "KMP_LIBRARY",
    "KMP_SETTINGS",
    "KMP_STACKSIZE",
    "KMP_TOPOLOGY_METHOD",
    "KMP_WARNINGS",
    "KMP_FORKJOIN_BARRIER",
    /* oneDNN, PyTorch, libxsmm, FlexiBLAS, libblastrampoline */
    "DNNL_CPU_ISA_HINTS",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "DNNL_PRIMITIVE_CACHE_CAPACITY",
    "DNNL_VERBOSE",
    "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
    "ONEDNN_VERBOSE",
    "ATEN_CPU_CAPABILITY",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCH_LINALG_PREFER_CUSOLVER",
    "TORCH_NUM_THREADS",
    "LIBXSMM_TARGET",
    "LIBXSMM_VERBOSE",
    "FLEXIBLAS",
    "FLEXIBLAS_CONFIG",
    "FLEXIBLAS_HOOK",
    "FLEXIBLAS_VERBOSE",
    "LBT_DEFAULT_LIBS",
    "LBT_FORCE_INTERFACE",
    "LBT_FORCE_RETSTYLE",
    "LBT_STRICT",
    "LBT_USE_RTLD_DEEPBIND",
    "LBT_VERBOSE",
    /* OpenCL, CUDA, ROCm */
    "OCL_ICD_DEBUG",
    "OCL_ICD_FILENAMES",
    "OCL_ICD_VENDORS",
    "OPENCL_VENDOR_PATH",
    "POCL_AFFINITY",
    "POCL_CACHE_DIR",
    "POCL_CPU_MAX_CU_COUNT",
    "POCL_DEBUG",
    "POCL_DEVICES",
    "POCL_KERNEL_CACHE",
    "POCL_MAX_PTHREAD_COUNT",
    "POCL_MEMORY_LIMIT",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_PATH",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
};

static bool is_of_setting(const char *name) {
    const bp_setting_info *info;
    for (int i = 0; (info = bp_setting_listed_at(i)) != NULL; i++) {
        if (strcmp(info->environment, name) == 0 || (info->alias[0] && strcmp(info->alias, name) == 0)) {
            return true;
        }
    }
    return false;
}

static bool is_known(const char *line) {
    char *name = cli_format("%.*s", (int)strcspn(line, "="), line);
    bool found = is_of_setting(name);
    for (size_t i = 0; i < sizeof known / sizeof known[0] && !found; i++) {
        found = strcmp(known[i], name) == 0;
    }
    free(name);
    return found;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the known variables in the order of their names; free() it. */
static char **known_lines(int *found) {
    int count = 0;
    while (environ && environ[count]) {
        count++;
    }
    char **lines = cli_allocate((size_t)(count + 1) * sizeof *lines);
    *found = 0;
    for (int i = 0; i < count; i++) {
        if (is_known(environ[i])) {
            lines[(*found)++] = environ[i];
        }
    }
    qsort(lines, (size_t)*found, sizeof *lines, by_text);
    return lines;
}

void report_environment(report *r) {
    int found;
    char **lines = known_lines(&found);
    report_begin(r, "environment", "Variables", "NAME|VALUE", "none is set");
    for (int i = 0; i < found; i++) {
        const size_t name = strcspn(lines[i], "=");
        report_cell(r, "%.*s", (int)name, lines[i]);
        report_cell(r, "%s", lines[i][name] ? lines[i] + name + 1 : "");
    }
    free(lines);
}
