"""netlib_tests.py - runs netlib's testers of BLAS and LAPACK on the drop-in libraries, and on the libraries behind them

Prints a table for each part and type: a row for each way to reach Backplane, a column for each library. A result is kept in
netlib-tests.json in the build folder, with the times of the files that it depends on. So a run that was interrupted is resumed, and a
part of the table can be run alone. Needs Debian's libblas-test and liblapack-test; the part lapack64 needs liblapack64-test, liblapack64-3
and libblas64-3. BACKPLANE_BUILD is the build folder (default: build).
Exit status: 1 if a way gives other counts than the same library alone, 2 if the testers are not installed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
BLAS, LAPACK = SYSTEM / "blas", SYSTEM / "lapack"
# Each library's id, and its file, which the plain run preloads.
LIBRARIES = {
    "openblas": SYSTEM / "openblas-pthread/libopenblas.so.0",
    "blis": SYSTEM / "blis-pthread/libblis.so.4",
    "netlib": BLAS / "libblas.so.3",
    "mkl": ROOT / ".venv/lib/libmkl_rt.so.3",
}
# The same with 64-bit integers: Debian's libraries have the names of 32-bit ones, and MKL is told by a variable.
BLAS64, LAPACK64 = SYSTEM / "blas64", SYSTEM / "lapack64"
LIBRARIES64 = {"netlib64": BLAS64 / "libblas64.so.3", "mkl": LIBRARIES["mkl"]}
WITHOUT_LAPACK = ("blis", "netlib", "netlib64")  # netlib's liblapack.so.3 runs the rest
PARTS = ("blas", "lapack", "lapack64")
CHOICES = ("choice", "choice:all")  # Backplane's choice for large products, and for products of all sizes
# Under "mixed", the preloaded names have netlib's LAPACK below them, so that the library runs nothing but LAPACK's drivers and BLAS.
WAYS = ("plain", "audit", "preload", "mixed", "library")
# The objects of each way in the build folder.
OBJECTS = {
    "audit": ("backplane-launch/backplane-audit.so", "backplane-launch/libbackplane-hooks.so"),
    "preload": ("backplane-launch/libbackplane-preload.so",),
    "mixed": ("backplane-launch/libbackplane-preload.so",),
    "library": ("backplane-dropin/libblas.so.3", "backplane-dropin/liblapack.so.3"),
}
TYPES = "sdcz"
SECONDS = 1200  # for one row of LAPACK's tests
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # for LAPACK's tests, whose matrices are small

# MKL's complex functions get an address for their result, and gfortran's programs expect it in registers. Every way of Backplane converts
# it. The plain library needs these functions before its own.
CONVERT = """#include <complex.h>
#include <dlfcn.h>
typedef void stores(void *, const void *, const void *, const void *, const void *, const void *);
#define CONVERT(name, type) \\
    type complex name(const void *a, const void *b, const void *c, const void *d, const void *e) { \\
        type complex result; \\
        ((stores *)dlsym(RTLD_NEXT, #name))(&result, a, b, c, d, e); \\
        return result; \\
    }
CONVERT(cdotc_, float) CONVERT(cdotu_, float) CONVERT(cladiv_, float)
CONVERT(zdotc_, double) CONVERT(zdotu_, double) CONVERT(zladiv_, double)
"""


def conversion():
    """Compiles CONVERT. Returns the shared object."""
    made = folder_of("convert") / "convert.so"
    if not made.exists():
        words = ["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-x", "c", "-", "-o", made]
        subprocess.run(words, input=CONVERT, text=True, check=True)
    return made


def folder_of(name, **links):
    """Returns a folder of symbolic links, for the loader."""
    folder = BUILD / "netlib-tests" / name
    folder.mkdir(parents=True, exist_ok=True)
    for link, file in links.items():
        if not (folder / f"lib{link}.so.3").is_symlink():
            (folder / f"lib{link}.so.3").symlink_to(file)
    return folder


def own_libraries(library, file, names=("blas", "lapack"), lapack=LAPACK):
    """The search path by which a tester loads the library in place of its libraries of BLAS and LAPACK."""
    folder = folder_of(f"own-{library}-{names[0]}", **{name: file for name in names[:1 if library in WITHOUT_LAPACK else 2]})
    for part in file.parent.glob("libmkl_*.so.*"):  # MKL opens its other files in the folder of its first one
        if not (folder / part.name).is_symlink():
            (folder / part.name).symlink_to(part)
    return f"{folder}:{lapack}"


def lapack_environment(way, library, small=None):
    """As environment(), but plain libraries are in the place of the testers' own. So they are under preloaded names, which reach BLAS
    and LAPACK's drivers only. Under audit, the library is in the place of BLAS alone: the test matrices come from libtmglib.so.3, whose
    calls are not redirected, and must be equal to the matrices of the plain library. MKL's names cannot be there: see CONVERT."""
    changed = {**environment("preload" if way == "mixed" else way, library, small), **ONE_THREAD}
    if library in LIBRARIES and way in ("plain", "preload"):
        objects = [changed["LD_PRELOAD"]] if way == "preload" else []
        objects += [str(conversion())] if library == "mkl" else []
        changed.update(LD_PRELOAD=":".join(objects), LD_LIBRARY_PATH=own_libraries(library, LIBRARIES[library]))
    if library in ("openblas", "blis") and way == "audit":
        changed["LD_LIBRARY_PATH"] = f"{folder_of('blas-' + library, blas=LIBRARIES[library])}:{LAPACK}"
    return changed


def names_of(kind, files, form):
    """The names in the symbol tables of files that match a form, such as names of undefined symbols."""
    listed = subprocess.run(["nm", "-D", kind, *files], capture_output=True, text=True, check=True).stdout
    return set(re.findall(form, listed, re.M))


def wide_names():
    """Makes a library of the testers' names, as dgemm_, that jump to the names of the drop-in libraries with 64-bit integers, as dgemm_64_.
    Returns it."""
    made = folder_of("wide") / "wide.so"
    callers = [*LAPACK64.glob("x*"), LAPACK64 / "liblapack64.so.3", SYSTEM / "libtmglib64.so.3"]
    dropin = [BUILD / "libbackplane_blas.so", BUILD / "libbackplane_lapack.so"]
    stems = names_of("--undefined-only", callers, r" U (\w+_)$") & names_of("--defined-only", dropin, r" T (\w+_)64_$")
    lines = [f'__asm__(".globl {name}\\n.type {name}, @function\\n{name}: jmp *{name}64_@GOTPCREL(%rip)\\n");' for name in sorted(stems)]
    lines.append("long lsame_(const char *a, const char *b) { return (*a & 95) == (*b & 95); }")
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", made, f"-L{BUILD}", "-lbackplane_lapack", "-lbackplane_blas",
             f"-Wl,-rpath,{BUILD}", "-Wl,-soname,libblas64.so.3"]
    subprocess.run(words, input="\n".join(lines), text=True, check=True)
    return made


def wide_environment(way, library, small=None):
    """As lapack_environment(), for testers with 64-bit integers. Only the drop-in libraries have names for 64-bit integers."""
    changed = {**environment(way, library, small), **ONE_THREAD, "LD_LIBRARY_PATH": f"{BLAS64}:{LAPACK64}"}
    names = ("blas64", "lapack64")
    if way == "library":
        changed["LD_LIBRARY_PATH"] = own_libraries(library + "-names", wide_names(), names[:1 if library in WITHOUT_LAPACK else 2], LAPACK64)
    elif library == "mkl" and way in ("plain", "preload"):
        changed["LD_LIBRARY_PATH"] = own_libraries(library, LIBRARIES64[library], names, LAPACK64)
        changed["LD_PRELOAD"] = ":".join([*([changed["LD_PRELOAD"]] if way == "preload" else []), str(conversion())])
        changed["MKL_INTERFACE_LAYER"] = "ILP64"
    elif way == "plain":
        changed.pop("LD_PRELOAD", None)
    return changed


def environment(way, library, small=None):
    """The variables for one way: the netlib libraries lie below, because testers of CBLAS need two variables of theirs."""
    launch = BUILD / "backplane-launch"
    base = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "BACKPLANE_", "OPENBLAS_", "MKL_"))}
    base["LD_LIBRARY_PATH"] = f"{BLAS}:{LAPACK}"
    base["VIRTUAL_ENV"] = str(ROOT / ".venv")
    head = "BACKPLANE_DROPIN_" if way == "library" else "BACKPLANE_LAUNCH_"
    if way == "plain":
        objects = ([conversion()] if library == "mkl" else []) + ([LIBRARIES[library]] if library in LIBRARIES else [])
        return {**base, "LD_PRELOAD": ":".join(map(str, objects))}
    if library != "choice":
        base[head + "LIBRARY"] = library
    if small is not None:
        base[head + "SMALL"] = str(small)
    if way == "audit":
        base.update(LD_AUDIT=str(launch / "backplane-audit.so"), LD_PRELOAD=str(launch / "libbackplane-hooks.so"))
    elif way == "preload":
        base["LD_PRELOAD"] = str(launch / "libbackplane-preload.so")
    elif library in WITHOUT_LAPACK:
        base["LD_LIBRARY_PATH"] = f"{folder_of('only-blas', blas=BUILD / 'backplane-dropin/libblas.so.3')}:{LAPACK}"
    else:
        base["LD_LIBRARY_PATH"] = str(BUILD / "backplane-dropin")
    return base


