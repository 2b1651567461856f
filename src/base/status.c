/* status.c - returns the names and texts of the status codes, and the library's version. */
#include "base/base.h"

static const struct status_row {
    bp_status status;
    const char *name;
    const char *text;
} rows[] = {
#define X(number, name, text) {BP_##name, #name, text},
    BP_STATUS_MAP(X)
#undef X
};

static const struct status_row *find_status(bp_status status) {
    for (int i = 0; i < BP__COUNT(rows); i++) {
        if (rows[i].status == status) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *bp_status_name(bp_status status) {
    const struct status_row *row = find_status(status);
    return row ? row->name : "E_?";
}

const char *bp_status_text(bp_status status) {
    const struct status_row *row = find_status(status);
    return row ? row->text : "unknown status";
}

int bp_status_at(int index, bp_status *status) {
    if (index < 0 || index >= BP__COUNT(rows) || !status) {
        return 0;
    }
    *status = rows[index].status;
    return 1;
}

const char *bp_version(void) {
    return BP_VERSION_STRING;
}
