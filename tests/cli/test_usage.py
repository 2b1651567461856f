"""Commands, options, help, exit codes and messages."""

import os
import re
import subprocess

import pytest

from conftest import COMMAND

HOSTILE = "\033[31mred\x7f\x9b"  # a colour, a delete, and a control character of two bytes
COMMANDS = ["list", "doctor", "settings", "get", "set", "explain", "eval", "run", "compare", "bench", "tune", "einsum-path",
            "launch", "inspect", "report", "version", "help"]


def test_no_words_show_help(backplane):
    done = backplane()
    assert done.code == 0 and done.err == ""
    for command in COMMANDS:
        assert f"\n  {command} " in done.out


def test_list_of_commands(backplane):
    assert [command["name"] for command in backplane("help", "--json").json["commands"]] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(backplane, command):
    done = backplane(command, "--help")
    assert done.code == 0 and done.err == ""
    assert f"backplane {command} " in done.out
    assert done.out == backplane("help", command).out == backplane(command, "-h").out
    for option in next(v for v in backplane("help", "--json").json["commands"] if v["name"] == command)["options"]:
        assert f"--{option['name']}" in done.out and option["help"].split()[0] in done.out


@pytest.mark.parametrize("command", ["explain", "eval", "compare"])
def test_help_of_each_operation(backplane, command):
    facts = backplane("help", "--json").json
    special = {name for operation in facts["operations"] for name in operation["options"]}
    everywhere = {o["name"] for v in facts["commands"] if v["name"] == command for o in v["options"]} - special
    for operation in facts["operations"]:
        done = backplane(command, operation["name"], "--help")
        assert done.code == 0 and done.err == "" and f"backplane {command} {operation['name']} " in done.out
        shown = set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", done.out, re.M)) - {"help"}
        if command == "explain":
            layouts = {"trans-a", "trans-b", "lda", "ldb", "ldc"}  # of operands, for most or two of the operations
            assert (everywhere | set(operation["options"])) - layouts == shown - layouts
        else:
            assert everywhere | set(operation["options"]) == shown
        assert operation["name"] in backplane(command, "--help").out


def test_reading_commands_take_json(backplane):
    reading = {"list", "doctor", "settings", "get", "explain", "run", "compare", "bench", "tune", "einsum-path", "inspect",
               "report", "version", "help"}
    commands = backplane("help", "--json").json["commands"]
    assert {v["name"] for v in commands if any(o["name"] == "json" for o in v["options"])} == reading


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["lisst"], "'list'"),
        (["setings"], "'settings'"),
        (["help", "docter"], "'doctor'"),
        (["list", "--jsno"], "'--json'"),
        (["settings", "--change"], "'--changed'"),
        (["get", "num_thread"], "num_threads"),
        (["get", "blas.prefered"], "blas.preferred"),
        (["set", "dispatch.falback", "warn"], "dispatch.fallback"),
        (["explain", "matmull", "f32", "2x2", "2x2"], "'matmul'"),
        (["explain", "matmull"], "'matmul'"),
        (["explain", "slove", "--help"], "'solve'"),
        (["eval", "egih", "a.npy", "-o", "b.npy"], "'eigh'"),
        (["compare", "matmull", "a.npy", "b.npy"], "'matmul'"),
        (["compare", "fftshif", "a.npy"], "'fftshift'"),
        (["explain", "matmul", "f33", "2x2", "2x2"], "'f32'"),
        (["explain", "matmul", "f32", "2x2", "2x2", "--set", "num_thread=1"], "num_threads"),
    ],
)
def test_wrong_names_get_suggestions(backplane, words, hint):
    done = backplane(*words)
    assert done.code == 2, done
    assert done.out == ""
    assert hint in done.err and done.err.startswith("backplane: ") and done.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["list", "extra"],
        ["list", "--json=yes"],
        ["list", "-z"],
        ["get"],
        ["get", "a", "b"],
        ["set", "num_threads"],
        ["set", "--unset", "num_threads", "3"],
        ["eval", "matmul", "a.npy", "b.npy"],
        ["eval", "matmul", "a.npy", "b.npy", "-o"],
        ["eval", "matmul", "a.npy", "b.npy", "-o", "d.npy", "--output", "e.npy"],
        ["eval", "matmul", "a.npy", "b.npy", "c.npy", "-o", "d.npy"],
        ["eval", "matmul", "a.npy", "b.npy", "--alpha", "2", "-o", "d.npy"],
        ["eval", "gemm", "a.npy", "b.npy", "--alpha", "two", "-o", "d.npy"],
        ["eval", "gemm", "a.npy", "b.npy", "--alpha", "1,", "-o", "d.npy"],
        ["eval", "gemm", "a.npy", "b.npy", "--beta", "2", "-o", "d.npy"],
        ["eval", "matmul", "-", "-", "-o", "d.npy"],
        ["eval", "matmul", "a.npy", "-o", "d.npy"],
        ["explain", "matmul", "f32", "2x2"],
        ["eval", "fft", "a.npy", "b.npy", "-o", "d.npy"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "-o", "e.npy"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--n", "8,8"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--n", "x"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--dim", "0,1"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--dim", "0,"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--dim", "100"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--s", "8"],
        ["eval", "fft2", "a.npy", "-o", "d.npy", "--n", "8"],
        ["eval", "fftn", "a.npy", "-o", "d.npy", "--s", "8,8", "--dim", "0"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--norm", "orthogonal"],
        ["eval", "fft", "a.npy", "-o", "d.npy", "--trans-a"],
        ["eval", "fftshift", "a.npy", "-o", "d.npy", "--norm", "ortho"],
        ["eval", "fftshift", "a.npy", "-o", "d.npy", "--explain"],
        ["explain", "fftshift", "f32", "8"],
        ["explain", "fft", "f32", "8", "--trans-b"],
        ["explain", "matmul", "f32", "2x2", "2x2", "2x2"],
        ["compare", "gemm", "a.npy"],
        ["compare", "matmul", "a.npy", "b.npy", "--upper"],
        ["compare", "fftshift", "a.npy"],
        ["compare", "matmul", "-", "-"],
        ["compare", "matmul", "a.npy", "b.npy", "--repeat", "0"],
        ["compare", "matmul", "a.npy", "b.npy", "--repeat", "x"],
        ["explain", "matmul", "f32", "2x", "2x2"],
        ["explain", "matmul", "f32", "x2", "2x2"],
        ["explain", "matmul", "f32", "-2x2", "2x2"],
        ["explain", "matmul", "f32", "99999999999999999999x2", "2x2"],
        ["explain", "matmul", "f32", "2x2", "2x2", "--conj-a"],
        ["explain", "matmul", "f32", "2x2", "2x2", "--set", "num_threads=-1"],
    ],
)
def test_wrong_usage(backplane, tmp_path, words):
    if "compare" in words or "eval" in words:
        import numpy as np

        np.save(tmp_path / "a.npy", np.ones((2, 2)))
        np.save(tmp_path / "b.npy", np.ones((2, 2)))
    done = backplane(*words)
    assert done.code == 2, done
    assert done.err.startswith(f"backplane: {words[0]}: ") and done.err.count("\n") == 1
    assert not (tmp_path / "d.npy").exists()


