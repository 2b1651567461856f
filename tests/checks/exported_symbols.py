"""Checks that libbackplane.so exports exactly the names in symbols.txt, including all functions of the public headers.
`make symbols` rewrites the list. The hooks library exports bp_hooks names only, and a drop-in library those of the routines
in its lists, a mark, and netlib's data."""

import re
import sys

import common

PINNED = common.ROOT / "tests/checks/symbols.txt"


DROPIN = common.ROOT / "src/dropin"
HOOKS = {"bp_hooks", "bp_hooks_entries", "bp_hooks_enter", "bp_hooks_knows", "bp_hooks_sized_stubs", "bp_hooks_stubs"}
HELPERS = {"xerbla_", "xerbla_64_", "xerbla_array_", "lsame_"}


def exports(path):
    lines = common.run("nm", "-D", "--defined-only", "--format=posix", path).splitlines()
    return {line.split()[0].split("@")[0] for line in lines if line.split()[1] != "A"}


def listed(header, head):
    """The names in a list of a header, such as X(dgemm, f_gemm)."""
    text = re.search(rf"#define {head}\(X\)((?:.*\\\n)*.*)", (DROPIN / header).read_text()).group(1)
    return re.findall(r"X\((\w+)", text)


def spelled(names):
    """All spellings of the names of routines."""
    c = [name for name in names if name.startswith(("cblas_", "LAPACKE_"))]
    fortran = set(names) - set(c)
    return {name + tail for name in c for tail in ("", "64_", "_64")} | {name + tail for name in fortran for tail in ("_", "_64_", "_64")}


def dropin_exports():
    """What each drop-in library must export."""
    blas = listed("routines.h", "BP__DROPIN_SIZED_BLAS") + listed("names_blas.h", "BP__DROPIN_BLAS_OTHERS")
    blas += listed("names_blas.h", "BP__DROPIN_CBLAS_OTHERS")
    lapack = listed("routines.h", "BP__DROPIN_SIZED_LAPACK") + listed("names_lapack.h", "BP__DROPIN_LAPACK_OTHERS")
    lapack += listed("names_lapack.h", "BP__DROPIN_LAPACK_HELPERS") + listed("names_lapacke.h", "BP__DROPIN_LAPACKE_NAMES")
    fftw = listed("names_blas.h", "BP__DROPIN_FFTW_NAMES") + ["version", "cc", "codelet_optim"]
    stored = re.findall(r"^(?:STORED_\w+\(|EXPORT void )(\w+?)(?:sub_\(|,)", (DROPIN / "exports_helpers.c").read_text(), re.M)
    return {
        "blas": spelled(blas) | HELPERS | {f"{name}sub_" for name in stored} | {"cblas_xerbla", "RowMajorStrg", "CBLAS_CallFromC"},
        "lapack": spelled(lapack) | HELPERS,
        "fftw3": {f"{head}_{name}" for head in ("fftw", "fftwf") for name in fftw},
    }


def check_dropin(folder):
    hooks = folder / "backplane-launch/libbackplane-hooks.so"
    if not hooks.exists():
        return []
    failures = [f"{hooks.name} exports {name}" for name in sorted(exports(hooks) - HOOKS)]
    for part, wanted in dropin_exports().items():
        path = folder / f"libbackplane_{part}.so"
        found = exports(path)
        failures += [f"{path.name} exports {name}, which is in no list" for name in sorted(found - wanted - {"bp_dropin_forwards"})]
        failures += [f"{path.name} does not export {name}" for name in sorted((wanted | {"bp_dropin_forwards"}) - found)]
    return failures


def main():
    exported = exports(common.build_folder() / "libbackplane.so")
    if "--write" in sys.argv:
        PINNED.write_text("".join(name + "\n" for name in sorted(exported)))
    pinned = set(PINNED.read_text().split())
    failures = [f"{name} is exported and not in symbols.txt" for name in sorted(exported - pinned)]
    failures += [f"{name} is in symbols.txt and not exported" for name in sorted(pinned - exported)]
    for header in sorted((common.ROOT / "include/backplane").glob("*.h")):
        for name in re.findall(r"^BP_API [^#(]*?\b(bp_[a-z0-9_]+)\(", header.read_text(), re.M):
            if name not in exported:
                failures.append(f"{name} is declared in {header.name} and not exported")
    failures += check_dropin(common.build_folder())
    common.finish(failures, len(pinned))


main()
