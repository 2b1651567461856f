/* heuristics.c - asks cuDNN for the engines of a graph, and makes their plans.
 *
 * The list of mode "instant" is asked first, then the list of engines that work without being fast, as in PyTorch. The
 * first list may have no engine that the settings permit: on Hopper all engines for f32 in channels-last layout use
 * tensor cores. It may be empty too, as for some convolutions in f64. */
#include "providers/cudnn/cudnn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CONFIGS = 64, MOST_NOTES = 16 };

/* ---- Engines ---- */

/* Reads the number and the notes of a configuration's engine. */
static cudnnStatus_t read_engine(const bp__cudnn_api *api, bp__cudnn_engine *engine) {
    cudnnBackendDescriptor_t found = NULL;
    uint32_t notes[MOST_NOTES];
    int64_t count = 0;
    cudnnStatus_t status = api->DescriptorCreate(BP__CUDNN_BACKEND_ENGINE_DESCRIPTOR, &found);
    if (status != BP__CUDNN_STATUS_SUCCESS) {
        return status;
    }
    status = api->GetAttribute(engine->config, BP__CUDNN_ATTR_ENGINECFG_ENGINE, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &count, &found);
    status = status ? status
                    : api->GetAttribute(found, BP__CUDNN_ATTR_ENGINE_GLOBAL_INDEX, BP__CUDNN_TYPE_INT64, 1, &count,
                                        &engine->number);
    status = status ? status
                    : api->GetAttribute(found, BP__CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, BP__CUDNN_TYPE_NUMERICAL_NOTE,
                                        MOST_NOTES, &count, notes);
    for (int64_t i = 0; i < count && i < MOST_NOTES && status == BP__CUDNN_STATUS_SUCCESS; i++) {
        engine->notes |= notes[i] < 32 ? 1u << notes[i] : 0;
    }
    api->DescriptorDestroy(found);
    return status;
}

/* The list of one mode, and how many engines the filter has let pass. */
typedef struct listing {
    const bp__cudnn_graph *graph;
    const bp__cudnn_filter *filter;
    bp__cudnn_visit visit;
    void *user;
    int passed;
    cudnnBackendDescriptor_t taken; /* by visit(), which has ended the list */
} listing;

static cudnnStatus_t make_heuristic(const bp__cudnn_graph *graph, uint32_t mode, cudnnBackendDescriptor_t *made) {
    const bp__cudnn_api *api = graph->api;
    cudnnStatus_t status = api->DescriptorCreate(BP__CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, made);
    status = status ? status
                    : api->SetAttribute(*made, BP__CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                        BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph->whole);
    status =
        status ? status : api->SetAttribute(*made, BP__CUDNN_ATTR_ENGINEHEUR_MODE, BP__CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (status == BP__CUDNN_STATUS_SUCCESS && graph->device) {
        status = api->SetAttribute(*made, BP__CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &graph->device);
    }
    return status ? status : api->Finalize(*made);
}

/* Visits the engines of a list that the filter permits. */
static cudnnStatus_t visit_configs(listing *list, const cudnnBackendDescriptor_t *configs, int64_t count,
                                   bool is_fallback) {
    cudnnStatus_t status = BP__CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; i < count && !list->taken && status == BP__CUDNN_STATUS_SUCCESS; i++) {
        bp__cudnn_engine engine = {.config = configs[i], .is_fallback = is_fallback};
        status = read_engine(list->graph->api, &engine);
        if (status != BP__CUDNN_STATUS_SUCCESS || (engine.notes & list->filter->refused)) {
            continue;
        }
        engine.rank = list->passed++;
        if (list->filter->rank < 0 || list->filter->rank == engine.rank) {
            list->taken = list->visit(list->user, list->graph, &engine) ? engine.config : NULL;
        }
    }
    return status;
}

/* The library fills descriptors that the caller has made. It may return fewer than it has announced. */
static cudnnStatus_t read_list(listing *list, cudnnBackendDescriptor_t heuristic, bool is_fallback) {
    const bp__cudnn_api *api = list->graph->api;
    cudnnBackendDescriptor_t configs[MOST_CONFIGS];
    int64_t count = 0, made = 0;
    cudnnStatus_t status = api->GetAttribute(heuristic, BP__CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, NULL);
    count = count < MOST_CONFIGS ? count : MOST_CONFIGS;
    for (; made < count && status == BP__CUDNN_STATUS_SUCCESS; made += status == BP__CUDNN_STATUS_SUCCESS) {
        status = api->DescriptorCreate(BP__CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[made]);
    }
    if (status == BP__CUDNN_STATUS_SUCCESS && count > 0) {
        status = api->GetAttribute(heuristic, BP__CUDNN_ATTR_ENGINEHEUR_RESULTS, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   made, &count, configs);
        count = count < made ? count : made;
    }
    status = status ? status : visit_configs(list, configs, count, is_fallback);
    for (; made > 0; made--) {
        if (configs[made - 1] != list->taken) {
            api->DescriptorDestroy(configs[made - 1]);
        }
    }
    return status;
}

