/* pool.c - random pooling and its gradients. */
#include "../../support/passes.h"
#include "trial.h"

static struct {
    bp_pool_call call;
    int64_t kernel[3], stride[3], dilation[3], padding[3], size[3];
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

static void draw_fields(source *s) {
    bp_pool_call *c = &p.call;
    *c = (bp_pool_call){.struct_size = sizeof *c, .kind = (bp_pool_kind)draw(s, 2), .pass = (bp_pool_pass)draw(s, 2)};
    c->ndim = (int)draw_wild(s, 1 + draw(s, 3));
    for (int d = 0; d < 3; d++) {
        p.kernel[d] = draw_wild(s, 1 + draw(s, 4));
        p.stride[d] = draw_wild(s, 1 + draw(s, 3));
        p.dilation[d] = draw_wild(s, 1 + draw(s, 2));
        p.padding[d] = draw_wild(s, draw(s, 1 + (int)(p.kernel[d] > 0 && p.kernel[d] < 9 ? p.kernel[d] / 2 : 1)));
        p.size[d] = draw_wild(s, 1 + draw(s, 5));
    }
    if (chance(s, 4)) {
        c->output_size = p.size;
        return;
    }
    c->kernel = p.kernel;
    c->stride = draw(s, 2) ? p.stride : NULL;
    c->padding = draw(s, 2) ? p.padding : NULL;
    c->ceil_mode = draw(s, 2);
    c->dilation = c->kind == BP_POOL_MAX && draw(s, 2) ? p.dilation : NULL;
    c->exclude_padding = c->kind == BP_POOL_AVERAGE && draw(s, 2);
    c->divisor = c->kind == BP_POOL_AVERAGE && chance(s, 4) ? draw_wild(s, 3) : 0;
}

static void make(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], out[BP_MAX_NDIM], places = 1;
    bp_dtype type = draw_type(s, 4, types);
    int ndim = 0, out_ndim;
    draw_fields(s);
    const int spatial = p.call.ndim > 0 && p.call.ndim < 4 ? p.call.ndim : 2;
    for (int lead = 1 + draw(s, 2); lead > 0; lead--) {
        shape[ndim++] = draw_size(s, 9);
    }
    for (int d = 0; d < spatial; d++) {
        shape[ndim] = draw_size(s, spatial == 3 ? 7 : 14);
        places *= shape[ndim++];
    }
    const bool backward = p.call.pass == BP_POOL_BACKWARD, max = p.call.kind == BP_POOL_MAX;
    const double tolerance = max && !backward ? 0 : 16;
    operand *x = add(t, "input", type, ndim, shape);
    bp_pool_call c = p.call;
    DLTensor input = x->tensor;
    input.shape = x->shape;
    c.input = backward ? NULL : &input;
    c.input_gradient = backward ? &input : NULL;
    if (bp_pool_shape(&c, &type, &out_ndim, out) != BP_OK) {
        t->invalid = true;
        return;
    }
    operand *y = add(t, "output", type, out_ndim, out);
    operand *written = backward ? x : y;
    written->written = true;
    written->tolerance = tolerance;
    if (max && (backward || draw(s, 2))) {
        operand *indices = add(t, "indices", BP_I64, out_ndim, out);
        indices->written = !backward;
        indices->content = INDICES;
        indices->limit = places;
    } else {
        add_absent(t);
    }
    order_of_plan(t, max ? 3 : 2,
                  !backward ? (const int[]){0, 1, 2}
                  : max     ? (const int[]){1, 2, 0}
                            : (const int[]){1, 0});
    describe(t,
             "pool kind %d pass %d ndim %d kernel %lld %lld %lld adaptive %d stride %d padding %d dilation %d ceil %d "
             "exclude %d divisor %lld",
             (int)p.call.kind, (int)p.call.pass, p.call.ndim, (long long)p.kernel[0], (long long)p.kernel[1],
             (long long)p.kernel[2], p.call.output_size != NULL, p.call.stride != NULL, p.call.padding != NULL,
             p.call.dilation != NULL, p.call.ceil_mode, p.call.exclude_padding, (long long)p.call.divisor);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    bp_pool_call c = p.call;
    c.input = t->tensor[0];
    c.output = t->tensor[1];
    c.indices = t->tensor[2];
    test_call_to_pass("pool", &c, (int)c.pass);
    return what == RUN ? bp_pool_run(set, &c) : request_described(t, what, "pool", &c, set, made);
}

const family family_pool = {"pool", NULL, make, call, NULL, false};
