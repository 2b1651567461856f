/* locks.h - the mutexes of base/, together in one place so that fork can hold them all. Only base/ includes this. */
#ifndef BP_BASE_LOCKS_H
#define BP_BASE_LOCKS_H

#include <pthread.h>

extern pthread_mutex_t bp__warning_mutex, bp__intern_mutex, bp__error_mutex;

#endif
