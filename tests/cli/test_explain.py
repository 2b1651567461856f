"""explain: the choice from shapes alone equals the choice of a call."""

import os

import numpy as np
import pytest

from conftest import COMMAND


@pytest.mark.parametrize(
    "words",
    [
        ["matmul", "f32", "512x512", "512x512"],
        ["matmul", "float64", "64", "64"],
        ["matmul", "c64", "8x64x32", "32x16"],
        ["matmul", "f64", "100x100", "100x100", "--trans-a", "--trans-b"],
        ["matmul", "bf16", "0x5", "5x3"],
        ["gemm", "f64", "30x20", "30x40", "--trans-a"],
        ["gemm", "c128", "20x30", "40x30", "--trans-b", "--conj-b", "--alpha", "2,1", "--beta", "1"],
    ],
)
def test_text_and_json(backplane, words):
    text, facts = backplane("explain", *words), backplane("explain", *words, "--json")
    assert text.code == facts.code == 0, (text, facts)
    facts = facts.json
    chosen = [c for c in facts["candidates"] if c["chosen"]]
    assert len(chosen) == 1 and chosen[0]["library"] == facts["chosen"] and chosen[0]["accepted"]
    assert facts["decision"] and facts["decision"] in text.out and facts["problem"] in text.out
    assert any(c["library"] == "native" for c in facts["candidates"])


@pytest.mark.parametrize(
    "words, problem",
    [
        (["matmul", "u8,i8", "64x32", "32x16"], "u8,i8->i32 64x32 @ 32x16 -> 64x16"),
        (["matmul", "i8,u8", "8x64x32", "32x16"], "i8,u8->i32 "),
        (["matmul", "i8", "64x32", "32x16"], "i8,i8->i32 "),
        (["gemm", "u8,u8,i32", "3x4", "4x5", "3x5"], "u8,u8->i32 "),
    ],
)
def test_types_of_each_array(backplane, words, problem):
    facts = backplane("explain", *words, "--json").json
    assert facts["problem"].startswith(problem)
    assert [c["library"] for c in facts["candidates"] if c["chosen"]] == [facts["chosen"]]
    text = backplane("explain", *words).out
    assert "bitwise reproducible" in text and "NaN" not in text and "accumulates" not in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["matmul", "u8,i9", "2x2", "2x2"], "no such element type: 'i9'"),
        (["matmul", "u8,", "2x2", "2x2"], "no such element type: ''"),
        (["matmul", "u8,i8,i8", "2x2", "2x2"], "3 element types for 2 arrays; give one, or one for each"),
        (["gemm", "u8,i8", "2x2", "2x2", "2x2"], "2 element types for 3 arrays; give one, or one for each"),
    ],
)
def test_wrong_types(backplane, words, message):
    result = backplane("explain", *words)
    assert result.code == 2 and message in result.err


def test_integers_without_a_candidate(backplane):
    """One message names every provider of products with its reason."""
    words = ("explain", "matmul", "u8,i8", "64x64", "64x64")
    accepted = {c["library"] for c in backplane(*words, "--json").json["candidates"] if c["accepted"]}
    assert "native" in accepted
    result = backplane(*words, "--set", "dispatch.exclude=" + " ".join(sorted(accepted)))
    assert result.code == 4
    because = next(line for line in result.out.splitlines() if line.startswith("because"))
    refused = [line.split(maxsplit=4) for line in result.out.splitlines() if line.startswith("  - ")]
    assert "native" in [name for _, name, *_ in refused]
    for _, name, _, _, reason in refused:
        assert f"{name}: {reason}" in because
    assert "native: named by dispatch.exclude" in because


LARGE = ("explain", "matmul", "f64", "1500x1500", "1500x1500")


