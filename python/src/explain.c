/* explain.c - returns explanations and the last plan as dicts, from which the package makes objects. */
#include "core.h"

#define PROPERTIES_SIZE 512

bp_status core_product_explain(const void *call, bp_explanation **explanation) {
    const product *of = call;
    return of->gemm ? bp_gemm_explain(explanation, of->options, of->transform_a, of->transform_b, &of->alpha,
                                      &of->a.tensor, &of->b.tensor, &of->beta, &of->out)
                    : bp_matmul_explain(explanation, of->options, &of->a.tensor, &of->b.tensor, &of->out);
}

PyObject *core_refusals(const bp_explanation *explanation) {
    bp_candidate_info row = {.struct_size = sizeof row};
    PyObject *list = PyList_New(0);
    for (int i = 0; list && bp_explanation_at(explanation, i, &row); i++) {
        if (!row.accepted) {
            core_append(
                &list, Py_BuildValue("(NsN)", core_text(row.library), bp_reason_name(row.reason), core_text(row.text)));
        }
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static bp_status explain_unlocked(core_explainer explain, const void *call, bp_explanation **explanation) {
    core_unlocked unlocked;
    core_unlock(&unlocked);
    bp_status status = explain(call, explanation);
    core_lock(&unlocked);
    return status;
}

PyObject *core_fail_explained(core_state *state, bp_status status, core_explainer explain, const void *call) {
    PyObject *reasons = NULL;
    bp_explanation *explanation = NULL;
    if (status != BP_E_NO_CANDIDATE && status != BP_E_FALLBACK && status != BP_E_NOT_FOUND &&
        status != BP_E_CONSTRAINT) {
        return core_fail(state, status, NULL);
    }
    /* Read the message first: explaining may fail too and replace it. */
    PyObject *raised = core_fail(state, status, NULL);
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    status = explain_unlocked(explain, call, &explanation);
    if (status == BP_E_CANCELLED && PyErr_Occurred()) { /* stopped by a signal: keep the exception of its handler */
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return NULL;
    }
    if (status == BP_OK) {
        reasons = core_refusals(explanation);
        bp_explanation_release(explanation);
    }
    if (!reasons || !value || PyObject_SetAttrString(value, "reasons", reasons) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(reasons);
    PyErr_Restore(kind, value, trace);
    return raised;
}

static PyObject *candidate(const bp_candidate_info *row) {
    char properties[PROPERTIES_SIZE];
    return Py_BuildValue("{s:N, s:N, s:N, s:N, s:s, s:N, s:N, s:N, s:i, s:d, s:N}", "library", core_text(row->library),
                         "provider", core_text(row->provider), "version", core_text(row->version), "accepted",
                         PyBool_FromLong(row->accepted), "reason", bp_reason_name(row->reason), "text",
                         core_text(row->text ? row->text : ""), "algorithm",
                         core_text(row->algorithm ? row->algorithm : ""), "properties",
                         core_text(bp_properties_text(row->properties, properties, sizeof properties)), "threads",
                         row->threads, "cost_ns", row->cost_ns, "chosen", PyBool_FromLong(row->chosen));
}

static PyObject *page(const bp_explanation *explanation);

static PyObject *parts_of(const bp_explanation *explanation) {
    PyObject *list = PyList_New(0);
    const bp_explanation *part;
    for (int i = 0; list && (part = bp_explanation_part(explanation, i)); i++) {
        core_append(&list, page(part));
    }
    return list;
}

static PyObject *candidates_of(const bp_explanation *explanation) {
    bp_candidate_info row = {.struct_size = sizeof row};
    PyObject *list = PyList_New(0);
    for (int i = 0; list && bp_explanation_at(explanation, i, &row); i++) {
        core_append(&list, candidate(&row));
    }
    return list;
}

static PyObject *page(const bp_explanation *explanation) {
    return Py_BuildValue("{s:N, s:N, s:N, s:N, s:N, s:N}", "problem", core_text(bp_explanation_problem(explanation)),
                         "decision", core_text(bp_explanation_decision(explanation)), "text",
                         core_text(bp_explanation_text(explanation)), "json",
                         core_text(bp_explanation_json(explanation)), "candidates", candidates_of(explanation), "parts",
                         parts_of(explanation));
}

PyObject *core_explanation(core_state *state, core_explainer explain, const void *call) {
    bp_explanation *explanation = NULL;
    bp_status status = explain_unlocked(explain, call, &explanation);
    PyObject *made = status == BP_OK ? page(explanation) : core_fail(state, status, NULL);
    bp_explanation_release(explanation);
    return made;
}

static PyObject *explain_operation(PyObject *module, bool gemm, bool floats, PyObject *values, PyObject *names) {
    product of;
    product_arguments given;
    if (!core_product_parse(&given, gemm, values, names)) {
        return NULL;
    }
    given.floats = floats;
    if (!core_product(&of, core_state_of(module), gemm, true, &given)) {
        return NULL;
    }
    PyObject *made = core_explanation(of.state, core_product_explain, &of);
    core_product_release(&of);
    return core_finish(of.state, made);
}

PyObject *core_explain_matmul(PyObject *module, PyObject *values, PyObject *names) {
    return explain_operation(module, false, false, values, names);
}

PyObject *core_explain_matmul_floats(PyObject *module, PyObject *values, PyObject *names) {
    return explain_operation(module, false, true, values, names);
}

PyObject *core_explain_gemm(PyObject *module, PyObject *values, PyObject *names) {
    return explain_operation(module, true, false, values, names);
}

PyObject *core_last_plan(PyObject *module, PyObject *unused) {
    char properties[PROPERTIES_SIZE];
    bp_plan_info plan = {.struct_size = sizeof plan};
    (void)unused;
    bp_status status = bp_last_plan(&plan);
    if (status == BP_E_NOT_FOUND) {
        Py_RETURN_NONE;
    }
    if (status != BP_OK) {
        return core_fail(core_state_of(module), status, NULL);
    }
    return Py_BuildValue(
        "{s:N, s:N, s:N, s:N, s:N, s:N, s:N, s:N, s:i, s:d, s:N, s:n}", "operation", core_text(plan.operation),
        "provider", core_text(plan.provider), "library", core_text(plan.library), "library_path",
        core_text(plan.library_path), "library_version", core_text(plan.library_version), "algorithm",
        core_text(plan.algorithm), "reason", core_text(plan.reason), "properties",
        core_text(bp_properties_text(plan.properties, properties, sizeof properties)), "threads", plan.threads,
        "cost_ns", plan.cost_ns, "problem", core_text(plan.problem), "workspace", (Py_ssize_t)plan.workspace);
}
