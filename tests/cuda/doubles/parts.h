/* parts.h - declares what the files of the double share. */
#ifndef BP_TESTS_CUDA_PARTS_H
#define BP_TESTS_CUDA_PARTS_H

#include "double.h"

#include "cuda/program_api.h"

#include "backplane/version.h"

#include <pthread.h>

/* The driver's functions, as the runtime declares them. */
#define X(name, symbol, parameters) BP_API CUresult symbol parameters;
BP__CU_FIRST_FUNCTIONS(X)
BP__CU_FUNCTIONS(X)
PROGRAM_FUNCTIONS(X)
#undef X

BP_API extern double_controls cuda_double;

enum { DEVICES_MOST = 8, PARAMETER_BYTES = 4096, PARAMETERS_MOST = 64, WAITS_MOST = 24 };

typedef struct CUstream_st stream;
typedef struct CUevent_st event;
typedef struct CUctx_st context;
typedef struct CUgraph_st graph;
typedef struct CUgraphExec_st graph_exec;
typedef struct CUfunc_st function;

struct CUctx_st {
    int device, retained;
    atomic_uint error; /* of a command: every later call has it */
    stream *legacy;
};

/* Bytes of a host or a device. */
typedef struct place {
    bool on_device;
    uint64_t address;
} place;

typedef struct copy3d {
    place dst, src;
    size_t dst_pitch, dst_slice, src_pitch, src_slice, width, rows, slices;
} copy3d;

typedef enum task_kind {
    TASK_MARK,
    TASK_WAIT,
    TASK_COPY,
    TASK_KERNEL,
    TASK_HOST,
    TASK_SET,
    TASK_FREE,
    TASK_GRAPH
} task_kind;

/* A point of a stream: its first `count` commands. */
typedef struct point {
    stream *of;
    uint64_t count;
} point;

typedef struct task {
    struct task *next;
    task_kind kind;
    int wait_count;
    point waits[WAITS_MOST];
    event *marked;
    copy3d copy;
    uint8_t value;
    CUhostFn call;
    void *user;
    const function *kernel;
    unsigned shape[6]; /* groups, threads of a group */
    uint8_t parameters[PARAMETER_BYTES];
    graph_exec *graph;
} task;

struct CUstream_st {
    stream *next;
    context *of;
    bool blocking, destroyed;
    pthread_t thread; /* the one whose default stream it is */
    bool of_thread;
    task *first, *last;
    uint64_t enqueued, done;
    graph *capture;
    unsigned mode;
    pthread_t capturer;
    bool invalidated;
};

struct CUevent_st {
    event *next;
    context *of;
    bool timed, captured;
    point at;
    int64_t time_ns;
};

struct CUgraph_st {
    context *of;
    task *first, *last;
};

struct CUgraphExec_st {
    context *of;
    task *first;
    point last; /* launch */
    int pending;
    bool destroyed;
};

/* Runs all threads of a kernel that was compiled for the host. */
typedef void (*compiled_kernel)(void **parameters, const unsigned *shape, uint64_t (*translate)(uint64_t));

enum { REGISTERS_MOST = 40, LINES_MOST = 320, WORDS_MOST = 16, WORD_BYTES = 64 };

/* A line of PTX. */
typedef struct line {
    char words[WORDS_MOST][WORD_BYTES];
    int count;
} line;

/* A kernel: compiled, or lines of PTX, which take one parameter. */
struct CUfunc_st {
    char name[WORD_BYTES];
    size_t parameter_bytes;
    size_t sizes[PARAMETERS_MOST + 1]; /* of each parameter, then 0 */
    int count;
    compiled_kernel run;
    char registers[REGISTERS_MOST][WORD_BYTES];
    int register_count;
    line *lines;
    int line_count;
};

extern pthread_mutex_t double_mutex; /* guards everything */
extern pthread_cond_t double_changed;

void double_violate(const char *what);
bool double_has(double_fault fault);

/* ---- devices.c ---- */

/* Returns an error if the driver cannot be called: not initialized, or in a child of fork. */
CUresult double_ready(void);
/* As above; also sets *current to the current context, without a lock. Its error is the answer. */
CUresult double_enter(context **current);
unsigned double_thread_mode(void);

/* ---- memory.c, under the mutex ---- */

/* Returns the bytes of memory of a device, NULL if there are none. */
uint8_t *double_bytes(uint64_t address, size_t size);
void double_free_block(uint64_t address);
/* Returns whether the memory of the host is pinned. */
bool double_is_pinned(uint64_t address, size_t size);

/* ---- streams.c ---- */

/* Returns the stream of a handle that the context has; under the mutex. NULL: there is none. */
stream *double_stream(context *current, CUstream handle);
/* Enqueues a copy of the task; under the mutex. */
CUresult double_enqueue(stream *to, const task *filled);
bool double_reached(const point *at);
/* Waits until all streams of a context have run everything; under the mutex. */
void double_drain(const context *of);
/* Calls visit for all streams; under the mutex. */
void double_visit_streams(void (*visit)(stream *each, void *user), void *user);
stream *double_new_stream(context *of, bool blocking);

/* ---- commands.c: runs a task; under the mutex, which TASK_HOST gives up. Returns the error. ---- */
CUresult double_run(const task *each);

/* ---- capture.c, under the mutex ---- */

/* Notes a task of a stream that is captured, or refuses it. */
CUresult double_note(stream *to, const task *filled);
/* Refuses a call that captures forbid to this thread, and ends them. */
CUresult double_unsafe(void);

/* ---- modules.c ---- */

/* Runs a kernel for all threads; under the mutex. */
CUresult double_launch(const function *kernel, const unsigned shape[6], const uint8_t *parameters);

/* ---- ptx.c ---- */

/* Reads the kernels of a text; returns how many, or -1 if it cannot be read. */
int double_read_ptx(const char *text, function *functions, int most);
CUresult double_run_ptx(const function *kernel, unsigned groups, unsigned threads, const uint8_t *parameters);

/* ---- compiled.c ---- */

bool double_is_compiled(const void *image);
void *double_open_compiled(const void *image);
bool double_find_compiled(void *object, const char *name, function *found);
CUresult double_run_compiled(const function *kernel, const unsigned shape[6], const uint8_t *parameters);

#endif