# ---- BLAS ----


def blas_testers():
    """Each tester with its input."""
    for letter in TYPES:
        yield f"xblat1{letter}", None
        yield f"x{letter}cblat1", None
        for level in "23":
            yield f"xblat{level}{letter}", f"{letter}blat{level}.in"
            yield f"x{letter}cblat{level}", f"{letter}in{level}"


def run_blas(variables):
    """Runs the 24 testers of BLAS and CBLAS. Returns the numbers of lines with PASS and with FAIL, and the testers that a
    signal or the loader has ended."""
    ended = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in blas_testers():
            with open(BLAS / data, "rb") if data else open(os.devnull, "rb") as source, open(f"{folder}/{name}.log", "wb") as log:
                done = subprocess.run([BLAS / name], stdin=source, stdout=log, stderr=log, cwd=folder, env=variables, timeout=300)
            if done.returncode < 0 or done.returncode == 127:
                ended.append(name)
        files = [*pathlib.Path(folder).glob("*.log"), *pathlib.Path(folder).glob("*.out")]
        lines = [line for path in files for line in path.read_text(errors="replace").splitlines()]
    return sum("PASS" in line for line in lines), sum("FAIL" in line for line in lines), ended


# ---- LAPACK ----


def run_lapack(variables, letter, testers=LAPACK):
    """Runs LAPACK's own tests of one type. Returns the numbers of tests, numerical errors and other errors, the inputs of testers that
    ended early, and the counts of each input that has errors."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [*testers.glob("x*"), *testers.glob("*.in")]:
            os.symlink(path, pathlib.Path(folder) / path.name)
        words = ["nice", sys.executable, testers / "lapack_testing.py", "-d", ".", "-b", ".", "-r", "-p", letter]
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=folder, env=variables, timeout=SECONDS)
    rows = re.findall(r"^[A-Z][A-Z0-9 ]*\t+(\d+)\t+(\d+)\t\([\d.]+%\)\t+(\d+)", done.stdout, re.M)
    counts = [sum(int(row[i]) for row in rows) for i in range(3)]
    ended, details = [], {}
    for text in re.split(r"^ *Testing ", done.stdout, flags=re.M)[1:]:
        name = re.search(r"(x\w+) < (\w+)\.in", text)
        found = [re.search(form, text) for form in (r"passed: (\d+)", r"threshold: (\d+)", r"Illegal Error: (\d+)", r"Info Error: (\d+)")]
        numbers = [int(match[1]) if match else 0 for match in found]
        label = f"{name[1]} < {name[2]}.in"
        details[label] = numbers
        if "FAILED(" in text:
            ended.append(label)
    return counts, ended, details


# ---- Results ----


def stamp(way, library, variables):
    """A text that changes when a file does, or a variable of the environment, on which the result depends."""
    known = {**LIBRARIES, **LIBRARIES64}
    files = [known[library]] if library in known else [path for path in LIBRARIES.values() if path.exists()]
    if way != "plain":
        files += [*BUILD.glob("libbackplane.so.0"), *(BUILD / "backplane-providers").glob("*.so")]
        files += [file for pattern in OBJECTS[way] for file in BUILD.glob(pattern)]
    times = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(files)]
    own = sorted(item for item in variables.items() if item[0].startswith(("LD_", "BACKPLANE_", "MKL_", "OMP_", "OPENBLAS_")))
    return hashlib.sha256(repr((times, own)).encode()).hexdigest()[:16]


class Results:
    """The results of a build folder's runs."""

    def __init__(self, again):
        self.path = BUILD / "netlib-tests.json"
        self.rows = json.loads(self.path.read_text()) if self.path.exists() and not again else {}

    def get(self, part, letter, library, way):
        """Returns a row; runs the testers if there is none yet, or if a file has changed."""
        key = " ".join(filter(None, (part, letter, library, way)))
        make = {"blas": environment, "lapack": lapack_environment, "lapack64": wide_environment}[part]
        variables = make(way, library.partition(":")[0], 0 if library == "choice:all" else None)
        now = stamp(way, library, variables)
        if self.rows.get(key, {}).get("stamp") != now:
            try:
                if part == "blas":
                    passed, failed, ended = run_blas(variables)
                    row = {"counts": [passed, failed], "ended": ended}
                else:
                    counts, ended, details = run_lapack(variables, letter, LAPACK if part == "lapack" else LAPACK64)
                    row = {"counts": counts, "ended": ended, "details": details}
            except subprocess.TimeoutExpired:
                row = {"counts": [], "ended": ["timeout"]}
            self.rows[key] = {**row, "stamp": now}
            self.path.write_text(json.dumps(self.rows, indent=1))
        return self.rows[key]


