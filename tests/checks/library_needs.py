"""Checks that the library, its modules and the Python extension link only to the C library. The command and the extension
also link to libbackplane. Math libraries are opened at run time, but the replacement of liblapack.so.3 needs libblas.so.3."""

import os
import re

import common

ALLOWED = re.compile(r"lib(c|m|dl|pthread|backplane)\.so\.\d+|ld-linux.*|linux-vdso.*")
OF_SANITIZERS = re.compile(r"lib(a|hwa|l|t|ub)san\.so\.\d+")


def main():
    folder, sanitized = common.build_folder(), bool(os.environ.get("TESTED_SANITIZERS"))
    objects = [folder / "libbackplane.so", *sorted((folder / "backplane-providers").glob("*.so")), folder / "backplane",
               folder / "backplane-probe", folder / "python/backplane/_core.abi3.so"]
    launch = sorted((folder / "backplane-launch").glob("*.so"))
    objects += [*launch, *sorted(folder.glob("libbackplane_*.so")), *sorted((folder / "backplane-dropin").glob("lib*.so.3"))]
    users = {"backplane", "backplane-probe", "_core.abi3.so"}
    failures, checked = [], 0
    for path in (path for path in objects if path.exists()):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", common.run("readelf", "-dW", path))
        checked += len(needed)
        blas = ["libblas.so.3"] if path.name == "liblapack.so.3" else []
        needed = [name for name in needed if not (sanitized and OF_SANITIZERS.fullmatch(name) and path.name != "backplane-audit.so")]
        failures += [f"{path.name} needs {name}" for name in needed if not ALLOWED.fullmatch(name) and name not in blas]
        failures += [f"{path.name} must need {name}" for name in blas if name not in needed]
        if path.name not in users and "libbackplane.so.0" in needed:
            failures.append(f"{path.name} must not link to libbackplane")
    for path in (path for path in launch if path.name == "backplane-audit.so"):
        if "(NEEDED)" in common.run("readelf", "-dW", path):
            failures.append(f"{path.name} must need no library, because the loader would open a second C library for it")
    common.finish(failures, checked)


main()
