"""Checks that the tree of `make install` is complete, works after it was moved, has its debug information apart, and is removed by `make uninstall`. The README's
program is compiled against it with pkg-config and with find_package, and run; the installed command is run too."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

EXPECTED = [
    "bin/backplane", "include/backplane.h", "include/backplane/matmul.h", "include/backplane.hpp",
    "include/backplane/operations.hpp", "include/backplane/provider.h",
    "{lib}/libbackplane.so", "{lib}/libbackplane.so.0", "{lib}/pkgconfig/backplane.pc",
    "{lib}/cmake/Backplane/BackplaneConfig.cmake", "{lib}/cmake/Backplane/BackplaneConfigVersion.cmake",
    "libexec/backplane/backplane-probe", "share/man/man1/backplane.1", "share/man/man3/bp_matmul.3",
    "share/bash-completion/completions/backplane", "share/zsh/site-functions/_backplane",
    "share/fish/vendor_completions.d/backplane.fish", "share/backplane/devices/intel-arc-a770.json",
]
# Built for x86-64 Linux only.
EXPECTED_DROPIN = [
    "{lib}/libbackplane_blas.so.0", "{lib}/libbackplane_lapack.so.0", "{lib}/libbackplane_fftw3.so.0",
    "{lib}/backplane-dropin/libblas.so.3", "{lib}/backplane-dropin/liblapack.so.3", "{lib}/backplane-dropin/libfftw3f.so.3",
    "{lib}/backplane-launch/libbackplane-hooks.so", "{lib}/backplane-launch/backplane-audit.so",
    "{lib}/pkgconfig/backplane-blas.pc", "{lib}/pkgconfig/backplane-lapack.pc", "{lib}/pkgconfig/backplane-fftw3.pc",
]
# What a program needs to link to each drop-in library; no function is called, so that no math library needs to be installed.
DROPIN_PROGRAM = """#include <stdio.h>
extern void dgemm_(void), cblas_dgemm(void), dgesv_(void), LAPACKE_dgesv(void), fftw_execute(void), dfftw_execute_(void);
int main(void) {
    void (*const functions[])(void) = {dgemm_, cblas_dgemm, dgesv_, LAPACKE_dgesv, fftw_execute, dfftw_execute_};
    int found = 0;
    for (int i = 0; i < 6; i++) {
        found += functions[i] != NULL;
    }
    printf("%d\\n", found);
    return 0;
}
"""
CPP_PROGRAM = """#include <backplane.hpp>
#include <cstdio>

int main() {
    const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    float c[2][2] = {};
    if (backplane::nothrow::matmul(a, b, c) != BP_OK) {
        return 1;
    }
#if defined(__cpp_exceptions)
    backplane::matmul(a, b, c);
    try {
        backplane::matmul(a, a, c);
    } catch (const backplane::error &) {
        std::puts("caught");
    }
#endif
    std::printf("%g\\n", static_cast<double>(c[1][1]));
    return c[1][1] == 11 ? 0 : 1;
}
"""
CPP_KINDS = [["-std=c++17"], ["-std=c++20"], ["-std=c++17", "-fno-exceptions"]]
CPP_CONSUMER = """cmake_minimum_required(VERSION 3.21)
project(consumer CXX)
find_package(Backplane {version} REQUIRED)
add_executable(program program.cpp)
target_compile_features(program PRIVATE cxx_std_17)
target_link_libraries(program PRIVATE Backplane::backplane)
"""
CONSUMER = """cmake_minimum_required(VERSION 3.21)
project(consumer C)
find_package(Backplane {version} REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE Backplane::backplane)
"""


def readme_program():
    blocks = re.findall(r"^```c\n(.*?)^```", common.read("README.md"), re.S | re.M)
    if len(blocks) != 1:
        print(f"README.md has {len(blocks)} C programs, expected one")
        sys.exit(1)
    return blocks[0]


def with_pkg_config(prefix, lib, folder):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / lib / "pkgconfig")}
    flags = common.run("pkg-config", "--cflags", "--libs", "backplane", env=environment).split()
    program = folder / "with-pkg-config"
    common.run("cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", program, folder / "program.c", *flags,
              f"-Wl,-rpath,{prefix / lib}")
    return common.run_program(program)


def with_dropin_libraries(prefix, lib, folder):
    """What a program prints that is compiled with the drop-in libraries' own descriptions for pkg-config."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / lib / "pkgconfig")}
    flags = common.run("pkg-config", "--cflags", "--libs", "backplane-blas", "backplane-lapack", "backplane-fftw3", env=environment).split()
    (folder / "dropin.c").write_text(DROPIN_PROGRAM)
    common.run("cc", "-std=c17", "-Wall", "-Werror", "-o", folder / "dropin", folder / "dropin.c", *flags, f"-Wl,-rpath,{prefix / lib}")
    return common.run_program(folder / "dropin")


