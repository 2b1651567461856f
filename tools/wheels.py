"""wheels.py - builds the wheels of a release into build/wheels, checks them, and tests the one of this machine in a fresh environment.

    python3 tools/wheels.py [ARCHITECTURE ...]        # x86_64 and aarch64 if none is named

A wheel is built from the source distribution, as its users may do. gcc compiles, because matrix products take up to twice as long on AVX2 if clang
compiles them (docs/how-to/install.md). The headers and the linker come from the package ziglang, which has older versions of glibc: so a wheel
runs on every distribution since 2018, wherever it was built. tools/wheels.txt has the versions.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "wheels"
TOOLS = FOLDER / "tools"
GLIBC = "2.28"
MOST_BYTES = 6_000_000
ARCHITECTURES = ("x86_64", "aarch64")
SHARED_OBJECT = 3  # the type of an ELF file: a library, or a program for any address
# What a wheel has next to the modules of Python; the drop-in objects are for x86-64.
BINARIES = {"_core.abi3.so", "libbackplane.so.0", "backplane-probe", "bin/backplane"} | {
    f"backplane-providers/{name}.so" for name in ("blas", "cuda", "fftw", "opencl", "scalapack")}
LAUNCH = {f"backplane-launch/{name}.so" for name in ("libbackplane-hooks", "libbackplane-preload", "backplane-audit")}
PAGES = {"man/man1/backplane.1", "bash-completion/completions/backplane", "zsh/site-functions/_backplane", "fish/vendor_completions.d/backplane.fish"}
# A minute of the tests: each kind of operation, settings, the package, and the command.
TESTS = [f"tests/python/test_{name}.py" for name in ("products", "linalg", "fft", "elementwise", "settings", "scopes", "package", "exchange")]
COMMAND_TESTS = [f"tests/cli/test_{name}.py" for name in ("usage", "settings", "linalg")]
TESTS_NEED = ("numpy", "pytest", "hypothesis", "ml_dtypes")
FIRST_PRODUCT = """
import array, importlib.metadata, backplane
a = array.array("d", [1, 2, 3])
assert memoryview(backplane.matmul(a, a)).tolist() == 14
assert importlib.metadata.version("libbackplane") == backplane.__version__
print(backplane.last_plan().library, backplane.__version__)
"""


def run(*command, **options):
    """Runs a command, and returns its output. If it fails, prints its output and ends the program."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"$ {' '.join(map(str, command))}\n{done.stdout}make wheels: exit status {done.returncode}")
    return done.stdout


def environment(folder, *packages):
    """Makes a virtual environment if there is none, and installs packages of the index into it."""
    if not (folder / "bin/python").exists():
        run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", "install", *packages)


def reproducible():
    """Returns the environment of builds. Files in archives have the time of the commit."""
    time = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    names = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS", "LDFLAGS", "CMAKE_ARGS", "VIRTUAL_ENV")}
    return {"SOURCE_DATE_EPOCH": time or "315532800", **names, "PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}"}


def source_distribution():
    """Builds the source distribution, and returns it with the folder where it is unpacked."""
    for old in FOLDER.glob("*.tar.gz"):
        old.unlink()
    run(TOOLS / "bin/python", "-m", "build", "--sdist", "--no-isolation", "--outdir", FOLDER, ROOT, env=reproducible())
    (archive,) = FOLDER.glob("libbackplane-*.tar.gz")
    place = FOLDER / "source"
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return archive, place / archive.name[:-len(".tar.gz")]


def other_headers():
    """Returns a folder with the headers that the package ziglang does not have. The system's folder would bring its C library's too. Debian's pyconfig.h
    includes one from a folder named after the architecture; its contents hold on all 64-bit architectures, as hwloc's do."""
    place = FOLDER / "headers"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for folder in (pathlib.Path("/usr/include"), pathlib.Path("/usr/include") / f"{platform.machine()}-linux-gnu"):
        if (folder / "hwloc").is_dir():
            shutil.copytree(folder / "hwloc", place / "hwloc", dirs_exist_ok=True)
        if (folder / "hwloc.h").exists():
            shutil.copy(folder / "hwloc.h", place)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for config in pathlib.Path("/usr/include").glob(f"*/{version}/pyconfig.h"):
        for architecture in ARCHITECTURES:
            (place / f"{architecture}-linux-gnu").mkdir(exist_ok=True)
            (place / f"{architecture}-linux-gnu" / version).symlink_to(config.parent)
    return place


