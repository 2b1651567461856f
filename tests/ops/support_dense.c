/* support_dense.c - implements dense.h. */
#include "ops/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void index_of(const DLTensor *t, int core, int64_t item, int64_t *index) {
    memset(index, 0, BP_MAX_NDIM * sizeof *index);
    for (int i = t->ndim - core - 1; i >= 0; i--) {
        index[i] = t->shape[i] == 1 ? 0 : item % t->shape[i];
        item /= t->shape[i] == 1 ? 1 : t->shape[i];
    }
}

void dense_load(dense *m, const DLTensor *t, int core, int64_t item) {
    int64_t index[BP_MAX_NDIM];
    index_of(t, core, item, index);
    m->rows = core > 0 ? (int)t->shape[t->ndim - core] : 1;
    m->columns = core > 1 ? (int)t->shape[t->ndim - 1] : 1;
    if (m->rows > DENSE_MOST || m->columns > DENSE_MOST) {
        abort();
    }
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++) {
            if (core > 0) {
                index[t->ndim - core] = i;
            }
            if (core > 1) {
                index[t->ndim - 1] = j;
            }
            m->at[i][j] = test_get(t, index);
        }
    }
}

void dense_store(const dense *m, DLTensor *t, int core, int64_t item) {
    int64_t index[BP_MAX_NDIM];
    index_of(t, core, item, index);
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++) {
            if (core > 0) {
                index[t->ndim - core] = i;
            }
            if (core > 1) {
                index[t->ndim - 1] = j;
            }
            test_set(t, index, m->at[i][j]);
        }
    }
}

void dense_product(dense *c, const dense *a, const dense *b) {
    dense result = {.rows = a->rows, .columns = b->columns};
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < b->columns; j++) {
            for (int p = 0; p < a->columns; p++) {
                result.at[i][j] += a->at[i][p] * b->at[p][j];
            }
        }
    }
    *c = result;
}

void dense_adjoint(dense *c, const dense *a) {
    dense result = {.rows = a->columns, .columns = a->rows};
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < a->columns; j++) {
            result.at[j][i] = conjl(a->at[i][j]);
        }
    }
    *c = result;
}

void dense_identity(dense *c, int n) {
    *c = (dense){.rows = n, .columns = n};
    for (int i = 0; i < n; i++) {
        c->at[i][i] = 1;
    }
}

void dense_diagonal(dense *c, const dense *vector, int rows, int columns) {
    dense result = {.rows = rows, .columns = columns};
    for (int i = 0; i < vector->rows; i++) {
        result.at[i][i] = vector->at[i][0];
    }
    *c = result;
}

void dense_triangle(dense *m, bool upper, bool unit) {
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++) {
            if (i == j) {
                m->at[i][j] = unit ? 1 : m->at[i][j];
            } else if ((i > j) == upper) {
                m->at[i][j] = 0;
            }
        }
    }
}

long double dense_norm(const dense *a) {
    long double sum = 0;
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < a->columns; j++) {
            sum += creall(a->at[i][j]) * creall(a->at[i][j]) + cimagl(a->at[i][j]) * cimagl(a->at[i][j]);
        }
    }
    return sqrtl(sum);
}

long double dense_distance(const dense *a, const dense *b) {
    dense difference = *a;
    for (int i = 0; i < a->rows; i++) {
        for (int j = 0; j < a->columns; j++) {
            difference.at[i][j] -= b->at[i][j];
        }
    }
    return a->rows == b->rows && a->columns == b->columns ? dense_norm(&difference) : INFINITY;
}

static void eliminate(dense *m, int at) {
    for (int i = at + 1; i < m->rows; i++) {
        long double complex factor = m->at[i][at] / m->at[at][at];
        for (int j = at; j < m->columns; j++) {
            m->at[i][j] -= factor * m->at[at][j];
        }
    }
}

long double complex dense_determinant(const dense *a) {
    dense m = *a;
    long double complex determinant = 1;
    for (int at = 0; at < m.rows; at++) {
        int pivot = at;
        for (int i = at; i < m.rows; i++) {
            pivot = cabsl(m.at[i][at]) > cabsl(m.at[pivot][at]) ? i : pivot;
        }
        if (m.at[pivot][at] == 0) {
            return 0;
        }
        for (int j = 0; j < m.columns && pivot != at; j++) {
            long double complex held = m.at[at][j];
            m.at[at][j] = m.at[pivot][j];
            m.at[pivot][j] = held;
        }
        determinant *= pivot == at ? m.at[at][at] : -m.at[at][at];
        eliminate(&m, at);
    }
    return determinant;
}
