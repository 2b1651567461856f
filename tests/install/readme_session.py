"""Every command of README.md's session runs, from the project's root as the README says, and succeeds; what a command says
on every machine alike is what the README shows."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402


def session():
    """Pairs of command and shown output from the console blocks that run the command of the project."""
    for block in re.findall(r"^```console\n(.*?)^```", common.read("README.md"), re.S | re.M):
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = piece.partition("\n")
            if command.startswith("build/backplane"):
                yield command, shown


def main():
    failures, checked = [], 0
    for command, shown in session():
        checked += 1
        words = shlex.split(command.replace("build/backplane", str(common.build_folder() / "backplane"), 1))
        done = subprocess.run(words, cwd=common.ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))
        if done.returncode:
            failures.append(f"$ {command}\n{done.stdout}{done.stderr}exit status {done.returncode}")
        # Facts differ between machines; the first line (a table's head, an answer's kind) does not.
        elif shown and words[1] in ("list", "get", "version", "compare"):
            expected, said = (text.split("\n")[0].split() for text in (shown, done.stdout))
            if expected != said:
                failures.append(f"$ {command}\nREADME.md shows {' '.join(expected)}\nit says {' '.join(said)}")
    common.finish(failures, checked)


main()
