/* ranks_fft.c - compares transforms of distributed arrays with sums from the definition.
 *
 * Every rank computes the whole result, and compares its own part. */
#include "distributed/ranks_arrays.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values ---- */

static void check_complex(const ranks_trial *t) {
    const bp_dtype dtype = t->single ? BP_C64 : BP_C128;
    ranks_whole w = ranks_input(t->ndim, t->n, false), original = ranks_input(t->ndim, t->n, false);
    ranks_array in, out;
    ranks_make_array(&in, ranks_comm, dtype, t->ndim, t->n, t->block, t->how);
    ranks_make_array(&out, ranks_comm, dtype, t->ndim, t->n, t->block, t->how);
    ranks_fill(&in, &w);
    ranks_fill(&out, NULL);
    ranks_transform(&w, t->inverse, ranks_scale(&w, t->inverse, t->norm));
    CHECK(ranks_run(t->inverse ? BP_IFFT : BP_FFT, t, &in, &out) == BP_OK, "%s", ranks_name(t));
    CHECK(ranks_difference(&out, &w, t->n[t->ndim - 1]) <= ranks_bound(t, &w), "%s: error %g above %g", ranks_name(t),
          ranks_difference(&out, &w, t->n[t->ndim - 1]), ranks_bound(t, &w));
    CHECK(ranks_difference(&in, &original, t->n[t->ndim - 1]) <= (t->single ? FLT_EPSILON : 0),
          "%s: the input has changed", ranks_name(t));
    CHECK(ranks_run(t->inverse ? BP_IFFT : BP_FFT, t, &in, &in) == BP_OK, "%s: in place", ranks_name(t));
    CHECK(ranks_difference(&in, &w, t->n[t->ndim - 1]) <= ranks_bound(t, &w), "%s: error in place", ranks_name(t));
    ranks_free_array(&in), ranks_free_array(&out);
    free(w.x), free(original.x);
}

/* rfft, irfft of its result, and the whole spectrum of real input. */
static void check_real(const ranks_trial *t) {
    const bp_dtype complex_type = t->single ? BP_C64 : BP_C128, real_type = t->single ? BP_F32 : BP_F64;
    const int last = t->ndim - 1;
    int64_t halved[3];
    memcpy(halved, t->n, sizeof halved);
    halved[last] = t->n[last] / 2 + 1;
    ranks_whole w = ranks_input(t->ndim, t->n, true), original = ranks_input(t->ndim, t->n, true);
    ranks_array in, half, full, back;
    ranks_make_array(&in, ranks_comm, real_type, t->ndim, t->n, t->block,
                     t->how == NOT_ALIGNED ? NOT_ALIGNED : IN_C_ORDER);
    ranks_make_array(&half, ranks_comm, complex_type, t->ndim, halved, t->block,
                     t->how == NOT_ALIGNED ? NOT_ALIGNED : IN_C_ORDER);
    ranks_make_array(&full, ranks_comm, complex_type, t->ndim, t->n, t->block, IN_C_ORDER);
    ranks_make_array(&back, ranks_comm, real_type, t->ndim, t->n, t->block, IN_C_ORDER);
    ranks_fill(&in, &w), ranks_fill(&half, NULL), ranks_fill(&full, NULL), ranks_fill(&back, NULL);
    ranks_transform(&w, false, ranks_scale(&w, false, t->norm));
    CHECK(ranks_run(BP_RFFT, t, &in, &half) == BP_OK, "rfft %s", ranks_name(t));
    CHECK(ranks_difference(&half, &w, halved[last]) <= ranks_bound(t, &w), "rfft %s: error %g", ranks_name(t),
          ranks_difference(&half, &w, halved[last]));
    CHECK(ranks_run(BP_FFT, t, &in, &full) == BP_OK, "fft of real input %s", ranks_name(t));
    CHECK(ranks_difference(&full, &w, t->n[last]) <= ranks_bound(t, &w), "fft of real input %s: error %g",
          ranks_name(t), ranks_difference(&full, &w, t->n[last]));
    const bp_fft_call inverse = {sizeof inverse, BP_IRFFT, t->norm, t->ndim, NULL, t->n};
    CHECK(bp_fft_run(NULL, &inverse, &half.view.tensor, &back.view.tensor) == BP_OK, "irfft %s", ranks_name(t));
    CHECK(ranks_difference(&back, &original, t->n[last]) <= ranks_bound(t, &original), "irfft %s: error %g",
          ranks_name(t), ranks_difference(&back, &original, t->n[last]));
    CHECK(ranks_difference(&half, &w, halved[last]) <= ranks_bound(t, &w), "irfft %s: the input has changed",
          ranks_name(t));
    ranks_free_array(&in), ranks_free_array(&half), ranks_free_array(&full), ranks_free_array(&back);
    free(w.x), free(original.x);
}

