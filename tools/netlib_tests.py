"""netlib_tests.py - runs netlib's testers of BLAS and LAPACK on the drop-in libraries, and on the libraries behind them

Prints a table for each part and type: a row for each way to reach Backplane, a column for each library. A result is kept in
netlib-tests.json in the build folder, with the times of the files that it depends on. So a run that was interrupted is resumed, and a
part of the table can be run alone. Needs Debian's libblas-test and liblapack-test. BACKPLANE_BUILD is the build folder (default: build).
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
WITHOUT_LAPACK = ("blis", "netlib")  # netlib's liblapack.so.3 runs the rest
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


def own_libraries(library):
    """The search path by which a tester loads the library in place of libblas.so.3 and liblapack.so.3."""
    file = LIBRARIES[library]
    folder = folder_of("own-" + library, blas=file, **({} if library in WITHOUT_LAPACK else {"lapack": file}))
    for part in file.parent.glob("libmkl_*.so.*"):  # MKL opens its other files in the folder of its first one
        if not (folder / part.name).is_symlink():
            (folder / part.name).symlink_to(part)
    return f"{folder}:{LAPACK}"


def lapack_environment(way, library, small=None):
    """As environment(), but plain libraries are in the place of the testers' own. So they are under preloaded names, which reach BLAS
    and LAPACK's drivers only."""
    changed = environment("preload" if way == "mixed" else way, library, small)
    changed.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # the matrices are small
    if library in LIBRARIES and way in ("plain", "preload"):
        objects = [changed["LD_PRELOAD"]] if way == "preload" else []
        objects += [str(conversion())] if library == "mkl" else []
        changed.update(LD_PRELOAD=":".join(objects), LD_LIBRARY_PATH=own_libraries(library))
    return changed


def environment(way, library, small=None):
    """The variables for one way: the netlib libraries lie below, because testers of CBLAS need two variables of theirs."""
    launch = BUILD / "backplane-launch"
    base = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "BACKPLANE_", "OPENBLAS_", "MKL_"))}
    base["LD_LIBRARY_PATH"] = f"{BLAS}:{LAPACK}"
    base["VIRTUAL_ENV"] = str(ROOT / ".venv")
    head = "BACKPLANE_DROPIN_" if way == "library" else "BACKPLANE_LAUNCH_"
    if way == "plain":
        file = LIBRARIES.get(library)
        return {**base, "LD_PRELOAD": str(file)} if file else base
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


def run_lapack(variables, letter):
    """Runs LAPACK's own tests of one type. Returns the numbers of tests, numerical errors and other errors, the inputs of testers that
    ended early, and the counts of each input that has errors."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [*LAPACK.glob("x*"), *LAPACK.glob("*.in")]:
            os.symlink(path, pathlib.Path(folder) / path.name)
        words = ["nice", sys.executable, LAPACK / "lapack_testing.py", "-d", ".", "-b", ".", "-r", "-p", letter]
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


def stamp(way, library):
    """A text that changes when a file does on which the result depends."""
    files = [LIBRARIES[library]] if library in LIBRARIES else [path for path in LIBRARIES.values() if path.exists()]
    if way != "plain":
        files += [*BUILD.glob("libbackplane.so.0"), *(BUILD / "backplane-providers").glob("*.so")]
        files += [file for pattern in OBJECTS[way] for file in BUILD.glob(pattern)]
    times = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(files)]
    return hashlib.sha256(repr(times).encode()).hexdigest()[:16]


class Results:
    """The results of a build folder's runs."""

    def __init__(self, again):
        self.path = BUILD / "netlib-tests.json"
        self.rows = json.loads(self.path.read_text()) if self.path.exists() and not again else {}

    def get(self, part, letter, library, way):
        """Returns a row; runs the testers if there is none yet, or if a file has changed."""
        key = " ".join(filter(None, (part, letter, library, way)))
        now = stamp(way, library)
        if self.rows.get(key, {}).get("stamp") != now:
            make = environment if part == "blas" else lapack_environment
            variables = make(way, library.partition(":")[0], 0 if library == "choice:all" else None)
            try:
                if part == "blas":
                    passed, failed, ended = run_blas(variables)
                    row = {"counts": [passed, failed], "ended": ended}
                else:
                    counts, ended, details = run_lapack(variables, letter)
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
            alone = "plain" if library in LIBRARIES and way not in ("plain", "mixed") else None
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
    for name, what in (("part", "blas or lapack"), ("type", "types of LAPACK's tests: s, d, c, z"), ("library", "libraries"), ("way", "ways")):
        parser.add_argument(f"--{name}", metavar="LIST", help=f"{what}; default: all")
    parser.add_argument("--again", action="store_true", help="do not use kept results")
    return parser.parse_args()


def main():
    words = read_words()
    parts, ways = chosen(words.part, ("blas", "lapack")), chosen(words.way, WAYS)
    installed = [name for name, file in LIBRARIES.items() if file.exists()]
    libraries = chosen(words.library, (*installed, *CHOICES))
    if not (BLAS / "xblat1d").exists() or ("lapack" in parts and not (LAPACK / "xlintstd").exists()):
        print("Debian's libblas-test or liblapack-test is not installed")
        return 2
    results, different = Results(words.again), 0
    if "blas" in parts:
        rows = [way for way in ways if way != "mixed"]
        different += table("BLAS: lines with PASS, with FAIL", results, "blas", "", libraries, rows)
    for letter in chosen(words.type, TYPES) if "lapack" in parts else []:
        columns = [name for name in libraries if name != "choice:all"]
        different += table(f"LAPACK, type {letter}: tests, numerical errors, other errors", results, "lapack", letter, columns, ways)
    if different:
        print(f"{different} cells with '!' differ from the plain library")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
