/* report_state.c - reports settings with their origins, the findings of `backplane doctor`, and stored times. */
#include "cli/doctor/doctor.h"
#include "report.h"
#include "cli/settings/settings_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int report_settings(report *r) {
    const bp_setting_info *info;
    const char *problem;
    report_begin(r, "settings", "Settings that differ from their defaults", "NAME|VALUE|LAYER|WHERE", "none");
    for (int i = 0; (info = bp_setting_listed_at(i)) != NULL; i++) {
        setting_row row;
        const int code = setting_row_read(info->name, &row);
        if (code != CLI_OK) {
            return code;
        }
        if (row.layer != BP_LAYER_DEFAULT) {
            report_cell(r, "%s", info->name);
            report_cell(r, "%s", row.value);
            report_cell(r, "%s", bp_layer_name(row.layer));
            report_cell(r, "%s", row.where);
        }
    }
    report_begin(r, "problems", "Lines and variables that are ignored", "PROBLEM", "none");
    for (int i = 0; (problem = bp_config_error_at(i)) != NULL; i++) {
        report_cell(r, "%s", problem);
    }
    return CLI_OK;
}

int report_findings(report *r) {
    doctor d;
    const int code = doctor_run(&d);
    if (code != CLI_OK) {
        return code;
    }
    report_begin(r, "findings", "Conflicts, slow kernels and missing parts", "SEVERITY|CHECK|FINDING|ADVICE", "none");
    for (int i = 0; i < d.count; i++) {
        if (d.findings[i].severity != SEVERITY_OK) {
            report_cell(r, "%s", doctor_severity_name(d.findings[i].severity));
            report_cell(r, "%s", d.findings[i].check);
            report_cell(r, "%s", d.findings[i].text);
            report_cell(r, "%s", d.findings[i].advice);
        }
    }
    doctor_free(&d);
    return CLI_OK;
}

static void add_file(report *r, const char *folder, const char *name) {
    struct stat facts;
    struct tm parts;
    char date[32] = "", *path = cli_format("%s/%s", folder, name);
    if (stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) { /* no locks */
        if (gmtime_r(&facts.st_mtime, &parts)) {
            strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
        }
        report_cell(r, "%s", path);
        report_cell(r, "%lld", (long long)facts.st_size);
        report_cell(r, "%s", date);
    }
    free(path);
}

void report_files(report *r) {
    char path[4096];
    report_begin(r, "files", "Stored probe results and times", "FILE|>BYTES|CHANGED", "none");
    char *slash = strrchr(bp_tuning_path(path, sizeof path), '/');
    if (!slash) {
        return;
    }
    *slash = '\0';
    int count;
    char **names = cli_folder_names(path, &count);
    for (int i = 0; i < count; i++) {
        add_file(r, path, names[i]);
    }
    cli_folder_free(names, count);
}
