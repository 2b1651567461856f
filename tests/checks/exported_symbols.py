"""Checks that libbackplane.so exports exactly the names in symbols.txt, including all functions of the public headers.
`make symbols` rewrites the list. The hooks library exports bp_hooks names only, and a drop-in library the names of the routines
in its lists, a mark, and netlib's data."""

import re
import sys

import common

PINNED = common.ROOT / "tests/checks/symbols.txt"


DROPIN = common.ROOT / "src/dropin"
# src/dropin/loader.c: the loader must resolve it, so it cannot be hidden. early.c: one variable for all drop-in libraries of a process.
LOADER = {"bp_dropin_find_loader_mutex", "bp_dropin_threads"}
HOOKS = LOADER | {"bp_hooks", "bp_hooks_entries", "bp_hooks_enter", "bp_hooks_knows", "bp_hooks_sized_stubs", "bp_hooks_stubs"}
PRIVATE = {"bp__probe_main"}  # backplane-probe of the same build calls it
HELPERS = {"xerbla_", "xerbla_64_", "xerbla_array_", "lsame_"}


def exports(path):
    lines = common.run("nm", "-D", "--defined-only", "--format=posix", path).splitlines()
    found = {line.split()[0].split("@")[0] for line in lines if line.split()[1] != "A"}
    return {name for name in found if not name.startswith("__odr_asan.")}  # AddressSanitizer's, one for each exported variable


def listed(header, head):
    """The names in a list of a header, such as X(dgemm, f_gemm)."""
    text = re.search(rf"#define {head}\(X(?:, p)?\)((?:.*\\\n)*.*)", (DROPIN / header).read_text()).group(1)
    return re.findall(r"X\((?:p##)?(\w+)", text)


def fftw_names():
    """FFTW's names of C and of Fortran, in the order of the stubs, without the underscores of Fortran."""
    c, fortran = listed("names_blas.h", "BP__DROPIN_FFTW_NAMES"), listed("names_blas.h", "BP__DROPIN_FFTW_FORTRAN_NAMES")
    return ([f"{head}_{name}" for head in ("fftw", "fftwf") for name in c], [f"{head}_{name}" for head in ("dfftw", "sfftw") for name in fortran])


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
    fftw, fftw_fortran = fftw_names()
    texts = {f"{head}_{name}" for head in ("fftw", "fftwf") for name in ("version", "cc", "codelet_optim")}
    stored = re.findall(r"^(?:STORED_\w+\(|EXPORT void )(\w+?)(?:sub_\(|,)", (DROPIN / "exports_helpers.c").read_text(), re.M)
    return {
        "blas": spelled(blas) | HELPERS | {f"{name}sub_" for name in stored} | {"cblas_xerbla", "RowMajorStrg", "CBLAS_CallFromC"},
        "lapack": spelled(lapack) | HELPERS,
        "fftw3": {*fftw, *texts} | {name + tail for name in fftw_fortran for tail in ("_", "__")},
    }


def in_order(path, names):
    """Returns the names whose stubs are not where their numbers say: stubs have the order of the lists."""
    lines = common.run("nm", "-D", "--defined-only", path).splitlines()
    places = {line.split()[-1]: int(line.split()[0], 16) for line in lines}
    first = [places[name if name.startswith(("cblas_", "LAPACKE_", "fftw")) else name + "_"] for name in names]
    return [name for name, here, next_one in zip(names, first, first[1:]) if here >= next_one]


def lists_of(part):
    """The names of a part in the order of src/dropin/routines.h."""
    blas = [listed("routines.h", "BP__DROPIN_SIZED_BLAS"), listed("names_blas.h", "BP__DROPIN_BLAS_OTHERS"),
            listed("names_blas.h", "BP__DROPIN_CBLAS_OTHERS")]
    lapack = [listed("routines.h", "BP__DROPIN_SIZED_LAPACK"), listed("names_lapack.h", "BP__DROPIN_LAPACK_OTHERS"),
              listed("names_lapack.h", "BP__DROPIN_LAPACK_HELPERS"), listed("names_lapacke.h", "BP__DROPIN_LAPACKE_NAMES")]
    return {"blas": sum(blas, []), "lapack": sum(lapack, []), "fftw3": sum(fftw_names(), []),
            "preload": blas[0] + lapack[0] + blas[1] + blas[2]}[part]


def check_preload(folder):
    """The preloaded library must not export what a program may define itself, or what has one name in both widths."""
    path = folder / "backplane-launch/libbackplane-preload.so"
    never = re.compile(r"(scipy_)?(cblas_)?(xerbla|ilaenv|lsame|[sd]lamch|[sd]roundup_lwork|la_)|bp__")
    failures = [f"{path.name} exports {name}" for name in sorted(exports(path)) if never.match(name)]
    return failures + [f"{path.name}: the stub of {name} is misplaced" for name in in_order(path, lists_of("preload"))]


def check_dropin(folder):
    hooks = folder / "backplane-launch/libbackplane-hooks.so"
    if not hooks.exists():
        return []
    failures = [f"{hooks.name} exports {name}" for name in sorted(exports(hooks) - HOOKS)]
    failures += check_preload(folder)
    for part, wanted in dropin_exports().items():
        path = folder / f"libbackplane_{part}.so"
        found = exports(path)
        failures += [f"{path.name}: the stub of {name} is misplaced" for name in in_order(path, lists_of(part))]
        failures += [f"{path.name} exports {name}, which is in no list" for name in sorted(found - wanted - LOADER - {"bp_dropin_forwards"})]
        failures += [f"{path.name} does not export {name}" for name in sorted((wanted | {"bp_dropin_forwards"}) - found)]
    return failures


def main():
    exported = exports(common.build_folder() / "libbackplane.so") - PRIVATE
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
