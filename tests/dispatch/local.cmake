# The providers for the tests of the choice; see fake_provider.c.
function(add_fake name folder)
    add_library(fake_${name} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_provider.c)
    target_include_directories(fake_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(fake_${name} PRIVATE backplane_flags)
    target_compile_definitions(fake_${name} PRIVATE FAKE_NAME="${name}" ${ARGN})
    set_target_properties(fake_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()

add_fake(cheap dispatch-fakes FAKE_COST=1.0)
add_fake(dear dispatch-fakes FAKE_COST=2.0 FAKE_PROPERTIES=BP_PROPERTY_REPRODUCIBLE)
add_fake(refusing dispatch-fakes FAKE_COST=0.5 FAKE_REASON=BP_REASON_LAYOUT)
add_fake(unplannable dispatch-fakes FAKE_COST=0.25 FAKE_PLAN=BP_E_LOAD)
add_fake(starving dispatch-fakes FAKE_COST=0.125 FAKE_RUN=BP_E_NO_MEMORY)
add_fake(scaling dispatch-fakes FAKE_COST=1000.0 FAKE_PROPERTIES=BP_PROPERTY_THREAD_INVARIANT FAKE_SCALES=1)
add_fake(gated dispatch-fakes FAKE_COST=5e8 FAKE_GATED=1)
add_fake(failing dispatch-fakes FAKE_COST=1e9 FAKE_RUN=BP_E_SINGULAR)
add_fake(tensor-core dispatch-fakes FAKE_COST=0.5 FAKE_DTYPE=BP_F32 FAKE_PROPERTIES=BP_PROPERTY_INPUTS_TF32)
add_fake(half-width dispatch-fakes FAKE_COST=0.25 FAKE_ANY_OP=1 FAKE_DTYPE=BP_F32 FAKE_PROPERTIES=BP_PROPERTY_ROUNDS_BELOW_TF32)
# Providers without memory for several threads; see test_one_thread.c.
add_fake(crowded dispatch-crowded FAKE_COST=0.5 FAKE_SCALES=1 FAKE_MOST_RUN=1)
add_fake(crowded-plan dispatch-crowded FAKE_COST=0.25 FAKE_SCALES=1 FAKE_MOST_PLANNED=1)
add_fake(crowded-always dispatch-crowded FAKE_COST=0.125 FAKE_SCALES=1 FAKE_MOST_RUN=0)
add_fake(unplanned dispatch-crowded FAKE_COST=16.0 FAKE_SCALES=1 FAKE_MOST_PLANNED=0)
# A provider with wrong results that drives the same libraries as the blas provider; tests/cli compares them.
add_fake(second dispatch-second FAKE_COST=0.001 FAKE_KINDS=BP_LIB_BLAS)

# Two libraries of one family, and a second provider that drives them; see test_reasons.c.
set(twins_folder ${CMAKE_CURRENT_BINARY_DIR}/dispatch-twins)
foreach(name one two) # the files must differ, because copies of one file are one library
    set(fakes ${CMAKE_CURRENT_LIST_DIR}/../registry/fakes)
    add_library(dispatch_twin_${name} SHARED ${fakes}/blas.c ${fakes}/blis.c)
    target_compile_definitions(dispatch_twin_${name} PRIVATE FAKE_INTEGER=int32_t FAKE_SUFFIX=_ FAKE_FORTRAN
        $<$<STREQUAL:${name},two>:FAKE_CBLAS>)
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

# Many providers in one loadable module, in a separate folder.
add_library(several_providers MODULE ${CMAKE_CURRENT_LIST_DIR}/several_provider.c)
target_include_directories(several_providers PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(several_providers PRIVATE backplane_flags)
set_target_properties(several_providers PROPERTIES PREFIX "" OUTPUT_NAME several
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/dispatch-several)
if(TARGET test_dispatch_limits)
    add_dependencies(test_dispatch_limits blas_fake_buffered)
    add_dependencies(test_dispatch_stack blas_fake_deep)
    add_dependencies(test_dispatch_cancelled_calls blas_fake_waiting)
endif()
