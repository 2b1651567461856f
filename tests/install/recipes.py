"""Each program of the pages below compiles without a warning, runs, and prints the text that follows it."""

import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

# Pages, and how many programs each has at least.
PAGES = {"docs/how-to/recipes.md": 7, "docs/how-to/use-from-cpp.md": 2}
COMPILERS = {"c": ["cc", "-std=c17", "-Wstrict-prototypes"], "cpp": ["c++", "-std=c++17"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def programs(page):
    """Title, language, program, and what it prints. A block of text belongs to the program before it."""
    blocks = list(re.finditer(r"^#+ (?P<title>[^\n]*)$|^```(?P<kind>\w+)\n(?P<text>.*?)^```$", common.read(page), re.S | re.M))
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
    return common.run_program(target)


def trimmed(text):
    return [line.rstrip() for line in text.splitlines()]


def main():
    failures, found = [], []
    for page, least in PAGES.items():
        of_page = programs(page)
        found += [(page, *program) for program in of_page]
        if len(of_page) < least:
            failures.append(f"{page} has {len(of_page)} programs, not {least}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (page, title, kind, program, printed) in enumerate(found):
            if not shutil.which(COMPILERS[kind][0]):
                continue
            output = run(pathlib.Path(folder), number, kind, program)
            if printed is None or trimmed(output) != trimmed(printed):
                failures.append(f"{page}: '{title}' ({kind}) printed\n{output}in place of\n{printed}")
    common.finish(failures, len(found))


main()
