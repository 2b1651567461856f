/* atfork.c - holds the mutexes of this module while the process forks. */
#include "registry/build_list.h"
#include "registry/modules.h"

void bp__registry_fork_lock(void) {
    bp__registry_lock();
    pthread_mutex_lock(&bp__modules_mutex);
    pthread_mutex_lock(&bp__loaded_mutex);
}

void bp__registry_fork_unlock(void) {
    pthread_mutex_unlock(&bp__loaded_mutex);
    pthread_mutex_unlock(&bp__modules_mutex);
    bp__registry_unlock();
}
