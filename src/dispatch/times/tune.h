/* tune.h - declares measured times of problem classes: records, quarantine, and when a class is measured.
 *
 * A problem class is a problem with every constraint of the policy, on this machine. Its record has the time of each
 * candidate that was measured, and names every candidate that accepted the problem. A record is used only if the same
 * candidates accept it today, from the same files.
 */
#ifndef BP_DISPATCH_TUNE_H
#define BP_DISPATCH_TUNE_H

#include "dispatch/internal.h"
#include "store/store.h"

/* bp_policy.benchmark: a mode, plus BP__BENCHMARK_MODES times the maximum number of candidates that are measured. */
enum { BP__BENCHMARK_OFF, BP__BENCHMARK_AUTO, BP__BENCHMARK_NOW, BP__BENCHMARK_MODES };
enum { BP__BENCHMARK_ALL = UINT8_MAX / BP__BENCHMARK_MODES - 1 }; /* this number means all candidates */
int bp__benchmark_mode(const bp_policy *policy);                  /* policy.c */
int bp__benchmark_limit(const bp_policy *policy);                 /* likewise */

/* Values of bp_policy.tuning: which stored times are used. */
enum { BP__TUNING_OFF, BP__TUNING_USED, BP__TUNING_FROZEN };

/* ---- Names (tune_key.c) ---- */
/* Writes the key of the class: the problem as text, the constraints, and hashes of the machine and of the problem's
 * bytes. */
void bp__tune_key(bp__text *key, const bp_problem *asked);
/* Writes LIBRARY:PROVIDER:ALGORITHM@BUILD/KERNELS. */
void bp__tune_name(bp__text *name, const bp__offer *offer);

/* ---- Records (tune_records.c) ---- */
/* Finds the record of a class. If `frozen` is true, only a file named by tuning.store_path counts. */
bool bp__tune_find(const char *key, bool frozen, bp__text *value, int64_t *written_s);
/* Keeps a record for this process and, unless tuning.store or tuning.store_path forbids it, for others. */
void bp__tune_keep(const char *key, const char *value);
bool bp__tune_any(void); /* whether there is any record */
/* Forgets the records of this process, and reads the file again when it is next needed. */
void bp__tune_forget(void);
/* Reads the file again, because another process may have measured the class meanwhile. */
void bp__tune_refresh(void);
/* Visits the records, this process's first; bp__tune_version() changes when they do. The caller holds
 * bp__tune_mutex. */
void bp__tune_visit(bool (*visit)(void *user, const bp__store_record *record), void *user);
uint64_t bp__tune_version(void);
void bp__neighbours_forget(void);                   /* tune_neighbours.c: frees its index of the records, likewise */
const char *bp__tune_file(char *path, size_t size); /* where records are read from; "" if there is no such place */

/* ---- Quarantine (quarantine.c) ---- */
/* Returns whether a line of the file names the offer for the operation; writes the reason. */
bool bp__quarantined(const bp__offer *offer, bp_op op, char *why, size_t size);
void bp__quarantine_add(const bp__offer *offer, bp_op op, const char *why);
void bp__quarantine_refresh(void); /* reads the file again */
void bp__quarantine_reset(void);

/* ---- Measuring (tune.c) ---- */
/* Refuses quarantined offers, and ranks the others by measured times if the class has a record. Measures the class
 * first if benchmark and tuning.start=now ask for it. */
void bp__tune_choice(bp__choice *choice);
typedef enum bp__tune_result {
    BP__TUNE_NONE,   /* the class has no record */
    BP__TUNE_RANKED, /* it has one now */
    BP__TUNE_BUSY    /* another thread measures something */
} bp__tune_result;
/* Measures the class of a problem, at the addresses of a call (may be NULL), unless it has a record. Does not wait. */
bp__tune_result bp__tune_problem(const bp_problem *problem, const bp_operand *addresses);
bool bp__tune_uses(const bp_policy *policy); /* whether measured times, or measuring, may rank the offers */
/* Returns what measuring the choice is expected to take, in ns; 0 if there is nothing to measure. */
double bp__tune_cost(const bp__choice *choice);
/* Writes "3 hours ago". */
const char *bp__tune_age(int64_t written_s, char *buffer, size_t size);
int64_t bp__tune_spent_ns(void); /* by this process so far */
int64_t bp__tune_measured(void); /* number of classes that it has measured */
void bp__tune_reset(void);
void bp__tune_forked(void); /* in a child of fork */

/* ---- Texts of libraries (library_texts.c): see bp_host ---- */
char *bp__library_recall(const bp_library_info *library, const char *name);
void bp__library_remember(const bp_library_info *library, const char *name, bp_op op, const char *text);
uint64_t bp__tune_machine(void); /* hash of the machine and of what changes speed on it (tune_key.c) */
int bp__policy_benchmark(const bp__family *family); /* the mode under the settings in force; policy.c */

extern pthread_mutex_t bp__tune_mutex;

#endif
