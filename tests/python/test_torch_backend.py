"""torch.compile(model, backend="backplane"): networks, each operation against torch, constants, layouts, refusals."""

import gc
import os
import re
import weakref

import pytest
from conftest import PACKAGES, ROOT

import backplane as bp

torch = pytest.importorskip("torch", reason="torch is not installed: make torch-tests installs it")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from backplane import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(5)
    with torch.no_grad():
        yield


def compiled(function, **names):
    return torch.compile(function, backend=torch_backend.backplane, fullgraph=True, **names)


def flat(results):
    return results if isinstance(results, (tuple, list)) else (results,)


def check(function, *arguments, rtol=None, atol=None, dynamic=False):
    """Compares a compiled function with torch: values, types, shapes and strides. Two calls have equal results."""
    wanted = flat(function(*arguments))
    fast = compiled(function, dynamic=dynamic)
    got, again = flat(fast(*arguments)), flat(fast(*arguments))
    assert len(got) == len(wanted)
    for a, b, c in zip(got, wanted, again):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True)
        torch.testing.assert_close(a, c, rtol=0, atol=0, equal_nan=True)
        if b.numel() > 1 and all(step > 0 for step in b.stride()):
            kept = [i for i, n in enumerate(b.shape) if n > 1]
            assert [a.stride()[i] for i in kept] == [b.stride()[i] for i in kept], (a.stride(), b.stride())


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype)


# ---- Operations, one by one ----

