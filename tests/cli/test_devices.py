"""Devices: list --devices, descriptions, explain --device and eval --device. Skipped in part without an OpenCL device."""

import numpy as np
import pytest

from conftest import BUILD


@pytest.fixture
def devices(backplane, environment, probe_cache):
    environment["POCL_DEVICES"] = "pthread pthread"  # two devices, if the driver is PoCL
    environment["POCL_CACHE_DIR"] = str(probe_cache / "pocl")
    return backplane("list", "--devices", "--json").json["devices"]


@pytest.fixture
def device(devices):
    ready = [row["id"] for row in devices if row["state"] == "ready" and row["id"] != "host"]
    if not ready:
        pytest.skip("no device: " + "; ".join(f"{row['id']}: {row['reason']}" for row in devices[1:]))
    return ready[0]


def test_list(backplane, devices):
    assert devices[0]["id"] == "host" and devices[0]["state"] == "ready"
    assert all(bool(row["reason"]) == (row["state"] != "ready") for row in devices)
    text = backplane("list", "--devices").out
    assert all(row["id"] in text for row in devices)


def test_a_device_that_is_not_there(backplane, devices):
    for words in (("explain", "matmul", "4x4", "4x4"), ("list", "--record", "x.json")):
        done = backplane(*words, "--device", "opencl:77")
        assert done.code != 0 and "opencl:77" in done.err


def test_explain(backplane, device, tmp_path):
    done = backplane("explain", "sdpa", "2x8x4", "2x8x4", "2x8x4", "--dropout", "0.5", "--device", device)
    assert done.code == 0 and f"on {device}" in done.out
    assert backplane("list", "--devices", "--device", device, "--record", "d.json").code == 0
    done = backplane("explain", "matmul", "f32", "64x64", "64x64", "--device", "d.json")
    assert done.code == 0 and "recorded" in done.out
    assert backplane("eval", "unary", "--kind", "exp", "a.npy", "-o", "b.npy", "--device", "d.json").code != 0


def test_eval(backplane, device, tmp_path):
    rng = np.random.default_rng(1)
    a, b, c = rng.random((5, 7), "f4"), np.asfortranarray(rng.random((7, 3), "f4")), rng.random((5, 3), "f4")
    for name, value in (("a", a), ("b", b), ("c", c)):
        np.save(tmp_path / f"{name}.npy", value)
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "o.npy", "--device", device, "--explain")
    assert done.code == 0 and f"on {device})" in done.out and f"on {device}\n" in done.out, done
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), a @ b, rtol=1e-5)
    done = backplane("eval", "gemm", "a.npy", "b.npy", "c.npy", "--alpha", "2", "--beta", "3", "-o", "o.npy", "--device", device)
    assert done.code == 0, done
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), 2 * a @ b + 3 * c, rtol=1e-5)
    assert backplane("eval", "einsum", "ij,jk,lk->il", "a.npy", "b.npy", "c.npy", "-o", "o.npy", "--device", device).code == 0
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), a @ b @ c.T, rtol=1e-5)


def test_eval_of_what_the_device_does_not_offer(backplane, device, tmp_path):
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.save(tmp_path / "a.npy", a)
    words = ("eval", "inv", "a.npy", "-o", "o.npy", "--device", device)
    assert backplane(*words).code == 4 and not (tmp_path / "o.npy").exists()
    assert backplane(*words, "--set", "dispatch.transfer=allow").code == 0
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), np.linalg.inv(a), rtol=1e-12)
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    assert backplane(*words, "--set", "dispatch.transfer=allow").code == 7
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), np.linalg.inv(a), rtol=1e-12)


def test_explain_all(backplane, environment):
    """With --all, a library's own list; fakes: see tests/device."""
    fakes = BUILD / "tests" / "device-fakes"
    if not (fakes / "gauge" / "gauge.so").exists():
        pytest.skip("the fake devices are not built")
    environment["BACKPLANE_PROVIDER_PATH"] = f"{fakes}/good:{fakes}/gauge"
    environment["GAUGE_LISTED"] = "3"
    words = ("explain", "matmul", "f32", "8x8", "8x8", "--device", "other:0", "--set", "cuda.matmul.allow_tf32=true")
    plain, all_of_them = backplane(*words, "--json").json, backplane(*words, "--all", "--json").json
    names = [[row["algorithm"] for row in found["candidates"] if row["accepted"]] for found in (plain, all_of_them)]
    assert names == [["gauge"], ["gauge", "engine0", "engine1", "engine2"]]
    assert plain["chosen"] == all_of_them["chosen"] == "gauge"
    assert plain["precision"].startswith("tf32 by cuda.matmul.fp32_precision=tf32 (call")
    assert plain["settings"]["cuda.matmul.fp32_precision"]["value"] == "tf32"
