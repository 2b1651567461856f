# The references of functions of single elements are those of the tests of the native provider.
if(TARGET test_opencl_ops_elementwise)
    target_sources(test_opencl_ops_elementwise PRIVATE elementwise/support_elements.c)
endif()
