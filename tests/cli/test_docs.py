"""The man page, docs/reference/cli.md and the completions match `backplane help --json`."""

import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

MAN = ROOT / "docs/reference/backplane.1"
GUIDE = ROOT / "docs/reference/cli.md"
COMPLETIONS = [ROOT / "completions" / name for name in ("backplane.bash", "_backplane", "backplane.fish")]


@pytest.fixture
def facts(backplane):
    return backplane("help", "--json").json


def plain(roff):
    return re.sub(r"\\f[BIRP]", "", roff.replace("\\-", "-"))


def test_man_page_has_every_command_and_option(facts):
    page = plain(MAN.read_text())
    sections = dict(re.findall(r"^\.SS ([\w-]+)\n(.*?)(?=^\.S[SH] |\Z)", page, re.S | re.M))
    assert list(sections) == [command["name"] for command in facts["commands"]]
    for command in facts["commands"]:
        text = sections[command["name"]]
        assert f"backplane {command['name']}" in text and command["operands"] in text
        assert command["summary"] in re.sub(r"\s+", " ", text)
        for option in command["options"]:
            assert option["help"] in text, option
        shown = set(re.findall(r"^\.B[R]? .*?--([a-z0-9-]+)", text, re.M)) - {"help"}  # an option of every command
        assert shown == {option["name"] for option in command["options"]}, command["name"]


def test_pages_have_every_operation(facts):
    section = re.search(r"^\.SH OPERATIONS\n(.*?)(?=^\.SH )", plain(MAN.read_text()), re.S | re.M).group(1)
    guide = GUIDE.read_text()
    for row in facts["operations"]:
        assert re.search(rf"^\.BR? .*\b{row['name']}\b", section, re.M), row
        assert re.search(rf"^\|[^|]*`{row['name']}`[^|]*\|", guide, re.M), row
        for option in row["options"]:
            assert f"--{option}" in guide, (row, option)


@pytest.mark.parametrize("page", [MAN, GUIDE])
def test_exit_codes(facts, page):
    text = re.sub(r"\s+", " ", plain(page.read_text()))
    for row in facts["exit_codes"]:
        assert row["meaning"] in text
    assert facts["exit_codes"][0]["code"] == 0


def test_generated_parts_are_current():
    from conftest import BUILD

    done = subprocess.run([sys.executable, "-B", ROOT / "tools/command_pages.py", BUILD / "backplane", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_man_page_is_clean_roff():
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", MAN], capture_output=True, timeout=60)
    assert done.stderr == b""


def test_guide_shows_every_command(facts):
    text = GUIDE.read_text()
    for command in facts["commands"]:
        assert f"backplane {command['name']}" in text


@pytest.mark.parametrize("file", COMPLETIONS, ids=lambda path: path.name)
def test_completions_know_every_command_and_option(facts, file):
    text = file.read_text()
    for command in facts["commands"]:
        assert re.search(rf"\b{command['name']}\b", text)
        for option in command["options"]:
            assert re.search(rf"(--|-l )'?{option['name']}\b", text), (command["name"], option["name"])
    for row in facts["operations"]:
        assert re.search(rf"\b{row['name']}\b", text), row
    known = {option["name"] for command in facts["commands"] for option in command["options"]} | {"help", "version"}
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", text)) | set(
        re.findall(r"^complete .*-l ([a-z][a-z0-9-]+)", text, re.M)
    )
    assert named <= known, named - known


@pytest.mark.parametrize(
    ("shell", "file"), [("bash", "backplane.bash"), ("zsh", "_backplane"), ("fish", "backplane.fish")]
)
def test_completions_are_valid(shell, file):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", ROOT / "completions" / file], capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == b""


def complete(backplane_folder, words):
    """Returns bash's completions of the last word."""
    script = f"""PATH={backplane_folder}:$PATH
        source {ROOT}/completions/backplane.bash
        COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
        _backplane; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return subprocess.run(["bash", "-c", script], capture_output=True, timeout=60).stdout.decode().split()


def test_bash_completes(environment):
    from conftest import BUILD

    assert sorted(complete(BUILD, ["backplane", "set"])) == ["set", "settings"]
    assert complete(BUILD, ["backplane", "list", "--a"]) == ["--all"]
    assert complete(BUILD, ["backplane", "get", "blas.p"]) == ["blas.preferred"]
    assert "bf16" in complete(BUILD, ["backplane", "explain", "matmul", ""])
    assert complete(BUILD, ["backplane", "eval", "ge"]) == ["gemm"]
