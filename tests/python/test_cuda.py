"""Tensors on CUDA devices, on the double of the driver's library (tests/cuda/doubles)."""

import os
import pathlib

import pytest

BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", "build")).resolve()
DOUBLES = BUILD / "tests/cuda-doubles/good"

PROGRAM = """
import numpy as np
import backplane

assert [row.state for row in backplane.devices() if row.runtime == "cuda"] == ["ready", "ready"]
values = np.arange(60, dtype=np.float32).reshape(5, 12)
x = backplane.from_dlpack(values).to("cuda:0")
assert str(x.device) == "cuda:0" and x.__dlpack_device__() == (2, 0)
assert (x.cpu().numpy() == values).all()
turned = backplane.from_dlpack(values.T).to("cuda:1").to("cuda:0")
assert (turned.cpu().numpy() == values.T).all()

# Exchange with streams: of ours, the default ones, and none.
for stream in (None, 1, 2, -1):
    again = backplane.from_dlpack(x)
    capsule = x.__dlpack__(stream=stream)
    del capsule
    assert (again.cpu().numpy() == values).all()
    del again

# No candidate runs operations there; transfers do.
try:
    backplane.matmul(x, turned)
    raise SystemExit("a product has run")
except backplane.Error as error:
    assert error.status == "E_NO_CANDIDATE", error.status
product = backplane.matmul(x, turned, settings={"dispatch.transfer": "allow"})
assert str(product.device) == "cuda:0" and (product.cpu().numpy() == values @ values.T).all()
assert backplane.memory_info("cuda:0").used > 0
del x, turned, product
backplane.synchronize("cuda:0")
backplane.empty_cache("cuda:0")
assert backplane.memory_info("cuda:0").used == 0
assert not backplane.cuda.is_available() and "no provider" in backplane.backend_status("cuda").reason
print("done")
"""


@pytest.mark.skipif(not DOUBLES.exists(), reason="the double of libcuda.so.1 is not built")
def test_tensors_are_on_cuda(python):
    run = python("-c", PROGRAM, BACKPLANE_LIBRARY_PATH=str(DOUBLES), BACKPLANE_REGISTRY_CACHE="off", CUDA_VISIBLE_DEVICES="0,1")
    assert run.returncode == 0 and run.stdout == "done\n", run.stderr + run.stdout
