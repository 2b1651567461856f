"""Each program of docs/how-to/recipes.md compiles without a warning, runs, and prints the text that follows it."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

PAGE = "docs/how-to/recipes.md"
COMPILERS = {"c": ["cc", "-std=c17", "-Wstrict-prototypes"], "cpp": ["c++", "-std=c++17"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def recipes():
    """Title, language, program, and what it prints. A block of text belongs to the program before it."""
    page = common.read(PAGE)
    blocks = list(re.finditer(r"^## (?P<title>[^\n]*)$|^```(?P<kind>\w+)\n(?P<text>.*?)^```$", page, re.S | re.M))
    found, title = [], ""
    for block, following in zip(blocks, blocks[1:] + [None]):
        title = block["title"] or title
        if block["kind"] in COMPILERS:
            printed = following["text"] if following and following["kind"] == "text" else None
            found.append((title, block["kind"], block["text"], printed))
    return found


def run(folder, number, kind, program):
    source, target = folder / f"{number}.{kind}", folder / str(number)
    source.write_text(program)
    build = common.build_folder()
    common.run(*COMPILERS[kind], *WARNINGS, "-I", common.ROOT / "include", "-o", target, source, "-L", build, "-lbackplane",
               "-lm", f"-Wl,-rpath,{build}")
    return common.run(target, env=dict(os.environ))


def trimmed(text):
    return [line.rstrip() for line in text.splitlines()]


def main():
    common.skip_under_sanitizer("a program that links the library would have to be built for the sanitizer too")
    failures, found = [], recipes()
    if len(found) < 6:
        failures.append(f"{PAGE} has {len(found)} programs")
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, kind, program, printed) in enumerate(found):
            if not shutil.which(COMPILERS[kind][0]):
                continue
            said = run(pathlib.Path(folder), number, kind, program)
            if printed is None or trimmed(said) != trimmed(printed):
                failures.append(f"{PAGE}: '{title}' ({kind}) printed\n{said}in place of\n{printed}")
    common.finish(failures, len(found))


main()
