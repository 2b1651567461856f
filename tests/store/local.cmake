# Adds the helpers of the tests of src/base: temporary directories and failing allocations.
if(TARGET test_store_records)
    target_sources(test_store_records PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/base/support_base.c)
endif()
