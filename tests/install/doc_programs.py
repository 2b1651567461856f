"""Compiles every C block of README.md and docs/, without warnings. A block with a main function is also run: it must
succeed, and its first line of output must be the first line of the text block that follows. Another block is compiled as the body
of a function, after the declarations that PREAMBLE makes for it."""

import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

BLOCK = re.compile(r"^```c\n(.*?)^```\n(?:\s*```text\n(.*?)^```)?", re.S | re.M)
INCLUDE = re.compile(r"^#include.*\n", re.M)
PREAMBLE = """#include <backplane.h>
#include <stdio.h>
{includes}
bp_status body(bp_view a, bp_view b, bp_view c, bp_view x, bp_options *options, void *memory);
bp_status body(bp_view a, bp_view b, bp_view c, bp_view x, bp_options *options, void *memory) {{
    (void)a, (void)b, (void)c, (void)x, (void)options, (void)memory;
    {{
{code}
    }}
    return BP_OK;
}}
"""


def programs():
    """Pages, programs, and the shown output or None; a program that was made from a fragment has none."""
    for page in [pathlib.Path("README.md"), *common.sources("docs", "*.md")]:
        for code, shown in BLOCK.findall(common.read(page)):
            if re.search(r"\bint main\(", code):
                yield page, code, shown
            else:
                yield page, PREAMBLE.format(includes="".join(INCLUDE.findall(code)), code=INCLUDE.sub("", code)), None


def main():
    if not shutil.which("cc"):
        common.skip("cc is not installed")
    failures, checked, build = [], 0, common.build_folder()
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "program.c"), pathlib.Path(folder, "program")
        pathlib.Path(folder, "examples").symlink_to(common.ROOT / "examples")
        for page, code, shown in programs():
            checked += 1
            source.write_text(code)
            print(f"{page}: {code.splitlines()[0]}")
            common.run("cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                       f"-I{common.ROOT / 'include'}", "-o", program, source,
                       *(["-c"] if shown is None else [f"-L{build}", "-lbackplane", "-lm", "-lpthread", f"-Wl,-rpath,{build}"]))
            if shown is None:
                continue
            printed = common.run_program(program, may_leak="bp_comm_open" in code, cwd=folder)
            if shown and shown.split("\n")[0].strip() != printed.split("\n")[0].strip():
                failures.append(f"{page}: a program prints:\n{printed}\nthe page shows:\n{shown}")
    common.finish(failures, checked)


main()
