/* exit.c - maps the library's statuses to exit codes, by family. */
#include "cli.h"

static const struct {
    int first, last; /* the family's range in BP_STATUS_MAP */
    cli_exit code;
} families[] = {
    {0, 0, CLI_OK},   {1, 19, CLI_INPUT},    {20, 39, CLI_USAGE},     {40, 79, CLI_LIBRARY},    {80, 80, CLI_MEMORY},
    {81, 99, CLI_IO}, {100, 119, CLI_INPUT}, {120, 139, CLI_NUMERIC}, {200, 200, CLI_INTERNAL},
};

cli_exit cli_exit_of(bp_status status) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if ((int)status >= families[i].first && (int)status <= families[i].last) {
            return families[i].code;
        }
    }
    return CLI_INTERNAL;
}

const char *cli_exit_text(int code) {
    switch (code) {
#define X(number, name, text)                                                                                          \
    case number:                                                                                                       \
        return text;
        CLI_EXIT_MAP(X)
#undef X
    default:
        return NULL;
    }
}
