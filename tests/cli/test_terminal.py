"""Colours, rules and wrapped lines appear on terminals only."""

import os
import pty
import re
import select
import subprocess

import pytest

from conftest import COMMAND


def on_terminal(environment, *words, columns=80, **changed):
    """Runs the command on a pseudo-terminal and returns its output."""
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
    # This side stays open until the end, because Linux may drop what is not read yet when the last one is closed.
    shown, ended = b"", False
    while True:
        ended = ended or process.poll() is not None
        if select.select([main], [], [], 0.05)[0]:
            shown += os.read(main, 65536)
        elif ended:
            break
    os.close(side)
    os.close(main)
    assert process.returncode >= 0, shown
    return shown.decode().replace("\r\n", "\n")


def page_on_terminal(*arguments, **options):
    """What stays on the terminal: a slow machine shows how far the work has come, and erases it."""
    return "\n".join(line.split("\r")[-1] for line in on_terminal(*arguments, **options).split("\n"))


@pytest.mark.parametrize("words", [["list"], ["settings"], ["doctor"], ["help"], ["version"]])
def test_plain_without_a_terminal(backplane, words):
    done = backplane(*words, env={"TERM": "xterm", "CLICOLOR_FORCE": "1"})
    assert "\033" not in done.out and "\u2500" not in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())


def test_terminal_has_colours_and_lines(environment):
    shown = page_on_terminal(environment, "settings")
    assert "\033[1m" in shown and "\u2500\u2500\u2500" in shown


def test_no_color(environment):
    for changed in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = page_on_terminal(environment, "settings", **changed)
        assert "\033" not in shown and "num_threads" in shown
    assert "\033" in page_on_terminal(environment, "settings", NO_COLOR="")


def test_help_fits(environment):
    shown = page_on_terminal(environment, "help", columns=60, NO_COLOR="1")
    assert max(len(line) for line in shown.splitlines()) <= 60


EINSUM = ["explain", "einsum", "ij,jk,kl->il", "f32", "20x30", "30x40", "40x50"]
PAGES = [["list"], ["list", "--all"], ["list", "--backends"], ["settings"], ["doctor"], EINSUM, ["explain", "svd", "f64", "90x90"]]


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_pages_fit(environment, backplane, words, columns):
    shown = page_on_terminal(environment, *words, columns=columns, NO_COLOR="1")
    assert max(len(line) for line in shown.splitlines()) <= columns
    assert not any(line.endswith(" ") for line in shown.splitlines())
    if words in (EINSUM, PAGES[-1], ["doctor"]):  # pages without tables
        assert "".join(shown.split()) == "".join(backplane(*words).out.split())


def fields(header):
    """Returns the names in a line of headers, and the columns at which they begin."""
    return [(match.group(), match.start()) for match in re.finditer(r"\S+(?: \S+)*", header)]


def cut(line, starts):
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], len(line) + 1])]


def wide_rows(table):
    """Returns the entries of a table without wrapped cells, as dictionaries by column name."""
    header, *lines = table.splitlines()
    names, starts = zip(*fields(header))
    return [dict(zip(names, cut(line, starts))) for line in lines]


def narrow_rows(table):
    """Returns the entries of a table with wrapped cells and cells below their row. The pieces of a cell are joined."""
    lines = table.splitlines()
    rule = next(i for i, line in enumerate(lines) if line.startswith("\u2500"))
    parts = [fields(lines[0])]
    for line in lines[1:rule]:
        if line[:5].strip() and not line[:4].strip():
            parts.append(fields(line))
        else:  # the rest of a wrapped name
            for rest, start in fields(line):
                parts[0] = [(f"{name} {rest}" if at == start else name, at) for name, at in parts[0]]
    rows = []
    for line in lines[rule + 1 :]:
        if line[0] != " ":
            rows.append({name: "" for part in parts for name, start in part})
            below = False
        below |= len(parts) > 1 and line[0] == " " and line[4] != " "
        names, starts = zip(*parts[below])
        if line[0] != " " and len(line) >= starts[1] and line[starts[1] - 1] != " ":
            rows[-1][names[0]] = line  # a long name; the rest of its row follows
            continue
        for name, piece in zip(names, cut(line, starts)):
            rows[-1][name] += piece
    return rows


