/* test_weights.c - files of weights: what they hold, as tensors and as constants of graphs, and what is refused. */
#include "backplane.h"

#include "support/exhausted.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call) assert_int_equal((call), BP_OK)

static char path[64];

/* Writes a file with this header and these elements. */
static void write_file(const char *header, size_t length, const void *elements, size_t size) {
    unsigned char bytes[8];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(length >> 8 * i);
    }
    assert_int_equal(fwrite(bytes, 1, 8, file), 8);
    assert_int_equal(fwrite(header, 1, strlen(header), file), strlen(header));
    assert_int_equal(fwrite(elements, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static const float six[] = {1, 2, 3, 4, 5, 6};
static const char two_tensors[] =
    "{\"__metadata__\":{\"format\":\"pt\", \"a\\u00e9\\ud83d\\ude00\":\"\\n\"},\n"
    " \"w.0\": {\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"\\u00e9\\ud83d\\ude00 \\\"\\/\" :{\"data_offsets\" : [24, 26] , \"shape\":[ 2 ],\"dtype\":\"BOOL\"},"
    "\"none\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[26,26]},"
    "\"one\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[26,27]}}  ";

static bp_weights *open_two(void) {
    unsigned char elements[27];
    bp_weights *w;
    memcpy(elements, six, sizeof six);
    elements[24] = 0;
    elements[25] = 7;
    elements[26] = 1;
    write_file(two_tensors, sizeof two_tensors - 1, elements, sizeof elements);
    OK(bp_weights_open(&w, path));
    return w;
}

static void test_lists(void **state) {
    (void)state;
    bp_weights *w = open_two();
    bp_weight_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_weights_at(w, 0, &info), 1);
    assert_string_equal(info.name, "w.0");
    assert_string_equal(info.type, "F32");
    assert_true(info.dtype == BP_F32 && info.ndim == 2 && info.shape[0] == 2 && info.shape[1] == 3);
    assert_int_equal(bp_weights_at(w, 1, &info), 1);
    assert_string_equal(info.name, "\xc3\xa9\xf0\x9f\x98\x80 \"/");
    assert_true(info.dtype == BP_BOOL && info.ndim == 1);
    assert_int_equal(bp_weights_at(w, 3, &info), 1);
    assert_true(info.dtype == BP_DTYPE_NONE && info.ndim == 0);
    assert_string_equal(info.type, "F8_E4M3");
    assert_int_equal(bp_weights_at(w, 4, &info), 0);
    assert_int_equal(bp_weights_at(w, -1, &info), 0);
    assert_int_equal(bp_weights_at(NULL, 0, &info), 0);
    assert_int_equal(bp_weights_at(w, 0, NULL), 0);
    assert_int_equal(bp_weights_index(w, "none"), 2);
    assert_int_equal(bp_weights_index(w, "w.1"), -1);
    assert_int_equal(bp_weights_index(w, NULL), -1);
    assert_int_equal(bp_weights_index(NULL, "none"), -1);
    bp_weights_close(w);
    bp_weights_close(NULL);
}

static void test_views(void **state) {
    (void)state;
    bp_weights *w = open_two();
    bp_view first, again, flags, none;
    OK(bp_weights_view(&first, w, 0));
    assert_true(first.tensor.ndim == 2 && first.shape[0] == 2 && first.shape[1] == 3);
    assert_memory_equal(first.tensor.data, six, sizeof six);
    assert_int_equal((uintptr_t)first.tensor.data % 64, 0);
    OK(bp_weights_view(&again, w, 0));
    assert_ptr_equal(again.tensor.data, first.tensor.data);
    OK(bp_weights_view(&flags, w, 1));
    assert_memory_equal(flags.tensor.data, "\0\1", 2);
    OK(bp_weights_view(&none, w, 2));
    assert_true(none.shape[0] == 0 && none.shape[1] == 5);
    assert_int_equal(bp_weights_view(&none, w, 3), BP_E_DTYPE);
    assert_non_null(strstr(bp_last_error(), "F8_E4M3"));
    assert_int_equal(bp_weights_view(&none, w, 4), BP_E_ARGUMENT);
    assert_int_equal(bp_weights_view(&none, w, -1), BP_E_ARGUMENT);
    assert_int_equal(bp_weights_view(NULL, w, 0), BP_E_ARGUMENT);
    assert_int_equal(bp_weights_view(&none, NULL, 0), BP_E_ARGUMENT);
    assert_int_equal(truncate(path, 8 + sizeof two_tensors - 1 + 20), 0);
    OK(bp_weights_view(&again, w, 0)); /* it was read before */
    bp_weights_close(w);
    w = open_two();
    assert_int_equal(truncate(path, 8 + sizeof two_tensors - 1 + 20), 0);
    assert_int_equal(bp_weights_view(&again, w, 0), BP_E_TRUNCATED);
    bp_weights_close(w);
}

static bp_weights *shared;
static pthread_barrier_t barrier;

static void *view_shared(void *argument) {
    bp_view *view = argument;
    pthread_barrier_wait(&barrier);
    return bp_weights_view(view, shared, 0) == BP_OK ? NULL : view;
}

/* Threads that ask at once get one memory. */
static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < 50; round++) {
        pthread_t threads[THREADS];
        bp_view views[THREADS];
        shared = open_two();
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, view_shared, &views[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            assert_null(failed);
            assert_ptr_equal(views[i].tensor.data, views[0].tensor.data);
        }
        assert_memory_equal(views[0].tensor.data, six, sizeof six);
        bp_weights_close(shared);
    }
    pthread_barrier_destroy(&barrier);
}

