/* status_page.c - prints docs/reference/status.md, the reference of all status codes, from the list of status codes. */
#include <backplane.h>

#include <stdio.h>

int main(void) {
    bp_status status;
    printf(
        "# Status codes\n"
        "\n"
        "<!-- Made from include/backplane/status.h by tools/status_page.c; change it there. -->\n"
        "\n"
        "Every function that can fail returns one of these codes. `bp_last_error()` returns the error message of the "
        "thread's\n"
        "last failure, which names the argument and a valid value. A published number never changes; each family "
        "of\n"
        "errors starts at a round number.\n"
        "\n"
        "| number | name | meaning |\n"
        "|-------:|------|---------|\n");
    for (int i = 0; bp_status_at(i, &status); i++) {
        printf("| %d | `BP_%s` | %s |\n", (int)status, bp_status_name(status), bp_status_text(status));
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
