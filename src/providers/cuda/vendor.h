/* vendor.h - declares what the providers of NVIDIA's libraries share: opening a library, what it has for each device,
 * its statuses, and a run on a queue. A provider describes its library once, and its instance begins with
 * bp__cu_vendor. */
#ifndef BP_PROVIDERS_CUDA_VENDOR_H
#define BP_PROVIDERS_CUDA_VENDOR_H

#include "providers/cuda/runtime.h"

#include <stdio.h>

typedef struct bp__cu_vendor bp__cu_vendor;

/* What an instance has for a device, until it closes. A provider's own struct begins with it. */
typedef struct bp__cu_part {
    struct bp__cu_part *next;
    bp__cu_device *device;
    uint32_t process; /* number of forks when it was made */
} bp__cu_part;

/* A function of the library: its name, and where its address is stored, from the beginning of the instance on. */
typedef struct bp__cu_function {
    const char *symbol;
    size_t at;
} bp__cu_function;

/* A status of the library that is treated apart. */
typedef struct bp__cu_status {
    unsigned number;
    const char *name;
    bp_status means;
} bp__cu_status;

typedef struct bp__cu_vendor_kind {
    const char *provider;             /* "cublas" */
    const char *release;              /* "a library of CUDA 12 or 13", which messages name */
    int least, most;                  /* major versions of the library */
    const bp__cu_function *functions; /* ends with a symbol that is NULL */
    const bp__cu_status *statuses;    /* ends with a name that is NULL; number 0 is success */
    size_t part_size;
    /* Makes and ends what the instance has for a device, whose context is current. begin() fails with a message. */
    bp_status (*begin)(bp__cu_vendor *instance, bp__cu_part *part);
    void (*end)(bp__cu_vendor *instance, bp__cu_part *part);
} bp__cu_vendor_kind;

struct bp__cu_vendor {
    const bp__cu_vendor_kind *kind;
    const bp_host *host;
    const bp_library_info *library;
    int version;           /* 1000 times the major number plus the minor one; 0: unknown */
    pthread_mutex_t mutex; /* guards what follows */
    bool loaded;
    bp__cu_part *parts;
};

/* Makes an instance of `size` bytes for bp_provider.open(), and ends it for close(). */
bp_status bp__cu_vendor_open(const bp__cu_vendor_kind *kind, size_t size, const bp_host *host,
                             const bp_library_info *library, void **opened);
void bp__cu_vendor_close(void *instance);

/* Refuse: return false, with a reason in *verdict. */
static inline bool bp__cu_vendor_refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
    return false;
}
bool bp__cu_vendor_has_version(const bp__cu_vendor *instance, bp_verdict *verdict);

/* Sets *found to what the instance has for a device; loads the library and makes it if necessary. */
bp_status bp__cu_vendor_part(bp__cu_vendor *instance, bp__cu_device *device, bp__cu_part **found);

/* Fails with the name of a status of the library, and the status that belongs to it. `device` may be NULL. */
bp_status bp__cu_vendor_fail(const bp__cu_vendor *instance, const bp__cu_device *device, unsigned status,
                             const char *what);

/* Returns memory for a plan, zeroed; NULL with a message. */
void *bp__cu_vendor_plan(const bp__cu_vendor *instance, size_t size);

/* Calls run(plan, call, stream) in the context of the queue of a run, and marks the end of what it enqueues. run()
 * fails with a message. */
typedef bp_status (*bp__cu_vendor_run)(const void *plan, void *call, const bp__cu_queue *queue);
bp_status bp__cu_vendor_enqueue(const bp_host *host, const bp_exec *exec, bp__cu_vendor_run run, const void *plan,
                                void *call);
/* As above; the host calls check() when the commands have ended, as bp_host.enqueued_checked() says. A failure has
 * called it. */
bp_status bp__cu_vendor_enqueue_checked(const bp_host *host, const bp_exec *exec, bp__cu_vendor_run run,
                                        const void *plan, void *call, bp_status (*check)(void *user, int ended),
                                        void *user);

/* Take and give back two words of the host's memory, to which a run can copy without waiting (words.c). Words that a
 * copy may still write are not given back. */
bp_status bp__cu_words_take(bp__cu_device *device, uint64_t **words);
void bp__cu_words_give(bp__cu_device *device, uint64_t *words);

static inline uint64_t bp__cu_address(const bp_operand *operand) {
    return (uint64_t)(uintptr_t)bp_operand_address(operand);
}

#endif