# Names of functions are left out here, because the system's strip knows no other processor.
LINKING = {"SHARED": "-Wl,-s", "MODULE": "-Wl,-s", "EXE": "-Wl,-s -pie"}
COMPILER = """#!/bin/sh
# gcc with the headers of glibc {glibc}; objects are linked with the symbols of that version.
case " $* " in
*" -c "* | *" -E "*) ;;
*.o" "* | *.a" "* | *.rsp" "*) exec {zig} cc -target {target}.{glibc} "$@" ;;
esac
exec {gcc} -nostdinc {headers} -D__GLIBC_MINOR__={minor} "$@"
"""


def script(name, text):
    """Writes a program, and returns its path."""
    path = FOLDER / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def toolchain(architecture):
    """Writes what CMake needs to compile for an architecture, and returns its path."""
    (package,) = TOOLS.glob("lib/python3*/site-packages/ziglang")
    zig, target = package / "zig", f"{architecture}-linux-gnu"
    gcc = "gcc" if architecture == platform.machine() else f"{target}-gcc"
    kind = "x86" if architecture == "x86_64" else architecture
    folders = [run(gcc, "-print-file-name=include").strip(),
               *(package / "lib/libc/include" / name for name in (f"{kind}-linux-gnu", "generic-glibc", f"{kind}-linux-any", "any-linux-any"))]
    headers = " ".join([*(f"-isystem {folder}" for folder in folders), f"-idirafter {other_headers()}"])
    compiler = script(f"cc-{architecture}", COMPILER.format(glibc=GLIBC, minor=GLIBC.partition(".")[2], zig=zig, target=target, gcc=gcc, headers=headers))
    tools = {name: script(name, f'#!/bin/sh\nexec {zig} {name} "$@"\n') for name in ("ar", "ranlib")}
    path = FOLDER / f"{architecture}.cmake"
    path.write_text(f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {architecture})\nset(CMAKE_C_COMPILER {compiler})\n"
                    f"set(CMAKE_AR {tools['ar']})\nset(CMAKE_RANLIB {tools['ranlib']})\n"
                    + "".join(f"set(CMAKE_{kind}_LINKER_FLAGS_INIT \"{flags}\")\n" for kind, flags in LINKING.items()))
    return path


def auditor(architecture):
    """Returns the command that starts auditwheel. It knows the platforms of this machine's processor only, so it is told another one."""
    program = f"import platform, sys, auditwheel.main; platform.machine = lambda: {architecture!r}; sys.exit(auditwheel.main.main())"
    return TOOLS / "bin/python", "-c", program


def build(source, architecture):
    """Builds a wheel for an architecture, names it after the oldest glibc that it needs, and returns it."""
    raw = FOLDER / "raw" / architecture
    shutil.rmtree(raw, ignore_errors=True)
    objects = FOLDER / "objects" / architecture
    shutil.rmtree(objects, ignore_errors=True)
    settings = {"build-dir": objects, "install.strip": "false", "cmake.define.CMAKE_TOOLCHAIN_FILE": toolchain(architecture)}
    run(TOOLS / "bin/python", "-m", "build", "--wheel", "--no-isolation", "--outdir", raw, *(f"-C{name}={value}" for name, value in settings.items()),
        source, env={**reproducible(), "_PYTHON_HOST_PLATFORM": f"linux-{architecture}"})
    (wheel,) = raw.glob("*.whl")
    tag = f"manylinux_{GLIBC.replace('.', '_')}_{architecture}"
    for old in FOLDER.glob(f"*_{architecture}.whl"):
        old.unlink()
    run(*auditor(architecture), "repair", "--only-plat", "--plat", tag, "--wheel-dir", FOLDER, wheel, env=reproducible())
    (repaired,) = FOLDER.glob(f"*{tag}.whl")
    return repaired


def glibc_versions(data):
    """Returns the versions of glibc whose symbols an ELF file names, ascending."""
    return sorted({tuple(map(int, found.split(b"."))) for found in re.findall(rb"\0GLIBC_(\d+(?:\.\d+)+)(?=\0)", data)})


