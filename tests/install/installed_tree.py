"""Checks that the tree of `make install` is complete and works after it was moved. The README's program is compiled against it
with pkg-config and with find_package, and run; the installed command is run too."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

EXPECTED = [
    "bin/backplane", "include/backplane.h", "include/backplane/matmul.h", "include/backplane/provider.h",
    "{lib}/libbackplane.so", "{lib}/libbackplane.so.0", "{lib}/pkgconfig/backplane.pc",
    "{lib}/cmake/Backplane/BackplaneConfig.cmake", "{lib}/cmake/Backplane/BackplaneConfigVersion.cmake",
    "libexec/backplane/backplane-probe", "share/man/man1/backplane.1",
    "share/bash-completion/completions/backplane", "share/zsh/site-functions/_backplane",
    "share/fish/vendor_completions.d/backplane.fish",
]
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
    return common.run(program)


def with_find_package(prefix, folder):
    version = re.search(r'BP_VERSION_STRING "(.*)"', common.read("include/backplane/version.h")).group(1)
    (folder / "CMakeLists.txt").write_text(CONSUMER.format(version=version))
    common.run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    common.run("cmake", "--build", folder / "build")
    return common.run(folder / "build" / "program")


def check(folder):
    stage = folder / "stage"
    common.run("cmake", "--install", common.build_folder(), "--prefix", "/opt/first", env={**os.environ, "DESTDIR": str(stage)})
    prefix = folder / "moved"
    shutil.move(stage / "opt/first", prefix)
    lib = next(path.parent.relative_to(prefix) for path in prefix.rglob("libbackplane.so"))
    built_in = "BACKPLANE_BLAS:STRING=builtin" in (common.build_folder() / "CMakeCache.txt").read_text()
    modules = [] if built_in else ["{lib}/backplane-providers/blas.so"]
    failures = [f"not installed: {name}" for name in (name.format(lib=lib) for name in EXPECTED + modules)
                if not (prefix / name).exists()]
    headers = [path.relative_to("include") for path in common.sources("include")]
    failures += [f"not installed: include/{name}" for name in headers if not (prefix / "include" / name).exists()]

    if list(prefix.rglob("backplane-environment")):
        failures.append("installed: backplane-environment, which is for the build folder alone")
    listed = common.run(prefix / "bin/backplane", "list")
    if "native" not in listed:
        failures.append(f"the installed command lists no 'native':\n{listed}")
    (folder / "program.c").write_text(readme_program())
    first, second = with_pkg_config(prefix, lib, folder), with_find_package(prefix, folder)
    failures += [f"the README's program printed nothing {way}" for way, said in (("(pkg-config)", first),
                 ("(find_package)", second)) if not said.strip()]
    common.finish(failures, len(EXPECTED) + len(headers) + 3)


def main():
    common.skip_under_sanitizer("a program that links the library would have to be built for the sanitizer too")
    for tool in ("pkg-config", "cmake", "cc"):
        if not shutil.which(tool):
            common.skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        check(pathlib.Path(folder))


main()
