# These tests reach internal functions of the OpenCL runtime and provider, and use the base tests' support.
link_providers(opencl opencl)
share_support(opencl support_base)
