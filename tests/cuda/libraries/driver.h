/* driver.h - declares what the doubles of NVIDIA's libraries use of the double of CUDA's driver, which the process has
 * loaded. */
#ifndef BP_TESTS_CUDA_LIBRARIES_DRIVER_H
#define BP_TESTS_CUDA_LIBRARIES_DRIVER_H

#include "cuda/doubles/double.h"
#include "cuda/program_api.h"

/* Returns the current context; NULL if there is none, or the driver cannot be called. */
CUcontext double_context(void);
/* Returns bytes of a device, NULL if there are none. */
uint8_t *double_bytes(uint64_t address, size_t size);
/* Enqueues a call of the host behind the commands of a stream. */
bool double_launch(CUstream stream, CUhostFn run, void *user);
/* Lets events that follow be later, as if a command had taken that time. */
void double_spend(int64_t ns);
/* Waits for all commands of the current context. */
void double_synchronize(void);
/* Returns the number behind a name in a variable, such as "version=" in CUBLAS_DOUBLE. */
long double_number(const char *variable, const char *name, long otherwise);

#endif
