# Builds what runs existing programs' BLAS, LAPACK and FFTW calls on Backplane: the hooks library and the audit object of
# `backplane launch`, and the drop-in libraries. Their stubs are x86-64 assembly for Linux.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR CMAKE_SIZEOF_VOID_P LESS 8)
    message(STATUS "The drop-in libraries are not built: their stubs are for x86-64 Linux")
    return()
endif()
if(unloadable)
    message(STATUS "The drop-in libraries are not built: ${unloadable}")
    return()
endif()

set(dropin_folder ${CMAKE_SOURCE_DIR}/src/dropin)
file(GLOB dropin_sources CONFIGURE_DEPENDS ${dropin_folder}/*.c)
list(FILTER dropin_sources EXCLUDE REGEX "/(audit|hooks|entry|early|factor|reference|preload|fftw|exports_[a-z]+)\\.c$")
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/backplane-dropin)
set(launch_folder backplane-launch)
set(dropin_targets "")

# Compiles the common files and further ones, with the routines of one part (src/dropin/routines.h), into the object library
# <name>_objects.
function(add_dropin_objects name part)
    list(TRANSFORM ARGN PREPEND ${dropin_folder}/)
    add_library(${name}_objects OBJECT ${dropin_sources} ${ARGN})
    target_include_directories(${name}_objects PRIVATE include src)
    target_compile_definitions(${name}_objects PRIVATE BP__DROPIN_PART=BP__DROPIN_PART_${part})
    target_compile_options(${name}_objects PRIVATE -fno-lto)
    target_link_libraries(${name}_objects PRIVATE backplane_flags)
endfunction()

# Adds a shared object of <objects>_objects.
function(add_dropin name objects)
    add_library(${name} SHARED $<TARGET_OBJECTS:${objects}_objects>)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(${name} PRIVATE backplane_flags dl pthread m)
    target_link_options(${name} PRIVATE ${no_undefined} -Wl,-z,nodelete -Wl,-z,noexecstack)
    set(dropin_targets ${dropin_targets} ${name} PARENT_SCOPE)
endfunction()

add_dropin_objects(backplane_hooks HOOKS hooks.c entry.c factor.c reference.c)
add_dropin(backplane_hooks backplane_hooks)
set_target_properties(backplane_hooks PROPERTIES OUTPUT_NAME backplane-hooks LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${launch_folder})
install_stripped(backplane_hooks ${CMAKE_INSTALL_LIBDIR}/${launch_folder})

# Adds a drop-in library: libbackplane_<name>.so for linking, and the same with another library's SONAME, in a folder of its
# own, to take that one's place.
set(replaced_folder backplane-dropin)
function(add_replacement name part soname)
    add_dropin_objects(backplane_${name} ${part} ${ARGN})
    add_dropin(backplane_${name} backplane_${name})
    set_target_properties(backplane_${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
    install_stripped(backplane_${name} ${CMAKE_INSTALL_LIBDIR})
    add_dropin(backplane_${name}_replacement backplane_${name})
    set_target_properties(backplane_${name}_replacement PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${soname} NO_SONAME ON
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${replaced_folder})
    target_link_options(backplane_${name}_replacement PRIVATE -Wl,-soname,${soname})
    install_stripped(backplane_${name}_replacement ${CMAKE_INSTALL_LIBDIR}/${replaced_folder})
    set(dropin_targets ${dropin_targets} PARENT_SCOPE)
endfunction()

# A wheel has no drop-in libraries.
if(NOT DEFINED SKBUILD)
    add_replacement(blas BLAS libblas.so.3 exports_blas.c exports_helpers.c entry.c early.c)
    add_replacement(lapack LAPACK liblapack.so.3 exports_lapack.c exports_helpers.c entry.c early.c factor.c)
    # Objects that are linked to liblapack.so.3 alone, such as one of SciPy, find BLAS through it. Which libblas.so.3 that is, the loader decides.
    target_link_libraries(backplane_lapack_replacement PRIVATE -Wl,--no-as-needed backplane_blas_replacement)
    set_target_properties(backplane_lapack_replacement PROPERTIES SKIP_BUILD_RPATH ON)
    add_replacement(fftw3 FFTW libfftw3.so.3 exports_fftw.c fftw.c entry.c early.c)
    foreach(link libfftw3f.so.3 libfftw3_threads.so.3 libfftw3f_threads.so.3 libfftw3_omp.so.3 libfftw3f_omp.so.3)
        file(CREATE_LINK libfftw3.so.3 ${CMAKE_BINARY_DIR}/${replaced_folder}/${link} SYMBOLIC)
        install(FILES ${CMAKE_BINARY_DIR}/${replaced_folder}/${link} DESTINATION ${CMAKE_INSTALL_LIBDIR}/${replaced_folder})
    endforeach()
endif()

add_dropin_objects(backplane_preload PRELOAD exports_preload.c preload.c factor.c reference.c)
add_dropin(backplane_preload backplane_preload)
set_target_properties(backplane_preload PROPERTIES OUTPUT_NAME backplane-preload LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${launch_folder})
install_stripped(backplane_preload ${CMAKE_INSTALL_LIBDIR}/${launch_folder})

# The audit object needs glibc's interface, and no library. So it is never instrumented: a sanitizer's run-time library, and the
# C library that this needs, would be loaded a second time, into the namespace of the audit object.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(LAV_CURRENT link.h has_audit_interface)
if(has_audit_interface)
    add_library(backplane_audit MODULE ${dropin_folder}/audit.c)
    set_source_files_properties(${dropin_folder}/audit.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
    target_include_directories(backplane_audit PRIVATE src)
    target_link_libraries(backplane_audit PRIVATE backplane_flags)
    target_compile_options(backplane_audit PRIVATE -ffreestanding -fno-builtin -fno-stack-protector -fno-lto)
    target_link_options(backplane_audit PRIVATE -nostdlib ${no_undefined} -Wl,-z,noexecstack)
    set_target_properties(backplane_audit PROPERTIES PREFIX "" OUTPUT_NAME backplane-audit
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${launch_folder})
    install_stripped(backplane_audit ${CMAKE_INSTALL_LIBDIR}/${launch_folder})
    list(APPEND dropin_targets backplane_audit)
else()
    message(STATUS "The audit object is not built: the C library has no LD_AUDIT; 'backplane launch' preloads names")
endif()

foreach(target IN LISTS dropin_targets)
    add_dependencies(runtime ${target})
endforeach()
