/* settings_table.h - THE table of settings. Everything that knows a setting is made from these rows: the C accessors,
 * bp_get/bp_set, files, environment, the command line and docs/settings.md (regenerated and compared by a test).
 *
 * X(identifier, "name", TYPE, "default", "allowed", "environment alias", flags, "what it affects", "help")
 */
#ifndef BACKPLANE_SETTINGS_TABLE_H
#define BACKPLANE_SETTINGS_TABLE_H

/* clang-format off */
#define BP_SETTINGS_MAP(X)                                                                                              \
    X(num_threads, "num_threads", INT, "0", "0..1024", "", BP_SETTING_POLICY, "all operations",                         \
      "Threads that one call may use; 0 means every core this process may run on.")                                     \
    X(deterministic, "deterministic", WORD, "off", "off|run|threads", "", BP_SETTING_POLICY, "all operations",          \
      "Refuse candidates that do not promise the same bits: run = again with as many threads, threads = with any number.") \
    X(blas_preferred, "blas.preferred", TEXT, "", "", "", BP_SETTING_POLICY, "matmul, gemm",                            \
      "Library to use where it can: an id from `backplane list` (openblas, mkl, blis, netlib, native, ...) or a path.")  \
    X(dispatch_exclude, "dispatch.exclude", TEXT, "", "", "", BP_SETTING_POLICY, "all operations",                      \
      "Comma-separated ids or families that must not run (quote the list inside a scope's text).")                      \
    X(dispatch_fallback, "dispatch.fallback", WORD, "warn", "strict|warn|allow", "", BP_SETTING_POLICY, "all operations", \
      "When the preferred library cannot run a call: fail, run another and warn once per reason, or run another silently.") \
    X(cpu_capability, "cpu.capability", WORD, "auto", "auto|default|avx2|avx512|vsx|zvector|sve256",                     \
      "ATEN_CPU_CAPABILITY", BP_SETTING_POLICY, "native",                                                              \
      "Highest instruction set that our own kernels use; checked against the hardware.")                                \
    X(plan_cache_max_size, "plan_cache.max_size", INT, "1024", "0..1048576", "", 0, "all operations",                   \
      "Plans kept for the whole process, least recently used thrown away first; 0 keeps none.")                         \
    X(registry_library_path, "registry.library_path", TEXT, "", "", "BACKPLANE_LIBRARY_PATH", BP_SETTING_STARTUP,        \
      "discovery", "Colon-separated folders or files searched for libraries before all others.")                        \
    X(registry_provider_path, "registry.provider_path", TEXT, "", "", "BACKPLANE_PROVIDER_PATH", BP_SETTING_STARTUP,     \
      "discovery", "Colon-separated folders searched for provider modules after the installed ones.")                   \
    X(registry_system, "registry.system", BOOL, "true", "", "", BP_SETTING_STARTUP, "discovery",                        \
      "Search the loader cache, the system's folders, virtual environment and conda prefix; false: only library_path.") \
    X(registry_cache, "registry.cache", WORD, "read-write", "off|read-only|read-write", "", BP_SETTING_STARTUP, "discovery", \
      "What is done with the stored probe results of libraries seen before.")                                           \
    X(registry_cache_dir, "registry.cache_dir", TEXT, "", "", "BACKPLANE_CACHE_DIR", BP_SETTING_STARTUP, "discovery",    \
      "Folder of stored probe results; empty: $XDG_CACHE_HOME/backplane or ~/.cache/backplane.")                        \
    X(registry_probe_timeout, "registry.probe_timeout", INT, "5000", "100..600000", "", BP_SETTING_STARTUP, "discovery", \
      "Milliseconds that the probe of one library may take before it is ended.")                                        \
    X(registry_deepbind, "registry.deepbind", WORD, "auto", "auto|on|off", "", BP_SETTING_STARTUP, "loading",            \
      "Bind a library's own symbols first (RTLD_DEEPBIND); auto: on, but off under a sanitizer.")                       \
    X(verbose, "verbose", INT, "0", "0..2", "", BP_SETTING_POLICY, "all operations",                                                    \
      "1: one comma-separated line per call on standard error; 2: also each new plan's candidates.")                    \
    X(trace, "trace", TEXT, "", "", "", BP_SETTING_STARTUP, "all operations",                                           \
      "File that receives every call as a Chrome/Perfetto trace (JSON).")
/* clang-format on */

#endif
