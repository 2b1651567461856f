"""Checks the descriptions of packages without building one: Debian's packages take each file that `make install` installs, exactly once, and name no
file that is not installed; their version is the library's; what `make wheels` installs from PyPI is pinned."""

import fnmatch
import os
import pathlib
import re
import tempfile

import common

DEBIAN = common.ROOT / "packaging/debian"
PACKAGES = {"libbackplane0", "libbackplane-dev", "backplane", "python3-backplane", "libbackplane-blas", "libbackplane-doc"}
# `usr/lib/*` of a pattern is the folder of an architecture.
FOLDERS = {"libexec/": "lib/any/", "share/zsh/site-functions/": "share/zsh/vendor-completions/"}
# Installed with an option that only the packages use.
BY_OPTION = "usr/lib/python3/dist-packages/"


def patterns():
    """Returns (package, pattern) for all lines of the lists of files, and for those that rules adds on amd64."""
    listed = [(path.stem, line) for path in sorted(DEBIAN.glob("*.install")) for line in path.read_text().split()]
    return listed + re.findall(r"^\tdh_install -p(\S+) '(.*)'$", (DEBIAN / "rules").read_text(), re.M)


def installed():
    """Returns the paths that the build folder installs, as the packages have them."""
    cache = (common.build_folder() / "CMakeCache.txt").read_text()
    library = re.search(r"^CMAKE_INSTALL_LIBDIR:PATH=(.*)$", cache, re.M).group(1)
    with tempfile.TemporaryDirectory() as stage:
        common.run("cmake", "--install", common.build_folder(), "--prefix", "/usr", env={**os.environ, "DESTDIR": stage})
        root = pathlib.Path(stage) / "usr"
        names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or path.is_file()]
    found = []
    for name in names:
        for old, new in {f"{library}/": "lib/any/", **FOLDERS}.items():
            if name.startswith(old):
                name = new + name[len(old):]
                break
        found.append(f"usr/{name}")
    return found


def matches(name, pattern):
    """Returns whether a list takes a file: by its pattern, which does not go over a slash, or by one of a folder above it."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(part, want) for part, want in zip(parts, wanted))


def faults_of_files(names, lists):
    """Returns the files that no list takes, or several ones, and the patterns that take none."""
    wrong = []
    for name in names:
        takers = [package for package, pattern in lists if matches(name, pattern)]
        if len(takers) != 1:
            wrong.append(f"{name}: in {' and '.join(takers) if takers else 'no package'}")
    return wrong + [f"{package}.install: no file is {pattern}" for package, pattern in lists
                    if not pattern.startswith(BY_OPTION) and not any(matches(name, pattern) for name in names)]


def faults_of_the_rule():
    """Returns where the rule itself fails."""
    lists = [("a", "usr/bin/one"), ("b", "usr/lib/*/x.so*"), ("c", "usr/share/*")]
    wrong = []
    for names, expected in ((["usr/bin/one", "usr/lib/any/x.so.0", "usr/share/y/z"], 0), (["usr/bin/one", "usr/lib/any/x.so.0", "usr/share/y", "usr/more"], 1),
                            (["usr/bin/one", "usr/share/y"], 1), (["usr/bin/one", "usr/lib/any/deeper/x.so", "usr/share/y"], 2)):
        if len(faults_of_files(names, lists)) != expected:
            wrong.append(f"the rule finds {faults_of_files(names, lists)} in {names}")
    return wrong


def main():
    control, changelog = (DEBIAN / "control").read_text(), (DEBIAN / "changelog").read_text()
    version = re.search(r'BP_VERSION_STRING "(.*)"', common.read("include/backplane/version.h")).group(1)
    failures = faults_of_the_rule()
    if not changelog.startswith(f"backplane ({version}) "):
        failures.append(f"packaging/debian/changelog: the first version is not {version}")
    if set(re.findall(r"^Package: (\S+)$", control, re.M)) != PACKAGES:
        failures.append(f"packaging/debian/control: the packages are not {sorted(PACKAGES)}")
    failures += [f"tools/wheels.txt: not pinned: {line}" for line in common.read("tools/wheels.txt").splitlines()
                 if not re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line)]
    names = installed() if (common.build_folder() / "backplane-dropin").exists() else []
    failures += faults_of_files(names, patterns()) if names else []
    common.finish(failures, len(names) + len(PACKAGES))


main()
