"""The .npy files that eval reads and writes, made and read by NumPy."""

import os
import stat
import struct
import subprocess

import numpy as np
import pytest
from numpy.lib import format as npy

from conftest import COMMAND

FLOATS = ["f2", "f4", "f8", "c8", "c16"]
NATIVE = ["--set", "blas.preferred=native"]


def save(path, array, version=None):
    with open(path, "wb") as file:
        npy.write_array(file, array, version=version)


def header(text, version=1, length=None):
    text = text.encode("latin-1")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text


def numbers(dtype, *shape):
    """Small integers, so that products are exact in every type."""
    rng = np.random.default_rng(len(shape) + sum(shape))
    values = rng.integers(-4, 5, shape).astype(dtype)
    return (values + 1j * rng.integers(-4, 5, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else values


@pytest.fixture
def evaluate(backplane, tmp_path):
    """Runs eval on a.npy and b.npy and reads the result."""

    def run(*words, operation="matmul", a="a.npy", b="b.npy"):
        done = backplane("eval", operation, a, b, "-o", "out.npy", *NATIVE, *words)
        assert done.code == 0, done
        return np.load(tmp_path / "out.npy")

    return run


@pytest.fixture
def refused(backplane, tmp_path):
    """Runs eval on invalid bytes. Checks the exit code, the one message, and that no file is written or left."""

    def run(data, code=3, *words):
        (tmp_path / "a.npy").write_bytes(data)
        save(tmp_path / "b.npy", np.ones((2, 2)))
        before = sorted(os.listdir(tmp_path))
        done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *words)
        assert done.code == code, done
        assert done.out == "" and done.err.startswith("backplane: eval: a.npy: ") and done.err.count("\n") == 1
        assert sorted(os.listdir(tmp_path)) == before
        return done.err

    return run


# ---- Reading ----


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["C", "F"])
def test_types_orders_layouts(evaluate, tmp_path, dtype, order, layout):
    a, b = numbers(dtype, 3, 5), numbers(dtype, 5, 2)
    save(tmp_path / "a.npy", np.array(a, dtype=order + dtype, order=layout))
    save(tmp_path / "b.npy", np.array(b, dtype=order + dtype, order=layout))
    out = evaluate()
    assert out.dtype == np.dtype("=" + dtype)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions(evaluate, tmp_path, version):
    a = numbers("f8", 4, 4)
    save(tmp_path / "a.npy", a, version)
    save(tmp_path / "b.npy", a, version)
    np.testing.assert_array_equal(evaluate(), a @ a)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5,), (5,)),
        ((5,), (5, 3)),
        ((2, 5), (5,)),
        ((4, 1, 2, 5), (3, 5, 2)),
        ((0, 5), (5, 2)),
        ((3, 0), (0, 2)),
        ((1, 1), (1, 1)),
    ],
)
def test_shapes(evaluate, tmp_path, left, right):
    a, b = numbers("f4", *left), numbers("f4", *right)
    save(tmp_path / "a.npy", a)
    save(tmp_path / "b.npy", b)
    out = evaluate()
    assert out.shape == (a @ b).shape
    np.testing.assert_array_equal(out, a @ b)


def test_fortran_batches(evaluate, tmp_path):
    a, b = numbers("f8", 3, 4, 5), numbers("f8", 3, 5, 2)
    save(tmp_path / "a.npy", np.asfortranarray(a))
    save(tmp_path / "b.npy", b)
    np.testing.assert_array_equal(evaluate(), a @ b)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 5e-324, np.finfo("f8").max, -0.0])
def test_special_values_survive(evaluate, tmp_path, special):
    a = np.full((1, 1), special, ">f8")
    save(tmp_path / "a.npy", a)
    save(tmp_path / "b.npy", np.ones((1, 1), ">f8"))
    out = evaluate()
    assert out.view("u8") & 0x7FFFFFFFFFFFFFFF == a.astype("<f8").view("u8") & 0x7FFFFFFFFFFFFFFF


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_bytes_are_multiplied_as_integers(backplane, tmp_path, dtype):
    a = np.array([[-128, 127], [3, 0]] if dtype == "i1" else [[255, 254], [3, 0]], dtype)
    save(tmp_path / "a.npy", a)
    assert backplane("eval", "matmul", "a.npy", "a.npy", "-o", "out.npy").code == 0
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out, a.astype("i8") @ a.astype("i8"))


@pytest.mark.parametrize("dtype", ["<i2", ">i4", "<i8", ">u2", "<u4", "u8", "?"])
def test_integers_are_read_as_they_are(backplane, tmp_path, dtype):
    """Integers are read as integers. The error that no library multiplies them comes from the library, not from the reader."""
    save(tmp_path / "a.npy", np.ones((2, 2), dtype))
    done = backplane("eval", "matmul", "a.npy", "a.npy", "-o", "out.npy")
    name = {"b": "bool"}.get(np.dtype(dtype).kind, np.dtype(dtype).kind + str(8 * np.dtype(dtype).itemsize))
    assert done.code == 3 and name in done.err and not (tmp_path / "out.npy").exists()


