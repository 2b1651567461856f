/* attention.c - reads a problem of attention, as cuDNN describes it: tensors of batch x heads x rows x columns, and
 * decides whether cuDNN can run it.
 *
 * The conditions are PyTorch's, and those under which cuDNN gives what attention.h says. cuDNN does not check what its
 * kernels assume of strides and addresses, so that this is done here and in runs. */
#include "providers/cudnn/attention.h"

#include <string.h>

enum {
    LEAST_VERSION = 9016, /* before, lengths that are no multiples of 128 gave wrong gradients */
    WIDE_VERSION = 9023,  /* heads of more than 128 columns, as PyTorch has it */
    LEAST_CAPABILITY = 800,
    MOST_CAPABILITY = 1210,
    MOST_ITEMS = 65535,
    UNIT = 8, /* elements in 16 bytes; kernels read so many at once */
    USUAL_COLUMNS = 128,
    MOST_COLUMNS = 256
};

static bool refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    return bp__cu_vendor_refuse(verdict, reason, text);
}

/* ---- What PyTorch excludes, too ---- */

static bool check_device(const bp__cudnn_instance *instance, const bp_device_info *device, bp_verdict *verdict) {
    if (instance->vendor.version < LEAST_VERSION) {
        return refuse(verdict, BP_REASON_OTHER, "cuDNN 9.16 or newer is needed for attention");
    }
    if (device->capability < LEAST_CAPABILITY || device->capability > MOST_CAPABILITY) {
        snprintf(verdict->text, sizeof verdict->text,
                 "its attention needs compute capability 8.0 to 12.1, and the device has %u.%u",
                 device->capability / 100, device->capability / 10 % 10);
        verdict->reason = BP_REASON_OTHER;
        return false;
    }
    return true;
}

static bool check_columns(const bp__cudnn_instance *instance, const bp_problem *problem, const bp_device_info *device,
                          bp_verdict *verdict) {
    const bp_attention_problem *p = &problem->of.attention;
    const unsigned major = device->capability / 100;
    const bool wide =
        problem->op == BP_OP_ATTENTION && (major == 9 || major == 10) && instance->vendor.version >= WIDE_VERSION;
    const int64_t most = wide ? MOST_COLUMNS : USUAL_COLUMNS;
    const bool right = p->size > 0 && p->size % UNIT == 0 && p->size <= most && p->value_size > 0 &&
                       p->value_size % UNIT == 0 && p->value_size <= most;
    if (!right) {
        snprintf(verdict->text, sizeof verdict->text,
                 "the last sizes of query and value must be multiples of 8 up to %d here", (int)most);
        verdict->reason = BP_REASON_SIZE;
    }
    return right;
}

static bool check_kind(const bp_problem *problem, bp_verdict *verdict) {
    const bp_attention_problem *p = &problem->of.attention;
    const bool backward = problem->op == BP_OP_ATTENTION_BACKWARD;
    if (problem->op == BP_OP_ATTENTION_PAGED) {
        return refuse(verdict, BP_REASON_OP, "it offers no attention to keys in pages");
    }
    if (bp__attention_is_counted(problem)) {
        return refuse(verdict, BP_REASON_OTHER, "it offers no attention with lengths");
    }
    if (p->softcap > 0) {
        return refuse(verdict, BP_REASON_OTHER, "its attention has no softcap");
    }
    if (p->window_left >= 0 || p->window_right >= 0) {
        return refuse(verdict, BP_REASON_OTHER, "its attention has no windows");
    }
    if (p->lower_right) {
        return refuse(verdict, BP_REASON_OTHER, "it counts positions from the first key, not from the last one");
    }
    if (problem->dtype != BP_F16 && problem->dtype != BP_BF16) {
        return refuse(verdict, BP_REASON_DTYPE, "its attention offers only f16 and bf16");
    }
    if (p->dropout > 0) {
        return refuse(verdict, BP_REASON_OTHER, "it would drop other weights than the seed and offset say");
    }
    if (p->keys < 2 || p->queries < 1 || p->batch < 1) {
        return refuse(verdict, BP_REASON_SIZE, "its attention needs a query and two keys");
    }
    if (p->queries > INT32_MAX || p->keys > INT32_MAX) {
        return refuse(verdict, BP_REASON_SIZE, "its attention takes at most 2^31 - 1 queries and keys");
    }
    if (p->tensor[BP_ATTENTION_MASK].dtype == BP_BOOL) {
        return refuse(verdict, BP_REASON_DTYPE, "it adds masks to scores, and has none of bool");
    }
    if (backward && p->tensor[BP_ATTENTION_MASK].dtype) {
        return refuse(verdict, BP_REASON_OTHER, "its gradients can be NaN where there is a mask");
    }
    return !backward || p->queries > 1 || refuse(verdict, BP_REASON_SIZE, "its gradients of one query can be NaN");
}

