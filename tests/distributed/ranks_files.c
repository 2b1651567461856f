/* ranks_files.c - checks that matrices in files are what the ranks have, in all orders and distributions.
 *
 * Usage: ranks_files [save FILE | load FILE]. With `save` a matrix is written, and with `load` read by as many ranks as
 * there are. */
#include "distributed/ranks.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96];

/* All ranks of this machine use the folder that rank 0 makes. Its number is the identity of the launcher's process. */
static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/backplane-ranks-%d", ranks_size == 1 ? (int)getpid() : (int)getppid());
    snprintf(path, sizeof path, "%s/matrix.npy", folder);
    CHECK(mkdir(folder, 0700) == 0 || errno == EEXIST, "mkdir");
}

static void barrier(void) {
    ranks_matrix a, b;
    const bp_dist like = {.struct_size = sizeof like, .comm = ranks_comm};
    ranks_make(&a, &like, BP_F64, ranks_size, ranks_size, ranks_random);
    ranks_make(&b, &like, BP_F64, ranks_size, ranks_size, NULL);
    CHECK(bp_redistribute(&a.view.tensor, &b.view.tensor) == BP_OK, "barrier");
    ranks_free(&a), ranks_free(&b);
}

/* ---- Files made and read by hand, on rank 0 ---- */

typedef struct layout {
    bool rows;    /* C order */
    bool swapped; /* big-endian */
    bool vector;  /* one dimension */
    int version;
} layout;

static const char *code_of(bp_dtype dtype) {
    return dtype == BP_F32 ? "f4" : dtype == BP_F64 ? "f8" : dtype == BP_C64 ? "c8" : "c16";
}

/* The bytes of element (i, j), most significant first if `swapped`. */
static void element_bytes(bp_dtype dtype, ranks_value value, int64_t i, int64_t j, bool swapped, char *to) {
    const int parts = dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
    const size_t size = bp_dtype_size(dtype) / (size_t)parts;
    for (int part = 0; part < parts; part++) {
        const double exact = value(i, j, part);
        const float rounded = (float)exact;
        const char *from = size == sizeof rounded ? (const char *)&rounded : (const char *)&exact;
        for (size_t b = 0; b < size; b++) {
            to[(size_t)part * size + b] = from[swapped ? size - 1 - b : b];
        }
    }
}

static void write_by_hand(const layout *how, bp_dtype dtype, int64_t rows, int64_t columns, ranks_value value) {
    char text[256], element[16];
    const size_t item = bp_dtype_size(dtype);
    FILE *file = fopen(path, "wb");
    char shape[64];
    snprintf(shape, sizeof shape, how->vector ? "(%d,)" : "(%d, %d)", (int)rows, (int)columns);
    const int length = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': %s, }\n",
                                how->swapped ? '>' : '<', code_of(dtype), how->rows ? "False" : "True", shape);
    const char prefix[12] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y', (char)how->version, 0, (char)length, 0, 0, 0};
    fwrite(prefix, 1, how->version > 1 ? 12 : 10, file);
    fwrite(text, 1, (size_t)length, file);
    for (int64_t at = 0; at < rows * columns; at++) {
        const int64_t i = how->rows ? at / columns : at % rows, j = how->rows ? at % columns : at / rows;
        element_bytes(dtype, value, i, j, how->swapped, element);
        fwrite(element, 1, item, file);
    }
    CHECK(fclose(file) == 0, "file by hand");
}

/* Compares the file with the values, element by element. */
static void check_file(bp_dtype dtype, int64_t rows, int64_t columns, const char *name) {
    char prefix[10], text[512], wanted[128], got[16], element[16];
    const size_t item = bp_dtype_size(dtype);
    FILE *file = fopen(path, "rb");
    if (!CHECK(file && fread(prefix, 1, 10, file) == 10, "%s: the file is there", name)) {
        return;
    }
    const size_t length = (unsigned char)prefix[8] | (size_t)(unsigned char)prefix[9] << 8;
    CHECK(length < sizeof text && fread(text, 1, length, file) == length && (length + 10) % 64 == 0, "%s: header",
          name);
    text[length < sizeof text ? length : 0] = 0;
    snprintf(wanted, sizeof wanted, "{'descr': '<%s', 'fortran_order': True, 'shape': (%d, %d), }", code_of(dtype),
             (int)rows, (int)columns);
    CHECK(strncmp(text, wanted, strlen(wanted)) == 0, "%s: header %s", name, text);
    bool same = true;
    for (int64_t at = 0; at < rows * columns && same; at++) {
        element_bytes(dtype, ranks_random, at % rows, at / rows, false, element);
        same = fread(got, 1, item, file) == item && memcmp(got, element, item) == 0;
    }
    CHECK(same && fgetc(file) == EOF, "%s: elements in the file", name);
    fclose(file);
}

