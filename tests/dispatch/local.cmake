# The providers that the tests of this area choose between; see double_provider.c.
function(add_double name folder)
    add_library(double_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/double_provider.c)
    target_include_directories(double_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(double_${name} PRIVATE backplane_flags)
    target_compile_definitions(double_${name} PRIVATE DOUBLE_NAME="${name}" ${ARGN})
    set_target_properties(double_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()

add_double(cheap dispatch-doubles DOUBLE_COST=1.0)
add_double(dear dispatch-doubles DOUBLE_COST=2.0 DOUBLE_NOTES=BP_NOTE_SAME_RUN)
add_double(refusing dispatch-doubles DOUBLE_COST=0.5 DOUBLE_REASON=BP_REASON_LAYOUT)
add_double(unplannable dispatch-doubles DOUBLE_COST=0.25 DOUBLE_PLAN=BP_E_LOAD)
add_double(starving dispatch-doubles DOUBLE_COST=0.125 DOUBLE_RUN=BP_E_NO_MEMORY)
add_double(scaling dispatch-doubles DOUBLE_COST=1000.0 DOUBLE_NOTES=BP_NOTE_SAME_THREADS DOUBLE_SCALES=1)
add_double(gated dispatch-doubles DOUBLE_COST=5e8 DOUBLE_GATED=1)
add_double(failing dispatch-doubles DOUBLE_COST=1e9 DOUBLE_RUN=BP_E_SINGULAR)
add_double(tensor-core dispatch-doubles DOUBLE_COST=0.5 DOUBLE_DTYPE=BP_F32 DOUBLE_NOTES=BP_NOTE_INPUTS_TF32)
add_double(half-width dispatch-doubles DOUBLE_COST=0.25 DOUBLE_ANY_OP=1 DOUBLE_DTYPE=BP_F32 DOUBLE_NOTES=BP_NOTE_DOWN_CONVERTS)
# One that drives libraries beside the blas provider, and is wrong; tests/cli compares them.
add_double(second dispatch-second DOUBLE_COST=0.001 DOUBLE_KINDS=BP_LIB_BLAS)

# Two libraries of one family, and a provider that drives them beside the blas provider; see test_reasons.c.
set(twins_folder ${CMAKE_CURRENT_BINARY_DIR}/dispatch-twins)
foreach(name one two) # with other contents, since copies of one file are one library
    set(doubles ${CMAKE_CURRENT_LIST_DIR}/../registry/doubles)
    add_library(dispatch_twin_${name} SHARED ${doubles}/blas.c ${doubles}/blis.c)
    target_compile_definitions(dispatch_twin_${name} PRIVATE DOUBLE_INTEGER=int32_t DOUBLE_SUFFIX=_ DOUBLE_FORTRAN
        $<$<STREQUAL:${name},two>:DOUBLE_CBLAS>)
    target_compile_options(dispatch_twin_${name} PRIVATE -O1 -Wall -Wextra -Werror)
    set_target_properties(dispatch_twin_${name} PROPERTIES OUTPUT_NAME blis LIBRARY_OUTPUT_DIRECTORY ${twins_folder}/${name})
    target_link_options(dispatch_twin_${name} PRIVATE -Wl,--build-id)
endforeach()
add_library(dispatch_twin_provider MODULE ${CMAKE_CURRENT_LIST_DIR}/twin_provider.c)
target_include_directories(dispatch_twin_provider PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(dispatch_twin_provider PRIVATE backplane_flags)
set_target_properties(dispatch_twin_provider PROPERTIES PREFIX "" OUTPUT_NAME twin LIBRARY_OUTPUT_DIRECTORY ${twins_folder})
if(TARGET test_dispatch_reasons)
    add_dependencies(test_dispatch_reasons dispatch_twin_one dispatch_twin_two dispatch_twin_provider)
endif()

# Many providers in one module, in a folder of their own.
add_library(several_providers MODULE ${CMAKE_CURRENT_LIST_DIR}/several_provider.c)
target_include_directories(several_providers PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(several_providers PRIVATE backplane_flags)
set_target_properties(several_providers PROPERTIES PREFIX "" OUTPUT_NAME several
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/dispatch-several)
