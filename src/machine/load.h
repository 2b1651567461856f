/* load.h - measures how many processors other processes keep busy, in functions that tests call with the files of
 * another machine and with times of their own. machine/internal.h has what the rest of the library calls. */
#ifndef BP_MACHINE_LOAD_H
#define BP_MACHINE_LOAD_H

#include "base/base.h"

#include <sched.h>

/* Times in nanoseconds. */
typedef struct bp__cpu_times {
    int64_t at;   /* of the monotonic clock; 0: nothing was read */
    int64_t busy; /* in which one of the processors was busy, added up over them */
    int64_t own;  /* that this process computed */
} bp__cpu_times;

/* What a reading needs. Readings allocate nothing. */
typedef struct bp__cpu_reader {
    cpu_set_t *set; /* the processors; NULL: not made */
    size_t set_size;
    char *text;
    size_t text_size;
} bp__cpu_reader;

/* Takes the processors of the calling thread's affinity mask. Returns false if memory is short. */
bool bp__cpu_reader_make(bp__cpu_reader *reader);
void bp__cpu_reader_free(bp__cpu_reader *reader);

/* Reads the times of the processors from root/proc/stat. Returns false if it cannot. */
bool bp__cpu_times_read(bp__cpu_times *times, const bp__cpu_reader *reader, const char *root);

typedef struct bp__load {
    bp__cpu_times last;
    double others; /* processors that other processes kept busy between the last two readings */
    int limit;     /* threads that a call uses at most; 0: as many as there are processors */
    bool again;    /* the last reading asked for a lower limit, too */
} bp__load;

/* Takes the next reading into account. `processors` is the number in the set, `usable` the number that a call uses
 * without a limit. */
void bp__load_add(bp__load *load, const bp__cpu_times *now, int processors, int usable);

#endif
