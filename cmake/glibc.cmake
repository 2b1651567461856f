# Stops if the C library is not glibc, on whose loader the library depends (RTLD_DEEPBIND, link maps, dlmopen, LD_AUDIT).
include(CheckCSourceCompiles)
check_c_source_compiles("#include <features.h>
#ifndef __GLIBC__
#error not glibc
#endif
int main(void) { return 0; }" BACKPLANE_GLIBC)
if(NOT BACKPLANE_GLIBC)
    message(FATAL_ERROR "Backplane needs Linux with glibc, because it depends on glibc's loader; this compiler's C library is another one (such as musl).")
endif()
