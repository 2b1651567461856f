# The providers that the tests of this area choose between; see double_provider.c.
function(add_double name)
    add_library(double_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/double_provider.c)
    target_include_directories(double_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(double_${name} PRIVATE backplane_flags)
    target_compile_definitions(double_${name} PRIVATE DOUBLE_NAME="${name}" ${ARGN})
    set_target_properties(double_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/dispatch-doubles)
endfunction()

add_double(cheap DOUBLE_COST=1.0)
add_double(dear DOUBLE_COST=2.0 DOUBLE_NOTES=BP_NOTE_SAME_RUN)
add_double(refusing DOUBLE_COST=0.5 DOUBLE_REASON=BP_REASON_LAYOUT)
add_double(unplannable DOUBLE_COST=0.25 DOUBLE_PLAN=BP_E_LOAD)
add_double(starving DOUBLE_COST=0.125 DOUBLE_RUN=BP_E_NO_MEMORY)
add_double(scaling DOUBLE_COST=1000.0 DOUBLE_NOTES=BP_NOTE_SAME_THREADS DOUBLE_SCALES=1)
add_double(gated DOUBLE_COST=5e8 DOUBLE_GATED=1)
add_double(failing DOUBLE_COST=1e9 DOUBLE_RUN=BP_E_SINGULAR)
add_double(tensor-core DOUBLE_COST=0.5 DOUBLE_DTYPE=BP_F32 DOUBLE_NOTES=BP_NOTE_INPUTS_TF32)
add_double(half-width DOUBLE_COST=0.25 DOUBLE_DTYPE=BP_F32 DOUBLE_NOTES=BP_NOTE_DOWN_CONVERTS)

# Many providers in one module, in a folder of their own.
add_library(several_providers MODULE ${CMAKE_CURRENT_LIST_DIR}/several_provider.c)
target_include_directories(several_providers PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(several_providers PRIVATE backplane_flags)
set_target_properties(several_providers PROPERTIES PREFIX "" OUTPUT_NAME several
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/dispatch-several)
