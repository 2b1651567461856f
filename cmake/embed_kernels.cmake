# Writes a C file with the sources of kernels: cmake -DOUTPUT=file.c -DFOLDER=sources -P embed_kernels.cmake
# FOLDER/NAME.cl, and NAME.cu, becomes the text bp__kernel_source_NAME. A line `#include "other.cl"` is replaced with that file.

# Replaces the includes of `text` with the files, to any depth.
function(expand_includes variable)
    set(text "${${variable}}")
    while(text MATCHES "#include \"([a-z0-9_]+\\.cl)\"")
        set(line "${CMAKE_MATCH_0}")
        file(READ ${FOLDER}/${CMAKE_MATCH_1} included)
        string(REPLACE "${line}" "${included}" text "${text}")
    endwhile()
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

file(GLOB kernels ${FOLDER}/*.cl ${FOLDER}/*.cu)
list(SORT kernels)
set(code "/* Made from the kernels by cmake/embed_kernels.cmake. */\n")
foreach(kernel IN LISTS kernels)
    get_filename_component(name ${kernel} NAME_WE)
    file(READ ${kernel} text)
    expand_includes(text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
    string(APPEND code "extern const char bp__kernel_source_${name}[];\nconst char bp__kernel_source_${name}[] =\n    \"${text}\";\n")
endforeach()
file(WRITE ${OUTPUT} "${code}")