def test_scalar_is_read_and_refused_by_matmul(backplane, tmp_path):
    save(tmp_path / "a.npy", np.array(2.0))
    done = backplane("eval", "matmul", "a.npy", "a.npy", "-o", "out.npy")
    assert done.code == 3 and not (tmp_path / "out.npy").exists()


def test_python_2_header(evaluate, tmp_path):
    data = header("{'shape': (2L, 2L), 'fortran_order': True, 'descr': '<f8'}") + np.arange(4.0).tobytes()
    (tmp_path / "a.npy").write_bytes(data)
    save(tmp_path / "b.npy", np.eye(2))
    np.testing.assert_array_equal(evaluate(), np.arange(4.0).reshape(2, 2).T)


def test_bf16(backplane, tmp_path):
    bits = (np.arange(1, 7, dtype="f4").reshape(2, 3).view("u4") >> 16).astype("u2")
    save(tmp_path / "a.npy", bits.view("V2"))
    save(tmp_path / "b.npy", bits.T.copy().view("V2"))
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy")
    assert done.code == 3 and "--bf16" in done.err
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", "--bf16", *NATIVE)
    assert done.code == 0, done
    out = (np.load(tmp_path / "out.npy").view("u2").astype("u4") << 16).view("f4")
    values = np.arange(1, 7, dtype="f4").reshape(2, 3)
    np.testing.assert_array_equal(out, values @ values.T)


def test_bf16_as_ml_dtypes_writes_it(backplane, tmp_path):
    ml = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed: no bfloat16 on NumPy's side")
    a = np.arange(6).reshape(2, 3).astype(ml.bfloat16)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", a.T.copy())
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", "--bf16", *NATIVE)
    assert done.code == 0, done
    out = np.load(tmp_path / "out.npy").view(ml.bfloat16)
    np.testing.assert_array_equal(out.astype("f4"), (a.astype("f4") @ a.astype("f4").T))


# ---- Errors ----


def test_objects_and_records(refused):
    assert "pickle" in refused(header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + b"\x80\x04.")
    assert "structured" in refused(header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}") + b"1234")
    for dtype in ["<U4", "|S3", "<M8[s]", "<f16", "<c32", "f3", "", "<", "<f8 ", "float64", "=f", "|f8"]:
        refused(header(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1,)}}") + b"12345678")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'shape': (1,)}",
        "{'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (01,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os'),)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} + {}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f\\x38', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 65 + ")}",
        "{'descr': '<f8\0', 'fortran_order': False, 'shape': (1,)}",
        "\0" * 64,
        "\xff" * 64,
    ],
)
def test_bad_descriptions(refused, text):
    for version in (1, 2, 3):
        refused(header(text, version) + b"12345678")


@pytest.mark.parametrize(
    "shape", ["99999999999999999999,", "4611686018427387904, 4", "9223372036854775807,", "1000000000, 1000000000", "3,"]
)
def test_more_declared_than_there_is(refused, shape):
    refused(header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape})}}") + b"12345678" * 2)


def test_long_headers_are_refused_before_reading(refused):
    assert "65535" in refused(header("{", 2, 0xFFFFFFFF))


def test_not_npy_at_all(refused):
    for data in [
        b"PK\x03\x04" + b"x" * 100,
        b"x",
        b"\x93NUMPX\x01\x00",
        b"\x93NUMPY\x04\x00v\x00" + b" " * 200,
        b"\x93NUMPY\x01\x01v\x00" + b" " * 200,
    ]:
        refused(data)


def test_truncated_at_every_byte(refused, tmp_path):
    save(tmp_path / "whole.npy", np.ones((2, 2)))
    whole = (tmp_path / "whole.npy").read_bytes()
    for size in range(len(whole)):
        message = refused(whole[:size])
        assert str(size) in message, message
    message = refused(whole[:-1])
    assert str(len(whole)) in message


def test_trailing_bytes(refused, tmp_path):
    save(tmp_path / "whole.npy", np.ones((2, 2)))
    refused((tmp_path / "whole.npy").read_bytes() + b"\0")


def test_mutated_headers_never_crash(backplane, tmp_path):
    """With any one byte changed, a file is read as NumPy reads it, or is an error with a message."""
    save(tmp_path / "b.npy", np.ones((2, 2)))
    whole = (tmp_path / "b.npy").read_bytes()
    for place in range(80):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 7)
        (tmp_path / "a.npy").write_bytes(changed)
        done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *NATIVE)
        assert done.code in (0, 3), (place, done)
        assert (tmp_path / "out.npy").exists() == (done.code == 0)
        if done.code == 0:
            np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.load(tmp_path / "a.npy") @ np.ones((2, 2)))
            os.unlink(tmp_path / "out.npy")


