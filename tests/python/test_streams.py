"""DLPack's streams, in processes with the runtimes of tests/device (streams.py)."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import BUILD

FAKES = BUILD / "tests/device-fakes/good"


@pytest.mark.parametrize("check", ["give", "reuse", "numbers", "take"])
def test_streams(check):
    module = FAKES / "fake_runtime.so"
    if not module.exists():
        pytest.skip(f"{module} is not built")
    environment = dict(os.environ, BACKPLANE_PROVIDER_PATH=str(FAKES), BACKPLANE_DEVICE_EXCLUDE="opencl", BACKPLANE_REGISTRY_CACHE="off")
    program = pathlib.Path(__file__).with_name("streams.py")
    ran = subprocess.run([sys.executable, str(program), str(module), check], env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
