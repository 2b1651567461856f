"""launch: a profile tells the time of the search for libraries apart from the time of the program's calls."""

import json
import re
import subprocess

from conftest import ROOT, needs_hooks

PYTHON = ROOT / ".venv/bin/python"

CODE = "import numpy as np; a = np.ones((100, 110)); b = np.ones((110, 120)); [a @ b for _ in range(3)]"

SLOW = """
#include <stddef.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { usleep(500000); }
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a,
            const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc, size_t x, size_t y) {
    int t = (*ta | 32) != 'n', u = (*tb | 32) != 'n';
    for (long i = 0; i < *m; i++)
        for (long j = 0; j < *n; j++) {
            double s = 0;
            for (long p = 0; p < *k; p++) s += a[t ? p + i * *lda : i + p * *lda] * b[u ? j + p * *ldb : p + j * *ldb];
            c[i + j * *ldc] = *alpha * s + (*beta ? *beta * c[i + j * *ldc] : 0);
        }
}
"""


@needs_hooks
def test_discovery_is_told_apart_from_the_calls(backplane, tmp_path):
    """The probe of this library sleeps half a second in the program's first product, however fast the machine is. `native` runs
    the product, and nothing of the sleep is in the times of the calls. Without the cache, the program probes again what the command
    has probed."""
    (tmp_path / "libraries").mkdir()
    (tmp_path / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "slow.c", "-o", "libraries/libslowblas.so"], cwd=tmp_path, check=True)
    env = {"BACKPLANE_REGISTRY_CACHE": "off", "BACKPLANE_REGISTRY_LIBRARY_PATH": str(tmp_path / "libraries"),
           "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_BLAS_PREFERRED": "native"}
    done = backplane("launch", "--profile", "--trace", "trace.json", "--", PYTHON, "-c", CODE, env=env)
    assert done.code == 0, done
    rows = [json.loads(line) for line in (tmp_path / "trace.json").read_text().splitlines()]
    assert any(row["through_backplane"] for row in rows)
    assert {row["discovery_ns"] >= 500e6 for row in rows} == {True} and len({row["discovery_ns"] for row in rows}) == 1
    calls = float(re.search(r"([\d.]+) (?:us|ms|s) in math routines", done.err).group(1))
    assert calls > 0 and re.search(r"^Discovery of the libraries: [\d.]+ m?s, not counted\.$", done.err, re.M)
    # The product is about 1 ms of one processor's time. A probe that sleeps is not in it, whatever else the machine does.
    first = max(row["most_ns"] for row in rows if row["through_backplane"])
    assert first < rows[0]["discovery_ns"]
