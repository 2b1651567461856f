/* list_devices.h - shows and records devices, and reads --device. The functions that return int return CLI_OK, or an
 * exit code after a message. */
#ifndef BP_CLI_LIST_DEVICES_H
#define BP_CLI_LIST_DEVICES_H

#include "cli/command/cli.h"

void list_devices(void);
void list_devices_json(void);

/* Writes the description of a device (NULL: the first one besides the host) to a file. */
int list_devices_record(const char *id, const char *path);

/* Reads --device: an id, or a file with the description of a device. The host if it is not given. */
int device_option(const cli_args *args, DLDevice *device);

#endif
