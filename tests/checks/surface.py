"""Checks that every function of the C interface that runs, plans or explains an operation has one in C++ (backplane.hpp)."""

import re
import shutil
import subprocess

import common

FUNCTION = re.compile(r"BP_API\s+bp_status\s+bp_(\w+_(?:run|plan|explain))\s*\(")
# Functions that have no counterpart with this name, and why.
ELSEWHERE = {
    "call_run": "takes the address of any struct; C++ has a function for each",
    "call_plan": "takes the address of any struct; C++ has a function for each",
    "call_explain": "takes the address of any struct; C++ has a function for each",
}


def wrapped():
    """The C functions that the C++ headers call, after their macros are replaced."""
    compiler = shutil.which("c++") or common.skip("there is no C++ compiler")
    done = subprocess.run([compiler, "-std=c++17", "-E", "-P", "-x", "c++", "-I", common.ROOT / "include", "-"], input="#include <backplane.hpp>\n",
                          capture_output=True, text=True, check=True)
    return set(re.findall(r"\bbp_(\w+_(?:run|plan|explain))\(", done.stdout[done.stdout.index("namespace backplane"):]))


def main():
    declared = set()
    for header in common.sources("include", "*.h"):
        declared |= set(FUNCTION.findall(common.code_of(header)))
    there = wrapped()
    failures = [f"backplane.hpp has no counterpart of bp_{name}()" for name in sorted(declared - there - set(ELSEWHERE))]
    failures += [f"{name} is in the list of exceptions, and has a counterpart or is not declared" for name in sorted(ELSEWHERE)
                 if name in there or name not in declared]
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures, {len(declared)} checked")
    return bool(failures) or len(declared) < 50


if __name__ == "__main__":
    raise SystemExit(main())