/* ---- Reading and writing ---- */

/* Whether this rank's part of a matrix has the values. */
static void check_values(const ranks_matrix *m, const char *name) {
    char element[16];
    const size_t item = bp_dtype_size(m->dtype);
    int at[2];
    bool same = true;
    CHECK(bp_dist_position(&m->dist, -1, at) == BP_OK, "position");
    for (int64_t j = 0; j < m->view.columns; j++) {
        for (int64_t i = 0; i < m->view.rows; i++) {
            element_bytes(m->dtype, ranks_random, bp_dist_to_global(&m->dist, 0, at[0], i),
                          bp_dist_to_global(&m->dist, 1, at[1], j), false, element);
            same = same && memcmp((char *)m->memory + (size_t)(i + j * m->view.leading) * item, element, item) == 0;
        }
    }
    CHECK(same, "%s: values", name);
}

static void check_read(const bp_dist *like, bp_dtype dtype, int64_t rows, int64_t columns, const char *name) {
    ranks_matrix m;
    bp_dtype found = BP_DTYPE_NONE;
    int64_t shape[2] = {-1, -1};
    CHECK(bp_dist_file(path, &found, shape) == BP_OK && found == dtype && shape[0] == rows && shape[1] == columns,
          "%s: bp_dist_file", name);
    ranks_make(&m, like, dtype, rows, columns, NULL);
    CHECK(bp_dist_read(path, &m.view.tensor) == BP_OK, "%s: read", name);
    check_values(&m, name);
    ranks_free(&m);
}

static void check_size(const bp_dist *like, bp_dtype dtype, int64_t rows, int64_t columns) {
    static const layout by_hand[] = {{.version = 1},
                                     {.rows = true, .version = 2},
                                     {.rows = true, .swapped = true, .version = 3},
                                     {.swapped = true, .version = 1},
                                     {.vector = true, .version = 1}};
    char name[128];
    ranks_matrix m;
    bp_dist turned = *like;
    snprintf(name, sizeof name, "%s %dx%d grid %dx%d block %d", bp_dtype_name(dtype), (int)rows, (int)columns,
             (int)like->grid[0], (int)like->grid[1], (int)like->block[0]);
    ranks_make(&m, like, dtype, rows, columns, ranks_random);
    CHECK(bp_dist_write(path, &m.view.tensor) == BP_OK, "%s: write", name);
    if (ranks_rank == 0) {
        check_file(dtype, rows, columns, name);
    }
    ranks_free(&m);
    turned.grid[0] = like->grid[1], turned.grid[1] = like->grid[0];
    turned.source[0] = turned.source[1] = 0, turned.block[1] = 5;
    check_read(&turned, dtype, rows, columns, name);
    for (int i = 0; i < 5; i++) {
        if (by_hand[i].vector && columns != 1) {
            continue;
        }
        barrier();
        if (ranks_rank == 0) {
            write_by_hand(&by_hand[i], dtype, rows, columns, ranks_random);
        }
        barrier();
        check_read(like, dtype, rows, columns, name);
    }
    barrier();
}

static void check_distribution(const bp_dist *like, bool all) {
    static const bp_dtype types[] = {BP_F64, BP_C64, BP_F32, BP_C128};
    static const int64_t sizes[][2] = {{1, 1}, {0, 5}, {5, 0}, {65, 129}, {200, 1}, {3, 70}, {1, 130}};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 7; j++) {
            if (all || (i + j) % 2 == 0) {
                check_size(like, types[i], sizes[j][0], sizes[j][1]);
            }
        }
    }
}

/* Lines that are longer than the buffer of a read, with gaps that are worth skipping and others that are not. */
static void check_long_lines(void) {
    static const int blocks[] = {100, 3000, 200000};
    for (int i = 0; i < 3; i++) {
        const bp_dist tall = {
            .struct_size = sizeof tall, .comm = ranks_comm, .grid = {ranks_size, 1}, .block = {blocks[i], 1}};
        const bp_dist wide = {
            .struct_size = sizeof wide, .comm = ranks_comm, .grid = {1, ranks_size}, .block = {1, blocks[i]}};
        check_size(&tall, BP_F64, 300007, 2);
        check_size(&wide, BP_F64, 2, 300007);
    }
}

