/* support_calls.c - calls the provider as dispatch does, on the libraries of this machine. */
#include "lapack/support_lapack.h"

#include "dispatch/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bp_dtype test_dtypes[4] = {BP_F32, BP_F64, BP_C64, BP_C128};

#define MOST 32

/* MKL makes its names visible to all libraries that are opened later. Without RTLD_DEEPBIND, as under sanitizers, these
 * would call MKL instead of themselves. So MKL comes last. */
const bp_library_info **test_libraries(int *count) {
    static bp_library_info rows[MOST];
    static const bp_library_info *list[MOST];
    static int found;
    int all = 0;
    if (found == 0 && bp_library_count(&all) == BP_OK) {
        for (int i = 0; i < 2 * all && found < MOST; i++) {
            rows[found].struct_size = sizeof rows[found];
            if (bp_library_at(i % all, &rows[found]) && (rows[found].kinds & BP_LIB_LAPACK) &&
                rows[found].state == BP_LIBRARY_OK && (strcmp(rows[found].family, "mkl") == 0) == (i >= all)) {
                list[found] = &rows[found];
                found++;
            }
        }
    }
    if (found == 0) {
        print_message("skipped: no LAPACK library is installed\n");
        skip();
    }
    *count = found;
    return list;
}

void *test_open(const bp_library_info *library) {
    void *instance = NULL;
    assert_int_equal(bp_provider_lapack.open(bp__host(), library, &instance), BP_OK);
    return instance;
}

void test_each_library(void (*check)(void *instance, const bp_library_info *row)) {
    int count;
    const bp_library_info **rows = test_libraries(&count);
    for (int i = 0; i < count; i++) {
        void *instance = test_open(rows[i]);
        check(instance, rows[i]);
        bp_provider_lapack.close(instance);
    }
}

/* ---- The native provider ---- */

/* Provider and capability that test_run() uses. */
static const bp_provider *provider = &bp_provider_lapack;
static bp_capability capability;

bool test_fits(int64_t m, int64_t n) {
    return provider != &bp_provider_native || (m <= 32 && n <= 32);
}

void test_each_native(void (*check)(void *instance, const bp_library_info *row)) {
    static const struct {
        bp_capability capability;
        const char *id;
    } sets[] = {{BP_CAPABILITY_DEFAULT, "native default"},
                {BP_CAPABILITY_AVX2, "native avx2"},
                {BP_CAPABILITY_AVX512, "native avx512"}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0] && bp__host()->hardware >= sets[i].capability; i++) {
        const bp_library_info row = {.struct_size = sizeof row, .id = sets[i].id};
        void *instance = NULL;
        assert_int_equal(bp_provider_native.open(bp__host(), NULL, &instance), BP_OK);
        provider = &bp_provider_native;
        capability = sets[i].capability;
        check(instance, &row);
        provider = &bp_provider_lapack;
        capability = BP_CAPABILITY_DEFAULT;
        bp_provider_native.close(instance);
    }
}

/* ---- Problems ---- */

static bool has(const char *names, const char *name) {
    const char *at = strstr(names, name);
    return at == names;
}

/* Positions of A (or the factor in its place) and of B. */
static void sizes_of(bp_op op, const bp_linalg_operand *x, bp_linalg_problem *l) {
    int a = op == BP_OP_CHOLESKY_SOLVE ? 1 : 0;
    int b = op == BP_OP_CHOLESKY_SOLVE                      ? 0
            : op == BP_OP_LU_SOLVE || op == BP_OP_LDL_SOLVE ? 2
            : strchr(bp_op_inputs(op), ',')                 ? 1
                                                            : -1;
    l->m = x[a].rows;
    l->n = x[a].columns;
    l->k = b < 0 ? 0 : l->a_on_left || op == BP_OP_LSTSQ || op == BP_OP_LDL_SOLVE ? x[b].columns : x[b].rows;
}

