/* elementwise.c - offers and plans functions of single elements, conversions and copies. */
#include "providers/kernels/elementwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

BP__KERNEL_SOURCE(copies);
BP__KERNEL_SOURCE(functions);
BP__KERNEL_SOURCE(integers);
BP__KERNEL_SOURCE(convert);
BP__KERNEL_SOURCE(truths);
BP__KERNEL_SOURCE(where);

/* ---- Layouts ---- */

bool bp__kernel_element_dims(bp__kernel_dims *dims, const bp_elementwise_problem *p, int operands) {
    dims->ndim = p->ndim;
    dims->operands = operands;
    memcpy(dims->size, p->size, sizeof p->size);
    for (int i = 0; i < operands; i++) {
        memcpy(dims->stride[i], p->stride[i], sizeof p->stride[i]);
    }
    return bp__kernel_dims_simplify(dims, operands - 1);
}

/* ---- Walks ---- */

/* The dimensions that a kernel has. There are few versions, and each is built once. */
static int kernel_dims(const bp_device_info *facts, const bp__kernel_dims *dims) {
    enum { FEW = 4 };
    return bp__kernel_is_cpu(facts) || dims->ndim > FEW ? BP__KERNEL_DIMS : dims->ndim == 1 ? 1 : FEW;
}

/* Elements of a work item in a tile: enough bytes for the latency of memory. */
static int at_once(size_t element) {
    return element < 4 ? 8 : 4;
}

/* Whether all offsets, and the sums of an index and the elements of all work items, are ints. */
static bool is_narrow(const bp__kernel_dims *dims) {
    bool narrow = dims->total <= 1 << 30;
    for (int i = 0; i < dims->operands && narrow; i++) {
        double farthest = 0;
        for (int d = 0; d < dims->ndim; d++) {
            farthest += fabs((double)dims->stride[i][d]) * (double)(dims->size[d] - 1);
        }
        narrow = farthest < INT32_MAX;
    }
    return narrow;
}

void bp__kernel_element_options(bp__kernel_options *options, const bp_device_info *facts, const bp__kernel_dims *dims,
                                size_t element) {
    if (!bp__kernel_is_cpu(facts)) {
        bp__kernel_options_add(options, " -DINDEX=%s -DDIMS=%d -DAT_ONCE=%d", is_narrow(dims) ? "int" : "long",
                               kernel_dims(facts, dims), at_once(element));
    }
}

/* The factor of quotient() in sources/elementwise.cl: 2^(31 + n) / size, rounded up, with size <= 2^n. */
static uint32_t factor_of(int64_t size) {
    int n = 0;
    if (size < 2 || size > INT32_MAX) {
        return 0;
    }
    while (INT64_C(1) << n < size) {
        n++;
    }
    return (uint32_t)bp__kernel_divide_up(INT64_C(1) << (31 + n), size);
}

static void append(bp__kernel_element_walk *walk, const void *bytes, size_t size) {
    memcpy(walk->bytes + walk->size, bytes, size);
    walk->size += size;
}

static void set_walk(bp__kernel_element_walk *walk, const bp_device_info *facts, const bp__kernel_dims *dims,
                     int64_t run) {
    const int kept = kernel_dims(facts, dims);
    const size_t line = (size_t)kept * sizeof(int64_t);
    const int64_t numbers[] = {dims->total, run};
    const int32_t ndim[] = {dims->ndim, 0};
    memset(walk, 0, sizeof *walk);
    append(walk, numbers, sizeof numbers);
    append(walk, ndim, sizeof ndim);
    append(walk, dims->size, line);
    for (int i = 0; i < (dims->operands > 3 ? dims->operands : 3); i++) {
        append(walk, dims->stride[i], line);
    }
    for (int d = 0; d < kept; d++) {
        const uint32_t factor = d < dims->ndim ? factor_of(dims->size[d]) : 0;
        append(walk, &factor, sizeof factor);
    }
    walk->size = (walk->size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t); /* as the struct's */
}

void bp__kernel_element_spread(bp__kernel_step *step, const bp_device_info *facts, const bp__kernel_dims *dims,
                               size_t element, double work, bp__kernel_element_walk *walk) {
    int64_t run;
    const int64_t of_item = bp__kernel_is_cpu(facts) ? 1 : at_once(element);
    bp__kernel_spread(step, facts, bp__kernel_divide_up(dims->total, of_item), work, &run);
    set_walk(walk, facts, dims, run);
}

/* ---- Copies ---- */

static bool is_plain_copy(const bp_problem *problem) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    return problem->op == BP_OP_UNARY && p->kind == BP_UNARY_COPY && p->type[0] == p->type[1];
}

