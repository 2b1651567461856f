/* child.h - running the probe helper: one per library, several at a time, each with limits of time and
 * memory. */
#ifndef BP_REGISTRY_CHILD_H
#define BP_REGISTRY_CHILD_H

#include "registry/scan.h"

/* Probes each file and fills the probed facts; what goes wrong is in a file's outcome and reason. BP_E_NO_MEMORY. */
bp_status bp__probe(bp__file *const *files, int count);

/* The helper's path, or NULL when it is not where it should be. */
const char *bp__probe_helper(char *buffer, size_t size);

/* Whether libraries are opened with RTLD_DEEPBIND, by the setting and by how this library was compiled. */
bool bp__deepbind(void);

/* Takes the lines of a finished or cut-short report into the facts. `otherwise` says how the child ended ("hung",
 * "ended early") if the report does not. The bytes may be hostile. false when out of memory. */
bool bp__probe_take_report(bp__facts *facts, char *report, const char *otherwise);

/* Mebibytes of memory that a probe may use, by the setting; 0 for any, as sanitizers need. */
int64_t bp__probe_memory(void);

#endif
