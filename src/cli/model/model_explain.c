/* model_explain.c - `backplane explain MODEL.onnx`: which library runs each node of a model, and why. */
#include "cli/model/model.h"

int model_explain(const cli_args *args) {
    model m;
    bp_explanation *explanation = NULL;
    if (args->count > 1) {
        return cli_fail(CLI_USAGE, "a model has its own shapes; %s is one operand too many", args->operands[1]);
    }
    if (cli_has(args, "device")) {
        return cli_fail(CLI_USAGE, "--device is for operations; graphs run on the host");
    }
    int code = model_open(&m, args, args->operands[0]);
    if (code == CLI_OK) {
        cli_progress_begin(CLI_EXAMINING);
        const bp_status status =
            bp_graph_explain(&explanation, m.options, m.graph, m.inputs, (const DLTensor *const *)m.outputs);
        cli_progress_end();
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    if (code == CLI_OK && cli_has(args, "json")) {
        json_raw(NULL, bp_explanation_json(explanation));
    } else if (code == CLI_OK) {
        cli_page(bp_explanation_text(explanation));
    }
    bp_explanation_release(explanation);
    model_close(&m);
    return code;
}
