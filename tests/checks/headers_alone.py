"""Each public header compiles by itself, as C17, C++17 and C++20 (C++ headers as C++ alone), with warnings as errors."""

import shutil
import subprocess

import common

# System headers that C++ lacks in C17's form are no concern here: ours include few of them.
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
            # Twice, so that a missing guard shows.
            text = f'#include "{header}"\n#include "{header}"\nint main(void);\n'
            done = subprocess.run([*command, *WARNINGS, "-I", common.ROOT / "include", "-"], input=text, text=True,
                                  capture_output=True, check=False)
            if done.returncode:
                failures.append(f"{header} as {standard}:\n{done.stderr}")
    common.finish(failures, checked)


main()