/* Whether there is a transform of an array whose items have one element. */
static bool has_rest(const ranks_trial *t) {
    return t->n[1] * (t->ndim > 2 ? t->n[2] : 1) > 1 || ranks_size == 1 || t->n[0] <= 1;
}

static void check_values(void) {
    static const struct {
        int ndim;
        int64_t n[3];
    } shapes[] = {{2, {1, 1}},    {2, {1, 5}},    {2, {2, 2}},    {2, {3, 4}},    {2, {7, 5}},    {2, {8, 8}},
                  {2, {3, 150}},  {2, {13, 4}},   {2, {3, 16}},   {2, {2, 9}},    {2, {64, 2}},   {2, {5, 1}},
                  {2, {1, 16}},   {3, {1, 1, 1}}, {3, {4, 4, 4}}, {3, {2, 3, 4}}, {3, {5, 1, 3}}, {3, {3, 7, 1}},
                  {3, {1, 6, 5}}, {3, {8, 3, 2}}, {3, {6, 5, 4}}, {3, {1, 1, 7}}, {3, {9, 2, 8}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int number = 0; number < 2 * 2 * 3 * LAYOUTS; number++) {
            ranks_trial t = {.ndim = shapes[i].ndim,
                             .single = number % 2,
                             .inverse = number / 2 % 2,
                             .norm = (bp_fft_norm)(number / 4 % 3),
                             .how = (ranks_layout)(number / 12 % LAYOUTS)};
            memcpy(t.n, shapes[i].n, sizeof t.n);
            const int32_t least = (int32_t)((t.n[0] - 1) / ranks_size) + 1;
            t.block = number % 5 == 3 ? least + 1 : number % 5 == 4 ? (int32_t)t.n[0] : 0;
            if (has_rest(&t)) {
                check_complex(&t);
            }
            if (has_rest(&t) && !t.inverse && (t.ndim > 2 || t.n[1] > 1)) {
                check_real(&t);
            }
        }
    }
}

/* ---- Plans and communicators ---- */

/* More transforms than are kept, and back to the first one. */
static void check_held_plans(void) {
    enum { PLANS = 21 };
    bp_plan *plans[PLANS] = {0};
    ranks_array in[PLANS], out[PLANS];
    ranks_whole w[PLANS];
    for (int i = 0; i < PLANS; i++) {
        const int64_t n[3] = {3 + i, 4, 2};
        w[i] = ranks_input(3, n, false);
        ranks_make_array(&in[i], ranks_comm, BP_C128, 3, n, 0, IN_C_ORDER);
        ranks_make_array(&out[i], ranks_comm, BP_C128, 3, n, 0, IN_C_ORDER);
        ranks_fill(&in[i], &w[i]);
        ranks_transform(&w[i], false, 1);
        const bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, BP_FFT_ALL, NULL, NULL};
        CHECK(bp_fft_plan(&plans[i], NULL, &call, &in[i].view.tensor, &out[i].view.tensor) == BP_OK, "plan");
    }
    for (int number = 0; number < 3 * PLANS; number++) {
        const int i = number % 2 ? number % PLANS : number / 2 % 3;
        const bp_operand operands[] = {{&in[i].view, 0}, {&out[i].view, 0}},
                         wrong[] = {{&in[i].view, 8}, {&out[i].view, 0}};
        const ranks_trial t = {.ndim = 3};
        ranks_fill(&out[i], NULL);
        CHECK(bp_execute(plans[i], operands, NULL) == BP_OK, "execute %d", i);
        CHECK(ranks_difference(&out[i], &w[i], 2) <= ranks_bound(&t, &w[i]), "run %d of plan %d", number, i);
        CHECK(bp_execute(plans[i], wrong, NULL) == BP_E_ARGUMENT, "an offset");
    }
    bp_plan_info info = {.struct_size = sizeof info};
    CHECK(bp_plan_describe(plans[0], &info) == BP_OK && strcmp(info.provider, "fftw-mpi") == 0, "describe");
    for (int i = 0; i < PLANS; i++) {
        bp_plan_release(plans[i]);
        ranks_free_array(&in[i]), ranks_free_array(&out[i]);
        free(w[i].x);
    }
}

