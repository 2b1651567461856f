"""Attention against NumPy in f64, its gradients against differences, its switches, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import backplane as bp
from backplane.nn.attention import SDPBackend, bias, sdpa_kernel
from backplane.nn.functional import scaled_dot_product_attention as attend
from backplane.nn.grad import scaled_dot_product_attention_gradients as differentiate

KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
rng = np.random.default_rng(5)


def random(*shape, kind=np.float64):
    return rng.standard_normal(shape).astype(kind)


def reference(query, key, value, mask=None, causal=False, scale=None, gqa=False):
    q, k, v = (np.asarray(one, np.float64) for one in (query, key, value))
    if gqa:
        k, v = (np.repeat(one, q.shape[-3] // one.shape[-3], -3) for one in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    top = np.max(scores, -1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def near(found, wanted, tolerance=1e-12):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, tolerance, tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 1e-12), (np.float32, 2e-6), (np.float16, 3e-3)])
def test_results(kind, tolerance, kernel):
    cases = [((5, 7), (9, 7), (9, 4)), ((3, 5, 7), (3, 9, 7), (3, 9, 4)), ((2, 3, 130, 17), (2, 3, 200, 17), (2, 3, 200, 70)),
             ((2, 1, 3, 1, 8), (4, 1, 300, 8), (300, 5)), ((1, 1), (1, 1), (1, 1)), ((2, 0, 3), (2, 4, 3), (2, 4, 5)),
             ((2, 3, 3), (2, 0, 3), (2, 0, 5))]
    with sdpa_kernel(KERNELS[kernel]):
        for shapes in cases:
            q, k, v = (random(*shape, kind=kind) for shape in shapes)
            near(attend(q, k, v), reference(q, k, v), tolerance)
            if q.size:
                assert bp.last_plan().algorithm == kernel
            near(attend(q, k, v, is_causal=True, scale=-0.3), reference(q, k, v, None, True, -0.3), tolerance)
            mask = rng.random((q.shape[-2], k.shape[-2])) < 0.7
            near(attend(q, k, v, mask), reference(q, k, v, mask), tolerance)
            added = random(1, k.shape[-2], kind=np.float32)
            near(attend(q, k, v, added), reference(q, k, v, added), tolerance)


def test_strided_and_grouped_heads():
    base = random(2, 40, 8, 6)
    q, k, v = (np.moveaxis(base, 1, 2), np.moveaxis(random(2, 50, 2, 6), 1, 2), random(2, 4, 50, 3)[:, :, ::-1])
    near(attend(q, k, v, enable_gqa=True), reference(q, k, v, gqa=True))
    near(attend(q, k, v[:, :1], enable_gqa=True), reference(q, k, v[:, :1], gqa=True))
    out = np.zeros((2, 40, 8, 3)).transpose(0, 2, 1, 3)
    assert attend(q, k, v, enable_gqa=True, out=out) is out
    near(out, reference(q, k, v, gqa=True))


def test_rows_without_keys_are_0():
    q, k, v = random(4, 3), random(5, 3), random(5, 2)
    mask = np.ones((4, 5), bool)
    mask[2] = False
    for backend in KERNELS.values():
        with sdpa_kernel(backend):
            found, logsumexp = attend(q, k, v, mask, return_logsumexp=True)
            near(found, reference(q, k, v, mask))
            assert not found[2].any() and logsumexp[2] == -np.inf and logsumexp.shape == (4,)


def test_dropout():
    q, k, v = random(3, 60, 8), random(3, 70, 8), np.broadcast_to(np.eye(70), (3, 70, 70))
    kept = attend(q, k, v)
    found = attend(q, k, v, dropout_p=0.25, seed=(7, 11))
    dropped = found == 0
    assert 0.2 < dropped.mean() < 0.3
    np.testing.assert_allclose(found[~dropped], kept[~dropped] / 0.75, 1e-12)
    for backend in KERNELS.values():
        with sdpa_kernel(backend):
            again = attend(q, k, v, dropout_p=0.25, seed=(7, 11))
            assert np.array_equal(again == 0, dropped)
    assert not np.array_equal(attend(q, k, v, dropout_p=0.25) == 0, attend(q, k, v, dropout_p=0.25) == 0)
    assert not attend(q, k, v, dropout_p=1.0).any()
    assert np.array_equal(attend(q, k, v, dropout_p=0.25, seed=2**64 - 1), attend(q, k, v, dropout_p=0.25, seed=-1))


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel):
    step, weights = 1e-6, random(2, 4, 5, 3)
    q, k, v = random(2, 4, 5, 6), random(2, 2, 7, 6), random(2, 1, 7, 3)
    names = dict(dropout_p=0.2, enable_gqa=True, seed=(3, 4))
    with sdpa_kernel(KERNELS[kernel]):
        output, logsumexp = attend(q, k, v, return_logsumexp=True, **names)
        found = differentiate(weights, q, k, v, output, logsumexp, **names)
        for gradient, array in zip(found, (q, k, v)):
            assert gradient.shape == array.shape
            for index in np.ndindex(*array.shape):
                kept, sums = array[index], []
                for change in (step, -step):
                    array[index] = kept + change
                    sums.append((attend(q, k, v, **names) * weights).sum())
                array[index] = kept
                assert abs(gradient[index] - (sums[0] - sums[1]) / (2 * step)) < 1e-7


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (5, 1), (7,), (4, 5, 7), (4, 1, 1), (2, 1, 5, 7), (2, 4, 1, 7), (1, 1, 1, 1)])
def test_gradients_by_masks(shape, kernel):
    """Against the formula in NumPy, and against differences."""
    step, weights = 1e-6, random(2, 4, 5, 3)
    q, k, v, mask = random(2, 4, 5, 6), random(2, 4, 7, 6), random(2, 4, 7, 3), random(*shape)
    mask.flat[0] = -np.inf if mask.size > 20 else mask.flat[0]
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(6) + mask
    chances = np.exp(scores - scores.max(-1, keepdims=True))
    chances /= chances.sum(-1, keepdims=True)
    by_chance = weights @ np.swapaxes(v, -1, -2)
    slopes = chances * (by_chance - (by_chance * chances).sum(-1, keepdims=True))
    wanted = slopes.sum(tuple(range(4 - mask.ndim)))
    wanted = wanted.sum(tuple(d for d in range(mask.ndim) if shape[d] == 1), keepdims=True)
    with sdpa_kernel(KERNELS[kernel]):
        output, logsumexp = attend(q, k, v, mask, return_logsumexp=True)
        found = differentiate(weights, q, k, v, output, logsumexp, mask, mask_gradient=True)
        assert len(found) == 4 and len(differentiate(weights, q, k, v, output, logsumexp, mask)) == 3
        near(found[3], wanted)
        for index in list(np.ndindex(*shape))[:: max(1, mask.size // 20)]:
            kept, sums = mask[index], []
            for change in (step, -step):
                mask[index] = kept + change
                sums.append((attend(q, k, v, mask) * weights).sum())
            mask[index] = kept
            assert abs(found[3][index] - (sums[0] - sums[1]) / (2 * step)) < 1e-7


def visible(queries, keys, causal, window, lower_right, lengths):
    """Which keys each query of each item sees, one comparison at a time: items x queries x keys."""
    items = [keys] if lengths is None else lengths
    sees = np.zeros((len(items), queries, keys), bool)
    left, right = (-1, -1) if window is None else window
    for (item, own), query, key in itertools.product(enumerate(items), range(queries), range(keys)):
        position = query + (own - queries if lower_right else 0)
        sees[item, query, key] = (key < own and not (causal and key > position) and not (left >= 0 and key < position - left)
                                  and not (right >= 0 and key > position + right))
    return sees


def limited(q, k, v, sees, softcap=0.0, mask=None, grad=None):
    """The output, and with `grad` the gradients by query, key, value and mask, in f64."""
    q, k, v = (np.asarray(one, np.float64) for one in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    scores = q @ np.swapaxes(k, -1, -2) * scale
    steep = 1.0
    if softcap:
        steep = 1 - np.tanh(scores / softcap) ** 2
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(sees, scores + (0 if mask is None else mask), -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    if grad is None:
        return weights @ v
    by_weight = grad @ np.swapaxes(v, -1, -2)
    by_mask = weights * (by_weight - (by_weight * weights).sum(-1, keepdims=True))
    slopes = by_mask * steep * scale
    return slopes @ k, np.swapaxes(slopes, -1, -2) @ q, np.swapaxes(weights, -1, -2) @ grad, by_mask


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 1e-11), (np.float32, 3e-5)])
def test_limits(kind, tolerance, kernel):
    choose = np.random.default_rng(8)
    sides = (-1, 0, 1, 3, 40, 2**40)
    for trial in range(60):
        queries, keys = (int(choose.choice((1, 2, 5, 17, 40, 150))) for _ in range(2))
        names = dict(
            is_causal=bool(choose.integers(2)),
            window=None if choose.integers(3) == 0 else tuple(int(choose.choice(sides)) for _ in range(2)),
            softcap=float(choose.choice((0, 0.7, 5, 50))),
            lengths=None if choose.integers(2) else [int(choose.integers(keys + 1)), 0, keys],
        )
        names["lower_right"] = bool(choose.integers(2)) and (names["is_causal"] or names["window"] not in (None, (-1, -1)))
        q, k, v = (random(3, 2, rows, size, kind=kind) for rows, size in ((queries, 6), (keys, 6), (keys, 3)))
        mask = None if names["is_causal"] or choose.integers(2) else random(2, queries, keys, kind=kind)
        sees = visible(queries, keys, names["is_causal"], names["window"], names["lower_right"], names["lengths"])[:, None]
        with sdpa_kernel(KERNELS[kernel]):
            output, logsumexp = attend(q, k, v, mask, return_logsumexp=True, **names)
            near(output, limited(q, k, v, sees, names["softcap"], mask), tolerance)
            none = np.broadcast_to(~sees.any(-1), logsumexp.shape)
            assert np.array_equal(np.isinf(logsumexp), none) and not output[none].any()
            grad = random(*output.shape, kind=kind)
            found = differentiate(grad, q, k, v, output, logsumexp, mask, mask_gradient=mask is not None, **names)
        wanted = limited(q, k, v, sees, names["softcap"], mask, grad)
        for own, other in zip(found[:3], wanted):
            near(own, other, tolerance)
        if mask is not None:
            near(found[3], wanted[3].sum(0), tolerance)


def test_what_lengths_exclude_is_not_read():
    q, k, v = random(2, 5, 4), random(2, 9, 4), random(2, 9, 3)
    wanted = [reference(q[item], k[item, :own], v[item, :own]) for item, own in enumerate((4, 7))]
    for item, own in enumerate((4, 7)):
        k[item, own:], v[item, own:] = np.nan, np.inf
    for backend in KERNELS.values():
        with sdpa_kernel(backend):
            near(attend(q, k, v, lengths=np.array([4, 7], "i4")), np.stack(wanted))


def test_graphs_have_the_limits():
    """The text of a graph, from which its plans are kept, has each field; operands follow in the order of their pass."""
    q, k, v = random(2, 3, 4, 6), random(2, 3, 9, 6), random(2, 3, 9, 5)
    names = dict(softcap=2.0, has_window=True, window_left=3, window_right=1, lower_right=True)
    texts = set()
    for left, lengths in itertools.product((3, 4), (None, [9, 5])):
        names["window_left"] = left
        graph = bp.Graph()
        values = [graph.input(name, "f64", array.shape) for name, array in (("q", q), ("k", k), ("v", v))]
        if lengths is not None:
            values += [None, None, graph.constant("lengths", np.array(lengths))]
        graph.output("y", graph.call("attention", *values, **names))
        graph.finish()
        again = bp.Graph.parse(graph.text())
        assert again.text() == graph.text() and f"softcap=0x1p+1, has_window=true, lower_right=true, window_left={left}, window_right=1" in graph.text()
        texts.add(graph.text())
        wanted = limited(q, k, v, visible(4, 9, False, (left, 1), True, lengths)[:, None], 2.0)
        near(np.asarray(graph(q, k, v)), wanted)
        near(np.asarray(again(q, k, v)), wanted)
    assert len(texts) == 4


def test_causal_biases():
    q, k, v = random(2, 3, 5, 4), random(2, 3, 8, 4), random(2, 3, 8, 2)
    assert repr(bias.causal_lower_right(5, 8)) == "CausalBias(LOWER_RIGHT, 5, 8)"
    near(attend(q, k, v, bias.causal_upper_left(5, 8)), reference(q, k, v, np.tri(5, 8, dtype=bool)))
    output, logsumexp = attend(q, k, v, bias.causal_lower_right(5, 8), return_logsumexp=True)
    near(output, reference(q, k, v, np.tri(5, 8, 3, dtype=bool)))
    found = differentiate(output, q, k, v, output, logsumexp, bias.causal_lower_right(5, 8))
    for own, other in zip(found, limited(q, k, v, np.tri(5, 8, 3, dtype=bool), grad=output)):
        near(own, other)
    assert bp.explain(attend, q, k, v, bias.causal_lower_right(5, 8)).problem.endswith("causal, lower right")
    with pytest.raises(ValueError, match="for 5 queries and 9 keys, but there are 5 and 8"):
        attend(q, k, v, bias.causal_lower_right(5, 9))
    with pytest.raises(ValueError, match="is_causal and lower_right must be False"):
        attend(q, k, v, bias.causal_lower_right(5, 8), is_causal=True)
    with pytest.raises(ValueError, match="has 1 numbers"):
        bias.causal_lower_right(5)
    with pytest.raises(TypeError, match="two whole numbers"):
        bias.causal_upper_left(5, 2.5)
    with pytest.raises(TypeError, match="expects CausalVariant"):
        bias.CausalBias(1, 5, 8)


def test_causal_biases_of_torch():
    torch = pytest.importorskip("torch")
    from torch.nn.attention.bias import causal_lower_right

    q, k = torch.rand(2, 5, 4), torch.rand(2, 8, 4)
    near(attend(q, k, k, causal_lower_right(5, 8)).numpy(), reference(q, k, k, np.tri(5, 8, 3, dtype=bool)), 1e-5)


def test_wrong_limits_are_refused():
    q, k = random(2, 5, 4), random(2, 8, 4)
    for names, text in (
        (dict(softcap=-1.0), "softcap is -1"),
        (dict(softcap=math.nan), "softcap is"),
        (dict(window=(-2, 0)), "window_left is -2"),
        (dict(lower_right=True), "lower_right is for is_causal and has_window"),
        (dict(lengths=[3]), r"lengths has shape \(1\); it must have shape \(2\)"),
        (dict(lengths=[3, 9]), r"lengths\[1\] is 9; it must be from 0 to 8"),
        (dict(lengths=[-1, 3]), r"lengths\[0\] is -1"),
        (dict(lengths=[3, 3], attn_mask=np.ones((5, 8), bool), is_causal=True), "there is a mask, and is_causal"),
    ):
        with pytest.raises(ValueError, match=text):
            attend(q, k, k, **names)
    for window in (3, (1,), (1.5, 2), "ab"):
        with pytest.raises(TypeError, match="window: is .*; it must be two integers"):
            attend(q, k, k, window=window)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masks_of_integers_are_refused(dtype):
    q = np.ones((2, 3, 4), dtype)
    for kind in "int32", "int64", "uint8", ">i4":
        with pytest.raises(bp.BadTypeError, match=f"attn_mask: is {kind}; it must be bool"):
            attend(q, q, q, attn_mask=np.ones((3, 3), kind))
    whole = np.ones((3, 3), "int32")
    for given in memoryview(whole), bp.from_dlpack(whole):
        with pytest.raises(bp.BadTypeError, match="attn_mask: is i32; it must be bool"):
            attend(q, q, q, attn_mask=given)
    assert (attend(q, q, q, attn_mask=memoryview(whole == 1)) == attend(q, q, q, attn_mask=whole == 1)).all()
    with pytest.raises(bp.BadTypeError, match="attn_mask: is int"):
        attend(q, q, q, attn_mask=[[0, 1, 1]] * 3)


def test_lists_of_bools_are_masks():
    q = np.arange(24, dtype="float32").reshape(2, 3, 4)
    rows = [[True, False, True], [False, True, True], [True, True, False]]
    assert np.array_equal(attend(q, q, q, attn_mask=rows), attend(q, q, q, attn_mask=np.array(rows)))


def test_gradients_by_masks_are_refused():
    q = random(3, 4)
    output, logsumexp = attend(q, q, q, return_logsumexp=True)
    with pytest.raises(ValueError, match="attn_mask is None"):
        differentiate(output, q, q, q, output, logsumexp, mask_gradient=True)
    with pytest.raises(TypeError, match="mask of type bool has no gradient"):
        differentiate(output, q, q, q, output, logsumexp, np.ones((3, 3), bool), mask_gradient=True)


@pytest.mark.parametrize("kernel", ["flash", "math"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("integers", [np.int32, np.int64])
def test_pages_equal_gathered_rows(kernel, causal, integers):
    keys, values = random(12, 16, 2, 6), random(12, 16, 2, 3)
    query, pages = random(3, 4, 5, 6), rng.permutation(12).reshape(3, 4).astype(integers)
    lengths = [64, 37, 5]
    for item, length in enumerate(lengths):
        pages[item, (length + 15) // 16 :] = -1  # not read
    with sdpa_kernel(KERNELS[kernel]):
        out, logsumexp = attend(query, keys, values, pages=pages, lengths=lengths, is_causal=causal, enable_gqa=True, return_logsumexp=True)
        assert bp.last_plan().operation == "attention_paged" and bp.last_plan().algorithm == kernel
    assert logsumexp.shape == (3, 4, 5)
    for item, length in enumerate(lengths):
        k, v = (pool[pages[item]].reshape(64, 2, -1)[:length].swapaxes(0, 1) for pool in (keys, values))
        mask = np.tril(np.ones((5, length), bool), length - 5) if causal else None
        near(out[item], reference(query[item], k, v, mask, gqa=True))


def test_wrong_pages_are_refused():
    pool, query = random(4, 16, 2, 6), random(1, 2, 1, 6)
    with pytest.raises(ValueError, match=r"pages\[0, 1\] is 4; the pool has 4 pages"):
        attend(query, pool, pool, pages=[[0, 4]], lengths=[17])
    with pytest.raises(ValueError, match=r"lengths\[0\] is 33; it must be from 0 to 32"):
        attend(query, pool, pool, pages=[[0, 1]], lengths=[33])
    with pytest.raises(ValueError, match="lengths is NULL"):
        attend(query, pool, pool, pages=[[0, 1]])
    with pytest.raises(bp.Error, match="does not read keys and values in pages"), sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        attend(query, pool, pool, pages=[[0, 1]], lengths=[17])
    attend(query, pool, pool, pages=[[0, 4]], lengths=[16])


def test_warns_if_only_math_accepts(monkeypatch, recwarn):
    q = random(2, 3, 4, kind=np.float32)
    with sdpa_kernel(SDPBackend.MATH):
        attend(q, q, q)
        assert not recwarn.list
        monkeypatch.setattr(bp.nn.attention, "WARN_FOR_UNFUSED_KERNELS", True)
        with pytest.warns(UserWarning, match=r"math runs: flash: cuda.flash_sdp is false; .*mem_efficient: cuda.mem_efficient_sdp is false"):
            attend(q, q, q, dropout_p=0.5)
    recwarn.clear()
    attend(q, q, q)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        attend(q, q, q)  # chosen, not left over
        assert bp.last_plan().algorithm == "math"
    attend(q[:0], q[:0], q[:0])
    assert not recwarn.list


def test_f32_is_rounded_if_permitted():
    q, k, v = (random(2, 64, 64, kind=np.float32) for _ in range(3))
    exact = attend(q, k, v)
    with bp.flags({"fp32_precision": "bf16"}):
        page = bp.explain(attend, q, k, v)
        kernels = {one.algorithm: one for one in page.candidates}
        assert "flash_bf16" in kernels
        if not kernels["flash_bf16"].accepted:
            pytest.skip(kernels["flash_bf16"].text)
        rounded = attend(q, k, v)
        assert bp.last_plan().algorithm == "flash_bf16" and "shorter than TF32" in bp.last_plan().properties
    assert 1e-5 < abs(rounded - exact).max() < 0.03
    assert not [one for one in bp.explain(attend, q, k, v).candidates if one.algorithm == "flash_bf16" and one.accepted]


def test_switches_choose_the_kernel():
    q = random(2, 8, 4, kind=np.float32)

    def ran():
        attend(q, q, q)
        return bp.last_plan().algorithm

    for name, backend in KERNELS.items():
        with sdpa_kernel(backend):
            assert ran() == name
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert ran() == "math"
        bp.backends.cuda.enable_math_sdp(False)
        try:
            assert ran() in ("math", "flash")
        finally:
            bp.backends.cuda.enable_math_sdp(True)
    with sdpa_kernel([]):
        with pytest.raises(bp.Error) as caught:
            attend(q, q, q)
        for name in KERNELS:
            assert f"native {name}: cuda.{name}_sdp is false" in str(caught.value)
    page = bp.explain(attend, q, q, q)
    assert page.problem.startswith("f32 2 x 8x4 queries, 8 keys") and page.chosen.algorithm == "flash"


def test_refusals():
    q, k, v = random(3, 4), random(5, 4), random(5, 2)
    with pytest.raises(ValueError, match="mask, and is_causal"):
        attend(q, k, v, np.ones((3, 5), bool), is_causal=True)
    with pytest.raises(ValueError, match=r"query has shape \(3, 4\), key has shape \(5, 3\)"):
        attend(q, k[:, :3], v)
    with pytest.raises(ValueError, match=r"mask has shape \(3, 4\); it must broadcast to \(3, 5\)"):
        attend(q, k, v, np.ones((3, 4), bool))
    with pytest.raises(TypeError, match="query is f64 and key is f32"):
        attend(q, k.astype("f4"), v)
    with pytest.raises(ValueError, match="dropout is 2"):
        attend(q, k, v, dropout_p=2.0)
    with pytest.raises(TypeError, match="seed"):
        attend(q, k, v, dropout_p=0.5, seed="1")
    with pytest.raises(TypeError, match="gradients need the seed"):
        differentiate(np.ones((3, 2)), q, k, v, np.ones((3, 2)), np.ones(3), dropout_p=0.5)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    q, k, v = (torch.from_numpy(random(2, 3, 9, 4, kind=np.float32)) for _ in range(3))
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    for names in (dict(), dict(is_causal=True), dict(attn_mask=mask), dict(attn_mask=torch.zeros(9, 9))):
        found = attend(q, k, v, **names)
        assert isinstance(found, torch.Tensor)
        torch.testing.assert_close(found, torch.nn.functional.scaled_dot_product_attention(q, k, v, **names))
    half = attend(q.bfloat16(), k.bfloat16(), v.bfloat16())
    assert half.dtype == torch.bfloat16
