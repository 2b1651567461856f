/* query.c - queries a library's version, kernel set, thread settings, and the runtimes that were loaded with it. */
#include "probe/probe.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef const char *text_function(void);
typedef int number_function(void);

/* CUDA's libraries pack the digits of a version in two ways, distinguished by the size of the number. */
static void report_packed(const char *symbol, int64_t number) {
    if (number >= 90000) {
        report("version", "%d.%d.%d", (int)(number / 10000), (int)(number / 100 % 100), (int)(number % 100));
    } else {
        report("version", "%d.%d.%d", (int)(number / 1000), (int)(number / 100 % 10), (int)(number % 100));
    }
    report_how("version", symbol);
}

static void report_three(const char *symbol, const int numbers[3]) {
    report("version", "%d.%d.%d", numbers[0], numbers[1], numbers[2]);
    report_how("version", symbol);
}

static void report_text_version(const char *symbol, const char *text, bool second_word) {
    if (!text) {
        return;
    }
    if (second_word) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    report("version", "%.*s", (int)strcspn(text, " \n"), text);
    report_how("version", symbol);
}

static void read_version(const subject *library) {
    const bp__library_family *family = library->family;
    void *address = family->version_symbol ? own_symbol(library, family->version_symbol) : NULL;
    int numbers[64] = {0}; /* large enough for MKL's struct */
    const char *tag = NULL;
    if (!address) {
        return;
    }
    switch (family->version) {
    case BP__ANSWER_TEXT:
    case BP__ANSWER_SECOND_WORD:
        report_text_version(family->version_symbol, ((text_function *)address)(),
                            family->version == BP__ANSWER_SECOND_WORD);
        return;
    case BP__ANSWER_INTS:
        ((void (*)(int *, int *, int *))address)(&numbers[0], &numbers[1], &numbers[2]);
        break;
    case BP__ANSWER_TWO_INTS_OUT:
        if (((int (*)(int *, int *))address)(&numbers[0], &numbers[1]) == 0) {
            report("version", "%d.%d", numbers[0], numbers[1]);
            report_how("version", family->version_symbol);
        }
        return;
    case BP__ANSWER_INTS_TAG:
        ((void (*)(int *, int *, int *, const char **))address)(&numbers[0], &numbers[1], &numbers[2], &tag);
        break;
    case BP__ANSWER_MKL_STRUCT:
        ((void (*)(int *))address)(numbers);
        break;
    case BP__ANSWER_DNNL_STRUCT:
        memcpy(numbers, ((const int *(*)(void))address)(), 3 * sizeof *numbers);
        break;
    case BP__ANSWER_NUMBER:
        report_packed(family->version_symbol, (int64_t)((size_t(*)(void))address)());
        return;
    case BP__ANSWER_NUMBER_OUT:
        if (((int (*)(int *))address)(numbers) == 0) {
            report_packed(family->version_symbol, numbers[0]);
        }
        return;
    case BP__ANSWER_NUMBER_HANDLE_OUT:
        if (((int (*)(void *, int *))address)(NULL, numbers) == 0) {
            report_packed(family->version_symbol, numbers[0]);
        }
        return;
    case BP__ANSWER_NONE:
    case BP__ANSWER_DATA_WORD:
    case BP__ANSWER_BLIS_ARCH:
    case BP__ANSWER_DNNL_ISA:
    case BP__ANSWER_MKL_BRANCH:
        return;
    }
    report_three(family->version_symbol, numbers);
}

/* Returns the name of an instruction set of oneDNN, as its variable ONEDNN_MAX_CPU_ISA spells it, in lower case. It
 * takes the values of dnnl_cpu_isa_t in versions 2 and 3. */
static const char *dnnl_isa_name(int isa) {
    static const struct {
        int isa;
        const char *name;
    } names[] = {{0x1, "sse41"},
                 {0x3, "avx"},
                 {0x7, "avx2"},
                 {0xf, "avx2_vnni"},
                 {0x1f, "avx2_vnni_2"},
                 {0x407, "avx2_vnni"},
                 {0x27, "avx512_core"},
                 {0x67, "avx512_core_vnni"},
                 {0xe7, "avx512_core_bf16"},
                 {0x1ef, "avx512_core_fp16"},
                 {0x3e7, "avx512_core_amx"},
                 {0xfef, "avx512_core_amx"},
                 {0x1fef, "avx512_core_amx_fp16"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].isa == isa) {
            return names[i].name;
        }
    }
    return NULL;
}