def faults(wheel, architecture):
    """Returns what is wrong with the contents of a wheel."""
    machine = {"x86_64": 62, "aarch64": 183}[architecture]
    found, pages, wrong = set(), set(), []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for name in names:
            data = archive.read(name)
            if "/share/" in name and not name.endswith("/"):
                pages.add(name.partition("/share/")[2])
            if data[:4] != b"\x7fELF":
                continue
            found.add(name.removeprefix("backplane/"))
            if int.from_bytes(data[16:18], "little") != SHARED_OBJECT:
                wrong.append(f"{name}: cannot be loaded at any address")
            needed = glibc_versions(data)
            if int.from_bytes(data[18:20], "little") != machine:
                wrong.append(f"{name}: is for another processor")
            if needed and needed[-1] > tuple(map(int, GLIBC.split("."))):
                wrong.append(f"{name}: needs glibc {'.'.join(map(str, needed[-1]))}")
        if archive.testzip() or not any(name.endswith("licenses/LICENSE") for name in names):
            wrong.append("the licence is missing, or a file is damaged")
    expected = BINARIES | (LAUNCH if architecture == "x86_64" else set())
    wrong += [f"{name}: missing" for name in sorted((expected - found) | (PAGES - pages))]
    wrong += [f"{name}: not expected" for name in sorted((found - expected) | (pages - PAGES))]
    if wheel.stat().st_size > MOST_BYTES:
        wrong.append(f"{wheel.stat().st_size} bytes, at most {MOST_BYTES}")
    return [f"{wheel.name}: {text}" for text in wrong]


def pythons():
    """Returns the CPython versions from 3.9 on that the machine has, by their names."""
    found = {}
    for minor in range(9, 30):
        program = shutil.which(f"python3.{minor}")
        if program and subprocess.run([program, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
            found[f"3.{minor}"] = program
    return found or {f"3.{sys.version_info[1]}": sys.executable}


def installed(wheel, program, folder):
    """Installs a wheel into a fresh environment of a Python, and returns the environment after a first product and the command."""
    shutil.rmtree(folder, ignore_errors=True)
    run(program, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-index", "--only-binary=:all:", wheel)
    apart = {"cwd": folder, "env": {**os.environ, "BACKPLANE_CACHE_DIR": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder)}}
    run(folder / "bin/python", "-c", FIRST_PRODUCT, **apart)
    listed = run(folder / "bin/backplane", "list", **apart)
    if "native" not in listed:
        sys.exit(f"make wheels: the command of the wheel lists no 'native':\n{listed}")
    return folder


def tested(folder):
    """Runs the quick tests on an installed wheel, and returns the last lines of pytest."""
    run(folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", "install", *TESTS_NEED)
    (site,) = folder.glob("lib/python3*/site-packages")
    # The tests find the package and the command in a build folder.
    as_built = folder / "as-built"
    as_built.mkdir()
    (as_built / "python").symlink_to(site)
    for path in (site / "backplane/bin/backplane", site / "backplane/backplane-launch"):
        (as_built / path.name).symlink_to(path)
    results = []
    for tests in (TESTS, COMMAND_TESTS):
        output = run(folder / "bin/python", "tests/inherited.py", as_built, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=ROOT,
                     env={**os.environ, "BACKPLANE_BUILD": str(as_built)})
        results.append(output.strip().splitlines()[-1])
    return results


def emulated(wheel, architecture):
    """Runs the command of a wheel for another architecture under qemu, on its own kernels, and returns what was done."""
    qemu = shutil.which(f"qemu-{architecture}")
    if not qemu:
        return f"not run: qemu-{architecture} is missing"
    place = FOLDER / f"unpacked-{architecture}"
    shutil.rmtree(place, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    command = place / "backplane/bin/backplane"
    command.chmod(0o755)
    said = run(qemu, "-L", f"/usr/{architecture}-linux-gnu", command, "compare", "matmul",
               ROOT / "examples/data/digits_t.npy", ROOT / "examples/data/digits.npy",
               env={**os.environ, "BACKPLANE_REGISTRY_SYSTEM": "false", "BACKPLANE_CACHE_DIR": str(place / "cache")})
    if "native" not in said:
        sys.exit(f"make wheels: the command of {wheel.name} computes nothing:\n{said}")
    return "a product of the command is right under qemu"


def main():
    wanted = sys.argv[1:] or ARCHITECTURES
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment(TOOLS, "-r", ROOT / "tools/wheels.txt")
    archive, source = source_distribution()
    lines = [f"{archive.name}: {archive.stat().st_size / 1e6:.2f} MB"]
    for architecture in wanted:
        wheel = build(source, architecture)
        wrong = faults(wheel, architecture)
        if wrong:
            sys.exit("\n".join(wrong))
        print(run(*auditor(architecture), "show", wheel).strip())
        lines.append(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, symbols of glibc {GLIBC} or older, for its processor, complete")
        if architecture == platform.machine():
            for version, program in pythons().items():
                folder = installed(wheel, program, FOLDER / f"fresh-{version}")
                lines.append(f"  Python {version}: installed, first product, backplane list")
            lines += [f"  tests: {text}" for text in tested(folder)]
        else:
            lines.append(f"  {emulated(wheel, architecture)}")
    print("", *lines, sep="\n")


if __name__ == "__main__":
    main()