/* ---- Layouts ---- */

/* Reads dimensions of the batch as one: the first ones that a tensor has, the others share its elements. Returns false
 * if no single stride leads through the first ones. */
static bool join(const bp_attention_problem *p, const bp_attention_layout *layout, int from, int64_t *count,
                 int64_t *stride) {
    int end = p->batch_ndim;
    while (end > from && layout->batch[end - 1] == 0) {
        end--;
    }
    *count = 1;
    *stride = 0;
    for (int d = end - 1; d >= from; d--) {
        if (*count > 1 && layout->batch[d] != *stride * *count) {
            return false;
        }
        *stride = *count > 1 ? *stride : layout->batch[d];
        *count *= p->batch_shape[d];
    }
    return true;
}

static uint32_t type_of(uint32_t dtype) {
    return dtype == BP_F16 ? BP__CUDNN_DATA_HALF : dtype == BP_BF16 ? BP__CUDNN_DATA_BFLOAT16 : BP__CUDNN_DATA_FLOAT;
}

static int64_t rows_of(const bp_attention_problem *p, bp_attention_tensor which) {
    const bool keys = which == BP_ATTENTION_KEY || which == BP_ATTENTION_VALUE || which == BP_ATTENTION_KEY_GRADIENT ||
                      which == BP_ATTENTION_VALUE_GRADIENT;
    const bool one = which == BP_ATTENTION_MASK && p->tensor[which].row == 0;
    return one ? 1 : keys ? p->keys : p->queries;
}

static int64_t columns_of(const bp_attention_problem *p, bp_attention_tensor which) {
    switch (which) {
    case BP_ATTENTION_MASK:
        return p->tensor[which].column == 0 ? 1 : p->keys;
    case BP_ATTENTION_LOGSUMEXP:
        return 1;
    case BP_ATTENTION_QUERY:
    case BP_ATTENTION_KEY:
    case BP_ATTENTION_QUERY_GRADIENT:
    case BP_ATTENTION_KEY_GRADIENT:
        return p->size;
    default:
        return p->value_size;
    }
}

/* Sets strides that are not used: a dimension of size 1 has what a compact tensor has there. */
static void complete(bp__cudnn_tensor *tensor) {
    int64_t extent = 1;
    for (int d = 3; d >= 0; d--) {
        tensor->stride[d] = tensor->size[d] == 1 ? extent : tensor->stride[d];
        extent = tensor->stride[d] * tensor->size[d];
    }
}

/* Describes a tensor with `leading` dimensions of the batch (0 or 1) before the heads. */
static bool describe_tensor(const bp_problem *problem, bp_attention_tensor which, int leading,
                            bp__cudnn_tensor *tensor) {
    const bp_attention_problem *p = &problem->of.attention;
    const bp_attention_layout *layout = &p->tensor[which];
    const int64_t items = leading && layout->batch[0] != 0 ? p->batch_shape[0] : 1;
    *tensor = (bp__cudnn_tensor){.type = type_of(layout->dtype),
                                 .ndim = 4,
                                 .size = {items, 1, rows_of(p, which), columns_of(p, which)},
                                 .stride = {leading ? layout->batch[0] : 0, 0, layout->row, layout->column}};
    if (!join(p, layout, leading, &tensor->size[1], &tensor->stride[1])) {
        return false;
    }
    complete(tensor);
    return true;
}

/* Returns whether a tensor has all items, where only others may be shared. */
static bool has_items(const bp__cudnn_attention *a, bp_attention_tensor which) {
    const bp__cudnn_tensor *t = &a->tensor[which];
    const bool shared = which == BP_ATTENTION_MASK;
    const bool fewer = shared || which == BP_ATTENTION_KEY || which == BP_ATTENTION_VALUE ||
                       which == BP_ATTENTION_KEY_GRADIENT || which == BP_ATTENTION_VALUE_GRADIENT;
    const bool heads = t->size[1] == a->heads || (shared ? t->size[1] == 1 : fewer);
    return (t->size[0] == a->batch || shared) && heads;
}

static bool describe_all(const bp_problem *problem, int leading, bp__cudnn_attention *a) {
    const bp_attention_problem *p = &problem->of.attention;
    bool described = true;
    a->batch = leading ? p->batch_shape[0] : 1;
    a->heads = p->batch / a->batch;
    for (int i = 0; i < BP_ATTENTION_TENSORS && described; i++) {
        if (p->tensor[i].dtype) {
            described = describe_tensor(problem, (bp_attention_tensor)i, leading, &a->tensor[i]) &&
                        has_items(a, (bp_attention_tensor)i);
        }
    }
    return described;
}

/* ---- Strides ---- */

static bool is_matrix(int which) {
    return which != BP_ATTENTION_MASK && which != BP_ATTENTION_LOGSUMEXP;
}