/* Moves the dimension in which the input has its smallest stride before the last one. Returns whether the input is then
 * read in squares. */
static bool transpose(bp__kernel_dims *dims) {
    const int last = dims->ndim - 1;
    int least = last;
    for (int d = last - 1; d >= 0; d--) {
        const int64_t stride = llabs(dims->stride[0][d]);
        least = stride > 0 && stride < llabs(dims->stride[0][least]) ? d : least;
    }
    if (least == last || dims->size[least] < 8 || dims->size[last] < 8) {
        return false;
    }
    int64_t *const lists[] = {dims->size, dims->stride[0], dims->stride[1]};
    for (int i = 0; i < 3; i++) {
        const int64_t rows = lists[i][least];
        memmove(lists[i] + least, lists[i] + least + 1, (size_t)(last - 1 - least) * sizeof rows);
        lists[i][last - 1] = rows;
    }
    return true;
}

/* Adds what all kernels need that move elements of `element` bytes. */
static void unit_options(bp__kernel_options *options, bp__kernel_device *device, const bp__kernel_dims *dims,
                         size_t element) {
    static const char *const units[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4"};
    bp__kernel_options_begin(options, device);
    bp__kernel_options_add(options, " -DX=unit -DY=unit -Dstorage_unit=%s", units[element]);
    bp__kernel_element_options(options, device->facts, dims, element);
}

bp_status bp__kernel_copy_program(bp__kernel_device *device, const bp__kernel_dims *dims, size_t element,
                                  bp__kernel_program **program) {
    bp__kernel_options options;
    unit_options(&options, device, dims, element);
    return bp__kernel_program_get(device, bp__kernel_source_copies, options.text, program);
}

/* Squares of a transposed copy on processors: a work item takes one. */
static bp_status squares_of_items(bp__kernel_device *device, bp__kernel_step *step, const bp__kernel_dims *transposed,
                                  size_t element, bp__kernel_element_walk *walk) {
    enum { SIDE = 32 };
    bp__kernel_dims dims = *transposed;
    const int last = dims.ndim - 1;
    dims.total = dims.total / dims.size[last] / dims.size[last - 1];
    step->kernel = "copy_transposed";
    step->dimensions = 3;
    for (int i = 0; i < 2; i++) {
        step->global[i] = (size_t)bp__kernel_divide_up(dims.size[last - i], SIDE);
        step->local[i] = 1;
    }
    step->global[2] = (size_t)bp__least(dims.total, 1024);
    step->local[2] = 1;
    set_walk(walk, device->facts, &dims, SIDE);
    return bp__kernel_copy_program(device, transposed, element, &step->program);
}

enum { SQUARE = 32 }; /* side of the squares of groups */

/* The work items of a group across a square's lines; 0: groups are too small, or local memory is. */
static int64_t rows_of_group(const bp_device_info *facts, size_t element) {
    const int64_t items = facts->group_items ? facts->group_items : 256;
    const uint64_t bytes = SQUARE * (SQUARE + 1) * (uint64_t)element;
    int64_t rows = 8;
    while (rows * SQUARE > items) {
        rows /= 2;
    }
    return facts->local_memory && facts->local_memory < bytes ? 0 : rows;
}

/* Squares of a transposed copy on other devices: a group takes one, of the first two dimensions. */
static bp_status squares_of_groups(bp__kernel_device *device, bp__kernel_step *step, const bp__kernel_dims *transposed,
                                   size_t element, bp__kernel_element_walk *walk) {
    const bp_device_info *facts = device->facts;
    const int64_t rows = rows_of_group(facts, element), units = facts->units ? facts->units : 1;
    const int last = transposed->ndim - 1;
    bp__kernel_dims dims = *transposed;
    bp__kernel_options options;
    int64_t *const lists[] = {dims.size, dims.stride[0], dims.stride[1]};
    for (int i = 0; i < 3; i++) {
        const int64_t row = lists[i][last - 1], column = lists[i][last];
        memmove(lists[i] + 2, lists[i], (size_t)(last - 1) * sizeof row);
        lists[i][0] = column;
        lists[i][1] = row;
    }
    const int64_t squares = dims.total / dims.size[0] / dims.size[1] * bp__kernel_divide_up(dims.size[0], SQUARE) *
                            bp__kernel_divide_up(dims.size[1], SQUARE);
    step->kernel = "copy_squares";
    step->dimensions = 2;
    step->global[0] = (size_t)(bp__least(squares, 64 * units) * SQUARE);
    step->global[1] = step->local[1] = (size_t)rows;
    step->local[0] = SQUARE;
    set_walk(walk, facts, &dims, squares);
    unit_options(&options, device, &dims, element);
    bp__kernel_options_add(&options, " -DROWS=%d", (int)rows);
    return bp__kernel_program_get(device, bp__kernel_source_copies, options.text, &step->program);
}

bp_status bp__kernel_copy_step(bp__kernel_device *device, bp__kernel_plan *plan, const bp__kernel_dims *dims,
                               size_t element, const int operand[2]) {
    const bool cpu = bp__kernel_is_cpu(device->facts);
    bp__kernel_dims transposed = *dims;
    bp__kernel_step step = {.kernel = "copy_all"};
    bp__kernel_element_walk walk;
    bp_status status;
    if ((cpu || rows_of_group(device->facts, element) > 0) && transpose(&transposed)) {
        status = (cpu ? squares_of_items : squares_of_groups)(device, &step, &transposed, element, &walk);
    } else {
        bp__kernel_element_spread(&step, device->facts, dims, element, 0.3, &walk);
        status = bp__kernel_copy_program(device, dims, element, &step.program);
    }
    for (int i = 0; i < 2; i++) {
        bp__kernel_operand(&step, operand[i], element);
    }
    bp__kernel_value(&step, walk.bytes, walk.size);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

/* ---- Functions and conversions ---- */

static bool is_floating(uint32_t dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

static bool is_converted(uint32_t dtype) {
    return is_floating(dtype) || dtype == BP_I8 || dtype == BP_U8 || dtype == BP_I32 || dtype == BP_I64 ||
           dtype == BP_BOOL;
}

/* The names of kernels and of what they compute, by the number of the function. */
typedef struct function_names {
    const char *kernel, *function;
} function_names;

static const function_names unary_names[] = {
#define X(number, name, text) [number] = {text "_all", text "_of"},
    BP_UNARY_MAP(X)
#undef X
};
static const function_names binary_names[] = {
#define X(number, name, text) [number] = {text "_all", text "_of"},
    BP_BINARY_MAP(X)
#undef X
};

static const function_names *names_of(const bp_problem *problem) {
    return &(problem->op == BP_OP_UNARY ? unary_names : binary_names)[problem->of.elementwise.kind];
}

/* Whether the function takes the two numbers of the problem. */
static bool takes_numbers(const bp_problem *problem) {
    const uint32_t kind = problem->of.elementwise.kind;
    return problem->op == BP_OP_UNARY && kind >= BP_UNARY_LEAKY_RELU && kind <= BP_UNARY_SOFTSHRINK;
}

static bool integers_have(uint32_t kind) {
    switch (kind) {
    case BP_UNARY_NEGATIVE:
    case BP_UNARY_ABS:
    case BP_UNARY_RELU:
    case BP_UNARY_FLOOR:
    case BP_UNARY_CEIL:
    case BP_UNARY_ROUND:
    case BP_UNARY_TRUNC:
    case BP_UNARY_SIGN:
    case BP_UNARY_CLIP:
    case BP_UNARY_BITWISE_INVERT:
        return true;
    default:
        return false;
    }
}

/* Functions that floating numbers do not have. */
static bool is_bitwise(const bp_problem *problem) {
    const uint32_t kind = problem->of.elementwise.kind;
    return problem->op == BP_OP_UNARY ? kind == BP_UNARY_BITWISE_INVERT
                                      : kind >= BP_BINARY_BITWISE_AND && kind <= BP_BINARY_BITWISE_RIGHT_SHIFT;
}

/* Whether the results are bool. Conversions are apart. */
static bool is_truth(const bp_problem *problem) {
    return problem->of.elementwise.type[problem->op == BP_OP_UNARY ? 1 : 2] == BP_BOOL;
}

static bool has_truth(const bp_problem *problem) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const bool whole = p->type[0] == BP_I32 || p->type[0] == BP_I64 || p->type[0] == BP_BOOL;
    if (is_bitwise(problem)) {
        return p->type[0] == BP_BOOL;
    }
    if (problem->op == BP_OP_UNARY) {
        return p->kind == BP_UNARY_LOGICAL_NOT
                   ? whole || is_floating(p->type[0])
                   : p->kind >= BP_UNARY_ISNAN && p->kind < BP_UNARY_LOGICAL_NOT && is_floating(p->type[0]);
    }
    return p->kind >= BP_BINARY_EQUAL && p->kind <= BP_BINARY_LOGICAL_XOR && p->type[0] == p->type[1] &&
           (whole || is_floating(p->type[0]));
}

static bool has_function(const bp_problem *problem) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const bool unary = problem->op == BP_OP_UNARY;
    const bool whole = p->type[0] == BP_I32 || p->type[0] == BP_I64;
    if (is_truth(problem)) {
        return has_truth(problem);
    }
    for (int i = 1; i < (unary ? 2 : 3); i++) {
        if (p->type[i] != p->type[0]) {
            return false;
        }
    }
    if (whole && unary) {
        return integers_have(p->kind);
    }
    return (whole && p->kind != BP_BINARY_DIVIDE && p->kind != BP_BINARY_ATAN2 && p->kind < BP_BINARY_KINDS) ||
           (is_floating(p->type[0]) && !is_bitwise(problem) &&
            p->kind < (unary ? (uint32_t)BP_UNARY_KINDS : (uint32_t)BP_BINARY_KINDS));
}

static bool converts(const bp_problem *problem) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    return problem->op == BP_OP_UNARY && p->kind == BP_UNARY_COPY;
}

