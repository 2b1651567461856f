"""Checks that each public header compiles alone, as C17 and as C++17, with warnings as errors."""

import shutil
import subprocess

import common

# The public headers include only stddef.h and stdint.h, which are the same in C17 and C++17.
COMPILERS = {
    "c17": ["cc", "-std=c17", "-xc", "-Wstrict-prototypes"],
    "c++17": ["c++", "-std=c++17", "-xc++"],
    "c++20": ["c++", "-std=c++20", "-xc++"],
}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]


def main():
    failures, checked = [], 0
    headers = [path.relative_to("include") for path in common.sources("include")]
    cpp_headers = [path.relative_to("include") for path in common.sources("include", "*.hpp")]
    for standard, command in COMPILERS.items():
        if not shutil.which(command[0]):
            print(f"no {command[0]}: {standard} was not checked")
            continue
        for header in headers + (cpp_headers if "-xc++" in command else []):
            checked += 1
            # Include the header twice, to detect a missing guard.
            text = f'#include "{header}"\n#include "{header}"\nint main(void);\n'
            done = subprocess.run([*command, *WARNINGS, "-I", common.ROOT / "include", "-"], input=text, text=True,
                                  capture_output=True, check=False)
            if done.returncode:
                failures.append(f"{header} as {standard}:\n{done.stderr}")
    common.finish(failures, checked)


main()