X, Y, V = (4, 6), (4, 6), (6,)
ONE = {
    "exp": torch.exp, "log": lambda x: torch.log(x.abs()), "sqrt": lambda x: torch.sqrt(x.abs()), "rsqrt": lambda x: torch.rsqrt(x.abs()),
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu, "neg": torch.neg, "abs": torch.abs, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "round": torch.round, "sign": torch.sign, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "erf": torch.erf,
    "expm1": torch.expm1, "log1p": lambda x: torch.log1p(x.abs()), "log2": lambda x: torch.log2(x.abs()), "reciprocal": torch.reciprocal,
    "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.75), "relu6": lambda x: F.relu6(x * 9),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "clamp": lambda x: x.clamp(-0.5, 0.5), "clamp_low": lambda x: x.clamp(min=0.1),
    "acos": torch.acos, "asin": torch.asin, "atan": torch.atan, "acosh": lambda x: torch.acosh(1 + x.abs()), "asinh": torch.asinh, "atanh": torch.atanh,
    "cosh": torch.cosh, "sinh": torch.sinh, "log10": lambda x: torch.log10(x.abs()), "exp2": torch.exp2, "erfc": torch.erfc, "mish": F.mish, "selu": F.selu,
    "logsigmoid": F.logsigmoid, "elu": lambda x: F.elu(x, 0.7), "celu": lambda x: F.celu(x, 0.7), "softplus": lambda x: F.softplus(x, 2, 1),
    "threshold": lambda x: F.threshold(x, 0.1, 20), "hardshrink": lambda x: F.hardshrink(x, 0.3), "softshrink": lambda x: F.softshrink(x, 0.3),
    "softsign": F.softsign, "tanhshrink": F.tanhshrink, "clamp_high": lambda x: x.clamp(max=0.1), "square": torch.square, "glu": F.glu, "pow2": lambda x: x**2, "pow3": lambda x: x**3,
    "pow_half": lambda x: x.abs() ** 0.5, "pow_other": lambda x: x.abs() ** 1.7, "pow_minus": lambda x: x**-2, "isnan": torch.isnan,
    "isfinite": torch.isfinite, "isinf": torch.isinf, "logical_not": torch.logical_not, "tril": torch.tril, "triu": lambda x: torch.triu(x, 1),
    "half": lambda x: x.to(torch.float16), "whole": lambda x: (x * 10).to(torch.int32), "truth": lambda x: x.to(torch.bool),
    "softmax": lambda x: torch.softmax(x, 1), "log_softmax": lambda x: torch.log_softmax(x, 0), "sum": torch.sum, "mean": torch.mean,
    "prod": torch.prod, "sum_rows": lambda x: x.sum(1), "sum_kept": lambda x: x.sum((0, 1), keepdim=True), "amax": lambda x: x.amax(0),
    "amin": lambda x: x.amin((0, 1)), "max": torch.max, "max_rows": lambda x: torch.max(x, 1), "min_rows": lambda x: tuple(torch.min(x, 0, keepdim=True)),
    "argmax": lambda x: x.argmax(), "argmin": lambda x: x.argmin(1, keepdim=True), "any": lambda x: (x > 1).any(), "all": lambda x: (x > -3).all(1),
    "var": lambda x: x.var(1), "std": torch.std, "var_population": lambda x: x.var(0, correction=0, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, 1), "std_mean": lambda x: torch.std_mean(x, (0, 1), correction=0, keepdim=True), "any_of_bytes": lambda x: (x.abs() * 2).to(torch.uint8).any(0), "norm": lambda x: torch.linalg.vector_norm(x, dim=1), "norm1": lambda x: x.norm(p=1),
    "normalize": lambda x: F.normalize(x, dim=1), "cumsum": lambda x: x.cumsum(1),
    "layer_norm": lambda x: F.layer_norm(x, (6,)), "rms_norm": lambda x: F.rms_norm(x, (6,)), "group_norm": lambda x: F.group_norm(x.reshape(2, 2, 6), 2),
    "instance_norm": lambda x: F.instance_norm(x[None]), "dropout": lambda x: F.dropout(x, 0.5, training=False),
}
VIEWS = {
    "view": lambda x: x.view(3, 8) * 1, "reshape": lambda x: x.t().reshape(-1), "t": lambda x: x.t() * 1, "permute": lambda x: x[None].permute(2, 0, 1) * 1,
    "transpose": lambda x: x.transpose(0, -1) * 1, "unsqueeze": lambda x: x.unsqueeze(-1) * 1, "squeeze": lambda x: x[:, None].squeeze(1) * 1,
    "squeeze_all": lambda x: x[None, :, None].squeeze() * 1, "flatten": lambda x: x[None].flatten(1) * 1, "unflatten": lambda x: x.unflatten(1, (2, -1)) * 1,
    "expand": lambda x: x[:, :, None].expand(-1, 6, 3) * 1, "slice": lambda x: x[1:, ::2] * 1, "select": lambda x: x[-1] * 1, "narrow": lambda x: x.narrow(1, 2, 3) * 1,
    "split": lambda x: [part * 1 for part in x.split(4, 1)], "split_sizes": lambda x: [part * 1 for part in x.split([1, 2, 3], 1)],
    "chunk": lambda x: [part * 1 for part in x.chunk(4, 1)], "unbind": lambda x: [part * 1 for part in x.unbind(1)], "flip": lambda x: x.flip(0, 1),
    "roll": lambda x: x.roll((1, -2), (0, 1)), "roll_flat": lambda x: x.roll(5), "roll_twice": lambda x: x.roll((1, 3), (0, 0)), "repeat": lambda x: x.repeat(2, 1, 3), "tile": lambda x: torch.tile(x, (3,)),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1), "movedim": lambda x: x[None].movedim(0, 2) * 1, "cat": lambda x: torch.cat([x, x * 2], 1),
    "cat_mixed": lambda x: torch.cat([x, x.to(torch.float64)], 0), "stack": lambda x: torch.stack([x, x + 1], -1), "contiguous": lambda x: x.t().contiguous(),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0), value=2.5), "pad_cut": lambda x: F.pad(x, (-1, 2, 0, -2)), "pad_none": lambda x: F.pad(x, ()) * 1, "pad_whole": lambda x: F.pad(x.to(torch.int64), (1, 0), value=3), "reflect": lambda x: F.pad(x[None], (2, 5), mode="reflect"),
    "replicate": lambda x: F.pad(x[None], (2, 7), mode="replicate"), "circular": lambda x: F.pad(x[None], (2, 3), mode="circular"),
    "zeros_like": lambda x: torch.zeros_like(x) + x, "full_like": lambda x: torch.full_like(x, 3) * x, "new_ones": lambda x: x.new_ones(2, 6).sum() + x,
    "arange": lambda x: x + torch.arange(6), "where": lambda x: torch.where(x > 0, x, -1.5), "masked_fill": lambda x: x.masked_fill(x < 0, 7),
    "numel": lambda x: x * x.numel(), "clone": lambda x: x.clone(), "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 8, 3, 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x.reshape(1, 1, 4, 6), 2), "upsample": lambda x: F.interpolate(x[None, None], scale_factor=2),
}
TWO = {
    "add": torch.add, "add_alpha": lambda x, y: torch.add(x, y, alpha=2), "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "pow": lambda x, y: x.abs() ** y, "atan2": torch.atan2, "fmod": torch.fmod, "remainder": torch.remainder,
    "floor_divide": torch.floor_divide, "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "eq": lambda x, y: x.round() == y.round(),
    "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "logical_and": lambda x, y: torch.logical_and(x > 0, y),
    "where": lambda x, y: torch.where(x < y, x, y), "rsub": lambda x, y: 2 - x + 0 * y, "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=0.5), "lerp": lambda x, y: torch.lerp(x, y, 0.25), "matmul": lambda x, y: x @ y.t(),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y), "bmm": lambda x, y: torch.bmm(x[None], y.t()[None]), "mv": lambda x, y: x @ y[0],
    "dot": lambda x, y: torch.dot(x[0], y[1]), "outer": lambda x, y: torch.outer(x[0], y[1]), "addmm": lambda x, y: torch.addmm(x[0, :4], x, y.t()),
    "addmm_scaled": lambda x, y: torch.addmm(x[:, :4], x, y.t(), beta=0.5, alpha=2), "baddbmm": lambda x, y: torch.baddbmm(x[None, :, :4], x[None], y.t()[None]),
    "mixed": lambda x, y: x.to(torch.float64) + y, "number_of_one": lambda x, y: x * y[0, 0], "prelu": lambda x, y: F.prelu(x, y[0, :1].abs()),
    "linear": lambda x, y: F.linear(x, y, y[:, 0]), "linear_relu": lambda x, y: F.relu(F.linear(x, y)), "linear_gelu": lambda x, y: F.gelu(F.linear(x, y), approximate="tanh"),
    "linear_twice": lambda x, y: (lambda h: F.relu(h) + h)(F.linear(x, y)),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_functions(name, dtype):
    check(ONE[name], random(*X, dtype=dtype))


@pytest.mark.parametrize("name", ("exp", "softmax", "sum", "mean", "layer_norm", "var", "gelu", "clamp", "any", "norm"))
@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_functions_of_half(name, dtype):
    check(ONE[name], random(*X).to(dtype))


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    check(VIEWS[name], random(*X))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name):
    check(TWO[name], random(*X), random(*Y))