/* ---- Failures ---- */

static void expect(bp_status got, bp_status wanted, const char *words, const char *what) {
    CHECK(got == wanted && strstr(bp_last_error(), words), "%s: %s, not %s with '%s'", what, bp_status_name(got),
          bp_status_name(wanted), words);
}

static void make_bytes(const char *bytes, size_t size, const char *how) {
    barrier();
    if (ranks_rank == 0) {
        FILE *file = fopen(path, how);
        fwrite(bytes, 1, size, file);
        fclose(file);
    }
    barrier();
}

static bool has_partial(void) {
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.partial", folder);
    const bool any = glob(pattern, 0, NULL, &found) == 0;
    if (any) {
        globfree(&found);
    }
    return any;
}

static void check_content_failures(ranks_matrix *m, ranks_matrix *other) {
    const layout plain = {.version = 1};
    bp_dtype dtype;
    int64_t shape[2];
    if (ranks_rank == 0) {
        write_by_hand(&plain, BP_F64, 40, 30, ranks_random);
    }
    barrier();
    expect(bp_dist_read(path, &other->view.tensor), BP_E_DTYPE, "f64", "another type");
    make_bytes("x", 1, "ab");
    expect(bp_dist_read(path, &m->view.tensor), BP_E_FORMAT, "bytes follow", "a byte too many");
    barrier();
    if (ranks_rank == 0) {
        write_by_hand(&plain, BP_F64, 30, 40, ranks_random);
    }
    barrier();
    expect(bp_dist_read(path, &m->view.tensor), BP_E_SHAPE, "30x40", "another shape");
    CHECK(ranks_rank != 0 || truncate(path, 500) == 0, "truncate");
    barrier();
    expect(bp_dist_read(path, &m->view.tensor), BP_E_TRUNCATED, "500", "a file that ends too early");
    make_bytes("hello", 5, "wb");
    expect(bp_dist_file(path, &dtype, shape), BP_E_FORMAT, "NUMPY", "another kind of file");
    expect(bp_dist_read(path, &m->view.tensor), BP_E_FORMAT, "NUMPY", "another kind of file");
    expect(bp_dist_read(folder, &m->view.tensor), BP_E_IO, "", "a folder");
    expect(bp_dist_file("/nowhere/x.npy", &dtype, shape), BP_E_IO, "/nowhere", "no file");
    expect(bp_dist_file(NULL, &dtype, shape), BP_E_ARGUMENT, "NULL", "no path");
}

/* A pipe, which has no writer, on one rank. */
static void check_pipe(ranks_matrix *m) {
    char pipe[128];
    bp_dtype dtype;
    int64_t shape[2];
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    CHECK(ranks_rank != 0 || mkfifo(pipe, 0600) == 0, "mkfifo");
    barrier();
    expect(bp_dist_file(pipe, &dtype, shape), BP_E_IO, "not a regular file", "a pipe");
    expect(bp_dist_read(ranks_rank == 0 ? pipe : path, &m->view.tensor), BP_E_IO, "not a regular file", "a pipe");
    CHECK(ranks_rank != 0 || unlink(pipe) == 0, "unlink");
}

/* Matrices without elements, whose other size is too large to be counted to. */
static void check_long_and_empty(void) {
    static const int64_t sizes[][2] = {{0, INT64_MAX}, {INT64_MAX, 0}, {0, INT64_C(1) << 40}, {INT64_C(1) << 61, 0}};
    double none = 0;
    for (int i = 0; i < 4; i++) {
        bp_dist dist = {.struct_size = sizeof dist, .comm = ranks_comm, .shape = {sizes[i][0], sizes[i][1]}};
        bp_dist_view view;
        CHECK(bp_dist_view_init(&view, &none, 0, BP_F64, &dist) == BP_OK, "view");
        CHECK(bp_dist_write(path, &view.tensor) == BP_OK && bp_dist_read(path, &view.tensor) == BP_OK, "empty %d", i);
        barrier();
    }
}

