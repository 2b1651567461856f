"""compare: operations other than matmul. tests/cli_unit/test_checks.c tests the checks themselves."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


@pytest.fixture
def compared(backplane, tmp_path):
    def run(*words, **arrays):
        for name, values in arrays.items():
            np.save(tmp_path / f"{name}.npy", values)
        return backplane("compare", *words, "--repeat", "2", "--set", "num_threads=1", env=NO_LEAK_CHECK)

    return run


def random(*shape, dtype="f8"):
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def definite(n):
    a = random(n, n)
    return a @ a.T + n * np.eye(n)


CASES = [
    (["gemm", "a.npy", "b.npy", "--trans-a"], {"a": random(6, 5), "b": random(6, 4)}),
    (["einsum", "ij,jk,kl->il", "a.npy", "b.npy", "c.npy"], {"a": random(5, 6), "b": random(6, 7), "c": random(7, 8)}),
    (["fft", "a.npy", "--n", "30"], {"a": random(4, 20) + 0j}),
    (["irfft2", "a.npy"], {"a": random(8, 9) + 0j}),
    (["solve", "a.npy", "b.npy"], {"a": definite(40), "b": random(40, 3)}),
    (["cholesky", "a.npy", "--upper"], {"a": definite(40)}),
    (["lu_factor", "a.npy"], {"a": random(3, 30, 20)}),
    (["ldl_factor", "a.npy"], {"a": random(3, 40, 40)}),
    (["ldl_factor", "a.npy", "--hermitian"], {"a": random(30, 30) + 1j * random(30, 30)}),
    (["qr", "a.npy", "--mode", "complete"], {"a": random(40, 33)}),
    (["eigh", "a.npy"], {"a": definite(40)}),
    (["eigvals", "a.npy"], {"a": random(20, 20)}),
    (["svd", "a.npy"], {"a": random(50, 40)}),
    (["svdvals", "a.npy"], {"a": random(40, 50, dtype="f4")}),
    (["lstsq", "a.npy", "b.npy"], {"a": random(50, 10), "b": random(50)}),
    (["pinv", "a.npy"], {"a": random(20, 30)}),
    (["slogdet", "a.npy"], {"a": random(2, 9, 9)}),
    (["cond", "a.npy", "--ord", "1"], {"a": random(9, 9)}),
    (["matrix_rank", "a.npy"], {"a": np.outer(np.arange(9.0), np.arange(9.0))}),
    (["matrix_norm", "a.npy", "--ord", "nuc"], {"a": random(9, 7)}),
    (["vector_norm", "a.npy", "--ord", "3", "--dim", "0"], {"a": random(9, 7)}),
    (["vecdot", "a.npy", "b.npy"], {"a": random(9, 7), "b": random(7)}),
    (["multi_dot", "a.npy", "b.npy", "a.npy"], {"a": random(5, 6), "b": random(6, 5)}),
    (["matrix_power", "a.npy", "--power", "7"], {"a": random(6, 6)}),
    (["unary", "a.npy", "--kind", "gelu"], {"a": random(60, 50, dtype="f2")}),
    (["unary", "a.npy", "--kind", "copy", "--to", "i8"], {"a": 200 * random(60, 50)}),
    (["unary", "a.npy", "--kind", "copy", "--to", "f32"], {"a": random(60, 50) > 0}),
    (["binary", "a.npy", "b.npy", "--kind", "multiply"], {"a": np.asfortranarray(random(6, 50, dtype="f4")), "b": random(6, 1, dtype="f4")}),
    (["take", "a.npy", "b.npy", "--dim", "1"], {"a": random(6, 50) + 1j, "b": np.array([[49, 0], [7, 7]])}),
    (["gather", "a.npy", "b.npy", "--dim", "1"], {"a": np.arange(300, dtype="u2").reshape(6, 50), "b": np.array([[49, 0], [7, 7]])}),
    (["reduce", "a.npy", "--kind", "mean", "--dim", "0"], {"a": random(300, 50, dtype="f2")}),
    (["reduce", "a.npy", "--kind", "argmax", "--dim", "0"], {"a": random(300, 50, dtype="f2")}),
    (["softmax", "a.npy"], {"a": np.asfortranarray(random(30, 50, dtype="f2"))}),
    (["log_softmax", "a.npy", "--dim", "0"], {"a": random(30, 50, dtype="f4")}),
    (["softmax_input", "a.npy", "b.npy", "--dim", "0"], {"a": random(30, 50, dtype="f4"), "b": random(30, 50, dtype="f4")}),
    (["log_softmax_input", "a.npy", "b.npy"], {"a": random(30, 50, dtype="f2"), "b": random(30, 50, dtype="f2")}),
    (["layer_norm", "a.npy", "b.npy"], {"a": random(30, 50, dtype="f2"), "b": random(50, dtype="f2")}),
    (["rms_norm", "a.npy"], {"a": random(30, 50, dtype="f4")}),
    (["group_norm", "a.npy", "b.npy", "b.npy", "--groups", "3"], {"a": random(3, 6, 50, dtype="f4"), "b": random(6, dtype="f4")}),
]


@pytest.mark.parametrize(("words", "arrays"), CASES, ids=["-".join(word for word in words if ".npy" not in word) for words, arrays in CASES])
def test_operation(compared, words, arrays):
    done = compared(*words, "--json", **arrays)
    assert done.code == 0, done
    facts = done.json
    assert facts["operation"] == words[0] and facts["problem"] and facts["error_text"]
    rows = facts["libraries"]
    ran = [row for row in rows if row["ran"]]
    assert sum(row["chosen"] for row in rows) == 1 and any(row["chosen"] for row in ran)
    for row in ran:
        assert 0 <= row["error"] <= facts["error_bound"] and not row["wrong"] and row["samples"] == 2
    assert len({(row["library"], row["provider"], row["algorithm"]) for row in rows if row["ran"] and row["library"] != "mixed"}) >= 1
    text = compared(*words, **arrays)
    assert text.code == 0 and facts["error_text"] in " ".join(text.out.split())


def test_every_library_is_pinned(compared, backplane):
    """The candidates that accept in `explain` are those that run here, and each ran itself."""
    told = backplane("explain", "solve", "f64", "40x40", "40x3", "--set", "num_threads=1", "--json").json["candidates"]
    rows = compared("solve", "a.npy", "b.npy", "--json", a=definite(40), b=random(40, 3)).json["libraries"]
    assert [row["library"] for row in rows if row["ran"]] == [row["library"] for row in told if row["accepted"]]


def test_old_c_is_the_same_in_each_call(compared):
    """With beta 3 a C that is not restored would grow with each call, and the error with it."""
    done = compared("gemm", "a.npy", "b.npy", "c.npy", "--beta", "3", "--json", a=random(9, 9), b=random(9, 9), c=random(9, 9))
    assert done.code == 0 and all(row["error"] < 1e-14 for row in done.json["libraries"] if row["ran"]), done


def test_parts_choose_by_themselves(compared):
    a = random(20, 20)
    rows = compared("einsum", "ij,jk,kl->il", "a.npy", "a.npy", "a.npy", "--json", a=a).json["libraries"]
    assert rows[0]["library"] == "mixed" and rows[0]["chosen"] and len(rows) > 1
    assert len({(row["library"], row["provider"]) for row in rows}) == len(rows)
    only = compared("einsum", "ii->i", "a.npy", "--json", a=a).json["libraries"]  # no matrix product
    assert [row["library"] for row in only] == ["mixed"]


def test_what_is_not_checked(compared):
    done = compared("matrix_power", "a.npy", "--power", "-2", "--json", a=definite(5))
    assert done.code == 0 and done.json["error_bound"] is None and done.json["error_text"] is None
    assert all(row["error"] is None for row in done.json["libraries"])
    assert "not checked" in compared("matrix_power", "a.npy", "--power", "-2", a=definite(5)).out


def test_failures(compared):
    done = compared("cholesky", "a.npy", a=-np.eye(3))
    assert done.code == 7 and "positive" in done.out and "every library failed" in done.err
    assert all(row["why"].startswith(("failed", "refused")) for row in compared("cholesky", "a.npy", "--json", a=-np.eye(3)).json["libraries"])
    assert compared("matrix_power", "a.npy", "--power", "1", a=np.eye(3)).code == 4
    assert compared("solve", "a.npy", "b.npy", a=np.eye(3), b=np.eye(4)).code == 3
    assert compared("svd", "a.npy", a=np.eye(3, dtype="i4")).code == 3
    assert compared("einsum", "a.npy").code == 2


def test_empty_arrays(compared):
    for words, arrays in [
        (["matmul", "a.npy", "b.npy"], {"a": np.ones((0, 3)), "b": np.ones((3, 2))}),
        (["svd", "a.npy"], {"a": np.ones((0, 3, 3))}),
        (["solve", "a.npy", "b.npy"], {"a": np.ones((0, 0)), "b": np.ones((0, 2))}),
        (["einsum", "ij->j", "a.npy"], {"a": np.ones((0, 3))}),
        (["det", "a.npy"], {"a": np.ones((0, 0))}),
        (["fft", "a.npy"], {"a": np.ones((0, 4)) + 0j}),
    ]:
        done = compared(*words, "--json", **arrays)
        assert done.code == 0 and not any(row["wrong"] for row in done.json["libraries"]), (words, done)


def test_other_layouts(compared):
    """Fortran order, and big-endian files."""
    done = compared("qr", "a.npy", "--json", a=np.asfortranarray(random(30, 20)))
    assert done.code == 0 and all(not row["wrong"] for row in done.json["libraries"])
    assert compared("eigh", "a.npy", a=definite(20).astype(">f8")).code == 0


def test_nan_is_refused_by_the_operation(compared):
    done = compared("solve", "a.npy", "b.npy", a=np.full((3, 3), np.nan), b=np.ones((3, 1)))
    assert done.code == 7 and "NaN" in done.out
    done = compared("vector_norm", "a.npy", "--json", a=np.array([1.0, np.nan]))
    assert done.code == 0 and not done.json["libraries"][0]["wrong"]
    done = compared("einsum", "i,i->", "a.npy", "a.npy", "--json", a=np.array([1.0, np.inf]))
    assert done.code == 0 and not any(row["wrong"] for row in done.json["libraries"])