@pytest.mark.parametrize("name", ("add", "sub", "mul", "div", "eq", "lt", "maximum", "floor_divide", "remainder", "where"))
@pytest.mark.parametrize("dtype", (torch.int32, torch.int64))
def test_whole_numbers(name, dtype):
    x, y = torch.randint(-9, 9, X, dtype=dtype), torch.randint(1, 9, Y, dtype=dtype)
    check(TWO[name], x, y)


def test_whole_numbers_and_others():
    x, n = random(4, 6), torch.randint(-9, 9, (4, 6))
    check(lambda x, n: (x + n, n * 2.5, n / 2, n > 0.5, n.sum(), n.to(torch.float32).mean(), (n > 0).sum(), -n, n.abs(), n & 3, n + True, n.clamp(-2, 3), n.clamp(min=1), n.clamp(-1.5, 2.5), n.clamp(max=2**62 + 1)), x, n)


def test_numbers_of_python():
    check(lambda x: (x + 1, 1 - x, x * 2.5, x / 3, 2 / x, x > 0, x == 0.5, 3.0**0.5 * x), random(3))


def test_broadcasting():
    check(lambda x, y: x[:, None] + y[None, :, :1] * y[0], random(4, 6), random(4, 6))


def test_limits_beyond_the_digits_of_float():
    check(lambda n: (n.clamp(max=2**60 + 1), n.clamp(min=2**60 + 1)), torch.tensor([2**60, 2**60 + 1, 2**60 + 2, -5]))


def test_special_values():
    x = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45, 3e38])
    check(lambda x: (x.clamp(-1, 1), x.clamp(max=float("nan")), x.clamp(min=-float("inf")), torch.maximum(x, x.flip(0)), x > 0, x != x, x.abs(), F.relu(x), torch.where(x > 0, x, 0), x.amax(), x * 0), x)


