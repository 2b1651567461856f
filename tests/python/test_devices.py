"""Devices: their list, tensors on them, random numbers, copies, DLPack, memory, errors. Without an OpenCL device, the tests that
need one are skipped with the reason that the library gives."""

import ctypes
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import backplane
import dlpack

os.environ.setdefault("POCL_DEVICES", "pthread pthread")  # two devices, if the driver is PoCL


def ready():
    """Returns the devices on which operations run: CUDA's have none yet."""
    return [row.id for row in backplane.devices() if row.is_ready and row.runtime not in ("host", "cuda")]


@pytest.fixture(scope="module")
def place():
    found = ready()
    if not found:
        pytest.skip("no device: " + "; ".join(f"{row.id}: {row.reason}" for row in backplane.devices()[1:]))
    return found[0]


@pytest.fixture(scope="module")
def second(place):
    if len(ready()) < 2:
        pytest.skip("there is one device only")
    return ready()[1]


def values(tensor):
    return tensor.cpu().numpy()


# ---- The list ----


def test_the_host_is_the_first_device():
    host = backplane.devices()[0]
    assert (host.id, host.state, host.reason, host.is_ready) == ("host", "ready", "", True)
    for row in backplane.devices()[1:]:
        assert row.is_ready != bool(row.reason)
    assert backplane.cuda.is_available() is False and backplane.backend_status("cuda").reason


def test_the_runtime_answers_from_fact():
    count = sum(name.startswith("opencl:") for name in ready())
    assert backplane.opencl.device_count() == count and backplane.opencl.is_available() == (count > 0)
    assert backplane.opencl.is_built() and (backplane.opencl.reason() == "") == (count > 0)
    if count:
        assert backplane.opencl.is_present() and backplane.opencl.get_device_name(0) in [row.name for row in backplane.devices()]
        backplane.opencl.synchronize()
        backplane.opencl.empty_cache()
    with pytest.raises(backplane.Error):
        backplane.opencl.get_device_name(77)


def test_names_of_devices():
    assert str(backplane.device("opencl", 1)) == "opencl:1" and backplane.device("opencl:1").index == 1
    assert backplane.device("host") == backplane.device("cpu")
    with pytest.raises(backplane.BadValueError, match="opencl"):
        backplane.device("openclx")
    for name in ("cuda:77", "mps", "opencl:77"):
        with pytest.raises(backplane.Error) as caught:
            backplane.zeros(2, device=name)
        assert caught.value.status in ("E_NOT_FOUND", "E_DEVICE") and name in str(caught.value)