cudnnStatus_t bp__cudnn_each_engine(const bp__cudnn_graph *graph, const bp__cudnn_filter *filter, bp__cudnn_visit visit,
                                    void *user) {
    static const uint32_t modes[] = {BP__CUDNN_HEUR_MODE_INSTANT, BP__CUDNN_HEUR_MODE_FALLBACK};
    listing list = {.graph = graph, .filter = filter, .visit = visit, .user = user};
    cudnnStatus_t last = graph->status;
    for (int i = 0; i < 2 && !list.taken && graph->status == BP__CUDNN_STATUS_SUCCESS; i++) {
        cudnnBackendDescriptor_t heuristic = NULL;
        last = make_heuristic(graph, modes[i], &heuristic);
        last = last ? last : read_list(&list, heuristic, i == 1);
        if (heuristic) {
            graph->api->DescriptorDestroy(heuristic);
        }
    }
    return list.taken ? BP__CUDNN_STATUS_SUCCESS : last; /* a mode that fails is as an empty list */
}

/* ---- Plans of engines ---- */

bool bp__cudnn_execution_make(const bp__cudnn_graph *graph, const bp__cudnn_engine *engine,
                              bp__cudnn_execution *execution) {
    const bp__cudnn_api *api = graph->api;
    int64_t count;
    *execution = (bp__cudnn_execution){.engine = *engine};
    cudnnStatus_t status = api->DescriptorCreate(BP__CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &execution->plan);
    if (status == BP__CUDNN_STATUS_SUCCESS && graph->handle) {
        status = api->SetAttribute(execution->plan, BP__CUDNN_ATTR_EXECUTION_PLAN_HANDLE, BP__CUDNN_TYPE_HANDLE, 1,
                                   &graph->handle);
    }
    status = status ? status
                    : api->SetAttribute(execution->plan, BP__CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                        BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine->config);
    if (status == BP__CUDNN_STATUS_SUCCESS && graph->device) {
        status = api->SetAttribute(execution->plan, BP__CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                   BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph->device);
    }
    status = status ? status : api->Finalize(execution->plan);
    status = status ? status
                    : api->GetAttribute(execution->plan, BP__CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                        BP__CUDNN_TYPE_INT64, 1, &count, &execution->workspace);
    if (status != BP__CUDNN_STATUS_SUCCESS) {
        bp__cudnn_execution_drop(api, execution);
    }
    return status == BP__CUDNN_STATUS_SUCCESS;
}

void bp__cudnn_execution_drop(const bp__cudnn_api *api, bp__cudnn_execution *execution) {
    if (execution->plan) {
        api->DescriptorDestroy(execution->plan);
        execution->plan = NULL;
    }
}

void bp__cudnn_execution_free(const bp__cudnn_api *api, bp__cudnn_execution *execution) {
    if (execution->plan) {
        bp__cudnn_execution_drop(api, execution);
        api->DescriptorDestroy(execution->engine.config);
    }
}

typedef struct first_search {
    const bp__cudnn_filter *filter;
    bp__cudnn_execution *found;
} first_search;

static bool take_first(void *user, const bp__cudnn_graph *graph, const bp__cudnn_engine *engine) {
    const first_search *search = user;
    if (!bp__cudnn_execution_make(graph, engine, search->found)) {
        return false;
    }
    if (search->found->workspace <= search->filter->workspace) {
        return true;
    }
    bp__cudnn_execution_drop(graph->api, search->found);
    return false;
}

cudnnStatus_t bp__cudnn_first_execution(const bp__cudnn_graph *graph, const bp__cudnn_filter *filter,
                                        bp__cudnn_execution *execution) {
    first_search search = {filter, execution};
    const cudnnStatus_t status = bp__cudnn_each_engine(graph, filter, take_first, &search);
    return status || execution->plan ? status : BP__CUDNN_STATUS_NOT_SUPPORTED;
}

void bp__cudnn_tell_execution(const bp__cudnn_execution *execution, char *text, size_t size) {
    static const char *const names[] = {
#define X(name, number, means) [number] = means,
        BP__CUDNN_NOTES(X)
#undef X
    };
    int used = snprintf(text, size, "engine %" PRId64, execution->engine.number);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (execution->engine.notes >> i & 1 && used >= 0 && (size_t)used < size) {
            used += snprintf(text + used, size - (size_t)used, ", %s", names[i]);
        }
    }
    if (used >= 0 && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, "%s, workspace of %" PRId64 " bytes",
                 execution->engine.is_fallback ? ", of the fallback list" : "", execution->workspace);
    }
}