def test_indices():
    table, index = random(9, 4), torch.tensor([[3, 0], [8, 3]])
    check(lambda t, i: (F.embedding(i, t), t[i], t[:, i[0] % 4], t.index_select(0, i[1]), t.gather(0, i)), table, index)
    check(lambda t, i: t[i - 9], table, index)


def test_a_wrong_index():
    table = random(9, 4)
    fast = compiled(lambda t, i: F.embedding(i, t))
    fast(table, torch.tensor([1, 2]))
    with pytest.raises(bp.Error, match="take"):
        fast(table, torch.tensor([1, 9]))


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_statistics_of_norms(dtype):
    x = random(2, 3, 4).to(dtype)
    check(lambda x: torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5), x, rtol=0.02, atol=0.02)
    statistics = random(3).to(dtype), random(3).abs().to(dtype)
    check(lambda x: torch.ops.aten._native_batch_norm_legit_no_training(x, None, None, *statistics, 0.1, 1e-5), x, rtol=0.02, atol=0.02)


def test_transforms():
    check(lambda x: torch.fft.irfft(torch.fft.rfft(x, norm="ortho"), n=7), random(4, 7))
    check(lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=(4, 6)), random(4, 6))


@pytest.mark.parametrize("axes", (1, 2, 3))
def test_convolutions_and_pooling(axes):
    conv, turned = getattr(F, f"conv{axes}d"), getattr(F, f"conv_transpose{axes}d")
    pool, average = getattr(F, f"max_pool{axes}d"), getattr(F, f"avg_pool{axes}d")
    x, w = random(2, 4, *(9,) * axes), random(6, 2, *(3,) * axes)
    close = {"rtol": 1e-4, "atol": 1e-4}
    check(lambda x, w, b: conv(x, w, b, stride=2, padding=1, groups=2), x, w, random(6), **close)
    check(lambda x, w: F.relu(conv(x, w, padding="same", groups=2, dilation=2)), x, w, **close)
    check(lambda x, w: conv(x[0], w, groups=2), x, w, **close)
    check(lambda x, w: turned(x, w, stride=2, padding=1, output_padding=1, dilation=1), x, random(4, 3, *(3,) * axes), **close)
    check(lambda x: pool(x, 3, 2, 1, ceil_mode=True), x)
    check(lambda x: pool(x, 2, return_indices=True), x)
    check(lambda x: average(x, 3, 2, 1, count_include_pad=False), x)
    check(getattr(F, f"adaptive_avg_pool{axes}d"), x, (3,) * axes)
    check(lambda x: getattr(F, f"adaptive_max_pool{axes}d")(x, 4), x)
    check(lambda x: getattr(F, f"adaptive_avg_pool{axes}d")(x[0], 1), x)


def test_channels_last():
    x = random(2, 4, 8, 8).to(memory_format=torch.channels_last)
    layer = nn.Conv2d(4, 6, 3, padding=1).to(memory_format=torch.channels_last).eval()
    check(lambda x: F.relu(layer(x)), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", (None, "bool", "float", "causal"))
def test_attention(mask):
    q, k, v = random(2, 3, 5, 8), random(2, 3, 7, 8), random(2, 3, 7, 8)
    masks = {"bool": torch.rand(2, 1, 5, 7) > 0.2, "float": random(5, 7)}
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=masks.get(mask), is_causal=mask == "causal", scale=0.3), q, k, v,
          rtol=1e-4, atol=1e-5)


def test_grouped_heads():
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), random(1, 4, 5, 8), random(1, 2, 5, 8),
          random(1, 2, 5, 8), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ("lstm", "gru", "rnn_tanh", "rnn_relu"))
def test_recurrent_cells(kind):
    cell = {"lstm": nn.LSTMCell(5, 4), "gru": nn.GRUCell(5, 4), "rnn_tanh": nn.RNNCell(5, 4), "rnn_relu": nn.RNNCell(5, 4, nonlinearity="relu")}[kind]
    states = (random(3, 4), random(3, 4)) if kind == "lstm" else random(3, 4)
    check(cell.eval(), random(3, 5), states)


