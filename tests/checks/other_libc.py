"""Checks that a build without glibc stops with one sentence that says so. A folder of headers that come before the system's takes glibc's
macro away, as musl's headers do not have it."""

import pathlib
import subprocess
import tempfile

import common

FEATURES = "#include_next <features.h>\n#undef __GLIBC__\n"
SENTENCE = "Backplane needs Linux with glibc"


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        headers = pathlib.Path(folder) / "headers"
        headers.mkdir()
        (headers / "features.h").write_text(FEATURES)
        done = subprocess.run(["cmake", "-S", common.ROOT, "-B", pathlib.Path(folder) / "build", f"-DCMAKE_C_FLAGS=-isystem {headers}",
                               "-DBACKPLANE_TESTS=OFF"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        failures.append("cmake accepted a C library that is not glibc")
    if done.stderr.count("CMake Error") != 1 or SENTENCE not in " ".join(done.stderr.split()):
        failures.append(f"cmake did not stop with one sentence:\n{done.stderr}")
    common.finish(failures, 1)


main()
