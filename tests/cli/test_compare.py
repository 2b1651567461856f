"""compare: one product on every candidate."""

import numpy as np
import pytest

from conftest import BUILD, NO_LEAK_CHECK


@pytest.fixture
def compared(backplane, tmp_path):
    def run(a, b, *words, threads=1, env=None):
        """On one thread there is no pause between candidates."""
        np.save(tmp_path / "a.npy", a)
        np.save(tmp_path / "b.npy", b)
        few = ["--repeat", "3", "--set", f"num_threads={threads}"]
        return backplane("compare", "matmul", "a.npy", "b.npy", *few, *words, env=env or (NO_LEAK_CHECK if threads != 1 else {}))

    return run


def random(dtype, *shape):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(shape)
    return (
        (values + 1j * rng.standard_normal(shape)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else values.astype(dtype)
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_table_and_json(compared, dtype):
    a, b = random(dtype, 40, 30), random(dtype, 30, 20)
    done = compared(a, b, "--json")
    assert done.code == 0, done
    facts = done.json
    rows = facts["libraries"]
    assert facts["elements"] == facts["elements_checked"] == 800
    assert (
        sum(row["chosen"] for row in rows) == 1
        and next(row for row in rows if row["chosen"])["why"] == facts["decision"]
    )
    native = next(row for row in rows if row["library"] == "native")
    assert native["ran"]
    for row in rows:
        assert not row["wrong"] and row["why"]
        if row["ran"]:
            assert row["time_ns"] > 0 and row["samples"] == 3 and row["algorithm"] and row["threads"] >= 1
            assert 0 <= row["error"] < facts["error_bound"]
        else:
            assert row["time_ns"] is None and row["why"].startswith(("refused", "failed"))
    text = compared(a, b)
    assert text.code == 0
    assert text.out.split("\n")[0].split() == [
        "LIBRARY",
        "PROVIDER",
        "VERSION",
        "ALGORITHM",
        "THREADS",
        "TIME",
        "IQR",
        "ERROR",
        "CHOSEN",
        "REASON",
    ]
    for row in rows:
        assert any(line.startswith(row["library"] + " ") for line in text.out.splitlines())


def test_error_is_what_numpy_would_say(compared):
    """The error of a product of random matrices is within the rounding errors of f4."""
    a, b = random("f4", 16, 64), random("f4", 64, 16)
    facts = compared(a, b, "--set", "dispatch.exclude=", "--json").json
    native = next(row for row in facts["libraries"] if row["library"] == "native")
    assert 1e-9 < native["error"] < 64 * 2.0**-24


@pytest.mark.parametrize(
    ("left", "right"),
    [((7,), (7,)), ((7,), (7, 3)), ((2, 7), (7,)), ((4, 1, 2, 7), (3, 7, 2)), ((0, 5), (5, 2)), ((3, 0), (0, 2))],
)
def test_shapes(compared, left, right):
    done = compared(random("f8", *left), random("f8", *right), "--json")
    assert done.code == 0, done
    assert done.json["elements"] == np.matmul(np.ones(left), np.ones(right)).size


def test_special_values_are_not_errors(compared):
    a = random("f8", 8, 8)
    a[0, 0], a[1, 1], a[2, 2] = np.inf, np.nan, 1e308
    done = compared(a, a, "--set", "blas.preferred=native", "--json")
    native = next(row for row in done.json["libraries"] if row["library"] == "native")
    assert not native["wrong"]


def test_sampled_when_large(compared):
    a = random("f4", 600, 600)
    facts = compared(a, a, "--set", "dispatch.exclude=netlib", "--json", threads=0).json
    assert 0 < facts["elements_checked"] < facts["elements"] == 360000


def test_settings_apply(compared):
    a = random("f8", 64, 64)
    facts = compared(a, a, "--set", "dispatch.exclude=native", "--json").json
    native = next(row for row in facts["libraries"] if row["library"] == "native")
    assert not native["ran"] and "refused" in native["why"]
    assert all(row["threads"] == 1 for row in facts["libraries"] if row["ran"])


def test_inputs_that_do_not_fit(compared):
    for a, b in [
        (np.ones((2, 3)), np.ones((4, 5))),
        (np.ones((2, 2), "i4"), np.ones((2, 2), "i4")),
        (np.ones(()), np.ones(())),
    ]:
        done = compared(a, b)
        assert done.code == 3 and done.out == "", done


def test_two_providers_on_one_library(compared):
    """Both providers run, and the message names the wrong one, which has the lowest estimate."""
    if not (BUILD / "tests" / "dispatch-second" / "second.so").exists():
        pytest.skip("the C tests and what they need are not built")
    places = {
        "BACKPLANE_REGISTRY_SYSTEM": "false",
        "BACKPLANE_LIBRARY_PATH": BUILD / "tests" / "dispatch-twins" / "one",
        "BACKPLANE_PROVIDER_PATH": BUILD / "tests" / "dispatch-second",
    }
    a, b = random("f8", 20, 30), random("f8", 30, 10)
    done = compared(a, b, "--json", env={name: str(value) for name, value in places.items()})
    rows = {(row["library"], row["provider"]): row for row in done.json["libraries"]}
    assert set(rows) == {("native", "native"), ("blis", "blas"), ("blis", "second")}
    assert all(row["ran"] for row in rows.values())
    assert [name for name, row in rows.items() if row["wrong"]] == [("blis", "second")]
    assert rows["blis", "blas"]["algorithm"] == "gemm" and rows["blis", "second"]["algorithm"] == "fake"
    assert done.code == 1 and "blis (provider second) gave a wrong result" in done.err
    table = compared(a, b, env={name: str(value) for name, value in places.items()}).out.splitlines()
    listed = [[row["library"], row["provider"]] for row in done.json["libraries"]]
    assert [line.split()[:2] for line in table[1 : 1 + len(listed)]] == listed
    algorithms = [row["algorithm"] for row in done.json["libraries"] if row["library"] == "native"]
    assert len(set(algorithms)) == len(algorithms) == 2  # each algorithm is a candidate


@pytest.mark.parametrize("left, right", [("i1", "i1"), ("u1", "i1"), ("i1", "u1"), ("u1", "u1")])
def test_integers_are_exact(compared, left, right):
    """Long sums wrap around; the check counts modulo 2^32."""
    a, b = np.full((3, 140001), 255, "u1").view(left), np.full((140001, 2), 129, "u1").view(right)
    done = compared(a, b, "--json")
    assert done.code == 0, done
    errors = {row["library"]: row["error"] for row in done.json["libraries"] if row["error"] is not None}
    assert "native" in errors and set(errors.values()) == {0}