@pytest.mark.parametrize("kind", (nn.LSTM, nn.GRU, nn.RNN))
@pytest.mark.parametrize("names", ({}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}))
def test_recurrent_layers(kind, names):
    layer = kind(5, 4, **names).eval()
    with torch._dynamo.config.patch(allow_rnn=True):
        wanted, got = layer(random(3, 2, 5)), None
        x = random(3, 2, 5)
        wanted, got = layer(x), compiled(layer)(x)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


# ---- Networks ----


class Block(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.feed(self.second(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm, self.conv, self.last = nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)), inplace=True)
        x = F.relu(x + self.conv(x))
        return torch.softmax(self.last(F.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


@pytest.mark.parametrize("dynamic", (False, True))
def test_networks(dynamic):
    check(Block().eval(), random(2, 7, 32), rtol=1e-4, atol=1e-5, dynamic=dynamic)
    network = Residual()
    network(random(4, 3, 9, 9))  # moves the running statistics
    check(network.eval(), random(2, 3, 9, 9), rtol=1e-4, atol=1e-5, dynamic=dynamic)


@pytest.mark.parametrize("names", ({}, {"norm_first": True, "activation": "gelu"}))
@pytest.mark.parametrize("masked", (False, True))
def test_encoder(names, masked):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **names).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2]) if masked else None
    check(lambda x: layer(x, src_key_padding_mask=padding), random(2, 5, 16), rtol=1e-4, atol=1e-5)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1) if masked else None
    check(lambda x: layer(x, src_mask=causal), random(2, 5, 16), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", (False, True))
def test_multi_head_attention(weights):
    layer, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), random(2, 5, 16)
    check(lambda x: [part for part in layer(x, x, x, need_weights=weights) if part is not None], x, rtol=1e-4, atol=1e-5)
    other = random(2, 7, 16)
    check(lambda x: layer(x, other, other, need_weights=weights, average_attn_weights=False)[0], x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_half_networks(dtype):
    model = Block().eval().to(dtype)
    x = random(2, 7, 32).to(dtype)
    torch.testing.assert_close(compiled(model)(x), model(x), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16))
def test_the_bits_of_a_function_behind_a_layer(dtype):
    x, w = random(64, 32).to(dtype), random(48, 32).to(dtype)
    apart = bp.nn.functional.gelu(bp.nn.functional.linear(x, w))
    assert torch.equal(compiled(lambda x, w: F.gelu(F.linear(x, w)))(x, w), apart)


def test_settings_of_the_caller():
    model, x = Block().eval(), random(2, 7, 32)
    fast = compiled(model)
    with bp.flags({"graph.backend": "eager"}):
        one = fast(x)
    with bp.flags(num_threads=1):
        assert torch.equal(fast(x), one)


# ---- Sizes that change ----


def test_many_sizes():
    model, calls = Block().eval(), []

    def backend(gm, inputs):
        calls.append(1)
        return torch_backend.backplane(gm, inputs)

    fast = torch.compile(model, backend=backend, dynamic=True)
    for n in (2, 5, 3, 9, 4):
        x = random(n, n + 1, 32)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(calls) == 1


def test_no_more_graphs_than_the_limit():
    programs = []

    def backend(gm, inputs):
        programs.append(torch_backend.backplane(gm, inputs))
        return programs[-1]

    fast = torch.compile(lambda x: x.exp() + 1, backend=backend, dynamic=True)
    for n in range(2, 100):
        assert fast(random(n)).shape == (n,)
    assert len(programs) == 1 and len(programs[0].graphs) == 64
    x = random(2)
    torch.testing.assert_close(fast(x), x.exp() + 1)


def test_empty():
    check(lambda x: (x.exp(), x.sum(0), torch.cat([x, x])), random(0, 5))


# ---- Constants ----


def test_changed_weights():
    layer, x = nn.Linear(6, 3).eval(), random(4, 6)
    fast = compiled(layer)
    for change in (lambda: None, lambda: layer.weight.mul_(2), lambda: layer.bias.copy_(random(3)), lambda: setattr(layer.weight, "data", random(3, 6)),
                   lambda: setattr(layer, "weight", nn.Parameter(random(3, 6))), lambda: layer.load_state_dict(nn.Linear(6, 3).state_dict())):
        change()
        torch.testing.assert_close(fast(x), layer(x))