bp_problem test_problem(const test_call *call) {
    bp_problem problem = {.struct_size = sizeof problem, .op = (uint32_t)call->op};
    bp_linalg_problem *l = &problem.of.linalg;
    *l = call->fields;
    l->batch = 1;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const test_operand *x = call->operand[i];
        if (x) {
            l->operand[i] = (bp_linalg_operand){.dtype = (uint32_t)x->dtype,
                                                .rows = x->rows,
                                                .columns = x->columns,
                                                .row = x->row,
                                                .column = x->column};
            l->operand[i].batch[0] = x->items > 1 ? x->step : 0;
            l->batch = x->items;
        }
    }
    l->batch_ndim = l->batch > 1;
    l->batch_shape[0] = l->batch > 1 ? l->batch : 0;
    bool b_first = has(bp_op_inputs(call->op), "B,");
    problem.dtype = l->operand[b_first].dtype;
    if (has(bp_op_inputs(call->op), "B,L")) {
        l->a_on_left = 1;
    }
    sizes_of(call->op, l->operand, l);
    problem.policy.threads = call->threads > 0 ? call->threads : bp__host()->machine->usable_cpus;
    problem.policy.deterministic = (uint8_t)call->deterministic;
    problem.policy.capability = (uint8_t)capability;
    return problem;
}

/* ---- Runs ---- */

static int inputs_of(bp_op op) {
    int count = 1;
    for (const char *at = bp_op_inputs(op); *at; at++) {
        count += *at == ',';
    }
    return count;
}

static void addresses_of(const test_call *call, void **address) {
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        address[i] = call->operand[i] ? call->operand[i]->base : NULL;
    }
}

bp_status test_run(void *instance, const test_call *call, bp_verdict *verdict) {
    bp_verdict own = {0};
    bp_verdict *v = verdict ? verdict : &own;
    bp_problem problem = test_problem(call);
    *v = test_verdict(provider, instance, &problem);
    if (v->reason != BP_REASON_ACCEPTED) {
        return BP_E_UNSUPPORTED;
    }
    bp_prepared *prepared = NULL;
    bp_status status = test_plan_first(provider, instance, &problem, &prepared);
    if (status != BP_OK) {
        return status;
    }
    void *address[BP_LINALG_OPERANDS];
    addresses_of(call, address);
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        if (call->operand[i]) {
            test_array_free(&call->operand[i]->before);
            test_array_copy(&call->operand[i]->before, &call->operand[i]->array);
        }
    }
    status = test_enqueue(prepared, address, BP_LINALG_OPERANDS, NULL);
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const test_operand *x = call->operand[i];
        if (x && i >= inputs_of(call->op)) {
            test_array_check_gaps(&x->array, bp_op_name(call->op));
        } else if (x) {
            test_array_check_unchanged(&x->array, &x->before, bp_op_name(call->op));
        }
    }
    prepared->destroy(prepared);
    return status;
}

static void describe(test_linalg *made, const test_call *call) {
    void *address[BP_LINALG_OPERANDS];
    const bp_problem problem = test_problem(call);
    addresses_of(call, address);
    test_linalg_make(made, &problem, address);
}

void test_equations(const test_call *call, const char *where) {
    test_linalg of;
    char text[256];
    const test_operand *a = call->operand[0];
    describe(&of, call);
    snprintf(text, sizeof text, "%s: %s %d x %d %s", where, bp_op_name(call->op), (int)a->rows, (int)a->columns,
             bp_dtype_name(a->dtype));
    test_check_equations(&of.call, 1, text);
}

void test_values(reference_results *made, test_linalg *of, const test_call *call, double most) {
    describe(of, call);
    test_linalg_values(made, &of->call, most);
}

void test_check_within(long double value, long double bound, const char *file, int line, const char *format, ...) {
    char text[512];
    if (value <= bound) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_message("%s: %Lg is over %Lg\n", text, value, bound);
    _fail(file, line);
}
