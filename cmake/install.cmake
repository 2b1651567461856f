# Defines the files and locations of `make install`.
include(CMakePackageConfigHelpers)

install_stripped(backplane ${CMAKE_INSTALL_LIBDIR} EXPORT BackplaneTargets)
install(FILES include/backplane.h include/backplane.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/backplane DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(module ${provider_modules})
    install_stripped(${module} ${CMAKE_INSTALL_LIBDIR}/backplane-providers)
endforeach()
install_stripped(backplane-probe ${CMAKE_INSTALL_LIBEXECDIR}/backplane)
if(TARGET backplane_cli)
    install_stripped(backplane_cli ${CMAKE_INSTALL_BINDIR})
endif()

# Installs the man page and the completions of the command into a folder of man pages and one of shared data. Further arguments are options of
# install(). Optional here: the tests of the installed tree and of the wheel report a missing file.
function(install_command_pages man data)
    install(FILES docs/reference/backplane.1 DESTINATION ${man}/man1 OPTIONAL ${ARGN})
    install(FILES completions/backplane.bash DESTINATION ${data}/bash-completion/completions RENAME backplane OPTIONAL ${ARGN})
    install(FILES completions/_backplane DESTINATION ${data}/zsh/site-functions OPTIONAL ${ARGN})
    install(FILES completions/backplane.fish DESTINATION ${data}/fish/vendor_completions.d OPTIONAL ${ARGN})
endfunction()
install_command_pages(${CMAKE_INSTALL_MANDIR} ${CMAKE_INSTALL_DATADIR})
if(function_pages)
    install(DIRECTORY ${function_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 OPTIONAL FILES_MATCHING PATTERN "bp_*.3")
endif()
install(DIRECTORY data/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/backplane FILES_MATCHING PATTERN "*.json")

# Relative to its own location, so that the installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
# In the system's prefix it is named, because pkg-config leaves out the folders that every compiler searches if it knows them by name.
function(install_pc file)
    install(FILES ${CMAKE_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    install(CODE "
        if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
            file(READ \"${CMAKE_BINARY_DIR}/${file}\" text)
            string(REPLACE \"prefix=\\\${pcfiledir}/${prefix_from_pc}\" \"prefix=/usr\" text \"\${text}\")
            file(WRITE \"\$ENV{DESTDIR}/usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig/${file}\" \"\${text}\")
        endif()")
endfunction()
configure_file(cmake/backplane.pc.in backplane.pc @ONLY)
install_pc(backplane.pc)
function(install_dropin_pc name description)
    if(TARGET backplane_${name})
        configure_file(cmake/backplane-dropin.pc.in backplane-${name}.pc @ONLY)
        install_pc(backplane-${name}.pc)
    endif()
endfunction()
install_dropin_pc(blas "BLAS and CBLAS that run on the library that Backplane chooses")
install_dropin_pc(lapack "LAPACK and LAPACKE that run on the library that Backplane chooses")
install_dropin_pc(fftw3 "FFTW's functions, run by the library that Backplane chooses")

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Backplane)
install(EXPORT BackplaneTargets NAMESPACE Backplane:: DESTINATION ${package_folder})
configure_package_config_file(cmake/BackplaneConfig.cmake.in BackplaneConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(BackplaneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/BackplaneConfig.cmake ${CMAKE_BINARY_DIR}/BackplaneConfigVersion.cmake
    DESTINATION ${package_folder})
