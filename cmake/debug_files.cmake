# Installs programs and libraries without debug information, which is more than half of their size. It is in files of its own,
# build/debug/NAME.debug, to which a link in each installed file leads. `cmake --install build --component debug` puts them into
# the folder .debug next to each file, where gdb finds them.
option(BACKPLANE_STRIP "Install programs and libraries without debug information" ON)

# Installs a target into a folder. With a sanitizer nothing is stripped, because its reports need the names of functions.
function(install_stripped target folder)
    install(TARGETS ${target} ${ARGN} LIBRARY DESTINATION ${folder} RUNTIME DESTINATION ${folder})
    if(NOT BACKPLANE_STRIP OR BACKPLANE_SANITIZE OR NOT CMAKE_OBJCOPY)
        return()
    endif()
    set(installed "\${CMAKE_INSTALL_PREFIX}/${folder}")
    if(IS_ABSOLUTE ${folder})
        set(installed "${folder}")
    endif()
    set(debug "${CMAKE_BINARY_DIR}/debug/$<TARGET_FILE_NAME:${target}>.debug")
    install(CODE "
        file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/debug\")
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"$<TARGET_FILE:${target}>\" \"${debug}\" COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded --remove-section=.gnu_debuglink \"--add-gnu-debuglink=${debug}\"
            \"\$ENV{DESTDIR}${installed}/$<TARGET_FILE_NAME:${target}>\" COMMAND_ERROR_IS_FATAL ANY)")
    install(CODE "
        file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/debug\")
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"$<TARGET_FILE:${target}>\" \"${debug}\" COMMAND_ERROR_IS_FATAL ANY)
        file(INSTALL \"${debug}\" DESTINATION \"${installed}/.debug\")" COMPONENT debug EXCLUDE_FROM_ALL)
endfunction()
