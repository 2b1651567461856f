/* launch_calls.c - makes the file in which a run's processes count their calls, and reads it afterwards. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const launch_calls *calls, int error) {
    return cli_fail(CLI_IO, "the file for the program's calls cannot be made in %s: %s", calls->folder,
                    strerror(error));
}

/* Writes the beginning of an empty file. The rest is zeros: a file with holes would end a program that counts while the
 * disk is full. Returns 0, or an errno. */
static int fill_file(int file) {
    bp__record_file *made = cli_allocate(sizeof *made);
    const size_t head = offsetof(bp__record_file, row);
    made->rows = BP__RECORD_ROWS;
    made->row_size = sizeof made->row[0];
    memcpy(made->magic, BP__RECORD_MAGIC, sizeof made->magic);
    int error = posix_fallocate(file, 0, (off_t)sizeof *made);
    if (!error && pwrite(file, made, head, 0) != (ssize_t)head) {
        error = errno ? errno : EIO;
    }
    free(made);
    return error;
}

int launch_calls_begin(launch_calls *calls) {
    const char *place = getenv("TMPDIR");
    *calls = (launch_calls){.descriptor = -1,
                            .folder = cli_format("%s/backplane-launch-XXXXXX", place && *place ? place : "/tmp")};
    if (!mkdtemp(calls->folder)) {
        const int code = fail(calls, errno);
        free(calls->folder);
        calls->folder = NULL;
        return code;
    }
    calls->path = cli_format("%s/calls", calls->folder);
    calls->descriptor = open(calls->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const int error = calls->descriptor < 0 ? errno : fill_file(calls->descriptor);
    return error ? fail(calls, error) : CLI_OK;
}

static int by_time(const void *a, const void *b) {
    const bp__record_row *x = *(const bp__record_row *const *)a, *y = *(const bp__record_row *const *)b;
    return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? 1 : -1) : memcmp(&x->key, &y->key, sizeof x->key);
}

/* Processes of the run may have written anything. Ends all texts, and returns whether the other members can be used. */
static bool check(bp__record_row *row) {
    bp__record_key *key = &row->key;
    key->routine[sizeof key->routine - 1] = '\0';
    key->family[sizeof key->family - 1] = '\0';
    key->options[sizeof key->options - 1] = '\0';
    key->ran[sizeof key->ran - 1] = '\0';
    key->own[sizeof key->own - 1] = '\0';
    row->why[sizeof row->why - 1] = '\0';
    row->flops = isfinite(row->flops) ? row->flops : 0;
    return row->state == BP__RECORD_READY && row->calls > 0 && key->sizes >= 0 &&
           (size_t)key->sizes <= sizeof key->size / sizeof key->size[0];
}

void launch_calls_sort(launch_calls *calls, int rows) {
    calls->count = 0;
    calls->rows = cli_allocate((size_t)rows * sizeof *calls->rows);
    for (int i = 0; i < rows; i++) {
        if (check(&calls->file->row[i])) {
            calls->rows[calls->count++] = &calls->file->row[i];
        }
    }
    qsort(calls->rows, (size_t)calls->count, sizeof *calls->rows, by_time);
}

/* The file is read and not mapped, because a mapping of a file that was made shorter would end this process. */
int launch_calls_read(launch_calls *calls) {
    calls->file = cli_allocate(sizeof *calls->file);
    for (size_t got = 0; got < sizeof *calls->file;) {
        const ssize_t now = pread(calls->descriptor, (char *)calls->file + got, sizeof *calls->file - got, (off_t)got);
        if (now == 0 || (now < 0 && errno != EINTR)) {
            return cli_fail(CLI_IO, "the program's calls cannot be read from %s: %s", calls->path,
                            now == 0 ? "the file was made shorter" : strerror(errno));
        }
        got += now > 0 ? (size_t)now : 0;
    }
    launch_calls_sort(calls, BP__RECORD_ROWS);
    return CLI_OK;
}

void launch_calls_free(launch_calls *calls) {
    if (calls->path) {
        close(calls->descriptor);
        unlink(calls->path);
    }
    if (calls->folder) {
        rmdir(calls->folder);
    }
    free(calls->file);
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
