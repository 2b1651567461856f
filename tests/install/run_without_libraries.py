"""Checks `make run` on a machine without math libraries: it runs everything that the native provider can, and reports what is
missing."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "checks"))
import common  # noqa: E402


def run(**more):
    environment = {**os.environ, "BACKPLANE_REGISTRY_SYSTEM": "false", **more}
    for name in ("BACKPLANE_LIBRARY_PATH", "BACKPLANE_REGISTRY_LIBRARY_PATH"):
        environment.pop(name, None)
    return subprocess.run(["tools/run.sh", str(common.build_folder())], cwd=common.ROOT, capture_output=True, text=True, check=False, env=environment)


def main():
    failures = []
    done = run()
    for expected in ("native", "digits_t @ digits", "This needs a LAPACK library", "fft c128", "speech in examples"):
        if expected not in done.stdout:
            failures.append(f"tools/run.sh without libraries does not say '{expected}'")
    if done.returncode:
        failures.append(f"tools/run.sh without libraries: exit status {done.returncode}")
    if failures:
        failures.append(done.stdout + done.stderr)
    # The script must fail if the command fails in any other way.
    if run(BACKPLANE_NUM_THREADS="1", BACKPLANE_DISPATCH_EXCLUDE="native").returncode == 0:
        failures.append("tools/run.sh succeeds where nothing can multiply")
    common.finish(failures, 6)


main()
