# These tests reach the command's own functions.
if(CMOCKA_LIBRARY AND NOT BACKPLANE_FUZZ)
    file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
    foreach(source ${cli_tests})
        get_filename_component(program ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "test_cli_unit_" target ${program})
        target_link_libraries(${target} PRIVATE cli_internal)
    endforeach()
endif()