def test_missing_and_folder_inputs(refused, backplane, tmp_path):
    save(tmp_path / "b.npy", np.ones((2, 2)))
    (tmp_path / "folder").mkdir()
    for name in ["absent.npy", "folder"]:
        done = backplane("eval", "matmul", name, "b.npy", "-o", "out.npy")
        assert done.code == 6 and name in done.err and not (tmp_path / "out.npy").exists()


# ---- Writing ----


@pytest.fixture
def pair(tmp_path):
    a, b = numbers("f8", 3, 4), numbers("f8", 4, 3)
    save(tmp_path / "a.npy", a)
    save(tmp_path / "b.npy", b)
    return a, b


def test_output_may_replace_an_input(evaluate, backplane, tmp_path, pair):
    os.chmod(tmp_path / "a.npy", 0o640)
    assert backplane("eval", "matmul", "a.npy", "b.npy", "-o", "a.npy", *NATIVE).code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), pair[0] @ pair[1])
    assert stat.S_IMODE(os.stat(tmp_path / "a.npy").st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]


def test_output_through_a_link(backplane, tmp_path, pair):
    (tmp_path / "deep").mkdir()
    save(tmp_path / "deep" / "real.npy", np.zeros(1))
    (tmp_path / "link.npy").symlink_to("deep/real.npy")
    assert backplane("eval", "matmul", "a.npy", "b.npy", "-o", "link.npy", *NATIVE).code == 0
    assert (tmp_path / "link.npy").is_symlink() and os.listdir(tmp_path / "deep") == ["real.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "deep" / "real.npy"), pair[0] @ pair[1])


def test_new_files_get_the_usual_mode(evaluate, tmp_path, pair):
    evaluate()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat(tmp_path / "out.npy").st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("target", ["folder", "absent/out.npy", "", "a.npy/x"])
def test_outputs_that_cannot_be(backplane, tmp_path, pair, target):
    (tmp_path / "folder").mkdir()
    before = sorted(os.listdir(tmp_path))
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", target)
    assert done.code == 6 and done.out == "" and sorted(os.listdir(tmp_path)) == before
    assert os.listdir(tmp_path / "folder") == []


def test_full_disk_leaves_nothing(environment, tmp_path):
    """If the disk is full (here: a limit of the file size), the old file stays and the temporary file is removed."""
    save(tmp_path / "a.npy", np.ones((200, 200)))
    save(tmp_path / "out.npy", np.zeros(1))
    script = f"trap '' XFSZ; ulimit -f 8; exec {COMMAND} eval matmul a.npy a.npy -o out.npy --set blas.preferred=native"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 6, done
    assert b"out.npy" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "out.npy"] and np.load(tmp_path / "out.npy").shape == (1,)


def test_killed_while_writing_leaves_nothing(environment, tmp_path):
    save(tmp_path / "a.npy", np.ones((200, 200)))
    script = f"ulimit -f 8; exec {COMMAND} eval matmul a.npy a.npy -o out.npy --set blas.preferred=native"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.returncode != 0
    assert [name for name in os.listdir(tmp_path) if "core" not in name] == ["a.npy"]


def test_devices_are_not_replaced(backplane, pair):
    assert backplane("eval", "matmul", "a.npy", "b.npy", "-o", "/dev/null", *NATIVE).code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_pipes(backplane, tmp_path, pair):
    data = (tmp_path / "a.npy").read_bytes()
    done = backplane("eval", "matmul", "-", "b.npy", "-o", "-", *NATIVE, data=data)
    assert done.code == 0, done.err
    (tmp_path / "piped.npy").write_bytes(done.bytes)
    np.testing.assert_array_equal(np.load(tmp_path / "piped.npy"), pair[0] @ pair[1])
    done = backplane("eval", "matmul", "-", "b.npy", "-o", "-", *NATIVE, data=data[:-1])
    assert done.code == 3 and done.bytes == b"" and "standard input" in done.err


def test_big_pipe(backplane, tmp_path):
    a = np.arange(3 << 18, dtype="f8").reshape(-1, 2)
    save(tmp_path / "a.npy", a)
    save(tmp_path / "b.npy", np.eye(2))
    done = backplane("eval", "matmul", "-", "b.npy", "-o", "out.npy", *NATIVE, data=(tmp_path / "a.npy").read_bytes())
    assert done.code == 0, done
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), a)


def test_headers_are_numpys_own(evaluate, tmp_path, pair):
    """The file equals the file of numpy.save byte for byte, including the alignment."""
    evaluate()
    save(tmp_path / "numpy.npy", pair[0] @ pair[1])
    assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
