/* fuzz_tensor.c - passes hostile DLTensors to every function that takes one.
 *
 * The bytes become three tensors with arbitrary fields. A tensor that passes the entry check must be safe to query. If
 * it is also inside our own memory, it is copied and multiplied.
 */
#include "backplane.h"
#include "tensor/internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA = 1 << 14, MOST_ELEMENTS = 1 << 10 };

typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

typedef struct any_tensor {
    DLTensor tensor;
    int64_t shape[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
} any_tensor;

/* Uses only our own kernels, on one thread. */
static void set_environment(void) {
    static bool done;
    if (!done) {
        setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
        setenv("BACKPLANE_NUM_THREADS", "1", 1);
        done = true;
    }
}

static uint8_t next_byte(input *in) {
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->bytes++;
}

/* Mostly small numbers; about every eighth is read in full. */
static int64_t next_number(input *in) {
    uint8_t tag = next_byte(in);
    if (tag < 0xe0) {
        return (int64_t)tag - 0x20;
    }
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) {
        number = number << 8 | next_byte(in);
    }
    return (int64_t)number;
}

static void next_tensor(input *in, any_tensor *any, char *arena) {
    static const bp_dtype types[] = {BP_F64, BP_F32, BP_C64, BP_C128, BP_F16, BP_BF16, BP_U8, BP_I64};
    uint8_t flags = next_byte(in);
    uint8_t type = next_byte(in);
    DLTensor *tensor = &any->tensor;
    *tensor = (DLTensor){.ndim = (int8_t)next_byte(in), .device = {kDLCPU, 0}};
    tensor->dtype = type < 0x80 ? bp_dtype_to_dlpack(types[type % BP__COUNT(types)])
                                : (DLDataType){type & 0x7f, next_byte(in), next_byte(in)};
    tensor->shape = flags & 1 ? NULL : any->shape;
    tensor->strides = flags & 2 ? NULL : any->strides;
    tensor->data = flags & 4 ? NULL : arena + ((flags & 0x30) << 6);
    tensor->byte_offset = (uint64_t)(flags & 8 ? next_number(in) : 0);
    if (flags & 0x40) {
        memcpy(&tensor->device.device_type, &(uint32_t){next_byte(in)}, sizeof tensor->device.device_type);
    }
    for (int i = 0; i < tensor->ndim && i < BP_MAX_NDIM; i++) {
        any->shape[i] = next_number(in);
        any->strides[i] = next_number(in);
    }
}

static bool inside(const DLTensor *tensor, const char *arena) {
    uintptr_t low;
    uintptr_t high;
    bp__tensor_span(tensor, &low, &high);
    return bp__tensor_elements(tensor) <= MOST_ELEMENTS &&
           (low == high || (low >= (uintptr_t)arena && high <= (uintptr_t)arena + ARENA));
}

/* Copies to new memory and back into the arena. */
static void copy_out_and_in(DLTensor *tensor) {
    DLManagedTensorVersioned *fresh;
    bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    if (bp_tensor_new(&fresh, dtype, tensor->ndim, tensor->shape) != BP_OK) {
        return;
    }
    const bool on_host = bp__tensor_on_host(tensor);
    if (bp_tensor_copy(&fresh->dl_tensor, tensor) != (on_host ? BP_OK : BP_E_DEVICE)) {
        abort();
    }
    if (!on_host) {
        fresh->deleter(fresh);
        return;
    }
    bp_status back = bp_tensor_copy(tensor, &fresh->dl_tensor);
    if ((back == BP_OK) == bp__tensor_self_overlaps(tensor)) {
        abort();
    }
    fresh->deleter(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    char *arena = aligned_alloc(64, ARENA);
    any_tensor any[3];
    bool valid = true;
    bool ours = true;
    if (!arena) {
        return 0;
    }
    set_environment();
    memset(arena, 0, ARENA);
    for (int i = 0; i < 3; i++) {
        char text[64];
        next_tensor(&in, &any[i], arena);
        bool good = bp__tensor_check(&any[i].tensor, "t", true) == BP_OK;
        if (good) {
            bp__tensor_text(&any[i].tensor, text, sizeof text);
            bp__tensor_self_overlaps(&any[i].tensor);
        }
        bool accepted = bp__tensor_check(&any[i].tensor, "t", false) == BP_OK;
        bool mine = accepted && inside(&any[i].tensor, arena);
        if (mine) {
            copy_out_and_in(&any[i].tensor);
        }
        valid = valid && good;
        ours = ours && (mine || !accepted);
    }
    if (valid &&
        bp__tensor_overlap(&any[0].tensor, &any[1].tensor) != bp__tensor_overlap(&any[1].tensor, &any[0].tensor)) {
        abort();
    }
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_matmul_shape(&any[0].tensor, &any[1].tensor, &ndim, shape);
    if (ours) { /* each one is refused by the check, or may be used */
        bp_scalar factor = {0.5, 0};
        bp_tensor_copy(&any[2].tensor, &any[0].tensor);
        bp_matmul(&any[0].tensor, &any[1].tensor, &any[2].tensor);
        bp_gemm(BP_TRANSPOSE, BP_CONJUGATE, &factor, &any[0].tensor, &any[1].tensor, &factor, &any[2].tensor);
    }
    free(arena);
    return 0;
}