def as_cpp(prefix, lib, folder):
    """What C++ programs print: the programs in CPP_KINDS, then the README's program in C, compiled as C++."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / lib / "pkgconfig")}
    flags = common.run("pkg-config", "--cflags", "--libs", "backplane", env=environment).split()
    said = []
    for source, kinds in (("program.cpp", CPP_KINDS), ("program.c", [["-std=c++17", "-Wno-missing-field-initializers"]])):
        for kind in kinds:
            program = folder / f"program-{len(said)}"
            common.run("c++", *kind, "-Wall", "-Wextra", "-Werror", "-o", program, "-x", "c++", folder / source, "-x",
                       "none", *flags, f"-Wl,-rpath,{prefix / lib}")
            said.append((" ".join(kind), common.run_program(program)))
    return said


def with_find_package_cpp(prefix, folder):
    version = re.search(r'BP_VERSION_STRING "(.*)"', common.read("include/backplane/version.h")).group(1)
    consumer = folder / "cpp"
    consumer.mkdir()
    (consumer / "CMakeLists.txt").write_text(CPP_CONSUMER.format(version=version))
    (consumer / "program.cpp").write_text(CPP_PROGRAM)
    common.run("cmake", "-S", consumer, "-B", consumer / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    common.run("cmake", "--build", consumer / "build")
    return [("find_package", common.run_program(consumer / "build" / "program"))]


def with_find_package(prefix, folder):
    version = re.search(r'BP_VERSION_STRING "(.*)"', common.read("include/backplane/version.h")).group(1)
    (folder / "CMakeLists.txt").write_text(CONSUMER.format(version=version))
    common.run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    common.run("cmake", "--build", folder / "build")
    return common.run_program(folder / "build" / "program")


def uninstalled(folder):
    """What is wrong after `make uninstall`: only files of others, and the directories that hold them or are common, stay."""
    stage, failures = folder / "uninstall", []
    build = os.path.relpath(common.build_folder(), common.ROOT)
    (stage / "usr/local/bin").mkdir(parents=True)
    for prefix in ("/usr/local", "/opt/backplane"):
        common.run("sh", common.ROOT / "tools/install.sh", build, prefix, stage, cwd=common.ROOT)
        common.run("cmake", "--install", common.build_folder(), "--prefix", prefix, "--component", "debug", env={**os.environ, "DESTDIR": str(stage)})
    kept = stage / "opt/backplane/include/backplane/mine.h"
    kept.write_text("mine")
    said = [common.run("sh", common.ROOT / "tools/uninstall.sh", build, prefix, stage, cwd=common.ROOT)
            for prefix in ("/usr/local", "/opt/backplane", "/usr/local")]
    files = [str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir()]
    folders = sorted(str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_dir())
    expected = ["opt", "opt/backplane", "opt/backplane/include", "opt/backplane/include/backplane", "usr", "usr/local", "usr/local/bin"]
    if files != [str(kept.relative_to(stage))] or folders != expected:
        failures.append(f"uninstall leaves {files} and {folders}, expected {expected}")
    if "files removed from" not in said[0] or "no file of Backplane is in" not in said[2]:
        failures.append(f"uninstall says {said}")
    return failures


def in_system_prefix(folder):
    """What is wrong with the descriptions for pkg-config in /usr: they name no folder that every compiler searches."""
    common.run("cmake", "--install", common.build_folder(), "--prefix", "/usr", env={**os.environ, "DESTDIR": str(folder / "system")})
    places = list((folder / "system/usr").rglob("pkgconfig"))
    names = [path.stem for place in places for path in place.glob("*.pc")]
    flags = common.run("pkg-config", "--cflags", "--libs", *names, env={**os.environ, "PKG_CONFIG_PATH": str(places[0])}).split()
    return [f"pkg-config in /usr says {flags}"] if not names or any(not flag.startswith("-l") for flag in flags) else []


def sections(path):
    return set(re.findall(r"\] (\.\S+)", common.run("readelf", "-S", "-W", path)))


def with_debug_files(prefix):
    """What is wrong with debug information: it is in no installed file, and the component `debug` has it."""
    cache = (common.build_folder() / "CMakeCache.txt").read_text()
    if "BACKPLANE_STRIP:BOOL=ON" not in cache or not re.search(r"^BACKPLANE_SANITIZE:STRING=$", cache, re.M):
        return []
    files = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    failures = [f"{path.relative_to(prefix)} has debug information, or no link to it" for path in files
                if ".debug_info" in sections(path) or ".gnu_debuglink" not in sections(path)]
    common.run("cmake", "--install", common.build_folder(), "--prefix", prefix, "--component", "debug")
    for path in files:
        separate = path.parent / ".debug" / f"{path.name}.debug"
        if not separate.exists() or ".debug_info" not in sections(separate):
            failures.append(f"the component debug installs no debug information of {path.relative_to(prefix)}")
    return failures or ([] if files else ["no installed file is compiled"])


def check(folder):
    stage = folder / "stage"
    common.run("cmake", "--install", common.build_folder(), "--prefix", "/opt/first", env={**os.environ, "DESTDIR": str(stage)})
    prefix = folder / "moved"
    shutil.move(stage / "opt/first", prefix)
    lib = next(path.parent.relative_to(prefix) for path in prefix.rglob("libbackplane.so"))
    built_in = "BACKPLANE_BLAS:STRING=builtin" in (common.build_folder() / "CMakeCache.txt").read_text()
    modules = [] if built_in else ["{lib}/backplane-providers/blas.so"]
    dropin = EXPECTED_DROPIN if (common.build_folder() / "backplane-launch").exists() else []
    failures = [f"not installed: {name}" for name in (name.format(lib=lib) for name in EXPECTED + dropin + modules)
                if not (prefix / name).exists()]
    headers = [path.relative_to("include") for path in common.sources("include")]
    failures += [f"not installed: include/{name}" for name in headers if not (prefix / "include" / name).exists()]

    failures += uninstalled(folder) + with_debug_files(prefix) + in_system_prefix(folder)
    if list(prefix.rglob("backplane-environment")):
        failures.append("installed: backplane-environment, which is for the build folder alone")
    listed = common.run(prefix / "bin/backplane", "list")
    if "native" not in listed:
        failures.append(f"the installed command lists no 'native':\n{listed}")
    (folder / "program.c").write_text(readme_program())
    first, second = with_pkg_config(prefix, lib, folder), with_find_package(prefix, folder)
    failures += [f"the README's program printed nothing {way}" for way, said in (("(pkg-config)", first),
                 ("(find_package)", second)) if not said.strip()]
    if dropin and (printed := with_dropin_libraries(prefix, lib, folder)) != "6\n":
        failures.append(f"the program that is linked to the drop-in libraries printed {printed!r}")
    said = []
    if shutil.which("c++"):
        (folder / "program.cpp").write_text(CPP_PROGRAM)
        said = as_cpp(prefix, lib, folder) + with_find_package_cpp(prefix, folder)
        failures += [f"a C++ program printed nothing ({kind})" for kind, text in said if not text.strip()]
    common.finish(failures, len(EXPECTED) + len(headers) + 6 + len(said))


def main():
    for tool in ("pkg-config", "cmake", "cc", "readelf"):
        if not shutil.which(tool):
            common.skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        check(pathlib.Path(folder))


main()
