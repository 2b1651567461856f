"""Checks that each public header compiles alone, as C17 and as C++, with the warnings of strict programs as errors, and that headers define
and undefine macros of the project's names only."""

import re
import shutil
import subprocess

import common

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]
OF_CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
# The public headers include only stddef.h and stdint.h, which are the same in C17 and C++17. The standards of gnu define `linux` and `unix`.
COMPILERS = {
    "c17": ["cc", "-std=c17", "-xc", "-Wstrict-prototypes"],
    "gnu17": ["cc", "-std=gnu17", "-xc", "-Wstrict-prototypes"],
    "c++17": ["c++", "-std=c++17", "-xc++", "-Wuseless-cast", *OF_CXX],
    "c++20": ["c++", "-std=c++20", "-xc++", "-Wuseless-cast", *OF_CXX],
    "c++17 of clang": ["clang++", "-std=c++17", "-xc++", *OF_CXX],
}
# Macros that programs have, or get from the headers of the C library (I of complex.h), keep their values.
FOREIGN = {"X": 5, "I": 6, "OK": 7, "F32": 8, "TEXT": 9, "INT": 10, "NONE": 11, "FLAG": 12, "ERROR": 13, "SUM": 14}
BEFORE = "".join(f"#define {name} {value}\n" for name, value in FOREIGN.items())
AFTER = "".join(f"#if !defined {name} || {name} != {value}\n#error {name} was changed\n#endif\n" for name, value in FOREIGN.items())
# Macros with code expand in the program, and must be free of warnings there.
USES = """
#include "backplane.h"
#include "backplane/provider.h"
uint64_t use_bits(bp_check check, bp_primitive primitive, bp_dtype dtype);
uint64_t use_bits(bp_check check, bp_primitive primitive, bp_dtype dtype) {
    return BP_CHECK_BIT(check, dtype) | BP_CHECK_BIT(BP_CHECK_EIG, BP_F32) | BP_PRIMITIVE_BIT(primitive) | BP_PRIMITIVE_BIT(BP_PRIMITIVE_RNN);
}
"""
MACRO = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)", re.M)
OWN = re.compile(r"BP_|BACKPLANE_|DLPACK_")


def compile_text(command, text, name):
    """Returns the compiler's messages, or None if there are none."""
    done = subprocess.run([*command, *WARNINGS, "-I", common.ROOT / "include", "-"], input=text, text=True, capture_output=True, check=False)
    return f"{name}:\n{done.stderr}" if done.returncode else None


def foreign_names(path):
    text = common.read(path)
    return [f"{path}:{common.line_of(text, match.start())}: {match.group(1)}s {match.group(2)}, which a program may define"
            for match in MACRO.finditer(text) if not OWN.match(match.group(2))]


def main():
    failures, checked = [], 0
    headers = [path.relative_to("include") for path in common.sources("include")]
    cpp_headers = [path.relative_to("include") for path in common.sources("include", "*.hpp")]
    for header in headers + cpp_headers:
        failures += foreign_names("include" / header)
    for standard, command in COMPILERS.items():
        if not shutil.which(command[0]):
            print(f"no {command[0]}: {standard} was not checked")
            continue
        failures.append(compile_text(command, USES, f"macros as {standard}"))
        for header in headers + (cpp_headers if "-xc++" in command else []):
            checked += 1
            # C++'s own headers need names such as X, so the program's macros come after those.
            standard_headers = "#include <algorithm>\n#include <complex>\n#include <functional>\n#include <memory>\n#include <string>\n" \
                "#include <utility>\n#include <vector>\n" if header in cpp_headers else ""
            # Include the header twice, to detect a missing guard.
            text = f'{standard_headers}{BEFORE}#include "{header}"\n#include "{header}"\n{AFTER}int main(void);\n'
            failures.append(compile_text(command, text, f"{header} as {standard}"))
    common.finish([text for text in failures if text], checked)


main()
