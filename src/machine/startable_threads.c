/* startable_threads.c - finds out whether this process can start threads.
 *
 * A limit of processes, or of a control group, is known by trying alone: the kernel counts the threads of all processes
 * of the user. Libraries that cannot start theirs may end the process.
 */
#include "base/uncancelled.h"
#include "machine/internal.h"

#include <limits.h>
#include <pthread.h>

enum { MOST = 256 }; /* a library with more threads starts most of them, or none */

static void *wait_for_all(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* All of them exist at once, as a library's threads do. Their stacks are small, because they are not used. */
int bp__threads_start_error(int count) {
    BP__UNCANCELLED;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[MOST];
    pthread_attr_t attributes;
    int started = 0, error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + ((size_t)64 << 10)); /* and thread-local data */
    pthread_mutex_lock(&gate);
    while (error == 0 && started < count && started < MOST) {
        error = pthread_create(&threads[started], &attributes, wait_for_all, &gate);
        started += error == 0;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_attr_destroy(&attributes);
    pthread_mutex_destroy(&gate);
    return error;
}
