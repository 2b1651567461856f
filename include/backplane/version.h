/* version.h - defines the version of the interface, and the macros for declarations. */
#ifndef BACKPLANE_VERSION_H
#define BACKPLANE_VERSION_H

#include <stddef.h>
#include <stdint.h>

#define BP_VERSION_MAJOR 0
#define BP_VERSION_MINOR 1
#define BP_VERSION_PATCH 0
#define BP_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define BP_API __attribute__((visibility("default")))
#define BP_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define BP_API
#define BP_PRINTF(text, first)
#endif

/* For functions and macros of the headers, which programs compile with their own warnings: without old-style casts and
 * zeros as null pointers in C++. */
#ifdef __cplusplus
#define BP__NULL nullptr
#define BP__CAST(type, value) static_cast<type>(value)
#define BP__ADDRESS_CAST(type, value) reinterpret_cast<type>(value)
#else
#define BP__NULL NULL
#define BP__CAST(type, value) ((type)(value))
#define BP__ADDRESS_CAST(type, value) ((type)(value))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the loaded library ("0.1.0"), in static storage. BP_VERSION_STRING is the version of the
 * headers that the program was compiled with. */
BP_API const char *bp_version(void);

#ifdef __cplusplus
}
#endif
#endif