def test_double_dash_ends_options(backplane):
    done = backplane("get", "--", "--json")
    assert done.code == 2 and "--json" in done.err


def test_version(backplane):
    done = backplane("version")
    facts = backplane("version", "--json").json
    assert done.out.startswith(f"backplane {facts['version']}\n") and backplane("--version").out == done.out
    assert facts["version"] == facts["header_version"]
    assert facts["provider_abi"] == {"major": 5, "minor": 6}
    assert f"provider ABI    {facts['provider_abi']['major']}.{facts['provider_abi']['minor']}" in done.out
    assert facts["usable_cpus"] >= 1


def test_full_output_is_an_error(environment):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "settings"], stdout=full, stderr=subprocess.PIPE, env=environment, timeout=60)
    assert done.returncode == 6
    assert b"standard output" in done.stderr


def test_hostile_words_do_not_steer_the_terminal(backplane):
    for words in (["get", HOSTILE], ["explain", "matmul", HOSTILE, "2x2", "2x2"], [HOSTILE], ["list", "--" + HOSTILE]):
        done = backplane(*words)
        assert done.code == 2 and "red" in done.err
        assert "\033" not in done.err and "\x7f" not in done.err and "\x9b" not in done.err


def test_text_that_is_not_utf8_is_masked(backplane):
    """Single bytes that 8-bit terminals take for controls, overlong and cut characters, and characters that reverse the text."""
    for bad in (b"\x9b31m", b"\xff", b"\xc0\x9b", b"\xc1\xbf", b"\xe0\x80\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80"):
        done = subprocess.run([COMMAND, b"a" + bad + b"z"], capture_output=True, timeout=60)
        masked = b"a" + bytes(c if c < 0x80 else ord("?") for c in bad) + b"z"
        assert done.returncode == 2 and masked in done.stderr
    good = "\u00e9\u20ac\U0001f600\ud7ff\ue000\U0010ffff"
    assert good in backplane(good).err
    assert "a?b?c" in backplane("a\u202eb\u2066c").err


def test_json_escapes(backplane):
    """Text of a variable is unchanged in JSON; bytes that are not UTF-8 are replaced."""
    text = 'a"b\\c/\u00e9\u20ac\U0001f600'
    assert backplane("get", "blas.preferred", "--json", env={"BACKPLANE_BLAS_PREFERRED": text}).json["value"] == text
    broken = b"x\xffy\xc0\x80z\xed\xa0\x80"
    done = backplane("get", "blas.preferred", "--json", env={"BACKPLANE_BLAS_PREFERRED": os.fsdecode(broken)})
    assert done.json["value"] == "x\ufffdy\ufffd\ufffdz\ufffd\ufffd\ufffd"


def test_configuration_errors_are_reported_once(backplane, tmp_path):
    folder = tmp_path / "config" / "backplane"
    folder.mkdir(parents=True)
    (folder / "backplane.conf").write_text("num_threads = many\nnonsense\nverbose = 0\n")
    done = backplane("settings")
    assert done.code == 0
    lines = done.err.splitlines()
    assert len(lines) == 2 and all(line.startswith("backplane: warning: ") for line in lines)
    assert "backplane.conf" in done.err and backplane("list", "--help").err == ""
