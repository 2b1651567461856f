/* descriptors.c - the double of libcudnn.so.9: descriptors, and their attributes. */
#include "parts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

BP_API size_t cudnnGetVersion(void);

enum { MAGIC = 0x63646e6e };

cudnn_controls cudnn_double;

cudnnStatus_t double_violate(cudnnStatus_t status, const char *what) {
    if (atomic_fetch_add(&cudnn_double.violations, 1) == 0) {
        snprintf(cudnn_double.violation, sizeof cudnn_double.violation, "%s", what);
    }
    return status;
}

bool double_has(cudnn_fault fault) {
    return cudnn_double.fault == (int)fault;
}

void *double_keep(size_t size) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static kept *all;
    kept *fresh = calloc(1, size);
    if (fresh) {
        pthread_mutex_lock(&mutex);
        fresh->next = all;
        all = fresh;
        pthread_mutex_unlock(&mutex);
    }
    return fresh;
}

__attribute__((constructor)) static void choose_fault(void) {
    cudnn_double.fault = (int)double_number("CUDNN_DOUBLE", "fault=", CUDNN_FAULT_NONE);
}

size_t cudnnGetVersion(void) {
    return (size_t)double_number("CUDNN_DOUBLE", "version=", 92801);
}

void cudnnGetLastErrorString(char *text, size_t size) {
    snprintf(text, size, "%s", "said the double");
}

/* ---- Reading ---- */

descriptor *double_descriptor(void *given) {
    descriptor *own = given;
    if (!own || own->magic != MAGIC) {
        double_violate(0, "a descriptor is used that does not exist");
        return NULL;
    }
    if (own->destroyed) {
        double_violate(0, "a descriptor is used after its end");
        return NULL;
    }
    return own;
}

const attribute *double_attribute(const descriptor *of, unsigned name) {
    for (int i = 0; i < of->count; i++) {
        if (of->attributes[i].name == name) {
            return &of->attributes[i];
        }
    }
    return NULL;
}

int64_t double_integer(const descriptor *of, unsigned name, int index) {
    const attribute *found = double_attribute(of, name);
    return found && index < found->count ? ((const int64_t *)found->values)[index] : 0;
}

unsigned double_word(const descriptor *of, unsigned name) {
    const attribute *found = double_attribute(of, name);
    return found ? *(const unsigned *)found->values : 0;
}

double double_factor(const descriptor *of, unsigned name) {
    const attribute *found = double_attribute(of, name);
    return !found                                 ? 0
           : found->type == BP__CUDNN_TYPE_DOUBLE ? *(const double *)found->values
                                                  : (double)*(const float *)found->values;
}

descriptor *double_child(const descriptor *of, unsigned name, int index) {
    const attribute *found = double_attribute(of, name);
    return found && index < found->count ? ((descriptor *const *)found->values)[index] : NULL;
}

size_t double_bytes_of_type(unsigned type) {
    switch (type) {
    case BP__CUDNN_TYPE_HANDLE:
    case BP__CUDNN_TYPE_INT64:
    case BP__CUDNN_TYPE_DOUBLE:
    case BP__CUDNN_TYPE_VOID_PTR:
    case BP__CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case BP__CUDNN_TYPE_DATA_TYPE:
    case BP__CUDNN_TYPE_FLOAT:
    case BP__CUDNN_TYPE_CONVOLUTION_MODE:
    case BP__CUDNN_TYPE_HEUR_MODE:
    case BP__CUDNN_TYPE_NUMERICAL_NOTE:
    case BP__CUDNN_TYPE_POINTWISE_MODE:
    case BP__CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
        return 4;
    case BP__CUDNN_TYPE_BOOLEAN:
    case BP__CUDNN_TYPE_CHAR:
        return 1;
    default:
        return 0;
    }
}