/* Adds what the functions of floating elements need. The program has all of them on processors, where PoCL compiles a
 * kernel before its first run. Other compilers compile whole programs, for some seconds: there it has one. */
static void add_floating(bp__kernel_options *options, const bp_device_info *facts, const bp_problem *problem) {
    if (problem->of.elementwise.type[0] == BP_F64) {
        bp__kernel_options_add(options, " -DCOMPUTE_F64");
    }
    if (!bp__kernel_is_cpu(facts)) {
        const function_names *names = names_of(problem);
        bp__kernel_options_add(options, " -DKERNEL=%s -DFUNCTION=%s -DTAKES=%s", names->kernel, names->function,
                               takes_numbers(problem)       ? "UNARY_WITH"
                               : problem->op == BP_OP_UNARY ? "UNARY"
                                                            : "BINARY");
    }
}

static bp_status function_program(bp__kernel_device *device, const bp_problem *problem, const bp__kernel_dims *dims,
                                  bp__kernel_program **program) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const bool truth = is_truth(problem);
    const uint32_t from = p->type[0], to = p->type[problem->op == BP_OP_UNARY ? 1 : 2];
    const char *source = converts(problem)   ? bp__kernel_source_convert
                         : truth             ? bp__kernel_source_truths
                         : is_floating(from) ? bp__kernel_source_functions
                                             : bp__kernel_source_integers;
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s -DY=%s", bp__kernel_type(from), bp__kernel_type(to));
    bp__kernel_element_options(&options, device->facts, dims, bp__kernel_bytes(from));
    if (converts(problem)) {
        bp__kernel_options_add(&options, "%s",
                               !is_floating(from) ? " -DFROM_INTEGER"
                               : from == BP_F64   ? " -DFROM_F64"
                                                  : "");
    } else if (truth) {
        bp__kernel_options_add(&options, "%s", is_floating(from) ? " -DFLOATING" : from == BP_BOOL ? " -DTRUTH" : "");
    } else if (!is_floating(from)) {
        bp__kernel_options_add(&options, " -DUNSIGNED=%s", from == BP_I32 ? "uint" : "ulong");
    } else {
        add_floating(&options, device->facts, problem);
    }
    return bp__kernel_program_get(device, source, options.text, program);
}

