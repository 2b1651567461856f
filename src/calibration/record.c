/* record.c - writes the times of a class as text and reads them again.
 *
 * The value of a record is "failed", or "slow" or "times" followed by groups of times in nanoseconds separated by ";":
 * the candidate at the first points, native at these points in f64, the points of the lattice. Classes of ratios have
 * ratios in the third group, and no first points. */
#include "calibration/internal.h"
#include "base/number.h"

#include "machine/internal.h"
#include "registry/facts.h"
#include "registry/probe_cache_key.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t context_hash(void) {
    bp__text text = {0};
    int64_t loader;
    bp__text_addf(&text, "%" PRIx64 "\n%d\n%d\n", bp__probe_cache_key(&loader), bp__available_cpus(),
                  BP__CALIBRATION_SCHEME);
    bp__add_speed_variables(&text);
    const uint64_t hash = bp__hash(bp__text_get(&text), text.length);
    bp__text_free(&text);
    return hash;
}

/* Identifies the present content of a file; 0 if it is absent. */
static uint64_t file_hash(const char *path) {
    struct stat facts;
    if (!path || stat(path, &facts) != 0) {
        return 0;
    }
    const bp__file_key key = bp__file_key_of(&facts);
    return bp__hash(&key, sizeof key);
}

void bp__record_keys_of(bp__record_keys *keys, const bp__calibrated *candidate) {
    const bp_library_info *library = candidate->library;
    Dl_info provider = {0};
    /* A provider's code is in its module; the code of a built-in provider is in this library. */
    dladdr((const void *)candidate->provider, &provider);
    const int length = snprintf(keys->identity, sizeof keys->identity,
                                "%s %s file:%" PRIx64 " build:%s kernels:%s provider:%" PRIx64 " context:%" PRIx64,
                                candidate->provider->name, library ? library->path : "-",
                                library ? file_hash(library->path) : 0, library ? library->build_id : "",
                                library ? library->kernels : "", file_hash(provider.dli_fname), context_hash());
    if (length < 0 || (size_t)length >= sizeof keys->identity) {
        keys->identity[0] = '\0';
    }
}

const char *bp__record_key(bp__record_keys *keys, const bp__class *class) {
    snprintf(keys->key, sizeof keys->key, "%.60s %s", class->name, keys->identity);
    return *keys->identity ? keys->key : NULL;
}

int bp__read_times(const char *text, double *times, int most) {
    int count = 0;
    for (; count < most; count++) {
        char *end;
        text += strspn(text, " ");
        if (*text == '\0' || *text == ';') {
            break;
        }
        times[count] = 0;
        if (*text == '-' && (text[1] == ' ' || text[1] == '\0' || text[1] == ';')) {
            text++;
            continue;
        }
        times[count] = bp__read_real(text, &end);
        if (end == text || !(times[count] > 0 && times[count] < 1e15)) {
            times[count] = 0;
            return -1;
        }
        text = end;
    }
    return count;
}

static void write_times(bp__text *text, const double *times, int count) {
    for (int i = 0; i < count; i++) {
        if (times[i] > 0) {
            bp__text_addf(text, " %.4g", times[i]);
        } else {
            bp__text_add(text, " -");
        }
    }
}

void bp__record_write(bp__text *text, const bp__class *class, const bp__measured *measured) {
    if (measured->failed) {
        bp__text_add(text, "failed");
        return;
    }
    bp__text_add(text, measured->slow ? "slow" : "times");
    write_times(text, measured->first, BP__FIRST_POINTS);
    bp__text_add(text, ";");
    write_times(text, measured->native, BP__FIRST_POINTS);
    if (!measured->slow) {
        bp__text_add(text, ";");
        write_times(text, measured->times, bp__lattice_points(class->lattice));
    }
}

bool bp__record_read(const char *value, const bp__class *class, bp__measured *measured) {
    memset(measured, 0, sizeof *measured);
    measured->failed = strcmp(value, "failed") == 0;
    measured->slow = bp__text_starts(value, "slow ");
    if (measured->failed || (!measured->slow && !bp__text_starts(value, "times "))) {
        return measured->failed;
    }
    double *const groups[] = {measured->first, measured->native, measured->times};
    const int counts[] = {BP__FIRST_POINTS, BP__FIRST_POINTS, bp__lattice_points(class->lattice)};
    const char *text = strchr(value, ' ');
    for (int i = 0; i < (measured->slow ? 2 : 3); i++) {
        if (!text || bp__read_times(text, groups[i], counts[i]) != counts[i]) {
            return false;
        }
        text = strchr(text, ';');
        text = text ? text + 1 : NULL;
    }
    return true;
}
