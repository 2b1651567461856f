/* ptx.c - reads the part of PTX that our kernels use, and runs it thread by thread, for the double of libcuda.so.1. An
 * instruction that it does not know is an error of the module. */
#include "parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels that are being read. */
typedef struct reading {
    function *functions;
    int count, most;
} reading;

/* ---- Reading ---- */

static bool ends_word(char c) {
    return isspace((unsigned char)c) || strchr(",;{}[]()", c) != NULL;
}

/* Divides a line into words; brackets and commas separate them. */
static void divide(const char *text, size_t length, line *found) {
    size_t at = 0;
    found->count = 0;
    while (at < length && found->count < WORDS_MOST) {
        size_t size = 0;
        while (at < length && ends_word(text[at])) {
            at++;
        }
        char *word = found->words[found->count];
        while (at < length && !ends_word(text[at])) {
            if (size < WORD_BYTES - 1) {
                word[size++] = text[at];
            }
            at++;
        }
        word[size] = '\0';
        found->count += size > 0;
    }
}

static bool read_line(reading *module, const line *words) {
    function *last = module->count > 0 ? &module->functions[module->count - 1] : NULL;
    const char *first = words->words[0];
    if (words->count == 0 || strcmp(first, ".version") == 0 || strcmp(first, ".target") == 0 ||
        strcmp(first, ".address_size") == 0) {
        return true;
    }
    if (strcmp(first, ".visible") == 0) { /* .visible .entry NAME .param .align 8 .b8 all BYTES */
        if (words->count != 9 || module->count == module->most) {
            return false;
        }
        last = &module->functions[module->count++];
        memcpy(last->name, words->words[2], sizeof last->name);
        last->parameter_bytes = last->sizes[0] = strtoul(words->words[8], NULL, 10);
        last->count = 1;
        last->lines = calloc(LINES_MOST, sizeof *last->lines);
        return last->lines && last->parameter_bytes > 0 && last->parameter_bytes <= PARAMETER_BYTES;
    }
    if (!last) {
        return false;
    }
    if (strcmp(first, ".reg") == 0) {
        for (int i = 2; i < words->count; i++) {
            if (last->register_count == REGISTERS_MOST) {
                return false;
            }
            memcpy(last->registers[last->register_count++], words->words[i], WORD_BYTES);
        }
        return true;
    }
    if (last->line_count == LINES_MOST) {
        return false;
    }
    last->lines[last->line_count++] = *words;
    return true;
}

int double_read_ptx(const char *text, function *functions, int most) {
    reading module = {functions, 0, most};
    while (*text) {
        line words;
        const size_t length = strcspn(text, "\n");
        divide(text, length, &words);
        if (!read_line(&module, &words)) {
            return -1;
        }
        text += length + (text[length] == '\n');
    }
    return module.count;
}

/* ---- Running ---- */

typedef struct thread {
    const function *kernel;
    const uint8_t *parameters;
    unsigned group, threads, number;
    uint64_t registers[REGISTERS_MOST];
    CUresult error;
} thread;

/* Returns the register of a name. An unknown one is an error of the kernel. */
static uint64_t *register_of(thread *own, const char *name) {
    static uint64_t none;
    for (int i = 0; i < own->kernel->register_count; i++) {
        if (strcmp(own->kernel->registers[i], name) == 0) {
            return &own->registers[i];
        }
    }
    own->error = 218;
    return &none;
}

static uint64_t value_of(thread *own, const char *word) {
    return strcmp(word, "%ctaid.x") == 0  ? own->group
           : strcmp(word, "%ntid.x") == 0 ? own->threads
           : strcmp(word, "%tid.x") == 0  ? own->number
           : *word == '%'                 ? *register_of(own, word)
                                          : strtoull(word, NULL, 10);
}

/* Reads or writes `bytes` at an address, from or to one or two registers. */
static void access_memory(thread *own, const line *words, bool load, size_t bytes, int first_value, int address) {
    const size_t count = words->count == 4 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        const uint64_t where = value_of(own, words->words[address]) + i * bytes;
        uint8_t *memory = double_bytes(where, bytes);
        if (!memory || where % (bytes * count) != i * bytes) {
            own->error = memory ? BP__CU_MISALIGNED_ADDRESS : BP__CU_ILLEGAL_ADDRESS;
            return;
        }
        uint64_t *value = register_of(own, words->words[first_value + (int)i]);
        if (load) {
            *value = 0;
            memcpy(value, memory, bytes);
        } else {
            memcpy(memory, value, bytes);
        }
    }
}

