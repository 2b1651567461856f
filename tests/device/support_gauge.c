/* support_gauge.c - opens the provider of gauge_provider.c. See support_gauge.h. */
#include "device/support_gauge.h"

#include <dlfcn.h>

gauge_record *gauge;

int start_gauge(void **state) {
    start_devices(state);
    setenv("BACKPLANE_PROVIDER_PATH", FAKES "/good:" FAKES "/gauge", 1);
    restart_devices();
    void *handle = dlopen(FAKES "/gauge/gauge.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    gauge = dlsym(handle, "gauge");
    assert_non_null(gauge);
    return 0;
}