/* The numbers of a function in the type of its kernel. */
typedef union numbers {
    double f64[2];
    float f32[2];
    int64_t i64[2];
    int32_t i32[2];
} numbers;

/* The integer from -most - 1 to most that is nearest to a limit. */
static int64_t nearest(double limit, int64_t most) {
    return limit >= (double)most ? most : limit <= -(double)most - 1 ? -most - 1 : (int64_t)limit;
}

/* Adds both numbers of the problem as arguments, if its function takes some. */
static void add_numbers(bp__kernel_step *step, const bp_problem *problem, numbers *kept) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    if (!takes_numbers(problem)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        switch (p->type[0]) {
        case BP_F64:
            kept->f64[i] = p->number[i];
            bp__kernel_value(step, &kept->f64[i], sizeof kept->f64[i]);
            break;
        case BP_I64:
            kept->i64[i] = nearest(p->number[i], INT64_MAX);
            bp__kernel_value(step, &kept->i64[i], sizeof kept->i64[i]);
            break;
        case BP_I32:
            kept->i32[i] = (int32_t)nearest(p->number[i], INT32_MAX);
            bp__kernel_value(step, &kept->i32[i], sizeof kept->i32[i]);
            break;
        default:
            kept->f32[i] = (float)p->number[i];
            bp__kernel_value(step, &kept->f32[i], sizeof kept->f32[i]);
        }
    }
}

