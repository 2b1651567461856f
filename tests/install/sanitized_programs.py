"""Checks that programs built with a sanitizer can open libraries, though the library itself was built without one: directly,
and through the drop-in library of FFTW, which opens FFTW's library of threads. The sanitizers' run-time libraries end a
program that opens one with RTLD_DEEPBIND."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402

SANITIZERS = ("address", "thread")
EMPTY = "int main(void) { return 0; }\n"
OPENS = """#include <backplane.h>
#include <stdio.h>
int main(int count, char **words) {
    void *handle;
    bp_status status = count > 1 ? bp_library_open(words[1], &handle) : BP_E_ARGUMENT;
    puts(status == BP_OK ? "opened" : bp_last_error());
    return status != BP_OK;
}
"""
PLANS = """int fftw_init_threads(void);
int main(void) { return fftw_init_threads() != 1; }
"""


class Programs:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.build = common.build_folder()
        self.environment = {**os.environ, "BACKPLANE_REGISTRY_CACHE": "off", "LSAN_OPTIONS": "detect_leaks=0",
                            "ASAN_OPTIONS": "detect_leaks=0"}

    def run(self, source, words=(), libraries=(), **more):
        """Builds and runs a program. Returns what is wrong, or None."""
        (self.folder / "program.c").write_text(source)
        program = self.folder / "program"
        compiler = ["cc", "-g", "program.c", "-o", program, "-I", common.ROOT / "include", f"-L{self.build}",
                    f"-Wl,-rpath,{self.build}", *[f"-l{name}" for name in libraries], *words]
        for command in (compiler, [program, *more.pop("arguments", [])]):
            done = subprocess.run([str(word) for word in command], cwd=self.folder, capture_output=True, text=True, check=False,
                                  env={**self.environment, **more})
            if done.returncode != 0:
                return f"exit status {done.returncode}: {(done.stdout + done.stderr)[:600]}"
        return None


def main():
    common.skip_under_sanitizer("the library itself has a sanitizer")
    failures, checked = [], 0
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(folder)
        fake = programs.build / "tests/registry-fakes/plain/libplain.so"
        has_threads = (programs.build / "libbackplane_fftw3.so").exists() and not programs.run(PLANS, libraries=["backplane_fftw3"])
        for sanitizer in SANITIZERS:
            words = [f"-fsanitize={sanitizer}"]
            if programs.run(EMPTY, words):
                continue  # this compiler or this system has none
            checked += 1
            why = programs.run(OPENS, words, ["backplane"], arguments=[fake], BACKPLANE_LIBRARY_PATH=str(fake.parent),
                               BACKPLANE_REGISTRY_SYSTEM="false")
            failures += [f"-fsanitize={sanitizer}: bp_library_open: {why}"] if why else []
            if has_threads:
                checked += 1
                why = programs.run(PLANS, words, ["backplane_fftw3"])
                failures += [f"-fsanitize={sanitizer}: fftw_init_threads: {why}"] if why else []
    if not checked:
        common.skip("no sanitizer works here")
    common.finish(failures, checked)


main()