/* A graph holds the elements when the file is closed, and so does its plan when the graph is released. */
static void test_constants(void **state) {
    (void)state;
    bp_weights *w = open_two();
    bp_graph *graph;
    bp_value weight, again, flags, y;
    OK(bp_graph_create(&graph));
    OK(bp_graph_weight(graph, NULL, w, "w.0", &weight));
    OK(bp_graph_weight(graph, "second", w, "w.0", &again));
    assert_int_equal(bp_graph_weight(graph, NULL, w, "w.0", &again), BP_E_ARGUMENT); /* the name is taken */
    assert_int_equal(bp_graph_weight(graph, "f", w, "w.1", &flags), BP_E_NOT_FOUND);
    assert_int_equal(bp_graph_weight(graph, "f", w, "one", &flags), BP_E_DTYPE);
    assert_int_equal(bp_graph_weight(graph, "f", w, NULL, &flags), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_weight(graph, "f", NULL, "w.0", &flags), BP_E_ARGUMENT);
    assert_int_equal(bp_graph_weight(graph, "f", w, "w.0", NULL), BP_E_ARGUMENT);
    OK(bp_graph_weight(graph, "f", w, "\xc3\xa9\xf0\x9f\x98\x80 \"/", &flags));
    bp_graph *other; /* it shares the memory */
    bp_value same;
    OK(bp_graph_create(&other));
    OK(bp_graph_weight(other, NULL, w, "w.0", &same));
    bp_weights_close(w);
    bp_graph_release(other);
    unlink(path);
    OK(bp_graph_call(graph, "binary", "kind=add", 2, (bp_value[]){weight, again}, 1, (bp_value *[]){&y}));
    OK(bp_graph_output(graph, "y", y));
    OK(bp_graph_output(graph, "flags", flags));
    OK(bp_graph_finish(graph));
    float sums[6];
    bool given[2];
    bp_view sv, gv;
    OK(bp_view_matrix(&sv, sums, BP_F32, 2, 3));
    OK(bp_view_init(&gv, given, BP_BOOL, 1, (int64_t[]){2}, NULL));
    OK(bp_graph_run(NULL, graph, NULL, (DLTensor *[]){&sv.tensor, &gv.tensor}));
    for (int i = 0; i < 6; i++) {
        assert_true(sums[i] == 2 * six[i]);
    }
    assert_true(!given[0] && given[1]);
    bp_graph_release(graph);
}

/* ---- Refusals ---- */

#define TENSOR(type, shape, from, to)                                                                                  \
    "{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}"

#define ONES "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1" /* 17 of them */

