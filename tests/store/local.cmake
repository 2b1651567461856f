# Adds the helpers of the tests of src/base: temporary directories and failing allocations.
foreach(short records blobs)
    if(TARGET test_store_${short})
        target_sources(test_store_${short} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/base/support_base.c)
    endif()
endforeach()
