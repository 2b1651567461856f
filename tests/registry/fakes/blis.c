/* blis.c - the BLIS interface of a fake library. In the real one, a query of the architecture before initialisation
 * ends the process if BLIS_ARCH_TYPE is set; here it always does. */
#include <stdlib.h>

__attribute__((visibility("default"))) void bli_init(void);
__attribute__((visibility("default"))) const char *bli_info_get_version_str(void);
__attribute__((visibility("default"))) int bli_arch_query_id(void);
__attribute__((visibility("default"))) const char *bli_arch_string(int id);

static int ready;

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