static size_t bytes_of_type(const char *type) {
    const bool has_4 = strcmp(type, "u32") == 0 || strcmp(type, "f32") == 0;
    return strcmp(type, "u8") == 0 ? 1 : strcmp(type, "u16") == 0 ? 2 : has_4 ? 4 : 8;
}

/* Loads a parameter, [all+OFFSET]. */
static void load_parameter(thread *own, const line *words, size_t bytes) {
    const char *offset = strchr(words->words[2], '+');
    const unsigned long at = offset ? strtoul(offset + 1, NULL, 10) : 9999;
    uint64_t value = 0;
    if (at + bytes > own->kernel->parameter_bytes) {
        own->error = BP__CU_ILLEGAL_ADDRESS;
        return;
    }
    memcpy(&value, own->parameters + at, bytes);
    *register_of(own, words->words[1]) = value;
}

static uint64_t multiplied_f32(uint64_t a, uint64_t b) {
    float x, y;
    uint64_t product = 0;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x *= y;
    memcpy(&product, &x, sizeof x);
    return product;
}

/* Returns the result of an operation in double precision, whose name begins with its first letter. */
static uint64_t computed_f64(char operation, uint64_t a, uint64_t b) {
    double x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    switch (operation) {
    case 'm':
        x *= y;
        break;
    case 'a':
        x += y;
        break;
    case 'd':
        x /= y;
        break;
    default:
        x -= y;
        break;
    }
    memcpy(&a, &x, sizeof x);
    return a;
}

static uint64_t root_f64(uint64_t a) {
    double x;
    memcpy(&x, &a, sizeof x);
    x = sqrt(x);
    memcpy(&a, &x, sizeof x);
    return a;
}

