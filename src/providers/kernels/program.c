/* program.c - keeps the programs of a device, and writes their options. */
#include "providers/kernels/families.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void bp__kernel_device_begin(bp__kernel_device *device, const bp__kernel_backend *backend, const bp_host *host,
                             const bp_device_info *facts) {
    device->host = host;
    device->facts = facts;
    device->backend = backend;
    device->programs = NULL;
    pthread_mutex_init(&device->mutex, NULL);
    pthread_mutex_init(&device->building, NULL);
}

void bp__kernel_device_end(bp__kernel_device *device) {
    while (device->programs) {
        bp__kernel_program *gone = device->programs;
        device->programs = gone->next;
        device->backend->drop(device, gone->native);
        device->host->release(gone);
    }
    pthread_mutex_destroy(&device->mutex);
    pthread_mutex_destroy(&device->building);
}

/* ---- Options ---- */

void bp__kernel_options_add(bp__kernel_options *options, const char *format, ...) {
    const size_t used = strlen(options->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(options->text + used, sizeof options->text - used, format, arguments);
    va_end(arguments);
}

void bp__kernel_options_begin(bp__kernel_options *options, const bp__kernel_device *device) {
    options->text[0] = '\0';
    device->backend->options(device, options);
    if (bp__kernel_has_f64(device->facts)) {
        bp__kernel_options_add(options, " -DHAS_F64");
    }
}

/* ---- Keys of binaries ---- */

char *bp__kernel_program_key(const bp_host *host, const char *const *parts, int count, size_t *size) {
    *size = 0;
    for (int i = 0; i < count; i++) {
        *size += strlen(parts[i]) + 1;
    }
    char *key = host->allocate(*size), *at = key;
    for (int i = 0; key && i < count; i++) {
        const size_t length = strlen(parts[i]) + 1;
        memcpy(at, parts[i], length);
        at += length;
    }
    return key;
}

/* ---- The programs of a device ---- */

static bp__kernel_program *find_program(bp__kernel_device *device, const char *source, const char *options) {
    pthread_mutex_lock(&device->mutex);
    bp__kernel_program *one = device->programs;
    while (one && (strcmp(one->options, options) != 0 || strcmp(one->source, source) != 0)) {
        one = one->next;
    }
    pthread_mutex_unlock(&device->mutex);
    return one;
}

static bp_status add(bp__kernel_device *device, const char *source, const char *options, bp__kernel_program **program) {
    const size_t source_size = strlen(source) + 1, options_size = strlen(options) + 1;
    bp__kernel_program *fresh = device->host->allocate(sizeof *fresh + source_size + options_size);
    if (!fresh) {
        return device->host->fail(BP_E_NO_MEMORY, "%s: no memory for a program", device->backend->provider);
    }
    char *texts = (char *)(fresh + 1);
    memcpy(texts, source, source_size);
    memcpy(texts + source_size, options, options_size);
    *fresh = (bp__kernel_program){.source = texts, .options = texts + source_size};
    const bp_status status = device->backend->build(device, source, options, &fresh->native);
    if (status != BP_OK) {
        device->host->release(fresh);
        return status;
    }
    pthread_mutex_lock(&device->mutex);
    fresh->next = device->programs;
    device->programs = fresh;
    pthread_mutex_unlock(&device->mutex);
    *program = fresh;
    return BP_OK;
}

bp_status bp__kernel_program_get(bp__kernel_device *device, const char *source, const char *options,
                                 bp__kernel_program **program) {
    *program = find_program(device, source, options);
    if (*program) {
        return BP_OK;
    }
    pthread_mutex_lock(&device->building);
    *program = find_program(device, source, options); /* another thread may have built it meanwhile */
    const bp_status status = *program ? BP_OK : add(device, source, options, program);
    pthread_mutex_unlock(&device->building);
    return status;
}