def threads_of(facts):
    return [c["threads"] for c in facts["candidates"] if c["accepted"]]


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"])
def test_thread_limits_of_other_software(backplane, variable):
    facts = backplane(*LARGE, "--json", env={variable: "1"}).json
    assert set(threads_of(facts)) == {1}
    shown = facts["settings"]["num_threads"]
    assert (shown["value"], shown["layer"], shown["where"]) == ("1", "shared environment", variable)
    assert f"num_threads = 1 (shared environment: {variable})" in backplane(*LARGE, env={variable: "1"}).out
    facts = backplane(*LARGE, "--set", "num_threads=2", "--json", env={variable: "1"}).json
    assert max(threads_of(facts)) == 2


def test_affinity_limits_threads(backplane):
    cpu = str(min(os.sched_getaffinity(0)))
    for limit in ({}, {"OMP_NUM_THREADS": "64"}):  # the variable can lower the count only
        facts = backplane("-c", cpu, COMMAND, *LARGE, "--json", env=limit, command="taskset").json
        assert set(threads_of(facts)) == {1}


def test_preference_decides(backplane):
    facts = backplane("explain", "matmul", "f32", "64x64", "64x64", "--set", "blas.preferred=native", "--json").json
    assert facts["chosen"] == "native" and "preferred" in facts["decision"]


def test_exclusion_is_shown(backplane):
    facts = backplane("explain", "matmul", "f32", "64x64", "64x64", "--set", "dispatch.exclude=native", "--json").json
    native = next(c for c in facts["candidates"] if c["library"] == "native")
    assert not native["accepted"] and native["reason"] == "EXCLUDED"


def test_nothing_left(backplane):
    """If every candidate refuses, the text and the exit code tell it."""
    ids = {c["library"] for c in backplane("explain", "matmul", "f32", "8x8", "8x8", "--json").json["candidates"]}
    done = backplane("explain", "matmul", "f32", "8x8", "8x8", "--set", "dispatch.exclude=" + ",".join(ids))
    assert done.code == 4 and "none" in done.out


@pytest.mark.parametrize(
    "words",
    [
        ["matmul", "f32", "2x3", "4x5"],
        ["gemm", "f32", "2x3", "2x3"],
        ["gemm", "f32", "4", "4"],
        ["matmul", "i32", "2x2", "2x2"],
    ],
)
def test_problems_that_are_none(backplane, words):
    done = backplane("explain", *words)
    assert done.code == 3 and done.out == "" and done.err.count("\n") == 1


def test_eval_does_what_explain_says(backplane, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((40, 40), "f4"))
    chosen = backplane("explain", "matmul", "f32", "40x40", "40x40", "--json").json["chosen"]
    done = backplane("eval", "matmul", "a.npy", "a.npy", "-o", "out.npy")
    assert f", by {chosen} " in done.out


def test_an_expression_behind_the_element_type(backplane):
    done = backplane("explain", "einsum", "f32", "ij,jk->ik", "3x4", "4x5")
    assert done.code == 2 and "the expression comes before the element type: einsum 'ij,jk->ik' f32" in done.err


def test_an_element_type_behind_a_shape(backplane):
    for words in (["matmul", "8x8", "f32", "8x8"], ["matmul", "f32", "8x8", "i8", "8x8"], ["einsum", "ij->ji", "8x8", "f32"]):
        done = backplane("explain", *words)
        assert done.code == 2 and "is behind a shape; the element type, or one for each array, comes before them: " + words[0] in done.err


def test_a_library_that_is_not_found_is_one_sentence(backplane):
    """`list --all` has the folders that were searched. The nearest name is one of a library that is here, so that no package is needed."""
    env = {"BACKPLANE_DISPATCH_FALLBACK": "strict", "BACKPLANE_BLAS_PREFERRED": "nativ"}
    (line,) = [line for line in backplane("explain", "matmul", "f64", "8x8", "8x8", env=env).out.splitlines() if line.startswith("because")]
    assert "no library 'nativ' was found; did you mean 'native'? `backplane list" in line and "package" not in line and "list --all" in line and len(line) < 350