def test_tensors_of_inference_mode():
    with torch.inference_mode():
        layer, x = nn.Linear(6, 3).eval(), random(4, 6)
        fast = compiled(layer)
        torch.testing.assert_close(fast(x), layer(x))
        torch.testing.assert_close(fast(x), layer(x))
        layer.weight = nn.Parameter(random(3, 6))
        torch.testing.assert_close(fast(x), layer(x))
        layer.weight.data = random(3, 6)
        torch.testing.assert_close(fast(x), layer(x))


def test_frozen():
    layer, x = nn.Linear(64, 64).eval(), random(4, 64)
    fast = compiled(layer, options={"frozen": True})
    first = fast(x)
    layer.weight = nn.Parameter(torch.zeros(64, 64))
    torch._dynamo.reset()
    assert not torch.equal(first, compiled(layer)(x))


def test_buffers():
    network = nn.BatchNorm1d(5).eval()
    x, fast = random(4, 5), compiled(network)
    torch.testing.assert_close(fast(x), network(x))
    network.running_mean.add_(3)
    torch.testing.assert_close(fast(x), network(x))


def test_weights_are_released():
    layer = nn.Linear(6, 3).eval()
    compiled(layer)(random(4, 6))
    kept = weakref.ref(layer.weight)
    torch._dynamo.reset()
    del layer
    gc.collect()
    assert kept() is None


# ---- Results that share memory ----


def test_views_of_arguments():
    fast = compiled(lambda x: (x.t(), x * 2, x[1:], x))
    x = random(4, 6)
    turned, _, rest, same = fast(x)
    x[2, 3] = 9
    assert turned[3, 2] == 9 and rest[1, 3] == 9 and same[2, 3] == 9


def test_views_of_results():
    def function(x):
        y = x * 2
        return y, y.view(-1), y.t()

    y, flat_one, turned = compiled(function)(random(4, 6))
    y[1, 2] = 7
    assert flat_one[8] == 7 and turned[2, 1] == 7


def test_parts_share_memory():
    x = random(4, 6)
    first, rest = compiled(lambda x: x.split([1, 3]))(x)
    rows = compiled(lambda x: x.unbind(0))(x)
    x[0, 1] = x[3, 2] = 9
    assert first[0, 1] == 9 and rest[2, 2] == 9 and rows[3][2] == 9

    def function(x):
        y = x + 1
        left, right = y.chunk(2, 1)
        return y, left, right.t()

    y, left, right = compiled(function)(x)
    y[2, 0] = y[1, 5] = 7
    assert left[2, 0] == 7 and right[2, 1] == 7


def test_constants_as_results():
    fast = compiled(lambda x: (torch.arange(4), x + 1, 5, None))
    one, other = fast(random(2)), fast(random(2))
    one[0][0] = 9
    assert other[0].tolist() == [0, 1, 2, 3] and one[2] == 5 and one[3] is None


def test_an_input_that_wants_gradients():
    x = random(3).requires_grad_()
    check(lambda x: x.exp(), x)


def test_results_can_be_changed():
    fast, x = compiled(lambda x: x.exp()), random(3)
    first = fast(x)
    first.zero_()
    torch.testing.assert_close(fast(x), x.exp())


# ---- Refusals ----


def refuse(message, function, *arguments, options=None):
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=message):
        torch.compile(function, backend=torch_backend.backplane, options=options)(*arguments)


def test_refusals():
    layer = nn.Linear(3, 3)
    with torch.enable_grad():
        refuse("gradients are not compiled", layer, random(2, 3))
    refuse("aten.sort", lambda x: x.sort(), random(3))
    refuse("aten.sort; aten.topk", lambda x: (x.sort(), x.topk(2)), random(3))
    refuse("random numbers", lambda x: x + torch.rand(3), random(3))
    refuse("changes its arguments", lambda x: x.add_(1), random(3))
    refuse("changes its arguments, or buffers", nn.BatchNorm1d(3), random(4, 3))
    refuse("torch.linalg", torch.linalg.inv, torch.eye(3))
    refuse("training", lambda x: F.dropout(x, 0.5, training=True), random(3))
    refuse("there is no 'nosuch'", layer, random(2, 3), options={"nosuch": 1})
    refuse("unsupported is 'maybe'", layer, random(2, 3), options={"unsupported": "maybe"})
    with torch.autocast("cpu"):
        refuse("autocast", layer, random(2, 3))
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="max-autotune"):
        torch.compile(layer, backend=torch_backend.backplane, mode="max-autotune")(random(2, 3))


