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
    "`LD_PRELOAD`, `GLIBC_TUNABLES`. `backplane doctor` warns if one of them selects slower kernels.\n"
    "\n"
    "`MKL_VERBOSE`, `ONEDNN_VERBOSE` and `DNNL_VERBOSE` give the level to which a verbose scope returns.\n"
    "\n"
    "## The command\n"
    "\n"
    "`NO_COLOR` and `TERM=dumb` switch colours off. `COLUMNS` is the width of the output in a pipe. `backplane doctor` "
    "also reports on variables of OpenMP runtimes "
    "and math libraries.\n"
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