def differs(row, plain):
    return plain is not None and (row["counts"], row["ended"]) != (plain["counts"], plain["ended"])


def table(title, results, part, letter, libraries, ways):
    """Runs and prints one table. Returns the number of cells that differ from the library alone."""
    print(f"{title}\n{'':10}" + "".join(f"{name:>26}" for name in libraries), flush=True)
    notes, different = [], 0
    for way in ways:
        print(f"{way:10}", end="", flush=True)
        for library in libraries:
            alone = "plain" if library not in CHOICES and way not in ("plain", "mixed") else None
            if (way == "plain" and library in CHOICES) or (way == "mixed" and library in (*WITHOUT_LAPACK, *CHOICES)):
                print(f"{'-':>26}", end="", flush=True)
                continue
            row = results.get(part, letter, library, way)
            plain = results.get(part, letter, library, alone) if alone else None
            mark = " !" if differs(row, plain) else "  "
            different += mark == " !"
            print(f"{', '.join(map(str, row['counts'])) + mark:>26}", end="", flush=True)
            notes += [f"  {library}, {way}: ended early: {', '.join(row['ended'])}"] if row["ended"] else []
        print()
    print("\n".join(notes) + "\n" if notes else "", flush=True)
    return different


def chosen(given, known):
    """The items of a list of words that are known; all of them if none is given. Ends the program at an unknown word."""
    words = [word for word in re.split(r"[ ,]+", given or "") if word]
    unknown = [word for word in words if word not in known]
    if unknown:
        sys.exit(f"netlib_tests.py: unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return [item for item in known if item in words or not words]


def read_words():
    parser = argparse.ArgumentParser(description="Runs netlib's testers of BLAS and LAPACK on the drop-in libraries.")
    for name, what in (("part", "blas, lapack, lapack64"), ("type", "types of LAPACK's tests: s, d, c, z"), ("library", "libraries"), ("way", "ways")):
        parser.add_argument(f"--{name}", metavar="LIST", help=f"{what}; default: all")
    parser.add_argument("--again", action="store_true", help="do not use kept results")
    return parser.parse_args()


def run_all(words):
    """Runs and prints the tables of the chosen parts. Returns the number of cells that differ from the library alone."""
    results, different = Results(words.again), 0
    parts, ways = chosen(words.part, PARTS), chosen(words.way, WAYS)
    libraries = chosen(words.library, (*LIBRARIES, "netlib64", *CHOICES))
    exists = {**LIBRARIES, **LIBRARIES64}
    libraries = [name for name in libraries if name in CHOICES or exists[name].exists()]
    unmixed = [way for way in ways if way != "mixed"]
    columns = [name for name in libraries if name not in ("choice:all", "netlib64")]
    wide = [name for name in libraries if name in LIBRARIES64]
    if "blas" in parts:
        different += table("BLAS: lines with PASS, with FAIL", results, "blas", "", [name for name in libraries if name != "netlib64"], unmixed)
    for letter in chosen(words.type, TYPES) if "lapack" in parts else []:
        different += table(f"LAPACK, type {letter}: tests, numerical errors, other errors", results, "lapack", letter, columns, ways)
    for letter in chosen(words.type, TYPES) if "lapack64" in parts else []:
        different += table(f"LAPACK, 64-bit integers, type {letter}: tests, numerical errors, other errors", results, "lapack64", letter, wide,
                           unmixed)
    return different


def main():
    words = read_words()
    parts = chosen(words.part, PARTS)
    needed = {"blas": BLAS / "xblat1d", "lapack": LAPACK / "xlintstd", "lapack64": LAPACK64 / "xlintstd"}
    absent = [part for part in parts if not needed[part].exists()]
    if absent and not (absent == ["lapack64"] and not words.part):
        print("Debian's libblas-test, liblapack-test or liblapack64-test is not installed")
        return 2
    words.part = ",".join(part for part in parts if part not in absent)
    different = run_all(words)
    print("liblapack64-test is not installed: no tests with 64-bit integers" if absent else "", end="\n" if absent else "")
    if different:
        print(f"{different} cells with '!' differ from the plain library")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
