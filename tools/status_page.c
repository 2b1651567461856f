/* status_page.c - prints docs/reference/status.md from the list of status codes. */
#include <backplane.h>

#include <stdio.h>

int main(void) {
    bp_status status;
    printf(
        "# Status codes\n"
        "\n"
        "<!-- Generated from include/backplane/status.h by tools/status_page.c; make changes there. -->\n"
        "\n"
        "Every function that can fail returns one of these codes. `bp_last_error()` returns the message of the "
        "calling\n"
        "thread's last failure: it names the argument, its value, and what would be right. A published number never\n"
        "changes. The numbers of each group begin with a round number.\n"
        "\n"
        "| number | name | meaning |\n"
        "|-------:|------|---------|\n");
    for (int i = 0; bp_status_at(i, &status); i++) {
        printf("| %d | `BP_%s` | %s |\n", (int)status, bp_status_name(status), bp_status_text(status));
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
