/* child.h - runs the probe helper: one process for each library, several at a time, each with limits of time and
 * memory. */
#ifndef BP_REGISTRY_CHILD_H
#define BP_REGISTRY_CHILD_H

#include "registry/scan.h"

/* Probes each file and fills the probed facts, those with `brief` for matrix products only. Failures of a library are
 * reported in the file's outcome and reason. Errors: BP_E_NO_MEMORY. */
bp_status bp__probe(bp__file *const *files, int count);

/* Runs the helper with these arguments (NULL-terminated) and waits until it ends, at most the time given plus 2 s.
 * *report is what it has written until then, in lines; free it. Errors: BP_E_NOT_FOUND (no helper), BP_E_BROKEN (it
 * cannot be started), BP_E_NO_MEMORY. */
bp_status bp__helper_run(const char *const *arguments, int64_t milliseconds, char **report);

/* Returns the helper's path, or NULL if it is missing. */
const char *bp__probe_helper(char *buffer, size_t size);

/* Returns whether libraries are opened with RTLD_DEEPBIND, which depends on the setting and on whether this process has
 * the run-time library of a sanitizer. */
bool bp__deepbind(void);

/* Copies the lines of a complete or truncated report into the facts. `otherwise` tells how the child ended ("hung",
 * "ended early") if the report does not. The bytes may be hostile. Sets facts->momentary if
 * circumstances of the moment may explain the verdict. Returns false if out of memory. */
bool bp__probe_take_report(bp__facts *facts, char *report, const char *otherwise);

/* Returns the mebibytes of memory that a probe may use, from the setting. */
int64_t bp__probe_memory(void);

#endif
