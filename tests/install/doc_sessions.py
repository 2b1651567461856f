"""Runs every `$ backplane ...` and `$ build/backplane ...` command of the console blocks in README.md and docs/, from the
project's root. A command must succeed, or fail with the error that the page shows. Output that does not depend on the
machine must be the output on the page: errors, and the first line of a few commands.

Also runs the `backplane eval` and `compare` commands of the sh blocks, page by page in an empty folder. They must succeed, so a page
makes the files that its commands read. Commands on devices, and on ranks of MPI (tests/cli/test_eval_ranks.py), are left out."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```", re.S | re.M)
SCRIPT = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)
ON_ARRAYS = re.compile(r"(?:[A-Z_]+=\S* +)*backplane +(?:eval|compare) ")
OURS = re.compile(r"^(?:[A-Z_]+=\S* +)*(?:build/)?backplane +([\w-]+)")
SAME_FIRST_LINE = ("list", "get", "version", "compare", "einsum-path")


def sessions():
    """Pages, commands, and the output that the page shows."""
    for page in [pathlib.Path("README.md"), *common.sources("docs", "*.md")]:
        for block in BLOCK.findall(common.read(page)):
            for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = piece.partition("\n")
                if OURS.match(command):
                    yield page, command, shown.rstrip("\n")


def scripts():
    """Pages, and their commands on arrays."""
    for page in common.sources("docs", "*.md"):
        lines = [line.removeprefix("$ ") for block in SCRIPT.findall(common.read(page)) for line in block.split("\n")]
        commands = [line for line in lines if ON_ARRAYS.match(line) and "--device" not in line and "--ranks" not in line]
        if commands:
            yield page, commands


def script_faults(page, commands, environment):
    """Runs the commands of a page in an empty folder. Returns the ones that fail, with what they print."""
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False, env=environment)
            if done.returncode != 0:
                yield f"{page}: {command}\n{done.stdout}{done.stderr}exit status {done.returncode}"


def first_words(text):
    return text.split("\n")[0].split()


def fault(command, shown, environment):
    """Returns how a command's outcome differs from the page, or None."""
    words = command.split("#")[0].replace("build/backplane", "backplane")
    words = re.sub(r"(?<=\s)build/", f"{os.path.relpath(common.build_folder(), common.ROOT)}/", words)
    done = subprocess.run(["sh", "-c", words], cwd=common.ROOT, capture_output=True, text=True, check=False, env=environment)
    if shown.startswith("backplane: ") and not shown.startswith("backplane: warning"):
        if done.returncode == 0 or done.stderr.split() != shown.split():
            return f"the page shows:\n{shown}\nit prints, with exit status {done.returncode}:\n{done.stderr}"
    elif done.returncode > (OURS.match(command).group(1) == "doctor"):  # 1: it has found something
        return f"{done.stdout}{done.stderr}exit status {done.returncode}"
    elif shown and OURS.match(command).group(1) in SAME_FIRST_LINE and first_words(shown) != first_words(done.stdout):
        return f"the page shows: {' '.join(first_words(shown))}\nit prints: {' '.join(first_words(done.stdout))}"
    return None


def main():
    failures, checked = [], 0
    with tempfile.TemporaryDirectory() as home:
        path = f"{common.build_folder()}{os.pathsep}{os.environ.get('PATH', '')}"
        kept = {name: value for name, value in os.environ.items() if not name.endswith(("NUM_THREADS", "THREAD_LIMIT"))}
        environment = {**kept, "PATH": path, "XDG_CONFIG_HOME": home}
        for page, command, shown in sessions():
            checked += 1
            found = fault(command, shown, environment)
            if found:
                failures.append(f"{page}: $ {command}\n{found}")
        for page, commands in scripts():
            checked += len(commands)
            failures += script_faults(page, commands, environment)
    common.finish(failures, checked)


if __name__ == "__main__":
    main()
