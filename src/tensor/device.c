/* device.c - notes the devices of the tensors that a problem is made of.
 *
 * All operands of a problem must be on one device. The operations check their tensors in many places, so the check
 * itself notes the device: no operation can forget it. */
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static _Thread_local bp__devices_noted *current __attribute__((tls_model("initial-exec")));

bool bp__tensor_on_host(const DLTensor *tensor) {
    return bp__place_of(tensor->device) == 0;
}

const char *bp__tensor_device_text(DLDevice device, char *buffer, size_t size) {
    static const char *const names[] = {
        [kDLCUDA] = "cuda",     [kDLOpenCL] = "opencl", [kDLVulkan] = "vulkan",   [kDLMetal] = "metal",
        [kDLVPI] = "vpi",       [kDLROCM] = "rocm",     [kDLExtDev] = "mpi",      [kDLCUDAManaged] = "cuda-managed",
        [kDLOneAPI] = "oneapi", [kDLWebGPU] = "webgpu", [kDLHexagon] = "hexagon", [kDLMAIA] = "maia"};
    const unsigned type = (unsigned)device.device_type;
    if (bp__place_of(device) == 0) {
        return "the host";
    }
    if (type < BP__COUNT(names) && names[type]) {
        snprintf(buffer, size, "%s:%d", names[type], (int)device.device_id);
    } else {
        snprintf(buffer, size, "DLPack device %u:%d", type, (int)device.device_id);
    }
    return buffer;
}

void bp__devices_note(bp__devices_noted *noted) {
    memset(noted, 0, sizeof *noted);
    noted->outer = current;
    current = noted;
}

void bp__devices_noted_end(const bp__devices_noted *noted) {
    current = noted->outer;
}

/* Fails because a tensor is not where the first one is. */
static bp_status fail_apart(const DLTensor *tensor, const char *name, int64_t bytes) {
    char one[48], other[48];
    if (bp__is_distributed(current->device) && bp__is_distributed(tensor->device)) {
        return bp__fail(BP_E_DEVICE,
                        "tensor '%s' has another communicator, grid, block or source than tensor '%s'; "
                        "bp_redistribute() copies it, which moves up to %" PRId64 " bytes between the ranks",
                        name, current->name, bytes);
    }
    if (bp__is_distributed(current->device) || bp__is_distributed(tensor->device)) {
        return bp__fail(BP_E_DEVICE,
                        "tensor '%s' is distributed, but tensor '%s' is not; every rank passes a view of its part "
                        "(bp_dist_view_init), or of what all ranks have (bp_dist_view_replicated)",
                        bp__is_distributed(tensor->device) ? name : current->name,
                        bp__is_distributed(tensor->device) ? current->name : name);
    }
    return bp__fail(BP_E_DEVICE,
                    "tensor '%s' is on %s, but tensor '%s' is on %s; all operands must be on one device (bp_copy "
                    "copies between devices)",
                    current->name, bp__tensor_device_text(current->device, one, sizeof one), name,
                    bp__tensor_device_text(tensor->device, other, sizeof other));
}

bp_status bp__tensor_note_device(const DLTensor *tensor, const char *name, int64_t bytes) {
    if (!current) {
        return BP_OK;
    }
    const int32_t place = bp__place_of(tensor->device);
    current->bytes += (double)bytes;
    if (!current->any) {
        current->any = true;
        current->place = place;
        current->device = tensor->device;
        bp__copy_text(current->name, sizeof current->name, name);
        return BP_OK;
    }
    if (place != current->place) {
        return fail_apart(tensor, name, bytes);
    }
    return BP_OK;
}

bp_status bp__tensor_check_host(const DLTensor *tensor, const char *name) {
    char text[48];
    return bp__tensor_on_host(tensor)
               ? BP_OK
               : bp__fail(BP_E_DEVICE, "tensor '%s' is on %s; this function works on host memory only", name,
                          bp__tensor_device_text(tensor->device, text, sizeof text));
}
