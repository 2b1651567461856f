"""Integers in layers: no operand of any function of nn.functional and nn.grad is rounded without notice.

float32, the default type of torch, has no 2^24 + 1. Integers of NumPy become float64 where that is exact; integers of torch and
of other libraries are a TypeError, in every operand.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import backplane as bp
import backplane.nn.functional as F
import backplane.nn.grad as G

rng = np.random.default_rng(8)


def some(*shape):
    return rng.integers(-3, 4, shape).astype(float)


class Torch:
    """What a tensor of integers of torch tells. Every conversion is an error of the test: it would round to float32."""

    def __init__(self, array):
        self.array, self.dtype, self.shape, self.ndim = array, "torch.int64", array.shape, array.ndim

    def is_floating_point(self):
        return False

    is_complex = is_floating_point

    def _converted(self, *arguments, **names):
        raise AssertionError("a tensor of integers was converted")

    to = type = float = double = half = bfloat16 = numpy = tolist = _converted


def rnn_of(layer, gates, items=(1,), size=2, hidden=2, steps=3):
    """A recurrent layer: its operands, and the call with them; with items=() one item without a dimension."""
    hx = ("hx", "cell") if layer == "lstm" else ("hx",)
    state = (1, *items, hidden)
    operands = dict(input=some(steps, *items, size), w_ih=some(gates * hidden, size), w_hh=some(gates * hidden, hidden))
    operands.update(b_ih=some(gates * hidden), b_hh=some(gates * hidden), **{one: some(*state) for one in hx})

    def split(of):
        states = tuple(of[one] for one in hx)
        return states if layer == "lstm" else states[0], [of[one] for one in ("w_ih", "w_hh", "b_ih", "b_hh")]

    def call(**of):
        states, params = split(of)
        return getattr(F, layer)(of["input"], states, params)

    def gradients(grad_output, output, reserve, **of):
        states, params = split(of)
        final = {name: one for name, one in of.items() if name.startswith("grad_")}
        return getattr(G, f"{layer}_gradients")(grad_output, of["input"], states, params, output, reserve, **final)

    states, params = split(operands)
    output, *_, reserve = getattr(F, layer)(operands["input"], states, params, return_reserve=True)
    more = dict(operands, grad_output=some(*output.shape), output=output, reserve=reserve)
    more.update({name: some(*state) for name in ("grad_h_n", "grad_c_n")[: len(hx)]})
    alone = "" if items else " of one item"
    return {layer + alone: (call, operands), f"{layer}_gradients{alone}": (gradients, more)}


def pools():
    made = {}
    for d in (1, 2, 3):
        x, half = some(1, 2, *(4,) * d), (1, 2, *(2,) * d)
        made[f"max_pool{d}d"] = (lambda input, d=d: getattr(F, f"max_pool{d}d")(input, 2)), dict(input=x)
        made[f"avg_pool{d}d"] = (lambda input, d=d: getattr(F, f"avg_pool{d}d")(input, 2)), dict(input=x)
        for kind in ("max", "avg"):
            name = f"adaptive_{kind}_pool{d}d"
            made[name] = (lambda input, name=name: getattr(F, name)(input, 2)), dict(input=x)
        where = getattr(F, f"max_pool{d}d")(x, 2, return_indices=True)[1]
        of = dict(grad_output=some(*half))
        made[f"max_pool{d}d_input"] = (
            lambda grad_output, d=d, w=where, x=x: getattr(G, f"max_pool{d}d_input")(x.shape, w, grad_output, 2)), of
        made[f"avg_pool{d}d_input"] = (lambda grad_output, d=d, x=x: getattr(G, f"avg_pool{d}d_input")(x.shape, grad_output, 2)), of
        made[f"adaptive_max_pool{d}d_input"] = (
            lambda grad_output, d=d, w=where, x=x: getattr(G, f"adaptive_max_pool{d}d_input")(x.shape, w, grad_output)), of
        made[f"adaptive_avg_pool{d}d_input"] = (
            lambda grad_output, d=d, x=x: getattr(G, f"adaptive_avg_pool{d}d_input")(x.shape, grad_output)), of
    return made


def convolutions():
    made = {}
    for d in (1, 2, 3):
        x, w, y = some(1, 2, *(4,) * d), some(2, 2, *(2,) * d), some(1, 2, *(3,) * d)
        for name in (f"conv{d}d", f"conv_transpose{d}d"):
            made[name] = getattr(F, name), dict(input=x, weight=w, bias=some(2))
        made[f"conv{d}d_input"] = (
            lambda weight, grad_output, d=d, x=x: getattr(G, f"conv{d}d_input")(x.shape, weight, grad_output)), dict(weight=w, grad_output=y)
        made[f"conv{d}d_weight"] = (
            lambda input, grad_output, d=d, w=w: getattr(G, f"conv{d}d_weight")(input, w.shape, grad_output)), dict(input=x, grad_output=y)
    return made


def attentions():
    q, mask = some(1, 3, 4), some(3, 3)
    output, logsumexp = F.scaled_dot_product_attention(q, q, q, mask, return_logsumexp=True)
    of = dict(query=q, key=q, value=q, attn_mask=mask)
    return {"scaled_dot_product_attention": (F.scaled_dot_product_attention, of),
            "scaled_dot_product_attention_gradients": (G.scaled_dot_product_attention_gradients,
                                                       dict(of, grad_output=q, output=output, logsumexp=logsumexp))}


def rows():
    x, g, four, six = some(2, 4), some(2, 4), some(4), some(2, 6, 3)
    made = {name: ((lambda input, name=name: getattr(F, name)(input, -1)), dict(input=x)) for name in ("softmax", "log_softmax")}
    for name in ("softmax_input", "log_softmax_input"):
        made[name] = (lambda grad_output, output, name=name: getattr(G, name)(grad_output, output, -1)), dict(grad_output=g, output=x)
    made["layer_norm"] = (lambda **of: F.layer_norm(normalized_shape=(4,), **of)), dict(input=x, weight=four, bias=four)
    made["rms_norm"] = (lambda **of: F.rms_norm(normalized_shape=(4,), **of)), dict(input=x, weight=four)
    made["group_norm"] = (lambda **of: F.group_norm(num_groups=2, **of)), dict(input=six, weight=some(6), bias=some(6))
    made["instance_norm"] = F.instance_norm, dict(input=six, weight=some(6), bias=some(6))
    made["batch_norm"] = F.batch_norm, dict(input=six, running_mean=some(6), running_var=some(6) ** 2, weight=some(6), bias=some(6))
    statistics = dict(mean=some(2), inverse_std=some(2) ** 2 + 1)
    made["layer_norm_gradients"] = (
        lambda **of: G.layer_norm_gradients(normalized_shape=(4,), **of)), dict(input=x, grad_output=g, weight=four, **statistics)
    made["rms_norm_gradients"] = (
        lambda **of: G.rms_norm_gradients(normalized_shape=(4,), **of)
    ), dict(input=x, grad_output=g, weight=four, inverse_std=statistics["inverse_std"])
    made["group_norm_gradients"] = (
        lambda **of: G.group_norm_gradients(num_groups=2, **of)
    ), dict(input=six, grad_output=six, weight=some(6), mean=some(2, 2), inverse_std=some(2, 2) ** 2)
    made["batch_norm_gradients"] = G.batch_norm_gradients, dict(
        input=six, grad_output=six, weight=some(6), mean=some(6), spread=some(6) ** 2 + 1)
    return made


def every_layer():
    x = some(2, 4)
    one = (
        "gelu", "silu", "tanh", "sigmoid", "hardswish", "relu", "hardsigmoid", "mish", "selu", "softsign", "logsigmoid", "tanhshrink",
        "leaky_relu", "elu", "celu", "hardtanh", "relu6", "softplus", "hardshrink", "softshrink",
    )
    made = {name: (getattr(F, name), dict(input=x)) for name in one}
    made["threshold"] = (lambda input: F.threshold(input, 0.5, 1.0)), dict(input=x)
    made["linear"] = F.linear, dict(input=x, weight=some(3, 4), bias=some(3))
    made["linear with one row"] = F.linear, dict(input=x, weight=some(4), bias=some(1))
    made["linear_input"] = G.linear_input, dict(weight=some(3, 4), grad_output=some(2, 3))
    made["linear_weight"] = G.linear_weight, dict(input=x, grad_output=some(2, 3))
    for part in (pools(), convolutions(), attentions(), rows()):
        made.update(part)
    for layer, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        made.update(rnn_of(layer, gates))
        made.update(rnn_of(layer, gates, ()))
    return made


LAYERS = every_layer()
KEPT = ("embedding", "relu", "hardtanh", "relu6")  # embedding looks up rows of any type, the others keep integers


def test_all_functions_are_tried():
    moves = {"embedding", "pad"}  # elements of any type
    assert {*F.__all__, *G.__all__} - moves == {name.split()[0] for name in LAYERS}


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in KEPT])
def test_integers_are_never_rounded(name, monkeypatch):
    function, operands = LAYERS[name]
    function(**operands)
    monkeypatch.setitem(__import__("sys").modules, "torch", SimpleNamespace(Tensor=Torch, get_default_dtype=lambda: "float32"))
    for operand, array in operands.items():
        whole = np.asarray(array).astype(np.int64)
        whole.reshape(-1)[:1] = 2**24 + 1
        for given in (Torch(whole), bp.from_dlpack(whole), memoryview(whole), whole + 2**53):
            with pytest.raises(TypeError):
                function(**{**operands, operand: given})


@pytest.mark.parametrize("name", ("max_pool1d", "relu"))
def test_integers_of_numpy_are_exact(name):
    values = np.array([[2**24 + 1, 2, 3, 4], [5, 6, 7, 8]])
    run = (lambda x: F.max_pool1d(x, 2)) if name == "max_pool1d" else F.relu
    assert run(values)[0, 0] == 2**24 + 1


def test_relu_keeps_integers():
    values = np.array([[2**24 + 1, -2], [5, 6]])
    assert F.relu(bp.from_dlpack(values)).tolist() == [[2**24 + 1, 0], [5, 6]]