def test_names_are_the_names_of_the_list(tmp_path):
    """Of a runtime that torch does not know; a fake one, in another process (see tests/device)."""
    build = pathlib.Path(os.environ.get("BACKPLANE_BUILD", "build")).resolve()
    if not (build / "tests/device-fakes/good/fake_runtime.so").exists():
        pytest.skip("the fake devices are not built")
    code = '''
import backplane
for name in ("other:1", "fake:0"):
    x = backplane.empty(2, 2, device=name)
    assert x.device == backplane.device(name) == backplane.device(name[:-2], int(name[-1])), x.device
    assert str(x.device) == name and x.to(name) is x and backplane.empty(1).to(name).device == x.device
    try:
        x.numpy()
    except backplane.Error as error:
        assert f"a tensor on {name} cannot become a NumPy array" in str(error), error
    else:
        raise AssertionError
assert str(backplane.empty(1).device) == "cpu"
assert [row.type for row in backplane.devices() if row.id == "other:1"] == [10]
'''
    environment = {**os.environ, "BACKPLANE_PROVIDER_PATH": str(build / "tests/device-fakes/good"), "BACKPLANE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_memory_without_a_runtime_is_not_on_the_cpu():
    memory = (ctypes.c_float * 4)()
    for kind, name in ((2, "cuda:0"), (13, "cuda:0"), (8, "mps:0"), (10, "cuda:0"), (12, "privateuseone:0"), (3, "cpu")):
        exporter = dlpack.Exporter(memory, (4,), (dlpack.FLOAT, 32), device=kind)
        tensor = backplane.from_dlpack(exporter)
        assert str(tensor.device) == name
        if name != "cpu":
            with pytest.raises(backplane.Error, match=f"a tensor on {name} cannot become a NumPy array"):
                tensor.numpy()
        del tensor


# ---- Random numbers ----


def philox(seed, block):
    """Four words, by the definition of Philox 4x32-10."""
    key, c = [seed & 0xFFFFFFFF, seed >> 32], [block & 0xFFFFFFFF, block >> 32, 0, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ key[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ key[1], first & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_uniform_numbers_are_those_of_philox():
    backplane.manual_seed(2**63 + 5)
    assert backplane.initial_seed() == 2**63 + 5
    first, second = backplane.rand(3, 3), backplane.rand(2)
    words = [word for block in range(4) for word in philox(2**63 + 5, block)]
    assert [x for row in first.tolist() for x in row] == [(word >> 8) / 2**24 for word in words[:9]]
    assert second.tolist() == [(word >> 8) / 2**24 for word in words[12:14]]  # the next block that is not used


def test_normal_numbers_follow_their_formula():
    backplane.manual_seed(1)
    made = backplane.randn(4, dtype="float64").tolist()
    for i in range(2):
        w = philox(1, i)
        u, v = ((w[1] << 32 | w[0]) // 2**11 + 0.5) / 2**53, (w[3] << 32 | w[2]) / 2**64
        radius, angle = math.sqrt(-2 * math.log(u)), 2 * math.pi * v
        assert made[2 * i : 2 * i + 2] == pytest.approx([radius * math.cos(angle), radius * math.sin(angle)], rel=1e-14)
    assert backplane.randn(2, dtype="bfloat16").dtype == "bf16"


def test_seeds():
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(backplane.BadValueError):
            backplane.manual_seed(wrong)
    with pytest.raises(backplane.BadTypeError):
        backplane.manual_seed(1.5)
    with pytest.raises(backplane.BadTypeError):
        backplane.randn(2, dtype="int32")
    with pytest.raises(backplane.BadTypeError):
        backplane.randn(2.5)
    with pytest.raises(backplane.BadValueError):
        backplane.randn(-1)


def test_random_numbers_are_the_same_on_a_device(place):
    for draw in (backplane.rand, backplane.randn):
        for dtype in ("float32", "float64", "float16"):
            backplane.manual_seed(7)
            host = draw(33, 5, dtype=dtype)
            away = draw(33, 5, dtype=dtype, device=place)
            np.testing.assert_allclose(values(away), values(host), rtol=4e-16 if dtype == "float64" else 3e-7, atol=0)
    backplane.manual_seed(9, device=place)
    again = backplane.randn(3, device=place)
    backplane.manual_seed(9)
    assert again.tolist() == pytest.approx(backplane.randn(3).tolist(), rel=3e-7)


# ---- Tensors ----


def test_the_documented_example_of_torch(place):
    x = backplane.randn(5, 5).to(backplane.device(place))
    assert str(x.device) == place and x.shape == (5, 5)
    assert x.to(place) is x and x.to("cpu").device == backplane.device("cpu") and x.cpu().cpu().tolist() == x.tolist()
    y = backplane.matmul(x, x)
    assert y.device == x.device and backplane.last_plan().problem.endswith(" on " + place)
    np.testing.assert_allclose(values(y), values(x) @ values(x), rtol=1e-5, atol=1e-6)


def test_makers(place):
    assert backplane.zeros(2, 3, device=place).tolist() == [[0, 0, 0]] * 2
    assert backplane.ones((2,), dtype="int32", device=place).tolist() == [1, 1]
    assert backplane.full((2,), True, device=place).tolist() == [True, True]
    assert backplane.full((), 1 + 2j, device=place).item() == 1 + 2j
    assert backplane.empty(0, 3, device=place).tolist() == []
    assert backplane.empty(2, dtype=np.float64, device=place).dtype == "f64"
    assert backplane.zeros(3).device == backplane.device("cpu") and backplane.full(2, 5).dtype == "i64"


def test_elements_and_views(place):
    host = np.arange(24, dtype="f4").reshape(4, 6)
    x = backplane.from_dlpack(host.copy()).to(place)
    assert x[1:3, ::2].tolist() == host[1:3, ::2].tolist() and x.T[5, 1].item() == host[1, 5] and float(x[0, 1]) == 1
    x[0] = 7
    x[1, 1:4] = np.array([1, 2, 3], "f4")
    x[2] = x[3]
    host[0], host[1, 1:4], host[2] = 7, [1, 2, 3], host[3]
    assert x.tolist() == host.tolist()
    assert f"device='{place}'" in repr(x) and repr(x[0, :2]).startswith("backplane.Tensor([7., 7.]")
    assert x.to("float64").dtype == "f64" and x.to(dtype="f16").device == x.device and x.to("f32") is x
    assert x.to(place, copy=True) is not x


def test_operations(place):
    host = np.random.default_rng(0).random((4, 6), "f4") + 0.5
    x = backplane.from_dlpack(host.copy()).to(place)
    for got, want in (
        (backplane.elementwise.add(x, 1.5), host + 1.5),
        (backplane.elementwise.multiply(2, x), 2 * host),
        (backplane.elementwise.exp(x.T), np.exp(host.T)),
        (backplane.elementwise.concat([x, x], 1), np.concatenate([host, host], 1)),
        (backplane.reduce.sum(x, axis=0), host.sum(0)),
        (backplane.einsum("ij,kj->ik", x, x), host @ host.T),
        (backplane.nn.functional.softmax(x, -1), np.exp(host) / np.exp(host).sum(-1, keepdims=True)),
    ):
        assert str(got.device) == place
        np.testing.assert_allclose(values(got), want, rtol=2e-5)
    out = backplane.empty(4, 4, device=place)
    assert backplane.matmul(x, x.T, out=out) is out
    np.testing.assert_allclose(values(out), host @ host.T, rtol=1e-5)
    assert "on " + place in backplane.explain(backplane.matmul, x, x.T).problem


def test_what_no_provider_of_the_device_runs(place):
    x = backplane.from_dlpack(np.array([[2.0, 1.0], [1.0, 3.0]])).to(place)
    with pytest.raises(backplane.Error, match="work on host memory only"):
        backplane.linalg.inv(x)
    made = backplane.linalg.inv(x, settings={"dispatch.transfer": "allow"})
    assert str(made.device) == place
    np.testing.assert_allclose(values(made), np.linalg.inv([[2.0, 1.0], [1.0, 3.0]]), rtol=1e-12)


# ---- Exchange ----


def test_memory_of_a_device_is_not_read_as_that_of_the_host(place):
    x = backplane.ones(2, 2, device=place)
    for read in (lambda: memoryview(x), lambda: x.numpy(), lambda: np.asarray(x), lambda: np.from_dlpack(x)):
        with pytest.raises((BufferError, TypeError, RuntimeError)):
            read()
    with pytest.raises(TypeError, match=r"\.cpu\(\)"):
        x.numpy()
    with pytest.raises(BufferError, match=r"\.cpu\(\)"):
        memoryview(x)


def test_dlpack(place):
    x = backplane.randn(3, 4, device=place)
    assert x.__dlpack_device__() == (4, 0) and backplane.ones(1).__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)
    same = backplane.from_dlpack(x)
    x[0] = 5
    assert same.device == x.device and same[0].tolist() == [5] * 4

    class Exporter:  # of another library: the memory and the device alone
        def __dlpack__(self, **names):
            return x[1:, ::2].__dlpack__(**names)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    np.testing.assert_allclose(values(backplane.elementwise.add(Exporter(), x[1:, 1::2])), values(x)[1:, ::2] + values(x)[1:, 1::2])
    moved = type("Host", (), {"__dlpack__": lambda self, **names: x.__dlpack__(dl_device=(1, 0), **names)})()
    assert backplane.from_dlpack(moved).device == backplane.device("cpu")
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


# ---- Control and errors ----


def test_exported_memory_is_not_reused(place):  # its consumer may use it on a queue of its own
    tensor = backplane.zeros(5000, device=place)
    before = backplane.memory_info(place)
    capsule = tensor.__dlpack__()
    del tensor, capsule
    assert backplane.memory_info(place).cached == before.cached
    assert backplane.memory_info(place).used < before.used



def test_memory_and_plans(place):
    before = backplane.memory_info(place)
    x = backplane.empty(1 << 18, device=place)
    assert backplane.memory_info(place).used >= before.used + (1 << 20)
    del x
    backplane.synchronize(place)
    backplane.empty_cache(place)
    assert backplane.memory_info(place).cached == 0
    backplane.matmul(backplane.ones(3, 3, device=place), backplane.ones(3, 3, device=place))
    assert backplane.plan_cache[place].size > 0
    backplane.plan_cache[place].clear()
    assert backplane.plan_cache[place].size == 0
    backplane.set_memory_limit(1 << 16, place)
    try:
        with pytest.raises(MemoryError, match="limit"):
            backplane.empty(1 << 20, device=place)
    finally:
        backplane.set_memory_limit(None, place)
    backplane.synchronize()


def test_operands_on_two_devices(place, second):
    x, y, z = backplane.ones(2, 2, device=place), backplane.ones(2, 2), backplane.ones(2, 2, device=second)
    for other, name in ((y, "the host"), (z, second), (np.ones((2, 2), "f4"), "the host")):
        with pytest.raises(backplane.Error, match=f"{place}.*{name}") as caught:
            backplane.matmul(x, other)
        assert caught.value.status == "E_DEVICE"
    assert x.to(second).tolist() == z.tolist()


def test_a_child_of_fork(place):
    x = backplane.ones(2, 2, device=place)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            backplane.matmul(x, x)
        except backplane.Error as error:
            code = 0 if error.status == "E_FORKED" else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert backplane.matmul(x, x).tolist() == [[2, 2], [2, 2]]


def test_dropout_in_attention_is_that_of_the_host(place):
    x = backplane.randn(1, 2, 9, 8)
    drop = dict(dropout_p=0.5, seed=11)
    try:
        made = backplane.nn.functional.scaled_dot_product_attention(x.to(place), x.to(place), x.to(place), **drop)
    except backplane.Error as error:
        assert error.status == "E_NO_CANDIDATE"
        pytest.skip(str(error))
    assert made.device == x.to(place).device
    np.testing.assert_allclose(values(made), values(backplane.nn.functional.scaled_dot_product_attention(x, x, x, **drop)), rtol=1e-4, atol=1e-5)
