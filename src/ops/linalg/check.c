/* check.c - checks the tensors of a linear-algebra call: types, shapes, batches, memory. The rules are in table.c. */
#include "ops/linalg/linalg.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the index of A, the input that defines m and n. */
static int main_input(const bp__linalg_entry *entry) {
    return entry->op == BP_OP_CHOLESKY_SOLVE ? 1 : 0;
}

/* Returns the index of the input with right-hand sides; -1 if there is none. */
static int right_sides(const bp__linalg_entry *entry) {
    for (int i = 0; i < entry->inputs; i++) {
        if (strchr(entry->operand[i].dims, 'r')) {
            return i;
        }
    }
    return -1;
}

static int rank_of(const bp__linalg_facts *facts, int index) {
    char letters[3];
    return (int)strlen(bp__linalg_dims(facts, index, letters));
}

static const char *name_of(const bp__linalg_facts *facts, int index) {
    return bp__linalg_operand_name(facts->entry, index);
}

/* Whether B may be a vector. */
static bool takes_vector(const bp__linalg_entry *entry) {
    return entry->op == BP_OP_SOLVE || entry->op == BP_OP_LSTSQ;
}

static bp_status check_types(bp__linalg_facts *facts, bool data_optional) {
    const bp__linalg_entry *entry = facts->entry;
    const DLTensor *const *tensors = facts->call->input;
    int main = main_input(entry);
    for (int i = 0; i < entry->inputs; i++) {
        BP__TRY(bp__tensor_check(tensors[i], name_of(facts, i), data_optional));
    }
    facts->dtype = bp_dtype_from_dlpack(tensors[main]->dtype);
    if (facts->dtype < BP_F32 || facts->dtype > BP_C128) {
        return bp__linalg_fail(entry, BP_E_DTYPE, "%s is %s; linear algebra takes f32, f64, c64 and c128",
                               name_of(facts, main), bp_dtype_name(facts->dtype));
    }
    for (int i = 0; i < entry->inputs; i++) {
        bp_dtype want = entry->operand[i].type == 'i' ? BP_I32 : facts->dtype;
        bp_dtype got = bp_dtype_from_dlpack(tensors[i]->dtype);
        if (got != want) {
            return bp__linalg_fail(entry, BP_E_DTYPE, "%s is %s; it must be %s, because %s is %s", name_of(facts, i),
                                   bp_dtype_name(got), bp_dtype_name(want), name_of(facts, main),
                                   bp_dtype_name(facts->dtype));
        }
    }
    return BP_OK;
}

/* Applies torch.linalg.solve's rule: B is a vector if it has rank 1, or A's shape without the last dimension. */
static bool is_vector(const DLTensor *a, const DLTensor *b) {
    return b->ndim == 1 ||
           (b->ndim == a->ndim - 1 && memcmp(b->shape, a->shape, (size_t)b->ndim * sizeof b->shape[0]) == 0);
}

static bp_status check_ranks(bp__linalg_facts *facts) {
    const bp__linalg_entry *entry = facts->entry;
    const DLTensor *const *tensors = facts->call->input;
    int main = main_input(entry), b = right_sides(entry);
    if (tensors[main]->ndim < 2) {
        return bp__linalg_fail(entry, BP_E_SHAPE, "%s must have at least 2 dimensions; it has %d", name_of(facts, main),
                               (int)tensors[main]->ndim);
    }
    facts->vector = b >= 0 && takes_vector(entry) && is_vector(tensors[main], tensors[b]);
    if (facts->vector && facts->call->right) {
        return bp__linalg_fail(entry, BP_E_SHAPE, "right is set, but B is a vector; it must be a matrix");
    }
    for (int i = 0; i < entry->inputs; i++) {
        int least = rank_of(facts, i);
        if (tensors[i]->ndim < least) {
            return bp__linalg_fail(entry, BP_E_SHAPE, "%s must have at least %d dimension%s; it has %d",
                                   name_of(facts, i), least, least == 1 ? "" : "s", (int)tensors[i]->ndim);
        }
    }
    return BP_OK;
}

