/* blis.c - the BLIS interface of a fake library. In the real one, a query of the architecture before initialisation
 * ends the process if BLIS_ARCH_TYPE is set; here it always does. Products end the process before a number of threads is
 * set: real products take seconds on more threads than processors. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void bli_init(void);
__attribute__((visibility("default"))) const char *bli_info_get_version_str(void);
__attribute__((visibility("default"))) int bli_arch_query_id(void);
__attribute__((visibility("default"))) const char *bli_arch_string(int id);
__attribute__((visibility("default"))) void bli_thread_set_num_threads(int64_t count);
void need_limited_threads(void);

static int ready;
static int64_t threads;

void bli_init(void) {
    ready = 1;
}

const char *bli_info_get_version_str(void) {
    return "7.6.5";
}

int bli_arch_query_id(void) {
    if (!ready) {
        abort();
    }
    return 25;
}

const char *bli_arch_string(int id) {
    return id == 25 ? "generic" : "other";
}

void bli_thread_set_num_threads(int64_t count) {
    threads = count;
}

void need_limited_threads(void) {
    if (threads == 0) {
        abort();
    }
}