static uint64_t float_of(int64_t a) {
    const double x = (double)a;
    uint64_t bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

static uint64_t widened(uint64_t a) {
    float x;
    memcpy(&x, &a, sizeof x);
    const double wide = (double)x;
    memcpy(&a, &wide, sizeof wide);
    return a;
}

static uint64_t narrowed(uint64_t a) {
    double x;
    memcpy(&x, &a, sizeof x);
    const float narrow = (float)x;
    a = 0;
    memcpy(&a, &narrow, sizeof narrow);
    return a;
}

/* Replaces the number at an address by another one that is less, and sets *old to the number before. */
static void take_minimum(thread *own, uint64_t *old, uint64_t address, uint64_t other) {
    uint8_t *memory = double_bytes(address, sizeof *old);
    if (!memory || address % sizeof *old != 0) {
        own->error = memory ? BP__CU_MISALIGNED_ADDRESS : BP__CU_ILLEGAL_ADDRESS;
        return;
    }
    memcpy(old, memory, sizeof *old);
    memcpy(memory, *old < other ? old : &other, sizeof other);
}

static bool is_one_of(const char *name, const char *one, const char *other) {
    return strcmp(name, one) == 0 || strcmp(name, other) == 0;
}

/* Sets *to to the result of an arithmetic instruction. Returns false for another one. */
static bool calculate(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t *to) {
    if (strcmp(name, "mul.f32") == 0) {
        *to = multiplied_f32(a, b);
    } else if (is_one_of(name, "mul.f64", "mul.rn.f64") || is_one_of(name, "add.rn.f64", "sub.rn.f64") ||
               strcmp(name, "div.rn.f64") == 0) {
        *to = computed_f64(*name, a, b);
    } else if (strcmp(name, "sqrt.rn.f64") == 0) {
        *to = root_f64(a);
    } else if (strcmp(name, "cvt.rn.f64.s64") == 0) {
        *to = float_of((int64_t)a);
    } else if (strcmp(name, "cvt.f64.f32") == 0) {
        *to = widened(a);
    } else if (strcmp(name, "cvt.rn.f32.f64") == 0) {
        *to = narrowed(a);
    } else if (is_one_of(name, "mul.wide.u32", "mul.lo.u64")) {
        *to = a * b;
    } else if (strcmp(name, "add.u64") == 0) {
        *to = a + b;
    } else if (strcmp(name, "sub.u64") == 0) {
        *to = a - b;
    } else if (strcmp(name, "div.u64") == 0 && b != 0) {
        *to = a / b;
    } else if (strcmp(name, "mad.lo.u64") == 0) {
        *to = a * b + c;
    } else {
        return false;
    }
    return true;
}

/* The same for moves, comparisons, and instructions on bits. */
static bool decide(const char *name, uint64_t a, uint64_t b, uint64_t *to) {
    if (is_one_of(name, "mov.u32", "mov.u64") || strcmp(name, "cvt.u64.u32") == 0) {
        *to = a;
    } else if (strcmp(name, "setp.ge.u64") == 0) {
        *to = a >= b;
    } else if (strcmp(name, "setp.eq.u64") == 0) {
        *to = a == b;
    } else if (strcmp(name, "setp.ge.s64") == 0) {
        *to = (int64_t)a >= (int64_t)b;
    } else if (strcmp(name, "setp.le.s64") == 0) {
        *to = (int64_t)a <= (int64_t)b;
    } else if (is_one_of(name, "and.b64", "and.pred")) {
        *to = a & b;
    } else if (strcmp(name, "xor.b64") == 0) {
        *to = a ^ b;
    } else if (strcmp(name, "or.b64") == 0) {
        *to = a | b;
    } else if (strcmp(name, "shl.b64") == 0) {
        *to = b < 64 ? a << b : 0;
    } else if (strcmp(name, "shr.u64") == 0) {
        *to = b < 64 ? a >> b : 0;
    } else {
        return false;
    }
    return true;
}

/* Runs one instruction other than a branch. */
static void run_line(thread *own, const line *words) {
    const char *name = words->words[0];
    const char *type = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
    const int last = words->count - 1;
    if (strncmp(name, "ld.param.", 9) == 0) {
        load_parameter(own, words, bytes_of_type(type));
    } else if (strncmp(name, "ld.", 3) == 0) {
        access_memory(own, words, true, bytes_of_type(type), 1, last);
    } else if (strncmp(name, "st.", 3) == 0) {
        access_memory(own, words, false, bytes_of_type(type), 2, 1);
    } else {
        const uint64_t a = value_of(own, words->words[2]);
        const uint64_t b = last >= 3 ? value_of(own, words->words[3]) : 0;
        const uint64_t c = last >= 4 ? value_of(own, words->words[4]) : 0;
        uint64_t *to = register_of(own, words->words[1]);
        if (strcmp(name, "atom.min.u64") == 0) {
            take_minimum(own, to, a, b);
        } else if (!calculate(name, a, b, c, to) && !decide(name, a, b, to)) {
            own->error = BP__CU_ILLEGAL_INSTRUCTION;
        }
    }
}

/* Returns the line behind a label. */
static int find_label(const function *kernel, const char *name) {
    const size_t length = strlen(name);
    for (int i = 0; i < kernel->line_count; i++) {
        const char *word = kernel->lines[i].words[0];
        if (strncmp(word, name, length) == 0 && strcmp(word + length, ":") == 0) {
            return i + 1;
        }
    }
    return kernel->line_count;
}

static void run_if(thread *own, const line *words) {
    if (value_of(own, words->words[0] + 1)) {
        line rest = {.count = words->count - 1};
        memcpy(rest.words, words->words[1], sizeof rest.words[0] * (size_t)rest.count);
        run_line(own, &rest);
    }
}

static CUresult run_thread(thread *own) {
    for (int at = 0; at < own->kernel->line_count && own->error == BP__CU_SUCCESS;) {
        const line *words = &own->kernel->lines[at++];
        const char *first = words->words[0];
        if (strcmp(first, "ret") == 0) {
            return BP__CU_SUCCESS;
        }
        if (strcmp(first, "bra") == 0) {
            at = find_label(own->kernel, words->words[1]);
        } else if (*first == '@' && strcmp(words->words[1], "bra") == 0) { /* @%predicate bra LABEL */
            at = value_of(own, first + 1) ? find_label(own->kernel, words->words[2]) : at;
        } else if (*first == '@') { /* @%predicate INSTRUCTION */
            run_if(own, words);
        } else if (first[strlen(first) - 1] != ':') {
            run_line(own, words);
        }
    }
    return own->error ? own->error : BP__CU_ILLEGAL_INSTRUCTION; /* it has not returned */
}

CUresult double_run_ptx(const function *kernel, unsigned groups, unsigned threads, const uint8_t *parameters) {
    CUresult code = BP__CU_SUCCESS;
    for (unsigned i = 0; i < groups; i++) {
        for (unsigned j = 0; j < threads && code == BP__CU_SUCCESS; j++) {
            thread own = {.kernel = kernel, .parameters = parameters, .group = i, .threads = threads, .number = j};
            code = run_thread(&own);
        }
    }
    return code;
}