/* ---- The interface ---- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made) {
    descriptor *fresh = double_keep(sizeof *fresh);
    if (!fresh) {
        return BP__CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    fresh->magic = MAGIC;
    fresh->type = type;
    *made = fresh;
    cudnn_double.descriptors++;
    return BP__CUDNN_STATUS_SUCCESS;
}

/* The commands of a plan have run before it ends, unless a graph has them. */
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t gone) {
    descriptor *own = double_descriptor(gone);
    if (!own) {
        return BP__CUDNN_STATUS_BAD_PARAM;
    }
    if (own->made) {
        double_synchronize();
    }
    own->destroyed = true;
    cudnn_double.descriptors--;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    descriptor *own = double_descriptor(given);
    const cudnnStatus_t status =
        own ? double_may_set(own, name, type, count, values) : BP__CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (status != BP__CUDNN_STATUS_SUCCESS) {
        return status;
    }
    const size_t size = double_bytes_of_type(type) * (size_t)count;
    void *copy = malloc(size);
    if (!copy || own->count == ATTRIBUTES_MOST) {
        free(copy);
        return BP__CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    memcpy(copy, values, size);
    own->attributes[own->count++] = (attribute){name, type, count, copy};
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t given) {
    descriptor *own = double_descriptor(given);
    if (!own) {
        return BP__CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    const cudnnStatus_t status = double_may_finalize(own);
    own->finalized = status == BP__CUDNN_STATUS_SUCCESS;
    return status;
}

/* ---- What can be read ---- */

static cudnnStatus_t give_integer(int64_t value, unsigned type, int64_t most, int64_t *count, void *values) {
    if (type != BP__CUDNN_TYPE_INT64 || most < 1) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "a number is read as another type");
    }
    *(int64_t *)values = value;
    *count = 1;
    return BP__CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t give_notes(const descriptor *engine, unsigned type, int64_t most, int64_t *count, void *values) {
    if (type != BP__CUDNN_TYPE_NUMERICAL_NOTE) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "notes are read as another type");
    }
    *count = 0;
    for (unsigned i = 0; i < 32; i++) {
        if (engine->notes >> i & 1 && !double_has(CUDNN_FAULT_NOTES)) {
            if (*count < most) {
                ((unsigned *)values)[*count] = i;
            }
            ++*count;
        }
    }
    return BP__CUDNN_STATUS_SUCCESS;
}

/* Fills the caller's descriptor of an engine. */
static cudnnStatus_t give_engine(descriptor *config, int64_t most, int64_t *count, void *values) {
    descriptor *engine = most == 1 ? double_descriptor(*(void **)values) : NULL;
    if (!engine || engine->type != BP__CUDNN_BACKEND_ENGINE_DESCRIPTOR || engine->finalized) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "an engine is read into something else");
    }
    engine->engine = config->engine;
    engine->notes = config->notes;
    engine->from[0] = config;
    engine->finalized = true;
    *count = 1;
    return BP__CUDNN_STATUS_SUCCESS;
}

/* The library announces what it then may leave out. */
static cudnnStatus_t give_list(const descriptor *heuristic, int64_t most, int64_t *count, void *values) {
    void **configs = values;
    for (int64_t i = 0; i < most; i++) {
        const descriptor *config = double_descriptor(configs[i]);
        if (!config || config->type != BP__CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || config->finalized) {
            return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a list is read into something else");
        }
    }
    const int64_t all = double_list(heuristic, most, configs);
    *count = most == 0 && all > 0 ? all + 1 : all;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t given, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *count, void *values) {
    descriptor *own = double_descriptor(given);
    if (!own || !own->finalized) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an attribute is read too early");
    }
    switch (name) {
    case BP__CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return give_list(own, most, count, values);
    case BP__CUDNN_ATTR_ENGINECFG_ENGINE:
        return give_engine(own, most, count, values);
    case BP__CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        return give_integer(own->engine, type, most, count, values);
    case BP__CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return give_notes(own, type, most, count, values);
    case BP__CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        return give_integer(own->workspace, type, most, count, values);
    default:
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "an unknown attribute is read");
    }
}
