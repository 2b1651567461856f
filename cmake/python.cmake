# The Python package: one extension for all CPython versions from 3.9 on (the limited interface), on top of the public header.
#
# In the build folder the package build/python/backplane consists of links to python/backplane, so that tests run with
# PYTHONPATH=build/python. In a wheel (SKBUILD, see pyproject.toml) the package contains the library, its modules, the
# probe and the command, at the same paths relative to the library as in the build folder. The wheel has the command's man page and completions too.
# With BACKPLANE_PYTHON_FOLDER, as packages of distributions need it, the package uses the installed library and command.
option(BACKPLANE_PYTHON "Build the Python module, if Python's header is installed" ON)
set(BACKPLANE_PYTHON_FOLDER "" CACHE STRING "Folder below the prefix into which the Python package is installed, on top of the installed library; empty: not installed")

set(python_missing "")
if(NOT BACKPLANE_PYTHON)
    set(python_missing "BACKPLANE_PYTHON is OFF")
elseif(unloadable)
    set(python_missing "${unloadable}")
else()
    find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
    if(NOT Python3_Development.Module_FOUND)
        set(python_missing "Python.h was not found (Debian: python3-dev)")
    endif()
endif()
if(python_missing)
    message(STATUS "The Python module is not built: ${python_missing}")
    return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(backplane_python MODULE ${python_sources})
target_compile_definitions(backplane_python PRIVATE Py_LIMITED_API=0x03090000)
target_include_directories(backplane_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_link_libraries(backplane_python PRIVATE backplane backplane_flags m)
# Loops over the elements of cosine transforms. At -O2 GCC vectorizes only loops whose number of steps is known.
set_source_files_properties(python/src/cosine.c PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
set(python_package ${CMAKE_BINARY_DIR}/python/backplane)
set_target_properties(backplane_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${python_package} BUILD_RPATH "$ORIGIN/../.." INSTALL_RPATH "$ORIGIN")
add_dependencies(backplane_python runtime)
add_dependencies(programs backplane_python)

file(GLOB_RECURSE old_links ${python_package}/*.py ${python_package}/*.pyi ${python_package}/py.typed)
if(old_links)
    file(REMOVE ${old_links})
endif()
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python/backplane
    python/backplane/*.py python/backplane/*.pyi python/backplane/py.typed)
foreach(file ${python_files})
    get_filename_component(folder ${python_package}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/backplane/${file} ${python_package}/${file} SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY ${python_package}/bin)
file(CREATE_LINK ../../../backplane ${python_package}/bin/backplane SYMBOLIC)

if(DEFINED SKBUILD)
    # Wheels cannot contain links, so the library has only its SONAME.
    set_target_properties(backplane PROPERTIES VERSION 0)
    set_target_properties(backplane_cli PROPERTIES INSTALL_RPATH "$ORIGIN/..")
    set_target_properties(backplane-probe PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS backplane backplane_python LIBRARY DESTINATION backplane NAMELINK_SKIP COMPONENT python)
    install(TARGETS backplane_cli RUNTIME DESTINATION backplane/bin COMPONENT python)
    install(TARGETS backplane-probe RUNTIME DESTINATION backplane COMPONENT python)
    if(provider_modules)
        install(TARGETS ${provider_modules} LIBRARY DESTINATION backplane/backplane-providers COMPONENT python)
    endif()
    # pip puts them into the environment's prefix.
    install_command_pages(${SKBUILD_DATA_DIR}/share/man ${SKBUILD_DATA_DIR}/share COMPONENT python)
    foreach(part backplane_hooks backplane_preload backplane_audit) # for `backplane launch`
        if(TARGET ${part})
            install(TARGETS ${part} LIBRARY DESTINATION backplane/backplane-launch COMPONENT python)
        endif()
    endforeach()
endif()

if(BACKPLANE_PYTHON_FOLDER AND NOT DEFINED SKBUILD)
    set(package ${BACKPLANE_PYTHON_FOLDER}/backplane)
    file(RELATIVE_PATH library_from_package ${CMAKE_INSTALL_PREFIX}/${package} ${CMAKE_INSTALL_FULL_LIBDIR})
    file(RELATIVE_PATH command_from_package ${CMAKE_INSTALL_PREFIX}/${package}/bin ${CMAKE_INSTALL_FULL_BINDIR}/backplane)
    set_target_properties(backplane_python PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_package}")
    install_stripped(backplane_python ${package})
    install(DIRECTORY python/backplane/ DESTINATION ${package} FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/installed-python)
    file(CREATE_LINK ${command_from_package} ${CMAKE_BINARY_DIR}/installed-python/backplane SYMBOLIC)
    install(FILES ${CMAKE_BINARY_DIR}/installed-python/backplane DESTINATION ${package}/bin)
    # What importlib.metadata finds, such as the entry point by which torch has the backend.
    file(READ pyproject.toml project)
    string(REGEX MATCH "\\[project\\.entry-points\\.\"([a-z_]+)\"\\]\n([a-z_]+ = )\"([^\"]+)\"" found "${project}")
    file(WRITE ${CMAKE_BINARY_DIR}/installed-python/entry_points.txt "[${CMAKE_MATCH_1}]\n${CMAKE_MATCH_2}${CMAKE_MATCH_3}\n")
    string(REGEX MATCH "\ndescription = \"([^\"]+)\"" found "${project}")
    file(WRITE ${CMAKE_BINARY_DIR}/installed-python/METADATA
        "Metadata-Version: 2.1\nName: libbackplane\nVersion: ${PROJECT_VERSION}\nSummary: ${CMAKE_MATCH_1}\nLicense: Apache-2.0\n")
    install(FILES ${CMAKE_BINARY_DIR}/installed-python/METADATA ${CMAKE_BINARY_DIR}/installed-python/entry_points.txt
        DESTINATION ${BACKPLANE_PYTHON_FOLDER}/libbackplane-${PROJECT_VERSION}.dist-info)
endif()
