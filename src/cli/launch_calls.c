/* launch_calls.c - makes the file in which a run's processes count their calls, and reads it afterwards. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fail(const launch_calls *calls, int error) {
    return cli_fail(CLI_IO, "the file for the program's calls cannot be made in %s: %s", calls->folder,
                    strerror(error));
}

int launch_calls_begin(launch_calls *calls) {
    const char *place = getenv("TMPDIR");
    *calls = (launch_calls){.folder = cli_format("%s/backplane-launch-XXXXXX", place && *place ? place : "/tmp")};
    if (!mkdtemp(calls->folder)) {
        const int code = fail(calls, errno);
        free(calls->folder);
        calls->folder = NULL;
        return code;
    }
    calls->path = cli_format("%s/calls", calls->folder);
    const int file = open(calls->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    /* A file with holes would end a program that counts while the disk is full. */
    const int error = file < 0 ? errno : posix_fallocate(file, 0, (off_t)sizeof *calls->file);
    void *mapped = error ? MAP_FAILED : mmap(NULL, sizeof *calls->file, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int code = error ? fail(calls, error) : mapped == MAP_FAILED ? fail(calls, errno) : CLI_OK;
    if (file >= 0) {
        close(file);
    }
    if (code == CLI_OK) {
        calls->file = mapped;
        calls->file->rows = BP__RECORD_ROWS;
        calls->file->row_size = sizeof calls->file->row[0];
        memcpy(calls->file->magic, BP__RECORD_MAGIC, sizeof calls->file->magic);
    }
    return code;
}

static int by_time(const void *a, const void *b) {
    const bp__record_row *x = *(const bp__record_row *const *)a, *y = *(const bp__record_row *const *)b;
    return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? 1 : -1) : memcmp(&x->key, &y->key, sizeof x->key);
}

void launch_calls_read(launch_calls *calls) {
    calls->rows = cli_allocate(BP__RECORD_ROWS * sizeof *calls->rows);
    for (int i = 0; i < BP__RECORD_ROWS; i++) {
        const bp__record_row *row = &calls->file->row[i];
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == BP__RECORD_READY && row->calls > 0) {
            calls->rows[calls->count++] = row;
        }
    }
    qsort(calls->rows, (size_t)calls->count, sizeof *calls->rows, by_time);
}

void launch_calls_free(launch_calls *calls) {
    if (calls->file) {
        munmap(calls->file, sizeof *calls->file);
    }
    if (calls->path) {
        unlink(calls->path);
    }
    if (calls->folder) {
        rmdir(calls->folder);
    }
    free(calls->rows);
    free(calls->path);
    free(calls->folder);
}

/* ---- Products ---- */

static bool dtype_of(char letter, bp_dtype *dtype) {
    static const char letters[] = "sdcz";
    static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    const char *found = letter ? strchr(letters, letter) : NULL;
    *dtype = found ? dtypes[found - letters] : BP_DTYPE_NONE;
    return found != NULL;
}

static bool is_transposed(char option) {
    return strchr("TtCc", option) != NULL;
}

/* Column by column, C is the transpose of a row-major matrix, whose left factor is B's. */
static void transpose(launch_product *p) {
    const launch_product of = *p;
    *p = (launch_product){of.dtype, of.n, of.m, of.k, of.transposed_b, of.transposed_a};
}

bool launch_product_of(const bp__record_row *row, launch_product *product) {
    const bp__record_key *key = &row->key;
    const bool c = strncmp(key->routine, "cblas_", 6) == 0;
    const char *name = key->routine + (c ? 6 : 0), *letters = key->options + (c && key->options[0]);
    const bool transposed = letters[0] && is_transposed(letters[0]);
    bp_dtype dtype;
    if (!dtype_of(name[0], &dtype)) {
        return false;
    }
    if (strcmp(name + 1, "gemm") == 0 && key->sizes == 3 && letters[0] && letters[1]) {
        *product =
            (launch_product){dtype, key->size[0], key->size[1], key->size[2], transposed, is_transposed(letters[1])};
    } else if (strcmp(name + 1, "gemv") == 0 && key->sizes == 2 && letters[0]) {
        *product =
            (launch_product){dtype, key->size[transposed ? 1 : 0], 1, key->size[transposed ? 0 : 1], transposed, false};
    } else {
        return false;
    }
    if (!c || key->options[0] != 'R') {
        transpose(product);
    }
    return true;
}

const char *launch_sizes(const bp__record_row *row) {
    static char text[128];
    const bp__record_key *key = &row->key;
    int used = snprintf(text, sizeof text, "%s%s", key->options, key->options[0] && key->sizes ? " " : "");
    for (int i = 0; i < key->sizes && used < (int)sizeof text; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%lld", i ? "x" : "", (long long)key->size[i]);
    }
    return text;
}
