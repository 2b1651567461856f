/* fake_queues.h - declares the commands of the fake runtimes, for fake_queues.c and fake_capture.c. */
#ifndef BP_TESTS_DEVICE_FAKE_QUEUES_H
#define BP_TESTS_DEVICE_FAKE_QUEUES_H

#include "fake_parts.h"

#include <pthread.h>

enum { WAITS_MOST = 32 };

typedef struct fake_block {
    struct fake_block *next;
    const fake_device *device;
    uint8_t *bytes;
    size_t size;
    int pending; /* commands that use it */
} fake_block;

typedef struct fake_event {
    int references;
    const fake_device *device;
    bp_event_state state;
    int64_t code, start_ns, end_ns;
    const struct fake_queue *queue; /* for comparison only */
    bool captured;
} fake_event;

typedef enum task_kind { TASK_MARK, TASK_COPY, TASK_ADD } task_kind;

typedef struct fake_task {
    struct fake_task *next;
    task_kind kind;
    bp_transfer transfer;
    const fake_device *source; /* of a copy between devices; NULL: the queue's device */
    size_t count;
    uint8_t value;
    int wait_count;
    fake_event *waits[WAITS_MOST];
    fake_event *event;
} fake_task;

typedef struct fake_queue {
    fake_device *device;
    pthread_t thread;
    fake_task *first, *last;
    bool ending, failed, of_program;
    int users;
    struct fake_graph *capture; /* the commands are noted in it; NULL: they run */
} fake_queue;

extern pthread_mutex_t fake_mutex; /* guards everything */

/* Enqueues a copy of the task. */
bp_status fake_enqueue(fake_queue *queue, const fake_task *filled, void **event);
/* Under the mutex: count commands of a graph as users of their memory, and drop a reference. */
void fake_use(const fake_task *task, int change);
void fake_drop_event(fake_event *event);

/* ---- fake_capture.c, under the mutex ---- */

/* Notes a command of a queue that is captured. */
void fake_note_task(fake_queue *queue, fake_task *task);
/* Notes a violation if the host asks for an event of a capture, or of a queue that is captured. */
void fake_check_question(const fake_event *event);

#endif
