"""einsum-path: text, JSON, and errors in expressions."""

import pytest

CHAIN = ["einsum-path", "ij,jk,kl,lm->im", "--sizes", "i=10,j=20,k=30,l=5,m=7"]


def test_text_and_json(backplane):
    text, facts = backplane(*CHAIN), backplane(*CHAIN, "--json")
    assert text.code == facts.code == 0 and text.err == facts.err == ""
    assert "Complete contraction:  ij,jk,kl,lm->im\n" in text.out
    assert "Optimized FLOP count:  8.700e+3\n" in text.out
    facts = facts.json
    assert facts["flops"] == 8700 and facts["naive_flops"] == 840000 and facts["output_shape"] == [10, 7]
    assert [step["positions"] for step in facts["steps"]] == [[1, 2], [0, 2], [0, 1]]
    assert [step["expression"] for step in facts["steps"]] == ["kl,jk->lj", "lj,ij->li", "li,lm->im"]
    for step in facts["steps"]:
        assert step["expression"] in text.out


def test_sizes_and_shapes_say_the_same(backplane):
    by_shapes = backplane("einsum-path", CHAIN[1], "--shapes", "10x20,20x30,30x5,5x7", "--json").json
    assert by_shapes == backplane(*CHAIN, "--json").json
    scalar = backplane("einsum-path", "i,,i->", "--shapes", "3,,3", "--json").json
    assert scalar["operands"] == 3 and scalar["output_shape"] == []
    dots = backplane("einsum-path", "...ij,...jk", "--shapes", "8x2x3,3x4", "--json").json
    assert dots["output_shape"] == [8, 2, 4]


@pytest.mark.parametrize(
    ("strategy", "exact"),
    [("optimal", True), ("dp", True), ("auto", True), ("greedy", False), ("random-greedy-64", False), ("branch-2", False)],
)
def test_strategies(backplane, strategy, exact):
    facts = backplane(*CHAIN, "--strategy", strategy, "--seed", "3", "--json").json
    assert strategy.startswith(facts["strategy"]) and facts["exact"] is exact and facts["flops"] >= 8700


def test_settings_decide_without_a_strategy(backplane):
    assert backplane(*CHAIN, "--json").json["strategy"] == "auto"
    greedy = backplane(*CHAIN, "--json", env={"BACKPLANE_OPT_EINSUM_STRATEGY": "greedy"})
    assert greedy.json["strategy"] == "greedy"
    off = backplane(*CHAIN, "--json", env={"BACKPLANE_OPT_EINSUM_ENABLED": "false"})
    assert off.json["strategy"] == "left-to-right" and off.json["flops"] == 2 * (10 * 20 * 30 + 10 * 30 * 5 + 10 * 5 * 7)


def test_objective_and_limit(backplane):
    words = ["einsum-path", "i,j,k,ij,jk->", "--shapes", "10,10,10,10x10,10x10", "--json"]
    left = backplane(*words, "--strategy", "left-to-right").json
    assert left["largest"] == 1000
    kept = backplane(*words, "--memory-limit", "100").json
    assert kept["largest"] <= 100
    assert backplane(*words, "--memory-limit", "max_input").json["largest"] <= 100
    small = backplane(*words, "--minimize", "size").json
    assert small["minimize"] == "size" and small["cost"] == small["largest"] <= 10
    assert backplane(*words, "--minimize", "combo-256").json["minimize"] == "combo"
    bytes4, bytes8 = (backplane(*CHAIN, "--dtype", dtype, "--json").json["peak_bytes"] for dtype in ("f32", "f64"))
    assert 2 * bytes4 == bytes8 > 0
    impossible = backplane("einsum-path", "ab,bc,cd->ad", "--shapes", "9x9,9x9,9x9", "--memory-limit", "80")
    assert impossible.code == 4 and "80 elements" in impossible.err


def test_mistakes_are_pointed_at(backplane):
    done = backplane("einsum-path", "ij,j?->i", "--sizes", "i=1,j=2")
    assert done.code in (2, 3) and done.out == ""
    first, expression, caret = done.err.splitlines()
    assert first.startswith("backplane: einsum-path: einsum: '?' is not a label") and "offset 4" in first
    assert expression[caret.index("^")] == "?"
    shapes = backplane("einsum-path", "ij,jk->ik", "--shapes", "2x3,4x5")
    assert shapes.code == 3 and "label j has size 4" in shapes.err


@pytest.mark.parametrize(
    "words",
    [
        ["einsum-path"],
        ["einsum-path", "ij,jk"],
        ["einsum-path", "ij", "--sizes", "i=1,j=2", "--shapes", "1x2"],
        ["einsum-path", "ij", "--sizes", "i=1"],
        ["einsum-path", "ij", "--sizes", "i=1,j"],
        ["einsum-path", "ij", "--sizes", "i=1;j=2"],
        ["einsum-path", "ij", "--sizes", "i=-1,j=2"],
        ["einsum-path", "...i", "--sizes", "i=1"],
        ["einsum-path", "ij", "--shapes", "1x2,3"],
        ["einsum-path", "ij", "--shapes", "1y2"],
        ["einsum-path", "ij", "--shapes", "1x2", "--strategy", "best"],
        ["einsum-path", "ij", "--shapes", "1x2", "--strategy", "given"],
        ["einsum-path", "ij", "--shapes", "1x2", "--minimize", "time"],
        ["einsum-path", "ij", "--shapes", "1x2", "--memory-limit", "0"],
        ["einsum-path", "ij", "--shapes", "1x2", "--seconds", "soon"],
        ["einsum-path", "ij", "--shapes", "1x2", "--work", "0"],
        ["einsum-path", "ij", "--shapes", "1x2", "--trials", "0"],
        ["einsum-path", "ij", "--shapes", "1x2", "--dtype", "f33"],
    ],
)
def test_wrong_usage(backplane, words):
    done = backplane(*words)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("backplane: einsum-path: ") and done.err.count("\n") == 1


def test_work_is_a_limit(backplane):
    vectors = ["einsum-path", ",".join("abcdefghijklmnopqrstuvwxyz") + "->", "--shapes", ",".join(["2"] * 26)]
    ended = backplane(*vectors, "--strategy", "optimal", "--work", "1000000")
    assert ended.code != 0 and "optimal does not finish for 26 operands within its work" in ended.err
    assert backplane(*vectors, "--strategy", "branch-2", "--work", "1").code == 0
