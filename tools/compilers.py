"""compilers.py - checks that all sources compile without warnings with clang, and with gcc without optimization. `make compilers` runs it.

`cmake --preset clang` and `cmake --preset debug` build with warnings as errors. Building takes many minutes, but nearly all warnings come from
reading the sources: this reads them with each preset's compiler and flags (-fsyntax-only), each file once for each instruction set. It takes a minute or two on two cores.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRESETS = {"clang": "clang", "debug": "cc"}  # and their compilers


def commands(preset):
    """Configures a preset, and returns the command that reads each source, with the folder to run it in."""
    folder = ROOT / "build/compilers" / preset
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "--preset", preset, "-B", folder, *generator, "--log-level=WARNING"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for row in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(row["command"])
        output = words.index("-o")
        if pathlib.Path(row["file"]).exists():  # generated ones do not, before they are built
            # A kernel set is read with the flags of each instruction set.
            key = (row["file"], *(word for word in words if word.startswith(("-m", "-DKERNEL_ISA="))))
            found.setdefault(key, ([*words[:output], *words[output + 2:], "-fsyntax-only"], row["directory"]))
    return found


def messages(command):
    words, folder = command
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr or ("" if done.returncode == 0 else f"{shlex.join(words)}: exit status {done.returncode}\n")


def main():
    failed = 0
    for preset, compiler in PRESETS.items():
        if not shutil.which(compiler):
            print(f"compilers: SKIPPED: the preset {preset}, because {compiler} is not installed")
            continue
        found = commands(preset)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            warned = [text for text in pool.map(messages, found.values()) if text]
        print("".join(warned), end="")
        print(f"compilers: {preset}: {len(found)} files and sets, {len(warned)} with warnings")
        failed += len(warned)
    sys.exit(1 if failed else 0)


main()
