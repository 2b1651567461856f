/* support_gauge.h - starts the library with the provider of gauge_provider.c on the devices of fake_runtime.c. */
#ifndef BP_TESTS_DEVICE_SUPPORT_GAUGE_H
#define BP_TESTS_DEVICE_SUPPORT_GAUGE_H

#include "device/gauge_provider.h"
#include "device/support_device.h"

/* What the provider is told to do, and what it was given. */
extern gauge_record *gauge;

/* For all tests of a program, in place of start_devices(). */
int start_gauge(void **state);

#endif
