# These tests reach internal functions of the clblast provider, and use the devices of the OpenCL runtime's tests.
link_providers(clblast opencl)
share_support(clblast support_opencl support_base)