static const struct {
    const char *header;
    size_t size; /* of the elements */
    bp_status status;
} wrong[] = {
    {"", 0, BP_E_FORMAT},
    {"[]", 0, BP_E_FORMAT},
    {"{", 0, BP_E_FORMAT},
    {"{}x", 0, BP_E_FORMAT},
    {"{,}", 0, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 0, 4) ",}", 4, BP_E_FORMAT},
    {"{\"a\"}", 0, BP_E_FORMAT},
    {"{\"a\":3}", 0, BP_E_FORMAT},
    {"{\"a\":{}}", 0, BP_E_FORMAT},
    {"{\"a", 0, BP_E_FORMAT},
    {"{\"a\\", 0, BP_E_FORMAT},
    {"{\"a\\x\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\\u00\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"\\u0000\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"\\ud83d\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"\\udc00\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"\\ud83d\\u0041\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\nb\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 0, 4) ",\"a\":" TENSOR("F32", "1", 4, 8) "}", 8, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 0, 4) ",\"b\":" TENSOR("F32", "1", 0, 4) "}", 4, BP_E_FORMAT}, /* one place */
    {"{\"a\":" TENSOR("F32", "1", 0, 4) ",\"b\":" TENSOR("F32", "1", 2, 6) "}", 6, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 0, 4) ",\"b\":" TENSOR("F32", "1", 8, 12) "}", 12, BP_E_FORMAT}, /* a gap */
    {"{\"a\":" TENSOR("F32", "1", 4, 8) "}", 8, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 0, 4) "}", 8, BP_E_FORMAT}, /* more elements than tensors */
    {"{\"a\":" TENSOR("F32", "1", 0, 4) "}", 3, BP_E_TRUNCATED},
    {"{\"a\":" TENSOR("F32", "1", 0, 8) "}", 8, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1", 4, 0) "}", 0, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F4", "1", 4, 0) "}", 0, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "-1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1,", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1 1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "1.0", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "9223372036854775807,9223372036854775807", 0, 4) "}", 4, BP_E_OVERFLOW},
    {"{\"a\":" TENSOR("F32", "9223372036854775808", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("F32", "4611686018427387905", 0, 4) "}", 4, BP_E_OVERFLOW}, /* 4 bytes modulo 2^64 */
    {"{\"a\":" TENSOR("F32", ONES "," ONES "," ONES "," ONES, 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":" TENSOR("a type with a long name", "1", 0, 4) "}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],}}", 4, BP_E_FORMAT},
    {"{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, BP_E_FORMAT},
    {"{\"__metadata__\":3}", 0, BP_E_FORMAT},
    {"{\"__metadata__\":{\"a\":3}}", 0, BP_E_FORMAT},
    {"{\"__metadata__\":{\"a\" \"b\"}}", 0, BP_E_FORMAT},
    {"{\"__metadata__\":{\"a\":\"b\" \"c\":\"d\"}}", 0, BP_E_FORMAT},
    {"{\"__metadata__\":{\"a\":\"b\"", 0, BP_E_FORMAT},
};

static void test_wrong_headers(void **state) {
    (void)state;
    static const char elements[16];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bp_weights *w = (bp_weights *)elements;
        write_file(wrong[i].header, strlen(wrong[i].header), elements, wrong[i].size);
        const bp_status status = bp_weights_open(&w, path);
        if (status != wrong[i].status || w) {
            fail_msg("%s: %s (%s)", wrong[i].header, bp_status_text(status), bp_last_error());
        }
        assert_non_null(strstr(bp_last_error(), path));
    }
    bp_weights *w;
    write_file("{}", 2, elements, 0); /* no tensor is right */
    OK(bp_weights_open(&w, path));
    bp_weights_close(w);
}

/* Each beginning of a file is refused, and no byte of its header makes it read past anything. */
static void test_bytes(void **state) {
    (void)state;
    static unsigned char file[1024], changed[1024];
    bp_weights_close(open_two());
    FILE *stream = fopen(path, "rb");
    const size_t size = fread(file, 1, sizeof file, stream);
    fclose(stream);
    assert_true(size == 8 + sizeof two_tensors - 1 + 27);
    for (size_t length = 0; length < size; length++) {
        bp_weights *w;
        assert_int_equal(truncate(path, 0), 0);
        stream = fopen(path, "wb");
        assert_int_equal(fwrite(file, 1, length, stream), length);
        fclose(stream);
        assert_int_equal(bp_weights_open(&w, path), BP_E_TRUNCATED);
        assert_null(w);
    }
    for (size_t i = 0; i < size - 27; i++) {
        static const unsigned char others[] = {0, '"', '\\', '{', '}', '[', ']', ',', ':', '9', 0xff};
        for (size_t k = 0; k < sizeof others; k++) {
            bp_weights *w;
            memcpy(changed, file, size);
            changed[i] = others[k];
            stream = fopen(path, "wb");
            assert_int_equal(fwrite(changed, 1, size, stream), size);
            fclose(stream);
            if (bp_weights_open(&w, path) == BP_OK) {
                bp_weights_close(w);
            }
        }
    }
}

static void test_wrong_files(void **state) {
    (void)state;
    bp_weights *w;
    assert_int_equal(bp_weights_open(NULL, path), BP_E_ARGUMENT);
    assert_int_equal(bp_weights_open(&w, NULL), BP_E_ARGUMENT);
    unlink(path);
    assert_int_equal(bp_weights_open(&w, path), BP_E_NOT_FOUND);
    assert_int_equal(bp_weights_open(&w, "/"), BP_E_IO);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(bp_weights_open(&w, path), BP_E_IO);
    unlink(path);
    write_file("{}", (size_t)1 << 40, "", 0);
    assert_int_equal(bp_weights_open(&w, path), BP_E_OVERFLOW);
    write_file("{}", 50, "", 0);
    assert_int_equal(bp_weights_open(&w, path), BP_E_TRUNCATED);
}

/* ---- Memory ---- */

static bp_status use_once(void) {
    bp_weights *w;
    bp_view view;
    bp_value value;
    bp_graph *graph = NULL;
    bp_status status = bp_weights_open(&w, path);
    status = status == BP_OK ? bp_weights_view(&view, w, 0) : status;
    status = status == BP_OK ? bp_graph_create(&graph) : status;
    status = status == BP_OK ? bp_graph_weight(graph, NULL, w, "w.0", &value) : status;
    bp_weights_close(w);
    bp_graph_release(graph);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    bp_weights_close(open_two());
    test_exhausted(use_once);
}

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "weights-test-%d.safetensors", (int)getpid());
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),       cmocka_unit_test(test_views),         cmocka_unit_test(test_threads),
        cmocka_unit_test(test_constants),   cmocka_unit_test(test_wrong_headers), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_wrong_files), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
