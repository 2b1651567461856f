/* conditions.c - reads what ctest tells the test programs, see tests/CMakeLists.txt. */
#include "support/conditions.h"
#include "support/modes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *sanitizers(void) {
    const char *names = getenv("TESTED_SANITIZERS");
    return names ? names : "";
}

bool test_sanitized(void) {
    return *sanitizers();
}

bool test_sanitized_by(const char *name) {
    return strstr(sanitizers(), name);
}

bool test_emulated(void) {
    return getenv("TESTED_EMULATED");
}

int test_cases(int all, int divisor) {
    return test_sanitized() || test_emulated() ? all / divisor : test_takes_all() ? all : all / 2;
}

bool test_child_may_start_threads(void) {
    return !test_sanitized_by("thread") && !test_emulated();
}

bool test_may_fork_with_threads(void) {
    return test_child_may_start_threads() && !test_sanitized_by("address");
}

static void *nothing(void *unused) {
    return unused;
}

void test_start_first_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}
