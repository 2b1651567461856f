# The tests of providers that drive BLAS and LAPACK libraries reach their internal functions.
function(link_driving_providers area)
    link_providers(${area} blas)
endfunction()
link_driving_providers(blas)