/* Communicators that are opened and closed, with a plan that outlives one. */
static void check_communicators(void) {
    const int64_t n[2] = {6, 5};
    const bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, BP_FFT_ALL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        bp_comm *comm = NULL;
        bp_plan *plan = NULL;
        ranks_array in, out;
        ranks_whole w = ranks_input(2, n, false);
        CHECK(bp_comm_open(&comm, 0) == BP_OK, "open");
        ranks_make_array(&in, comm, BP_C64, 2, n, 0, IN_C_ORDER);
        ranks_make_array(&out, comm, BP_C64, 2, n, 0, MATRIX);
        ranks_make_array(&out, comm, BP_C64, 2, n, 0, IN_C_ORDER);
        ranks_fill(&in, &w);
        CHECK(bp_fft_plan(&plan, NULL, &call, &in.view.tensor, &out.view.tensor) == BP_OK, "plan");
        const bp_operand operands[] = {{&in.view, 0}, {&out.view, 0}};
        CHECK(bp_execute(plan, operands, NULL) == BP_OK && bp_execute(plan, operands, NULL) == BP_OK, "execute");
        CHECK(bp_comm_close(comm) == BP_OK, "close");
        CHECK(bp_execute(plan, operands, NULL) == BP_E_DEVICE, "a plan of a closed communicator");
        bp_plan_release(plan);
        ranks_free_array(&in), ranks_free_array(&out);
        free(w.x);
    }
}

/* FFTW's planner serves the host too, after FFTW-MPI has added its solvers. */
static void check_host(void) {
    const int64_t n[2] = {12, 35};
    ranks_whole w = ranks_input(2, n, false);
    double *in = malloc(2 * 420 * sizeof *in), *out = malloc(2 * 420 * sizeof *out), most = 0;
    bp_view from, to;
    bp_view_matrix(&from, in, BP_C128, 12, 35), bp_view_matrix(&to, out, BP_C128, 12, 35);
    for (int i = 0; i < 420; i++) {
        in[2 * i] = creal(w.x[i]), in[2 * i + 1] = cimag(w.x[i]);
    }
    ranks_transform(&w, false, 1);
    CHECK(bp_set("fft.preferred", "fftw") == BP_OK, "prefer");
    CHECK(bp_fft2(&from.tensor, NULL, NULL, BP_FFT_BACKWARD, &to.tensor) == BP_OK, "on the host");
    for (int i = 0; i < 420; i++) {
        most = fmax(most, cabs(out[2 * i] + out[2 * i + 1] * I - w.x[i]));
    }
    CHECK(most <= 1e-12, "on the host: error %g", most);
    CHECK(bp_set("fft.preferred", "") == BP_OK, "prefer nothing");
    free(in), free(out), free(w.x);
}

int main(void) {
    ranks_open();
    check_values();
    check_held_plans();
    check_communicators();
    check_host();
    return ranks_end();
}
