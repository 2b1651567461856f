"""compilers.py - checks that all sources compile without warnings with clang, and with gcc without optimization. `make compilers` runs it.

`cmake --preset clang` and `cmake --preset debug` build with warnings as errors. Building takes many minutes, but nearly all warnings come from
reading the sources: this reads them with each preset's compiler and flags (-fsyntax-only), each file once for each instruction set. It takes two or
three minutes on two cores.

Of a pointer that is used after its memory was freed, or only compared, gcc 12 and later warn in code that they compile without optimization;
optimized code may no longer have the comparison. So the preset debug compiles the files that free something.

With --quick it leaves out what `make build` has read with the same compiler: in the preset debug, files that neither free something nor are
compiled for an instruction set, whose intrinsics are macros there. Continuous integration does so.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRESETS = {"clang": "clang", "debug": "cc"}  # and their compilers
FREEING = re.compile("free|realloc|release|destroy|delete|close")
FREED = "-Wuse-after-free=3"


def may_free(path):
    """Whether a file of ours, not of the tests, may free something: one without a word of freeing does not."""
    return path.relative_to(ROOT).parts[0] != "tests" and bool(FREEING.search(path.read_text(encoding="utf-8")))


def commands(preset, quick):
    """Configures a preset, and returns the command that reads or compiles each source, with the folder to run it in."""
    folder = ROOT / "build/compilers" / preset
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "--preset", preset, "-B", folder, *generator, "--log-level=WARNING"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    knows = preset == "debug" and subprocess.run(["cc", FREED, "-xc", "-fsyntax-only", os.devnull], capture_output=True, check=False).returncode == 0
    if preset == "debug" and not knows:
        print(f"compilers: SKIPPED: {FREED}, because cc does not have it")
    found, compiled = {}, set()
    for row in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        words, path = shlex.split(row["command"]), pathlib.Path(row["file"])
        output = words.index("-o")
        sets = [word for word in words if word.startswith(("-m", "-DKERNEL_ISA="))]
        if not path.exists() or not path.is_relative_to(ROOT) or path.is_relative_to(ROOT / "build"):
            continue  # generated ones do not exist before they are built
        frees = knows and path not in compiled and may_free(path)
        if frees:
            compiled.add(path)
            words = [*words[:output], "-o", os.devnull, *words[output + 2:], "-g0", FREED]
        elif preset == "debug" and quick and not sets:
            continue
        else:
            words = [*words[:output], *words[output + 2:], "-fsyntax-only"]
        # A kernel set is read with the flags of each instruction set.
        found.setdefault((path, *sets), (words, row["directory"]))
    return found.values(), len(compiled)


def messages(command):
    words, folder = command
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr or ("" if done.returncode == 0 else f"{shlex.join(words)}: exit status {done.returncode}\n")


def main():
    failed, quick = 0, "--quick" in sys.argv[1:]
    for preset, compiler in PRESETS.items():
        if not shutil.which(compiler):
            print(f"compilers: SKIPPED: the preset {preset}, because {compiler} is not installed")
            continue
        found, compiled = commands(preset, quick)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            warned = [text for text in pool.map(messages, found) if text]
        print("".join(warned), end="")
        print(f"compilers: {preset}: {len(found)} files and sets, {compiled} of them compiled, {len(warned)} with warnings")
        failed += len(warned)
    sys.exit(1 if failed else 0)


main()
