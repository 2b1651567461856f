/* guarded.c - memory between pages that cannot be accessed. */
#include "support/guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static size_t whole_pages(size_t bytes, size_t page) {
    return (bytes + page - 1) / page * page;
}

char *test_guarded(size_t bytes, bool at_end) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = whole_pages(bytes, page);
    char *block = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    assert_int_equal(size > 0 ? mprotect(block + page, size, PROT_READ | PROT_WRITE) : 0, 0);
    return block + page + (at_end ? size - bytes : 0);
}

/* Either the first byte or the one after the last is at the beginning of a page. */
void test_guarded_free(char *memory, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = whole_pages(bytes, page);
    if (memory) {
        char *start = (uintptr_t)memory % page == 0 ? memory : memory + bytes - size;
        munmap(start - page, size + 2 * page);
    }
}
