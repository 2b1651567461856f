/* status_page.c - prints docs/reference/status.md from the list of status codes, for those who meet a number. */
#include <backplane.h>

#include <stdio.h>

int main(void) {
    bp_status status;
    printf("# Status codes\n"
           "\n"
           "<!-- Made from include/backplane/status.h by tools/status_page.c; change it there. -->\n"
           "\n"
           "What every function that can fail returns. The sentence that names the argument and says what would be "
           "right is kept\n"
           "per thread: `bp_last_error()`. A published number never changes; families of failures start at round "
           "numbers.\n"
           "\n"
           "| number | name | meaning |\n"
           "|-------:|------|---------|\n");
    for (int i = 0; bp_status_at(i, &status); i++) {
        printf("| %d | `BP_%s` | %s |\n", (int)status, bp_status_name(status), bp_status_text(status));
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