/* Returns whether A must be square: by the table, as a hermitian matrix, or for a condition number by the inverse. */
static bool needs_square(const bp__linalg_facts *facts, int main) {
    bool inverted = facts->entry->op == BP_OP_COND && !(facts->mode == BP_NORM_P && fabs(facts->order) == 2.0);
    return facts->entry->operand[main].dims[0] == 'n' || facts->call->hermitian || inverted;
}

static bp_status read_sizes(bp__linalg_facts *facts) {
    const bp__linalg_entry *entry = facts->entry;
    int main = main_input(entry), b = right_sides(entry);
    const DLTensor *a = facts->call->input[main];
    facts->m = a->shape[a->ndim - 2];
    facts->n = a->shape[a->ndim - 1];
    if (facts->m != facts->n && needs_square(facts, main)) {
        return bp__linalg_fail(entry, BP_E_SHAPE,
                               "%s must be square, or a batch of square matrices, but is %" PRId64 " by %" PRId64,
                               name_of(facts, main), facts->m, facts->n);
    }
    facts->k = facts->m < facts->n ? facts->m : facts->n;
    bool whole = facts->mode == BP_QR_COMPLETE || facts->mode == BP_SVD_FULL;
    facts->p = whole ? facts->m : facts->k;
    facts->q = whole ? facts->n : facts->k;
    if (b >= 0) {
        const DLTensor *sides = facts->call->input[b];
        facts->r = facts->vector ? 1 : sides->shape[sides->ndim - (facts->call->right ? 2 : 1)];
    }
    return BP_OK;
}

/* Writes "(*, 3, k)", the shape that an input must have to fit A. k is any number of right-hand sides. */
static const char *wanted_text(const bp__linalg_facts *facts, const char *letters, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "(*");
    for (; *letters; letters++) {
        if (*letters == 'r') {
            used += (size_t)snprintf(buffer + used, size - used, ", k");
        } else {
            used += (size_t)snprintf(buffer + used, size - used, ", %" PRId64, bp__linalg_size(facts, *letters));
        }
    }
    snprintf(buffer + used, size - used, ")");
    return buffer;
}

static bp_status check_sizes(const bp__linalg_facts *facts) {
    for (int i = 0; i < facts->entry->inputs; i++) {
        char letters[3], want[64], got[256];
        bp__linalg_dims(facts, i, letters);
        const DLTensor *t = facts->call->input[i];
        const int64_t *item = t->shape + t->ndim - (int)strlen(letters);
        for (int d = 0; letters[d]; d++) {
            if (item[d] != bp__linalg_size(facts, letters[d])) {
                return bp__linalg_fail(facts->entry, BP_E_SHAPE,
                                       "%s has shape %s; it must have shape %s for a matrix of %" PRId64 " by %" PRId64,
                                       name_of(facts, i), bp__shape_text(t->ndim, t->shape, got, sizeof got),
                                       wanted_text(facts, letters, want, sizeof want), facts->m, facts->n);
            }
        }
    }
    return BP_OK;
}

/* Broadcasts the batch of one more input with the batch so far. */
static bp_status add_batch(bp__linalg_facts *facts, int index) {
    const DLTensor *t = facts->call->input[index];
    int ndim = t->ndim - rank_of(facts, index), before = facts->batch_ndim;
    int64_t joined[BP_MAX_NDIM];
    int rank = ndim > before ? ndim : before;
    for (int i = 1; i <= rank; i++) {
        int64_t x = i <= before ? facts->batch[before - i] : 1, y = i <= ndim ? t->shape[ndim - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char mine[256], others[256];
            return bp__linalg_fail(facts->entry, BP_E_SHAPE, "the batch %s of %s does not broadcast with %s",
                                   bp__shape_text(ndim, t->shape, mine, sizeof mine), name_of(facts, index),
                                   bp__shape_text(before, facts->batch, others, sizeof others));
        }
        joined[rank - i] = x == 1 ? y : x;
    }
    facts->batch_ndim = rank;
    memcpy(facts->batch, joined, (size_t)rank * sizeof joined[0]);
    return BP_OK;
}

/* The largest or smallest of no values does not exist. */
static bool norm_of_nothing(const bp__linalg_facts *facts) {
    double size = fabs(facts->order);
    int64_t compared = size == 1.0 ? facts->n : size == 2.0 ? facts->k : facts->m;
    return facts->entry->op == BP_OP_MATRIX_NORM && facts->mode == BP_NORM_P && compared == 0;
}

