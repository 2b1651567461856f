"""deb.py - builds Debian's packages into build/deb, twice, checks them with lintian, and installs, uses and removes them.

    python3 tools/deb.py [--once]        # --once: no second build, which shows that packages are reproducible

packaging/debian has the packages. They are built in a copy of the sources, because debhelper writes into its folder. The test of the installed packages
needs Debian and root; it leaves the packages of the machine and the chosen alternatives as they were.
"""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "deb"
BLAS = {"blas": "libblas.so.3-x86_64-linux-gnu", "lapack": "liblapack.so.3-x86_64-linux-gnu"}
PROGRAM = """#include <backplane.h>
#include <stdio.h>

int main(void) {
    double a[1][3] = {{1, 2, 3}}, b[3][1] = {{1}, {2}, {3}}, c[1][1] = {{0}};
    bp_view va, vb, vc;
    bp_view_matrix(&va, a, BP_F64, 1, 3);
    bp_view_matrix(&vb, b, BP_F64, 3, 1);
    bp_view_matrix(&vc, c, BP_F64, 1, 1);
    int failed = bp_matmul(&va.tensor, &vb.tensor, &vc.tensor) != BP_OK;
    printf("%g %s\\n", c[0][0], bp_version());
    return failed;
}
"""
BLAS_PROGRAM = """extern double ddot_(const int *n, const double *x, const int *dx, const double *y, const int *dy);
extern void dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info);
int main(void) {
    const double x[3] = {1, 2, 3};
    double a[4] = {4, 2, 2, 5};
    int three = 3, one = 1, two = 2, info = 1;
    dpotrf_("L", &two, a, &two, &info);
    return ddot_(&three, x, &one, x, &one) != 14 || info || a[0] != 2 || a[3] != 2;
}
"""
MODULE = """
import array, importlib.metadata, subprocess, sys, backplane
a = array.array("d", [1, 2, 3])
assert memoryview(backplane.matmul(a, a)).tolist() == 14
assert importlib.metadata.version("libbackplane") == backplane.__version__
assert backplane.__file__.startswith("/usr/lib/python3/dist-packages/")
assert "native" in subprocess.run([sys.executable, "-m", "backplane", "list"], capture_output=True, text=True, check=True).stdout
"""


