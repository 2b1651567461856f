"""Drop-in libraries: wrong arguments of the interface of C, with and without an error handler of the program."""

import subprocess

import pytest

from conftest import BUILD, loading

PROGRAM = r"""
#include <stdio.h>
void cblas_zhemv(int order, int uplo, int n, const void *alpha, const void *a, int lda, const void *x, int step_x, const void *beta,
                 void *y, int step_y);
double cblas_dasum(int n, const double *x, int step);
#ifdef HANDLER
void cblas_xerbla(int parameter, const char *routine, const char *form, ...) {
    (void)form;
    printf("handler %s %d\n", routine, parameter);
}
#endif
int main(void) {
    static double a[8] = {1};
    cblas_zhemv(102, 121, -1, a, a, 1, a, 1, a, a, 1);
    printf("%g\n", cblas_dasum(8, a, 1));
    return 0;
}
"""


@pytest.mark.skipif(not (BUILD / "libbackplane_blas.so").exists(), reason="this build has no drop-in libraries (see the output of cmake)")
@pytest.mark.parametrize("library", ["openblas", "blis", "mkl", "netlib", "choice"])
@pytest.mark.parametrize("flags", [[], ["-DHANDLER", "-rdynamic"]], ids=["plain", "handler"])
def test_wrong_arguments_are_reported(environment, tmp_path, library, flags):
    """MKL gives cblas_xerbla its arguments in another order than netlib. Some libraries call xerbla instead."""
    (tmp_path / "program.c").write_text(PROGRAM)
    env = {**environment, **({} if library == "choice" else {"BACKPLANE_DROPIN_LIBRARY": library})}
    program = tmp_path / "program"
    subprocess.run(["cc", *flags, tmp_path / "program.c", "-o", program, f"-L{BUILD}", "-lbackplane_blas", f"-Wl,-rpath,{BUILD}"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, env=loading(env), timeout=120, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0 and "1" in output.splitlines() and "zhemv" in output.lower(), output