HELP_PAGES = [["help"], ["list", "--help"], ["explain", "--help"], ["explain", "svd", "--help"], ["eval", "einsum", "--help"],
              ["compare", "--help"], ["einsum-path", "--help"], ["settings", "--help"], ["doctor", "--help"]]


@pytest.mark.parametrize("columns", [20, 24, 32, 40, 50])
@pytest.mark.parametrize("words", HELP_PAGES, ids=" ".join)
def test_help_fits_narrow_terminals(environment, backplane, words, columns):
    """Headings and names of options stay whole; all else is wrapped. Nothing is lost."""
    shown = page_on_terminal(environment, *words, columns=columns, NO_COLOR="1")
    for line in shown.splitlines():
        text = line.strip()
        label = text.startswith(("-", "Options of")) and not line.startswith(" " * 7)
        assert len(line) <= columns or label or " " not in text, line
        assert line == line.rstrip()
    assert "".join(shown.split()) == "".join(backplane(*words).out.split())


@pytest.mark.parametrize("columns", [24, 40])
def test_reports_fit_narrow_terminals(environment, backplane, columns):
    """Lines are broken at spaces, but within a number and its unit."""
    shown = page_on_terminal(environment, "doctor", columns=columns, NO_COLOR="1")
    for line in shown.splitlines():
        assert len(line) <= columns or not line.startswith(" ") or re.fullmatch(r" +(\S+|[\d.]+ (ns|us|ms|s))", line), line


FOOTER = r"\n\n|\n\d+ facade "


def packed(rows):
    return [{name: text.replace(" ", "") for name, text in row.items()} for row in rows]


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("words", [["list"], ["list", "--backends"], ["settings"]], ids=" ".join)
def test_tables_lose_nothing(environment, backplane, words, columns):
    """Joining the pieces of the cells gives the wide table."""
    wide = re.split(FOOTER, backplane(*words).out)[0]
    narrow = re.split(FOOTER, page_on_terminal(environment, *words, columns=columns, NO_COLOR="1"))[0]
    assert packed(narrow_rows(narrow)) == packed(wide_rows(wide))
    assert max(len(line) for line in narrow.splitlines()) <= columns


@pytest.mark.parametrize("columns", [80, 120])
def test_compare_fits(environment, tmp_path, columns):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones((40, 40)))
    words = ["compare", "matmul", str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), "--set", "num_threads=1", "--repeat", "3"]
    shown = page_on_terminal(environment, *words, columns=columns, NO_COLOR="1")
    assert max(len(line) for line in shown.splitlines()) <= columns
    for header in backplane_headers(environment, words):
        assert header in shown.split("\u2500")[0]


def backplane_headers(environment, words):
    wide = subprocess.run([COMMAND, *words], capture_output=True, env=environment, timeout=60, check=True).stdout.decode()
    return wide.splitlines()[0].split()


def test_width_of_a_pipe(backplane):
    """Files and pipes get whole lines, unless COLUMNS is set."""
    wide = backplane("settings").out
    narrow = backplane("settings", env={"COLUMNS": "80"}).out
    assert max(map(len, wide.splitlines())) > 80 >= max(map(len, narrow.splitlines()))
    assert "\u2500" not in narrow and sorted("".join(narrow.split())) == sorted("".join(wide.split()))
    for value in ("", "0", "-5", "80x", "wide"):
        assert backplane("settings", env={"COLUMNS": value}).out == wide
    assert backplane("list", "--json", env={"COLUMNS": "40"}).out == backplane("list", "--json").out


def test_arrays_do_not_go_to_terminals(environment, tmp_path):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    shown = page_on_terminal(environment, "eval", "matmul", str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), "-o", "-")
    assert "NUMPY" not in shown and "terminal" in shown