def run(*command, **options):
    """Runs a command, and returns its output. If it fails, prints its output and ends the program."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"$ {' '.join(map(str, command))}\n{done.stdout}make deb: exit status {done.returncode}")
    return done.stdout


def sources():
    """Copies the files of the repository into a folder, with packaging/debian as debian, and returns it."""
    place = FOLDER / "sources"
    shutil.rmtree(place, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        shutil.copytree(ROOT, place, symlinks=True, ignore=shutil.ignore_patterns("build", "build-*", ".venv", "__pycache__"))
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    shutil.copytree(place / "packaging/debian", place / "debian")
    return place


def build(copied, name):
    """Builds the packages from copied sources in a folder of that name, and returns the folder."""
    place = FOLDER / name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(copied, place / "backplane", symlinks=True)
    clean = {key: value for key, value in os.environ.items() if key not in ("CFLAGS", "LDFLAGS", "CC", "VIRTUAL_ENV", "SOURCE_DATE_EPOCH")}
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "auto")
    log = run("dpkg-buildpackage", "--build=binary", "--unsigned-source", "--unsigned-changes", f"-j{jobs}", cwd=place / "backplane",
              env={**clean, "PATH": f"/usr/sbin:/usr/bin:/sbin:/bin:{os.environ['PATH']}"})
    (place / "log").write_text(log)
    return place


def differing(first, second):
    """Returns the packages of two folders that are not equal."""
    names = sorted({path.name for path in [*first.glob("*.deb"), *second.glob("*.deb")]})
    return [name for name in names if not ((first / name).exists() and (second / name).exists() and filecmp.cmp(first / name, second / name, False))]


def hardening(folder):
    """Returns the ELF files of the packages that lack what hardening=+all gives: read-only relocations, symbols bound at the start."""
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        for package in folder.glob("*.deb"):
            if "-dbgsym" not in package.name:
                run("dpkg-deb", "-x", package, place)
        for path in pathlib.Path(place).rglob("*"):
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                said = run("readelf", "-l", "-d", "-W", path)
                if "GNU_RELRO" not in said or not re.search(r"BIND_NOW|\bNOW\b", said):
                    wrong.append(path.name)
    return wrong


class Machine:
    """The packages and alternatives of this machine, which exit() restores."""

    def __init__(self):
        self.packages, self.alternatives = self.installed(), self.selections()

    @staticmethod
    def installed():
        lines = run("dpkg-query", "-W", "-f", "${binary:Package} ${Version} ${db:Status-Abbrev}\n").splitlines()
        return {line for line in lines if line.split()[2] != "un"}

    @staticmethod
    def selections():
        return run("update-alternatives", "--get-selections")

    def restore(self):
        """Removes the packages that were not there, and returns what is still different."""
        added = sorted({line.split()[0] for line in self.installed()} - {line.split()[0] for line in self.packages})
        if added:
            run("apt-get", "-q", "-y", "purge", *added, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        for name in BLAS.values():
            chosen = [line for line in self.alternatives.splitlines() if line.split()[0] == name]
            run("update-alternatives", "--set-selections", input="\n".join(chosen) + "\n")
        left = []
        if self.installed() != self.packages:
            left.append(f"packages: {sorted(self.installed() ^ self.packages)}")
        if self.selections() != self.alternatives:
            left.append(f"alternatives: {set(self.selections().splitlines()) ^ set(self.alternatives.splitlines())}")
        return left


def compiled(place, name, text, *flags):
    """Compiles a program and returns it."""
    (place / f"{name}.c").write_text(text)
    run("cc", "-Wall", "-o", place / name, place / f"{name}.c", *flags)
    return place / name


def use(place):
    """Uses the installed packages, and returns what is wrong. Writes into a folder only."""
    wrong = []
    os.environ.update({"BACKPLANE_CACHE_DIR": str(place / "cache"), "XDG_CONFIG_HOME": str(place)})
    flags = run("pkg-config", "--cflags", "--libs", "backplane").split()
    if flags != ["-lbackplane"]:
        wrong.append(f"pkg-config says {flags}, expected only -lbackplane")
    if not run(compiled(place, "program", PROGRAM, *flags)).startswith("14 "):
        wrong.append("the product of a C program is wrong")
    if "native" not in run("/usr/bin/backplane", "list"):
        wrong.append("backplane list shows no 'native'")
    if "--explain" not in run("man", "-P", "cat", "backplane", env={**os.environ, "MANWIDTH": "200"}):
        wrong.append("man backplane shows no options")
    run("/usr/bin/python3", "-c", MODULE, cwd=place)
    program = compiled(place, "calls", BLAS_PROGRAM, "-l:libblas.so.3", "-l:liblapack.so.3")
    for name, group in BLAS.items():
        run("update-alternatives", "--set", group, f"/usr/lib/x86_64-linux-gnu/backplane-dropin/lib{name}.so.3")
    used = run(program, env={**os.environ, "LD_DEBUG": "libs"})
    for name in BLAS:
        if f"calling init: /lib/x86_64-linux-gnu/lib{name}.so.3" not in used and f"calling init: /usr/lib/x86_64-linux-gnu/lib{name}.so.3" not in used:
            wrong.append(f"the program does not load lib{name}.so.3")
    if "libbackplane.so.0" not in used:
        wrong.append("the alternatives do not run on Backplane")
    return wrong


def installed(folder):
    """Installs the packages, uses them and removes them. Returns what is wrong, or None with a reason if they cannot be installed here."""
    if os.geteuid() or not shutil.which("apt-get"):
        return None
    machine, wrong = Machine(), []
    if any(re.match(r"(lib|python3-)?backplane", line) for line in machine.packages):
        return [f"a package of Backplane is installed already; remove it first: {[line for line in machine.packages if 'backplane' in line]}"]
    try:
        packages = [package for package in folder.glob("*.deb") if "-dbgsym" not in package.name]
        run("apt-get", "-q", "-y", "--no-install-recommends", "install", *packages, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        with tempfile.TemporaryDirectory() as place:
            wrong = use(pathlib.Path(place))
    finally:
        left = machine.restore()
    return wrong + [f"not as before: {text}" for text in left]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.deb"):
        old.unlink()
    copied = sources()
    first = build(copied, "first")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *first.glob("*.changes"))
    print(said or "lintian: no errors, no warnings")
    lines = [f"{package.name}: {package.stat().st_size / 1e6:.2f} MB" for package in sorted(first.glob("*.deb"))]
    wrong = [f"not hardened: {name}" for name in hardening(first)]
    lines.append("lintian: no errors, no warnings; hardened; debug information in packages of its own")
    if "--once" not in sys.argv:
        different = differing(first, build(copied, "second/in-another-folder"))
        wrong += [f"two builds differ: {name}" for name in different]
        lines.append("reproducible: two builds in different folders are equal")
    found = installed(first)
    lines.append("installed, used, removed" if found is not None else "not installed: this needs Debian, and root")
    wrong += found or []
    if wrong:
        sys.exit("\n".join(wrong))
    for package in first.glob("*.deb"):
        shutil.copy2(package, FOLDER)
    print("", *lines, sep="\n")


if __name__ == "__main__":
    main()
