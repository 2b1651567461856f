"""bench/peers.py: every family runs, and the table has each type and peer. No test depends on how fast anything is."""

import pathlib
import re

import numpy
import pytest
from conftest import PACKAGES

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers.py"


@pytest.mark.parametrize("family, types", [("matmul", {"float32", "float64"}), ("fft", {"complex64", "complex128"}),
                                           ("linalg", {"float32", "float64"}), ("einsum", {"float32", "float64"})])
def test_family(python, family, types):
    done = python(PEERS, PACKAGES, family, "--threads", 1, "--rounds", 1)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if line.startswith(f"| {family}")]
    of_numpy = [row for row in rows if row[3] == f"numpy {numpy.__version__}"]
    assert {row[2] for row in of_numpy} == types and {row[1] for row in rows} == {"1"}
    for kind in types:
        cases = re.findall(rf"^{family} {kind} (.+)\n.*\n  numpy .* ([\d.]+) x backplane$", done.stdout, re.M)
        row = next(row for row in of_numpy if row[2] == kind)
        least = min(cases, key=lambda case: float(case[1]))
        slowest = {case[0] for case in cases if float(case[1]) == float(least[1])}  # times are rounded, so that several may be equal
        assert int(row[4]) == len(cases) > 5 and abs(float(row[6]) - float(least[1])) < 0.01 and row[8] in slowest


def test_peers_that_are_not_installed_are_named(python, tmp_path):
    for name in ("scipy", "torch"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')\n")
    done = python(PEERS, PACKAGES, "matmul", "--threads", 1, "--rounds", 1, PYTHONPATH=f"{tmp_path}:{PACKAGES}")
    assert done.returncode == 0, done.stderr
    assert "scipy not installed\ntorch not installed\n" in done.stdout and "torch " not in done.stdout.split("| family")[1]


def test_unknown_family(python):
    done = python(PEERS, PACKAGES, "products")
    assert done.returncode == 2 and "the families are matmul, fft, linalg, einsum" in done.stderr
