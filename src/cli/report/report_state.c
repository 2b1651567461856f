/* report_state.c - reports the findings of `backplane doctor` and what to do, settings with their origins, and
 * stored times. */
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
    report_begin(r, "settings", "Changed settings", "NAME|VALUE|LAYER|WHERE", "none");
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
    report_begin(r, "problems", "Ignored lines and variables", "PROBLEM", "none");
    for (int i = 0; (problem = bp_config_error_at(i)) != NULL; i++) {
        report_cell(r, "%s", problem);
    }
    return CLI_OK;
}

static void add_finding(report *r, const finding *f) {
    report_cell(r, "%s", doctor_severity_name(f->severity));
    report_cell(r, "%s", f->check);
    report_cell(r, "%s", f->text);
    report_cell(r, "%s", f->advice);
    report_cell(r, "%s", f->saves ? f->saves : "");
}

/* Returns the findings that are no `ok`: the worst ones are first, and of equal ones those whose cost is known. */
static const finding **sort_findings(const doctor *d, int *count) {
    const finding **sorted = cli_allocate((size_t)(d->count + 1) * sizeof *sorted);
    *count = 0;
    for (int level = SEVERITY_ERROR; level > SEVERITY_OK; level--) {
        for (int known = 1; known >= 0; known--) {
            for (int i = 0; i < d->count; i++) {
                const finding *f = &d->findings[i];
                if ((int)f->severity == level && (f->saves != NULL) == known) {
                    sorted[(*count)++] = f;
                }
            }
        }
    }
    return sorted;
}

static void add_findings(report *r, const finding *const *sorted, int count) {
    report_begin(r, "findings", "Findings", "SEVERITY|CHECK|~FINDING|~ADVICE|~SAVES", "Nothing is wrong.");
    for (int i = 0; i < count; i++) {
        add_finding(r, sorted[i]);
    }
}

static bool advised_before(const finding *const *sorted, int index) {
    bool found = false;
    for (int i = 0; i < index; i++) {
        found = found || strcmp(sorted[i]->advice, sorted[index]->advice) == 0;
    }
    return found;
}

/* Returns the checks whose findings have this advice, and how many findings that are: "kernels (3)". */
static char *reasons_of(const doctor *d, const char *advice) {
    char *reasons = NULL;
    for (int i = 0; i < d->count; i++) {
        int same = 0;
        for (int k = i; k < d->count && strcmp(d->findings[k].check, d->findings[i].check) == 0; k++) {
            same += strcmp(d->findings[k].advice, advice) == 0;
        }
        const bool first = i == 0 || strcmp(d->findings[i - 1].check, d->findings[i].check) != 0;
        if (first && same > 0) {
            char *one =
                same > 1 ? cli_format("%s (%d)", d->findings[i].check, same) : cli_format("%s", d->findings[i].check);
            reasons = cli_join(reasons, ", ", one);
            free(one);
        }
    }
    return reasons ? reasons : cli_format("%s", "");
}

static const char *saving_of(const doctor *d, const char *advice) {
    for (int i = 0; i < d->count; i++) {
        if (d->findings[i].saves && strcmp(d->findings[i].advice, advice) == 0) {
            return d->findings[i].saves;
        }
    }
    return "";
}

/* The advice of warnings and errors, each once. */
static void add_actions(report *r, const doctor *d, const finding *const *sorted, int count) {
    report_begin(r, "actions", "What to do", "ACTION|BECAUSE|SAVES", "Nothing needs to be done.");
    for (int i = 0; i < count && sorted[i]->severity > SEVERITY_NOTE; i++) {
        if (!advised_before(sorted, i)) {
            char *reasons = reasons_of(d, sorted[i]->advice);
            report_cell(r, "%s", sorted[i]->advice);
            report_cell(r, "%s", reasons);
            report_cell(r, "%s", saving_of(d, sorted[i]->advice));
            free(reasons);
        }
    }
}

int report_findings(report *r) {
    doctor d;
    int count;
    const int code = doctor_run(&d);
    if (code != CLI_OK) {
        return code;
    }
    const finding **sorted = sort_findings(&d, &count);
    add_findings(r, sorted, count);
    add_actions(r, &d, sorted, count);
    free(sorted);
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
    report_begin(r, "files", "Stored times", "FILE|>BYTES|CHANGED", "none");
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