static bp_status add_function(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan,
                              const bp__kernel_dims *dims, const int *operand) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    bp__kernel_element_walk walk;
    bp__kernel_step step = {.kernel = converts(problem) ? "convert_all" : names_of(problem)->kernel};
    numbers kept;
    const bp_status status = function_program(device, problem, dims, &step.program);
    bp__kernel_element_spread(&step, device->facts, dims, bp__kernel_bytes(p->type[0]), 1, &walk);
    for (int i = 0; i < dims->operands; i++) {
        bp__kernel_operand(&step, operand[i], bp__kernel_bytes(p->type[i]));
    }
    bp__kernel_value(&step, walk.bytes, walk.size);
    add_numbers(&step, problem, &kept);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

bp_status bp__kernel_unary_step(bp__kernel_device *device, bp__kernel_plan *plan, const bp__kernel_dims *dims,
                                uint32_t dtype, uint32_t kind, int operand) {
    const bp_problem problem = {
        .op = BP_OP_UNARY, .dtype = dtype, .of.elementwise = {.kind = kind, .type = {dtype, dtype}}};
    return add_function(device, &problem, plan, dims, (const int[]){operand, operand});
}

/* ---- Choices ---- */

static bp_status add_where(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan,
                           const bp__kernel_dims *dims) {
    const size_t element = bp__kernel_bytes(problem->dtype);
    bp__kernel_step step = {.kernel = "where_all"};
    bp__kernel_element_walk walk;
    bp__kernel_options options;
    unit_options(&options, device, dims, element);
    const bp_status status = bp__kernel_program_get(device, bp__kernel_source_where, options.text, &step.program);
    bp__kernel_element_spread(&step, device->facts, dims, element, 0.3, &walk);
    for (int i = 0; i < dims->operands; i++) {
        bp__kernel_operand(&step, i, i == 0 ? 1 : element);
    }
    bp__kernel_value(&step, walk.bytes, walk.size);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

/* ---- The family ---- */

static int operands_of(const bp_problem *problem) {
    return problem->op == BP_OP_UNARY ? 2 : problem->op == BP_OP_WHERE ? 4 : 3;
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const bool takes = problem->op == BP_OP_TAKE || problem->op == BP_OP_GATHER;
    const int operands = operands_of(problem);
    bp__kernel_dims dims;
    double bytes = 0;
    (void)host;
    if (!takes && !is_plain_copy(problem) && problem->op != BP_OP_WHERE) {
        const bool known =
            converts(problem) ? is_converted(p->type[0]) && is_converted(p->type[1]) : has_function(problem);
        if (!known) {
            bp__kernel_refuse(offers, BP_REASON_DTYPE, "there is no kernel for these types");
            return;
        }
        for (int i = 0; i < operands; i++) {
            if (p->type[i] == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
                return;
            }
        }
    }
    if (!bp__kernel_element_dims(&dims, p, operands)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 24 dimensions are left after neighbours were merged");
        return;
    }
    for (int i = 0; i < operands; i++) {
        bytes += (double)dims.total * (double)bp__kernel_bytes(p->type[i]);
    }
    const char *name = takes ? "indices" : is_plain_copy(problem) ? "copy" : "elements";
    bp__kernel_offer(facts, name, BP__KERNEL_REPRODUCIBLE, bytes, 20 * (double)dims.total, takes ? 3 : 1,
                     takes ? BP__KERNEL_FLAG_BYTES : 0, offers, NULL, 0);
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    const bool takes = problem->op == BP_OP_TAKE || problem->op == BP_OP_GATHER;
    bp__kernel_dims dims;
    bp__kernel_plan *steps;
    (void)found;
    bp__kernel_element_dims(&dims, &problem->of.elementwise, operands_of(problem));
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (dims.total > 0) {
        status = takes                        ? bp__kernel_take_steps(device, problem, steps, &dims)
                 : problem->op == BP_OP_WHERE ? add_where(device, problem, steps, &dims)
                 : is_plain_copy(problem)
                     ? bp__kernel_copy_step(device, steps, &dims, bp__kernel_bytes(problem->dtype), (const int[]){0, 1})
                     : add_function(device, problem, steps, &dims, (const int[]){0, 1, 2});
    }
    status = bp__kernel_plan_finish(status, steps, prepared);
    return status == BP_OK && takes && dims.total > 0 ? device->backend->report_flag(device, *prepared, prepared)
                                                      : status;
}

const bp__kernel_family bp__kernel_elementwise = {accept, plan};
