"""Colours and lines on a terminal, and only there."""

import os
import pty
import subprocess

import pytest

from conftest import COMMAND


def on_terminal(environment, *words, columns=80, **changed):
    """Runs the command on a pseudo-terminal and gives what it showed."""
    main, side = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [COMMAND, *words],
        stdout=side,
        stderr=side,
        stdin=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm", **changed},
    )
    os.close(side)
    shown = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        shown += piece
    process.wait(60)
    os.close(main)
    return shown.decode()


@pytest.mark.parametrize("words", [["list"], ["settings"], ["doctor"], ["help"], ["version"]])
def test_plain_where_no_terminal_is(backplane, words):
    done = backplane(*words, env={"TERM": "xterm", "CLICOLOR_FORCE": "1"})
    assert "\033" not in done.out and "\u2500" not in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())


def test_terminal_has_colours_and_lines(environment):
    shown = on_terminal(environment, "settings")
    assert "\033[1m" in shown and "\u2500\u2500\u2500" in shown


def test_no_color(environment):
    for changed in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = on_terminal(environment, "settings", **changed)
        assert "\033" not in shown and "num_threads" in shown
    assert "\033" in on_terminal(environment, "settings", NO_COLOR="")


def test_lines_fit(environment):
    shown = on_terminal(environment, "help", columns=60, NO_COLOR="1")
    assert max(len(line) for line in shown.splitlines()) <= 60


def test_arrays_do_not_go_to_terminals(environment, tmp_path):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    shown = on_terminal(environment, "eval", "matmul", str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), "-o", "-")
    assert "NUMPY" not in shown and "terminal" in shown
