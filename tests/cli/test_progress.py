"""Long work shows a line on terminals: how far it has come, and the time that is left. It is erased at the end."""

import numpy as np
import pytest

from conftest import BUILD
from test_terminal import on_terminal

ALONE = {"BACKPLANE_REGISTRY_SYSTEM": "false"}


def frames_of(shown, text):
    """Returns what stood on the line one after the other, from the first to the last frame with the text, and one more."""
    frames = shown.split("\r")
    found = [i for i, frame in enumerate(frames) if text in frame]
    assert found, shown
    return frames[found[0] : found[-1] + 2]


# A library that sleeps when it is opened: its probe ends after this time.
SLEEPS = {
    **ALONE,
    "BACKPLANE_LIBRARY_PATH": str(BUILD / "tests/registry-fakes/hang"),
    "BACKPLANE_REGISTRY_PROBE_TIMEOUT": "1000",
    "BACKPLANE_REGISTRY_CACHE": "off",
}
# The first call of the library takes long in these, before anything else is known.
FIRST = [
    ["doctor"],
    ["report", "--json"],
    ["list"],
    ["list", "--probe"],
    ["explain", "matmul", "f64", "8x8", "8x8"],
    ["eval", "matmul", "A.npy", "A.npy", "-o", "C.npy"],
    ["eval", "--explain", "matmul", "A.npy", "A.npy", "-o", "C.npy"],
    ["compare", "matmul", "A.npy", "A.npy"],
    ["tune", "matmul", "f64", "8x8", "8x8"],
    ["launch", "--library", "native", "--", "true"],
]


@pytest.mark.parametrize("words", FIRST, ids=" ".join)
def test_libraries_are_examined(environment, backplane, tmp_path, monkeypatch, words):
    np.save(tmp_path / "A.npy", np.ones((8, 8)))
    monkeypatch.chdir(tmp_path)
    first, *_, last = frames_of(on_terminal({**environment, **SLEEPS}, *words), "examin")
    assert "examin" in first and len(first) <= 79
    assert last.strip() == "" or "examin" not in last  # erased, or replaced by what is done next
    piped = backplane(*words, env=SLEEPS)
    assert "\r" not in piped.out and "examin" not in piped.err


def test_time_that_is_left(environment, tmp_path):
    changed = {**ALONE, "BACKPLANE_CACHE_DIR": str(tmp_path / "fresh"), "BACKPLANE_CALIBRATION": "auto"}
    *frames, last = frames_of(on_terminal({**environment, **changed}, "tune", "--machine", "--seconds", "4"), ": native, ")
    # A slow machine begins few groups, and a fast one has ended in the two seconds after which the time is shown, of four.
    assert any("s left  group" in frame for frame in frames) or len(frames) < 3 or max(frame.count("#") for frame in frames) <= 10
    assert all(frame.startswith("[") and len(frame) <= 79 and "\n" not in frame for frame in frames)
    assert last.strip() == ""  # the line is blank before the results are written


@pytest.mark.parametrize("columns", [30, 200])
def test_fits_the_terminal(environment, tmp_path, columns):
    np.save(tmp_path / "A.npy", np.ones((300, 300)))
    words = ["compare", "matmul", str(tmp_path / "A.npy"), str(tmp_path / "A.npy"), "--repeat", "10000"]
    *frames, last = frames_of(on_terminal({**environment, **ALONE}, *words, columns=columns), "[#")
    assert any("native" in frame or columns == 30 for frame in frames)
    assert {len(frame) for frame in frames} == {min(columns - 1, 79)}
    assert last.strip() == ""


def test_nothing_in_pipes(backplane, tmp_path):
    np.save(tmp_path / "A.npy", np.ones((300, 300)))
    done = backplane("compare", "matmul", "A.npy", "A.npy", "--repeat", "10000", env=ALONE)
    assert done.code == 0 and done.err == "" and "\r" not in done.out


def test_short_work_shows_none(environment):
    assert "\r" not in on_terminal({**environment, **ALONE}, "settings")
