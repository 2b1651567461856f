# The references of functions of single elements are those of the tests of the native provider.
if(TARGET test_opencl_ops_elementwise)
    target_sources(test_opencl_ops_elementwise PRIVATE elementwise/support_elements.c)
endif()
# So are the cases and references of attention.
if(TARGET test_opencl_ops_attention)
    target_sources(test_opencl_ops_attention PRIVATE attention/support_cases.c attention/support_reference.c)
endif()
if(TARGET test_opencl_ops_conv)
    target_sources(test_opencl_ops_conv PRIVATE conv/support_cases.c conv/support_bounds.c)
endif()