bp_status bp__linalg_inputs(bp__linalg_facts *facts, bool data_optional) {
    BP__TRY(check_types(facts, data_optional));
    BP__TRY(check_ranks(facts));
    BP__TRY(read_sizes(facts));
    BP__TRY(check_sizes(facts));
    if (facts->entry->op == BP_OP_VECTOR_NORM && facts->order == -(double)INFINITY && facts->k == 0) {
        return bp__linalg_fail(facts->entry, BP_E_SHAPE,
                               "the norm of order -inf has no value for a vector without elements");
    }
    if (norm_of_nothing(facts)) {
        return bp__linalg_fail(facts->entry, BP_E_SHAPE,
                               "the norm of order %g is undefined for a matrix of %" PRId64 " by %" PRId64,
                               facts->order, facts->m, facts->n);
    }
    for (int i = 0; i < facts->entry->inputs; i++) {
        BP__TRY(add_batch(facts, i));
    }
    if (facts->batch_ndim + 2 > BP_MAX_NDIM) {
        return bp__linalg_fail(facts->entry, BP_E_SHAPE, "the result would have more than %d dimensions", BP_MAX_NDIM);
    }
    return BP_OK;
}

bp_status bp__linalg_has_output(const bp__linalg_facts *facts, int index) {
    const bp__linalg_entry *entry = facts->entry;
    const int outputs = entry->count - entry->inputs;
    if (index < 0 || index >= outputs) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "output[%d] does not exist; the number of outputs is %d", index,
                               outputs);
    }
    bool rank = entry->op == BP_OP_LSTSQ && index == BP__LSTSQ_RANK;
    bool values = entry->op == BP_OP_LSTSQ && index == BP__LSTSQ_VALUES;
    bool absent = (facts->mode == BP_QR_R && index == 0) || (rank && facts->mode == BP_LSTSQ_GELS) ||
                  (values && (facts->mode == BP_LSTSQ_GELS || facts->mode == BP_LSTSQ_GELSY));
    if (absent) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "%s is not computed with this %s",
                               name_of(facts, entry->inputs + index), entry->op == BP_OP_QR ? "mode" : "driver");
    }
    return BP_OK;
}

static bool may_be_absent(const bp__linalg_facts *facts, int index) {
    return facts->entry->operand[index].optional || (facts->mode == BP_QR_R && index == 1);
}

static bp_status check_output(const bp__linalg_facts *facts, int index, bool data_optional) {
    const DLTensor *out = bp__linalg_tensor(facts, index);
    char want_text[256], got_text[256];
    BP__TRY(bp__linalg_has_output(facts, index - facts->entry->inputs));
    BP__TRY(bp__tensor_check(out, name_of(facts, index), data_optional));
    bp_dtype want, got = bp_dtype_from_dlpack(out->dtype);
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp__linalg_output(facts, index, &want, &ndim, shape);
    if (got != want) {
        return bp__linalg_fail(facts->entry, BP_E_DTYPE, "%s is %s; it must be %s", name_of(facts, index),
                               bp_dtype_name(got), bp_dtype_name(want));
    }
    if (out->ndim != ndim || (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof shape[0]) != 0)) {
        return bp__linalg_fail(facts->entry, BP_E_SHAPE, "%s has shape %s; it must have shape %s",
                               name_of(facts, index), bp__shape_text(out->ndim, out->shape, got_text, sizeof got_text),
                               bp__shape_text(ndim, shape, want_text, sizeof want_text));
    }
    return BP_OK;
}

bp_status bp__linalg_outputs(const bp__linalg_facts *facts, bool data_optional) {
    const bp__linalg_entry *entry = facts->entry;
    DLTensor *const *output = facts->call->output;
    for (int i = entry->inputs; i < entry->count; i++) {
        if (bp__linalg_tensor(facts, i) || !may_be_absent(facts, i)) {
            BP__TRY(check_output(facts, i, data_optional));
        }
    }
    if (entry->op == BP_OP_SVD && !output[0] != !output[2]) {
        return bp__linalg_fail(entry, BP_E_ARGUMENT, "U and Vh must both be given, or both be NULL");
    }
    return bp__call_check_overlap(entry->described, entry->described->passes, facts->call);
}
