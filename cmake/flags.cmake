# Compiler flags of every target (backplane_flags), and flags of files for one instruction set.

add_library(backplane_flags INTERFACE)
target_compile_options(backplane_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wpointer-arith -Wvla -fno-strict-aliasing
    -Wno-psabi) # vectors are passed between static functions only
# Defined as empty, so that a file with its own `#define _GNU_SOURCE` causes no redefinition warning.
target_compile_definitions(backplane_flags INTERFACE _GNU_SOURCE=)
if(BACKPLANE_WERROR)
    target_compile_options(backplane_flags INTERFACE -Werror)
endif()
if(BACKPLANE_SANITIZE)
    target_compile_options(backplane_flags INTERFACE -fsanitize=${BACKPLANE_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_link_options(backplane_flags INTERFACE -fsanitize=${BACKPLANE_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # gcc loses value ranges in instrumented code; release builds check them
        target_compile_options(backplane_flags INTERFACE -Wno-format-truncation)
    endif()
    # UndefinedBehaviorSanitizer describes each check in data with addresses, whose relocations are a third of a program.
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
    check_c_source_runs("int main(void) { return 0; }" packs_relocations)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(packs_relocations)
        target_link_options(backplane_flags INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
endif()
# Without optimization gcc does not follow values through loops, and its headers define intrinsics of AVX-512 as macros that
# convert -1 to a mask. Release builds check both.
set(unoptimized_avx512 "")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(backplane_flags INTERFACE -Wno-maybe-uninitialized)
    set(unoptimized_avx512 -Wno-sign-conversion)
endif()
if(BACKPLANE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "BACKPLANE_FUZZ needs clang: cmake --preset fuzz")
    endif()
    target_compile_options(backplane_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The run-time library of the sanitizer; empty if there is none. Programs that are not instrumented must load it before they load
# an instrumented object. With clang they cannot: it links the library into programs only.
set(sanitizer_library "")
set(library_address libasan.so)
set(library_hwaddress libhwasan.so)
set(library_leak liblsan.so)
set(library_thread libtsan.so)
foreach(sanitizer address hwaddress leak thread)
    if(BACKPLANE_SANITIZE MATCHES "(^|,)${sanitizer}(,|$)" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${library_${sanitizer}}
            OUTPUT_VARIABLE sanitizer_library OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
endforeach()
# Why such programs cannot load what this build makes for them; empty if they can.
set(unloadable "")
if(BACKPLANE_FUZZ)
    set(unloadable "fuzz targets do not use it")
elseif(BACKPLANE_SANITIZE AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(unloadable "clang links a sanitizer's run-time library into programs only; gcc has one that other programs can load")
elseif(BACKPLANE_SANITIZE AND sanitizer_library AND NOT IS_ABSOLUTE "${sanitizer_library}")
    set(unloadable "gcc has no shared run-time library of the sanitizer (${sanitizer_library})")
endif()

# A shared object must resolve every symbol at link time. Clang links its sanitizers to executables only: no check there.
set(no_undefined -Wl,-z,defs)
if(BACKPLANE_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(no_undefined "")
endif()

# The instruction sets of x86-64 that kernels are compiled for, next to `default`, which has no flags.
set(flags_avx2 -mavx2 -mfma -mf16c)
set(flags_avxvnni ${flags_avx2} -mavxvnni)
set(flags_avx512 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c ${unoptimized_avx512})
set(flags_avx512vnni ${flags_avx512} -mavx512vnni)
set(flags_avx512bf16 ${flags_avx512} -mavx512bf16)
set(x86_64 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(x86_64 ON)
endif()

# Files named *_avx2.c, *_avxvnni.c, *_avx512.c, *_avx512vnni.c and *_avx512bf16.c are compiled for that instruction set
# on x86-64. On other architectures they must compile to nothing.
function(add_instruction_set_flags)
    foreach(source ${ARGN})
        if(x86_64 AND source MATCHES "_(avx2|avxvnni|avx512|avx512vnni|avx512bf16)\\.c$")
            set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${flags_${CMAKE_MATCH_1}}")
        endif()
    endforeach()
endfunction()

# Files named *_set.c in native's folders are kernel sets (isa.h). Takes them out of the list named <sources_name>, and compiles each
# once for each instruction set: into the object libraries <target>_default, <target>_avx2 and <target>_avx512, on other
# architectures than x86-64 into the first one only. Appends these libraries to the list
# named <libraries_name>.
set(vector_bytes_default 16)
set(vector_bytes_avx2 32)
set(vector_bytes_avx512 64)
function(add_kernel_sets target sources_name libraries_name)
    set(sets ${${sources_name}})
    list(FILTER sets INCLUDE REGEX "/native/.*_set\\.c$")
    if(NOT sets)
        return()
    endif()
    list(REMOVE_ITEM ${sources_name} ${sets})
    lighten_kernels(${sets})
    foreach(isa default avx2 avx512)
        if(x86_64 OR isa STREQUAL "default")
            add_library(${target}_${isa} OBJECT ${sets})
            target_include_directories(${target}_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
            target_compile_definitions(${target}_${isa} PRIVATE KERNEL_ISA=${isa} VECTOR_BYTES=${vector_bytes_${isa}})
            target_link_libraries(${target}_${isa} PRIVATE backplane_flags)
            target_compile_options(${target}_${isa} PRIVATE ${flags_${isa}})
            list(APPEND ${libraries_name} ${target}_${isa})
        endif()
    endforeach()
    set(${sources_name} ${${sources_name}} PARENT_SCOPE)
    set(${libraries_name} ${${libraries_name}} PARENT_SCOPE)
endfunction()

# The kernels' templates unroll into thousands of instructions, so that compiling instrumented kernels takes minutes. Fuzz
# targets do not test kernels; clang does not instrument them there. The asan preset instruments them, with debug
# information for line numbers only, because variables take a third of gcc's time.
function(lighten_kernels)
    foreach(source ${ARGN})
        if(NOT source MATCHES "/(native|wide)/([a-z]+/)?(kernel_[a-z0-9_]*|[a-z]*_set)\\.c$")
            continue()
        elseif(BACKPLANE_FUZZ)
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all -O1)
        elseif(BACKPLANE_SANITIZE)
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -g1)
        endif()
    endforeach()
endfunction()
