/* locks.c - the mutexes of base/, and how they are held across fork. */
#include "base/locks.h"
#include "base/base.h"

pthread_mutex_t bp__warning_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t bp__intern_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t bp__error_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Whoever holds the intern or the warning mutex may report a failure, so the error mutex comes last. */
void bp__base_fork_lock(void) {
    pthread_mutex_lock(&bp__warning_mutex);
    pthread_mutex_lock(&bp__intern_mutex);
    pthread_mutex_lock(&bp__error_mutex);
}

void bp__base_fork_unlock(void) {
    pthread_mutex_unlock(&bp__error_mutex);
    pthread_mutex_unlock(&bp__intern_mutex);
    pthread_mutex_unlock(&bp__warning_mutex);
}

static _Thread_local int foreign;

void bp__foreign_enter(void) {
    foreign++;
}

void bp__foreign_leave(void) {
    foreign--;
}

bool bp__foreign_runs(void) {
    return foreign > 0;
}
