# Adds the helpers of the tests of src/base: temporary directories and failing allocations.
foreach(short records blobs)
    if(TARGET test_store_${short})
        target_link_libraries(test_store_${short} PRIVATE support_base)
    endif()
endforeach()
