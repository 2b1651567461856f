"""Texts of the library have a full stop in every locale of the host program, and records are read in every one."""

import os
import re
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import locale, sys
comma, words = sys.argv[1] == "comma", sys.argv[2:]
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8" if comma else "C")
assert locale.localeconv()["decimal_point"] == ("," if comma else ".")
import numpy as np
import backplane

a = np.ones((30, 30))
if "tune" in words:
    with backplane.flags(benchmark=True):
        backplane.matmul(a, a)
print(backplane.explain(backplane.matmul, a, a))
try:
    backplane.nn.functional.layer_norm(a, (30,), eps=-0.5)
except Exception as problem:
    print(problem)
try:
    backplane.linalg.pinv(a, rtol=-0.5)
except Exception as problem:
    print(problem)
backplane.manual_seed(1)
print(backplane.rand(3))
"""


@pytest.fixture
def locales(tmp_path):
    """Makes the German locale, which has a decimal comma, in a folder."""
    if not shutil.which("localedef"):
        pytest.skip("there is no localedef")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], capture_output=True)
    if made.returncode > 1:
        pytest.skip("localedef has no sources of de_DE")
    return str(tmp_path)


@pytest.fixture
def run(locales, tmp_path):
    def run(place, *words):
        env = {**os.environ, "LOCPATH": locales, "BACKPLANE_CACHE_DIR": str(tmp_path / "cache"), "BACKPLANE_CALIBRATION": "off",
               "PYTHONPATH": os.pathsep.join(sys.path), "BACKPLANE_VERBOSE": "1", "XDG_CONFIG_HOME": str(tmp_path / "config"),
               "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_TUNING_START": "now", "BACKPLANE_BENCHMARK": "false"}
        words = [sys.executable, "-c", PROGRAM, place, *words]
        return subprocess.run(words, capture_output=True, text=True, check=True, env=env, timeout=120)

    return run


def times(text):
    return re.findall(r"(\d+[.,]?\d*) (?:ns|us|ms)", text)


@pytest.mark.parametrize("writer", ["comma", "point"])
def test_records_of_another_locale(run, tmp_path, writer):
    """A process with a decimal comma and one with a point read each other's times, and say the same."""
    first = run(writer, "tune")
    record = (tmp_path / "cache" / "tuning.txt").read_text()
    assert re.search(r"\|\d+(\.\d+)?(e\+\d+)?/", record) and not re.search(r"\d,\d", record), record
    others = [run(place) for place in ("comma", "point")]
    ages = [re.sub(r"measured (just now|\d+ \w+ ago)", "measured", done.stdout) for done in others]  # a minute may pass in between
    assert ages[0] == ages[1]
    assert "measured" in others[0].stdout and "eps is -0.5;" in others[0].stdout
    assert re.search(r"(rtol|rcond|tolerance)\D* is -0\.5;", others[0].stdout) and not re.search(r"\d,\d", others[0].stdout), others[0].stdout
    for done in (first, *others):
        assert not [text for text in times(done.stdout + done.stderr) if "," in text], done
