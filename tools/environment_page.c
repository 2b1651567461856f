/* environment_page.c - prints docs/reference/environment.md: the environment variables that Backplane reads, from the
 * table of settings and from lists of other software's variables. */
#include <backplane.h>

#include <stdio.h>

static const char *const intro =
    "# Environment variables\n"
    "\n"
    "<!-- Made from include/backplane/settings_table.h by tools/environment_page.c; change it there. -->\n"
    "\n"
    "The library reads the variables below and no others. An empty variable counts as unset. Programs that run with "
    "another user's rights (set-uid) "
    "read none.\n"
    "\n"
    "## Settings\n"
    "\n"
    "Each [setting](settings.md) has a variable: `BACKPLANE_` and its name in capitals, with underscores in place of "
    "dots. The second variable is read if "
    "the first one is\n"
    "unset. A bad value is ignored; `bp_config_error_at()` and `backplane doctor` report it.\n"
    "\n"
    "`BACKPLANE_SETTINGS_FILE` is the absolute path of one more [file of settings](settings.md#layers). It overrides "
    "the "
    "user file, and the variables of single settings override it.\n"
    "\n"
    "| variable | or | setting |\n"
    "|---|---|---|\n";

static const char *const others =
    "\n"
    "## Thread limits of other software\n"
    "\n"
    "`OMP_NUM_THREADS`, `OMP_THREAD_LIMIT`, `OPENBLAS_NUM_THREADS`, `GOTO_NUM_THREADS`, `MKL_NUM_THREADS` and "
    "`BLIS_NUM_THREADS`: the smallest number "
    "is the default of\n"
    "`num_threads`, for every library. See [limit threads](../how-to/limit-threads.md).\n"
    "\n"
    "## Where libraries and files are\n"
    "\n"
    "| variable | use |\n"
    "|---|---|\n"
    "| `LD_LIBRARY_PATH` | search location of libraries |\n"
    "| `VIRTUAL_ENV`, `CONDA_PREFIX` | search locations: `lib` and the wheels of the environment |\n"
    "| `BACKPLANE_PYTHON_PATH` | search locations after these: colon-separated roots of Python environmen"
    "ts, searched in the same way, and folders whose name ends with `-packages`. The Python package sets "
    "it when it is imported: `sys.prefix`, `sys.base_prefix`, and the folders of installed packages outsi"
    "de of both. Programs that the process starts inherit it |\n"
    "| `XDG_CONFIG_HOME`, `HOME` | folder of the user's configuration file |\n"
    "| `XDG_CACHE_HOME`, `HOME` | folder of the probe cache |\n"
    "\n"
    "## Variables that select a library's kernels\n"
    "\n"
    "They are part of the key of the probe cache, because a library may run other code under another value: "
    "`OPENBLAS_CORETYPE`, `BLIS_ARCH_TYPE`, "
    "`MKL_ENABLE_INSTRUCTIONS`,\n"
    "`MKL_THREADING_LAYER`, `MKL_INTERFACE_LAYER`, `MKL_CBWR`, `MKL_DEBUG_CPU_TYPE`, `FLEXIBLAS`, "
    "`ONEDNN_MAX_CPU_ISA`, `DNNL_MAX_CPU_ISA`, "
    "`ARMPL_CORE_TYPE`, `LIBXSMM_TARGET`, `LD_LIBRARY_PATH`,\n"
    "`LD_PRELOAD` (without the libraries of `backplane launch`), `GLIBC_TUNABLES`. `backplane doctor` warns if one of "
    "them selects slower kernels.\n"
    "\n"
    "`MKL_VERBOSE`, `ONEDNN_VERBOSE` and `DNNL_VERBOSE` give the level to which a verbose scope returns.\n"
    "\n"
    "## Several machines\n"
    "\n"
    "`OMPI_COMM_WORLD_SIZE`, `PMI_SIZE` and `SLURM_STEP_NUM_TASKS` tell the launcher of an MPI program and its number of "
    "processes. `backplane run -n` sets "
    "`BACKPLANE_RANK_RECORDS`, a folder with a file for each rank that has opened a communicator.\n"
    "\n"
    "## The command\n"
    "\n"
    "`NO_COLOR` and `TERM=dumb` switch colours off. `COLUMNS` is the width of the output in a pipe. `backplane doctor` "
    "also reports on variables of OpenMP runtimes "
    "and math libraries.\n"
    "\n"
    "## Drop-in libraries\n"
    "\n"
    "`libbackplane_blas.so`, `libbackplane_lapack.so` and `libbackplane_fftw3.so` read these at their first call or, "
    "if "
    "they [open a library then](../how-to/drop-in.md#programs-that-give-up-rights), when the program starts; see "
    "[drop-in libraries](../how-to/drop-in.md).\n"
    "\n"
    "| variable | use |\n"
    "|---|---|\n"
    "| `BACKPLANE_DROPIN_LIBRARY` | all calls go to this library: id, family, SONAME or path |\n"
    "| `BACKPLANE_DROPIN_SMALL` | products with fewer multiplications go to the library directly (262144; a quarter of "
    "it for products with a vector) |\n"
    "| `BACKPLANE_DROPIN_ONLY`, `BACKPLANE_DROPIN_EXCLUDE` | lists of routines or families whose large products "
    "Backplane "
    "runs, or does not run |\n"
    "| `BACKPLANE_DROPIN_OBSERVE` | `1`: no product is run by Backplane |\n"
    "| `BACKPLANE_DROPIN_RECORD` | calls are recorded |\n"
    "| `BACKPLANE_DROPIN_OPEN` | `start`: the library is opened when the program starts; `call`: at the first call; "
    "unset: `start` in processes that [may give up rights](../how-to/drop-in.md#programs-that-give-up-rights) |\n"
    "| `BACKPLANE_DROPIN_COMPLEX_RETURN` | `argument`: the program passes an address for the result of a complex "
    "function, as f2c and Intel Fortran do |\n"
    "\n"
    "## The launcher\n"
    "\n"
    "`python -m backplane.backends.xeon.run_cpu` reads and sets more: see [run "
    "instances](../how-to/run-instances.md#environment).\n";

int main(void) {
    fputs(intro, stdout);
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const bp_setting_info *row = bp_setting_at(i);
        if (row && *row->environment) {
            printf("| `%s` | ", row->environment);
            if (*row->alias) {
                printf("`%s` ", row->alias);
            }
            printf("| `%s` |\n", row->name);
        }
    }
    fputs(others, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