static void check_argument_failures(ranks_matrix *m) {
    bp_dist_view without, value;
    double one = 1;
    const bool last = ranks_rank == ranks_size - 1;
    char rank[16] = "";
    if (ranks_size > 1) {
        snprintf(rank, sizeof rank, "rank %d", ranks_size - 1);
    }
    CHECK(bp_dist_write(path, &m->view.tensor) == BP_OK, "write");
    expect(bp_dist_read(last ? NULL : path, &m->view.tensor), BP_E_ARGUMENT, rank, "no path on one rank");
    expect(bp_dist_write(last ? NULL : path, &m->view.tensor), BP_E_ARGUMENT, rank, "no path on one rank");
    CHECK(bp_dist_view_init(&without, NULL, 0, BP_F64, &m->dist) == BP_OK, "view");
    expect(bp_dist_write(path, &without.tensor), BP_E_ARGUMENT, "NULL", "no memory");
    CHECK(bp_dist_view_replicated(&value, &one, BP_F64, 0, 1, &m->dist) == BP_OK, "value");
    expect(bp_dist_write(path, &value.tensor), BP_E_SHAPE, "no matrix", "a value");
    if (ranks_size > 1) { /* at least one rank reads, and one writes */
        const bp_status status = last ? bp_dist_read(path, &m->view.tensor) : bp_dist_write(path, &m->view.tensor);
        CHECK(status != BP_OK, "two kinds of calls");
    }
}

/* A file that cannot be written wholly: the old one stays. The limit of a file's size is the last rank's. */
static void check_full(ranks_matrix *m) {
    struct rlimit before, limit;
    barrier();
    CHECK(bp_dist_write(path, &m->view.tensor) == BP_OK, "write");
    CHECK(ranks_rank != 0 || chmod(path, 0640) == 0, "chmod");
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 1000;
    if (ranks_rank == ranks_size - 1) {
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    expect(bp_dist_write(path, &m->view.tensor), BP_E_IO, "File too large", "a file that is too large");
    setrlimit(RLIMIT_FSIZE, &before);
    if (ranks_rank == 0) {
        check_file(BP_F64, 40, 30, "the old file");
        CHECK(!has_partial(), "no partial file");
    }
    expect(bp_dist_write("/nowhere/x.npy", &m->view.tensor), BP_E_IO, "/nowhere", "no folder");
    expect(bp_dist_write(folder, &m->view.tensor), BP_E_IO, "regular", "a folder");
    CHECK(bp_dist_write(path, &m->view.tensor) == BP_OK, "write again");
    struct stat facts;
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0640, "the permissions of the old file");
    barrier();
}

/* A file that is replaced may be read-only. The identity of a user who is not root has effect on files alone. */
static void check_read_only(ranks_matrix *m) {
    struct stat facts;
    const bool root = geteuid() == 0;
    CHECK(ranks_rank != 0 || (chmod(folder, 0777) == 0 && chmod(path, 0444) == 0), "chmod");
    barrier();
    if (root) {
        setfsuid(65534);
    }
    CHECK(bp_dist_write(path, &m->view.tensor) == BP_OK, "over a read-only file: %s", bp_last_error());
    if (root) {
        setfsuid(0);
    }
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0444, "the permissions of the read-only file");
    barrier();
}

static void check_failures(void) {
    ranks_matrix m, other;
    const bp_dist like = {.struct_size = sizeof like, .comm = ranks_comm, .block = {8, 8}};
    ranks_make(&m, &like, BP_F64, 40, 30, ranks_random);
    ranks_make(&other, &like, BP_F32, 40, 30, ranks_random);
    check_content_failures(&m, &other);
    check_argument_failures(&m);
    ranks_free(&m);
    ranks_make(&m, &like, BP_F64, 40, 30, ranks_random);
    check_full(&m);
    check_read_only(&m);
    check_pipe(&m);
    ranks_free(&m), ranks_free(&other);
}

/* ---- Between jobs of different sizes ---- */

static void save_or_load(bool saves, const char *file) {
    ranks_matrix m;
    const bp_dist like = {.struct_size = sizeof like, .comm = ranks_comm, .block = {ranks_size, 7}};
    ranks_make(&m, &like, BP_C128, 301, 97, saves ? ranks_random : NULL);
    const bp_status status = saves ? bp_dist_write(file, &m.view.tensor) : bp_dist_read(file, &m.view.tensor);
    CHECK(status == BP_OK, "%s", saves ? "save" : "load");
    check_values(&m, "between jobs");
    ranks_free(&m);
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_DFL);
    ranks_open();
    if (argc == 3) {
        save_or_load(strcmp(argv[1], "save") == 0, argv[2]);
        return ranks_end();
    }
    make_folder();
    barrier();
    ranks_each_distribution(check_distribution);
    check_long_lines();
    check_long_and_empty();
    check_failures();
    if (ranks_rank == 0) {
        unlink(path);
        CHECK(rmdir(folder) == 0, "nothing else in the folder");
    }
    return ranks_end();
}