static bool check_strides(const bp__cudnn_attention *a, bp_verdict *verdict) {
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        const bp__cudnn_tensor *t = &a->tensor[i];
        bool positive = true, whole = true;
        for (int d = 0; d < t->ndim; d++) {
            positive = positive && t->stride[d] > 0;
            whole = whole && (d == 3 || t->stride[d] % UNIT == 0);
        }
        if (t->ndim > 0 && (!positive || t->stride[3] != 1)) {
            return refuse(verdict, BP_REASON_LAYOUT, "the last stride of each tensor must be 1, and others positive");
        }
        if (t->ndim > 0 && is_matrix(i) && !whole) {
            return refuse(verdict, BP_REASON_LAYOUT, "strides of rows, heads and items must be multiples of 8");
        }
    }
    const bp__cudnn_tensor *l = &a->tensor[BP_ATTENTION_LOGSUMEXP];
    const bool compact = l->ndim == 0 || (l->stride[2] == 1 && l->stride[1] == a->queries &&
                                          (a->batch == 1 || l->stride[0] == a->heads * a->queries));
    return compact || refuse(verdict, BP_REASON_LAYOUT, "logsumexp must be compact");
}

/* Sets a compact tensor for each head of the query. */
static void set_own(const bp__cudnn_attention *a, int64_t columns, bp__cudnn_tensor *tensor) {
    *tensor = (bp__cudnn_tensor){.type = BP__CUDNN_DATA_FLOAT,
                                 .ndim = 4,
                                 .size = {a->batch, a->heads, a->queries, columns},
                                 .stride = {a->heads * a->queries * columns, a->queries * columns, columns, 1}};
}

/* Gradients that the call does not want are written to the workspace. */
static void set_backward(bp__cudnn_attention *a) {
    static const int of[][2] = {{BP_ATTENTION_QUERY_GRADIENT, BP_ATTENTION_QUERY},
                                {BP_ATTENTION_KEY_GRADIENT, BP_ATTENTION_KEY},
                                {BP_ATTENTION_VALUE_GRADIENT, BP_ATTENTION_VALUE}};
    a->backward = true;
    set_own(a, 1, &a->sums);
    set_own(a, a->tensor[BP_ATTENTION_QUERY].size[3], &a->total);
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        bp__cudnn_tensor *gradient = &a->tensor[of[i][0]];
        a->unwanted[of[i][0]] = gradient->ndim == 0;
        if (gradient->ndim == 0) {
            *gradient = a->tensor[of[i][1]];
            gradient->stride[2] = gradient->size[3];
            gradient->stride[1] = gradient->stride[2] * gradient->size[2];
            gradient->stride[0] = gradient->stride[1] * gradient->size[1];
        }
    }
}

/* A gradient that is summed over more heads than its tensor is shared by has other heads. */
static bool check_heads(const bp__cudnn_attention *a, bp_verdict *verdict) {
    static const int of[][2] = {{BP_ATTENTION_KEY_GRADIENT, BP_ATTENTION_KEY},
                                {BP_ATTENTION_VALUE_GRADIENT, BP_ATTENTION_VALUE}};
    bool same = true;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        same = same && a->tensor[of[i][0]].size[1] == a->tensor[of[i][1]].size[1];
    }
    return same || refuse(verdict, BP_REASON_LAYOUT, "keys and values that repeat in memory have no gradients");
}

/* ---- The whole ---- */

bool bp__cudnn_attention_of(const bp__cudnn_instance *instance, const bp_problem *problem, const bp_device_info *device,
                            bp__cudnn_attention *attention, bp_verdict *verdict) {
    const bp_attention_problem *p = &problem->of.attention;
    memset(attention, 0, sizeof *attention);
    if (!check_kind(problem, verdict) || !check_device(instance, device, verdict) ||
        !check_columns(instance, problem, device, verdict)) {
        return false;
    }
    attention->type = type_of(problem->dtype);
    attention->causal = p->causal;
    attention->scale = (float)p->scale;
    attention->queries = p->queries;
    attention->keys = p->keys;
    if (!(p->batch_ndim > 0 && describe_all(problem, 1, attention)) && !describe_all(problem, 0, attention)) {
        return refuse(verdict, BP_REASON_LAYOUT, "the batch is not a number of items with a number of heads");
    }
    if (attention->batch > MOST_ITEMS || attention->heads > MOST_ITEMS) {
        return refuse(verdict, BP_REASON_SIZE, "it takes at most 65535 items, and 65535 heads");
    }
    if (!check_strides(attention, verdict)) {
        return false;
    }
    if (problem->op == BP_OP_ATTENTION_BACKWARD) {
        set_backward(attention);
        return check_heads(attention, verdict);
    }
    return true;
}