static void read_kernels(const subject *library) {
    static const char *const branches[] = {"",     "",           "",       "compatible", "sse2",
                                           "sse3", "ssse3",      "sse4.1", "sse4.2",     "avx",
                                           "avx2", "avx512-mic", "avx512", "avx512-mic", "avx512"};
    const bp__library_family *family = library->family;
    void *address = family->kernels_symbol ? own_symbol(library, family->kernels_symbol) : NULL;
    const char *name = NULL;
    if (!address) {
        return;
    }
    if (family->kernels == BP__ANSWER_TEXT) {
        name = ((text_function *)address)();
    } else if (family->kernels == BP__ANSWER_BLIS_ARCH) {
        /* bli_arch_query_id() checks BLIS_ARCH_TYPE against what bli_init() has registered, and ends the process if
         * that has not run. */
        void *initialise = own_symbol(library, "bli_init"), *to_text = own_symbol(library, "bli_arch_string");
        if (initialise) {
            ((void (*)(void))initialise)();
        }
        name = to_text ? ((const char *(*)(int))to_text)(((number_function *)address)()) : NULL;
    } else if (family->kernels == BP__ANSWER_DNNL_ISA) {
        name = dnnl_isa_name(((number_function *)address)());
    } else if (family->kernels == BP__ANSWER_MKL_BRANCH) {
        int branch = ((number_function *)address)();
        name = branch >= 0 && (size_t)branch < sizeof branches / sizeof *branches ? branches[branch] : "";
    }
    if (name && *name) {
        report("kernels", "%s", name);
        report_how("kernels", family->kernels_symbol);
    }
}

void read_version_and_kernels(const subject *library) {
    static const char *const models[] = {"serial", "pthread"};
    read_version(library);
    read_kernels(library);
    const char *symbol = library->family->parallel_symbol;
    void *address = symbol ? own_symbol(library, symbol) : NULL;
    int model = address ? ((number_function *)address)() : 2;
    if (model == 0 || model == 1) { /* for OpenMP, the linked libraries tell the runtime */
        report("threading", "%s", models[model]);
        report_how("threading", symbol);
    }
}

/* A second thread sets another count than the first. The value that the first thread then reads tells which threads a
 * setter affects. */
typedef struct thread_test {
    void (*set)(int64_t);
    int (*get)(void);
    int seen;
} thread_test;

static void *set_two(void *user) {
    thread_test *question = user;
    question->set(2);
    question->seen = question->get();
    return NULL;
}

void find_thread_scope(const subject *library) {
    const bp__library_family *family = library->family;
    thread_test question = {NULL, NULL, 0};
    pthread_t thread;
    if (!family->thread_setter) {
        return;
    }
    *(void **)&question.set = own_symbol(library, family->thread_setter);
    *(void **)&question.get = own_symbol(library, family->thread_getter);
    if (!question.set || !question.get) {
        return;
    }
    question.set(1);
    if (pthread_create(&thread, NULL, set_two, &question) != 0) {
        report("shortage", "threads");
        return;
    }
    pthread_join(thread, NULL);
    int here = question.get();
    if (question.seen == 2 && (here == 1 || here == 2)) {
        report("thread_scope", "%s", here == 2 ? "process" : "thread");
        report_how("thread_scope", "set in one thread, read in another");
    }
}

bool set_threads(const subject *library, int64_t count) {
    static const char *const setters[] = {"openblas_set_num_threads", "bli_thread_set_num_threads",
                                          "MKL_Set_Num_Threads", "omp_set_num_threads"};
    bool found = false;
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        void *address = own_symbol(library, setters[i]);
        if (address) {
            ((void (*)(int64_t))address)(count);
            found = true;
        }
    }
    return found;
}

void stay_on_one_thread(const subject *library) {
    set_threads(library, 1);
}

static int visit_object(struct dl_phdr_info *object, size_t size, void *user) {
    static const char *const heads[] = {"libgomp", "libiomp5", "libomp", "libtbb"};
    char(*found)[16] = user;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    (void)size;
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(heads[i]);
        if (strncmp(name, heads[i], length) == 0 && !(name[length] >= 'a' && name[length] <= 'z')) {
            snprintf(found[i], sizeof found[i], "%s", i == 3 ? "tbb" : heads[i]);
        }
    }
    if (strncmp(name, "libmkl_", 7) == 0) {
        static const char *const kernels[] = {"avx512", "avx10", "avx2", "avx", "mc3", "mc", "def"};
        size_t length = strcspn(name + 7, ".");
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            if (strlen(kernels[i]) == length && strncmp(name + 7, kernels[i], length) == 0) {
                snprintf(found[4], sizeof found[4], "%s", kernels[i]);
            }
        }
    }
    return 0;
}

void find_loaded_runtimes(const subject *library) {
    char found[5][16] = {{0}};
    dl_iterate_phdr(visit_object, found);
    report("runtimes", "%s%s%s%s%s%s%s", found[0], *found[0] && *found[1] ? " " : "", found[1],
           (*found[0] || *found[1]) && *found[2] ? " " : "", found[2],
           (*found[0] || *found[1] || *found[2]) && *found[3] ? " " : "", found[3]);
    if (library->family->kernels == BP__ANSWER_MKL_BRANCH && *found[4]) {
        report("kernels", "%s", found[4]);
        report_how("kernels", "the kernel library that was loaded");
    }
}