def test_eager():
    layer = nn.Linear(6, 4).eval()

    def function(x):
        values, places = torch.sort(F.relu(layer(x)), 1)
        return torch.softmax(values, 1) + 1, places, x.view(-1)

    fast, x = torch.compile(function, backend=torch_backend.backplane, options={"unsupported": "eager"}), random(5, 6)
    for a, b in zip(fast(x), function(x)):
        torch.testing.assert_close(a, b)
    layer.weight.mul_(3)
    torch.testing.assert_close(fast(x)[0], function(x)[0])
    pages = torch_backend.explain(function, options={"unsupported": "eager"})(x)
    assert ["linear" in str(pages[0]), "softmax" in str(pages[1])] == [True, True] and len(pages) == 2


def test_eager_for_what_is_refused_whole():
    layer = nn.Linear(6, 4)
    with torch.enable_grad():
        torch.compile(layer, backend=torch_backend.backplane, options={"unsupported": "eager"})(random(2, 6)).sum().backward()
    assert layer.weight.grad is not None


# ---- The name ----


def test_the_page_and_the_entry_point(python, tmp_path):
    """torch finds the backend by its name in an installed package: here, a folder with the entry point of pyproject.toml."""
    project = (ROOT / "pyproject.toml").read_text()
    entry, = re.findall(r'^\[project.entry-points."(\w+)"\]\n(\w+) = "([\w.:]+)"$', project, re.M)
    folder = tmp_path / "libbackplane-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: libbackplane\nVersion: 0\n")
    (folder / "entry_points.txt").write_text("[{}]\n{} = {}\n".format(*entry))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/compile-torch-models.md").read_text(), re.S)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks) + "\nassert 'backplane' in torch.compiler.list_backends() and y.shape == (64, 10)\n")
    done = python(program, PYTHONPATH=f"{PACKAGES}{os.pathsep}{tmp_path}")
    assert done.returncode == 0, done.stderr
    assert len(blocks) == 2 and "node 0 (linear)" in done.stdout


# ---- Explanations and names ----


def test_explanation():
    page, = torch_backend.explain(Block().eval())(random(2, 7, 32))
    assert "attention" in str(page) and len(page.parts) > 8


def test_operations():
    names = torch_backend.operations()
    assert names == sorted(set(names)) and "aten.linear" in names
    for name in names:
        assert hasattr(torch.ops.aten, name[5:]), name


# ---- backplane.compile ----


def test_compile_of_a_module():
    model, x = Block().eval(), random(2, 7, 32)
    torch.testing.assert_close(bp.compile(model)(x), model(x))
    graph = bp.compiler.export(model, x)
    torch.testing.assert_close(graph(x), model(x))
    torch.testing.assert_close(bp.Graph.parse(graph.text())(x), graph(x), rtol=0, atol=0)
    assert "attention" in str(bp.compiler.explain(model)(x)[0])
    with pytest.raises(ValueError):
        torch_backend.export(lambda a: a, x)
    with pytest.raises(Exception, match="sort"):
        torch_backend.export(lambda a: a.sort().values, x)


def test_traced_functions_of_tensors():
    x, whole = random(3, 4), torch.arange(6)

    def program(a, b):
        e = bp.nn.functional.softmax(a @ a.T, 1)
        return x * a + e.sum(), a.dtype == torch.float32, bp.elementwise.exp(b), b / 2, b + 1.5

    got, wanted = bp.compile(program)(x, whole), program(x, whole)
    for one, other in zip(got, wanted):
        torch.testing.assert_close(one, other)
    assert all(isinstance(one, torch.Tensor) for one in got if one is not True)
    with pytest.raises(bp.compiler.TraceError, match="relu of torch.*torch.compile"):
        bp.compile(lambda a: torch.relu(a))(x)
    with pytest.raises(TypeError):
        bp.compile(lambda a: bp.elementwise.exp(a))(x.requires_grad_())
