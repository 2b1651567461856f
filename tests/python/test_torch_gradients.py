"""backplane.torch: values and gradients against torch's own functions, gradcheck, opcheck, torch.compile, a model that is trained."""

import re

import pytest
from conftest import ROOT

import backplane as bp

torch = pytest.importorskip("torch", reason="torch is not installed: make torch-tests installs it")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import backplane.torch as B  # noqa: E402

F64 = torch.float64


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(7)


def random(*shape, dtype=F64, grad=True):
    return torch.randn(shape, dtype=dtype).requires_grad_(grad)


def fresh(x):
    return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x


def tensors(results):
    return [results] if isinstance(results, torch.Tensor) else [one for one in results if isinstance(one, torch.Tensor)]


def check(ours, theirs, *arguments, gradcheck=True, compiled=True, **names):
    """Compares values and gradients with another function's, and checks the gradients by differences and under torch.compile."""
    a, b = [fresh(x) for x in arguments], [fresh(x) for x in arguments]
    got, wanted = tensors(ours(*a, **names)), tensors(theirs(*b, **names))
    assert len(got) == len(wanted)
    for x, y in zip(got, wanted):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        torch.testing.assert_close(x, y)
    by = [torch.randn_like(y) for y in wanted if y.requires_grad]
    torch.autograd.backward([x for x in got if x.requires_grad], by)
    torch.autograd.backward([y for y in wanted if y.requires_grad], by)
    compare_gradients(a, b)
    if gradcheck:
        assert torch.autograd.gradcheck(lambda *x: tuple(one for one in tensors(ours(*x, **names)) if one.requires_grad), [fresh(x) for x in arguments])
    if compiled:
        c = [fresh(x) for x in arguments]
        torch._dynamo.reset()
        again = tensors(torch.compile(lambda *x: ours(*x, **names), backend="aot_eager", fullgraph=True)(*c))
        for x, y in zip(again, got):
            torch.testing.assert_close(x, y, rtol=0, atol=0)
            assert x.stride() == y.stride()
        torch.autograd.backward([x for x in again if x.requires_grad], by)
        compare_gradients(c, a)


def compare_gradients(ours, theirs):
    for x, y in zip(ours, theirs):
        if isinstance(x, torch.Tensor) and x.requires_grad:
            assert x.grad is not None and x.grad.dtype == x.dtype
            torch.testing.assert_close(x.grad, y.grad)


def test_example_of_the_guide():
    code, = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/how-to/train-torch-models.md").read_text(), re.S | re.M)
    names = {}
    exec(code, names)
    torch.testing.assert_close(names["bias"].grad.sum(), torch.tensor(0.0), rtol=0, atol=1e-6)
    assert names["weight"].grad.shape == (10, 784)


# ---- Linear layers and convolutions ----


@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 3), (3,), (0, 3), (2, 1, 2, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, bias):
    check(B.linear, F.linear, random(*shape), random(6, 3), random(6) if bias else None, gradcheck=0 not in shape)


def test_linear_with_one_row_of_weights():
    check(B.linear, F.linear, random(4, 3), random(3))
    check(B.linear, F.linear, random(3), random(3))


@pytest.mark.parametrize("needs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1)])
def test_gradients_that_are_not_wanted(needs):
    x, w, b = (random(*shape, grad=bool(one)) for shape, one in zip(((4, 3), (6, 3), (6,)), needs))
    check(B.linear, F.linear, x, w, b)
    x, w, b = (random(*shape, grad=bool(one)) for shape, one in zip(((2, 3, 7), (4, 3, 2), (4,)), needs))
    check(B.conv1d, F.conv1d, x, w, b)


CONVS = [
    (1, (2, 4, 9), (6, 4, 3), dict(stride=2, padding=1)),
    (1, (4, 9), (6, 2, 3), dict(groups=2, dilation=2)),
    (1, (2, 1, 9), (1, 1, 4), dict(padding="same")),
    (2, (2, 3, 6, 5), (4, 3, 3, 2), dict(stride=(1, 2), padding=(1, 0))),
    (2, (1, 4, 5, 5), (4, 1, 3, 3), dict(groups=4, padding="same", dilation=2)),
    (2, (3, 6, 5), (4, 3, 2, 2), dict(padding="valid")),
    (3, (1, 2, 4, 3, 5), (3, 2, 2, 1, 3), dict(stride=2, padding=1)),
]


@pytest.mark.parametrize("count, shape, weight, names", CONVS)
@pytest.mark.parametrize("bias", [True, False])
def test_convolutions(count, shape, weight, names, bias):
    name = f"conv{count}d"
    check(getattr(B, name), getattr(F, name), random(*shape), random(*weight), random(weight[0]) if bias else None, **names)


TRANSPOSED = [
    (1, (2, 4, 5), (4, 3, 3), dict(stride=2, padding=1, output_padding=1)),
    (1, (4, 5), (4, 2, 3), dict(groups=2)),
    (1, (1, 2, 5), (2, 3, 2), dict(stride=2, output_padding=2, dilation=3)),
    (2, (2, 3, 4, 5), (3, 2, 3, 2), dict(stride=(2, 1), padding=(1, 0))),
    (2, (1, 4, 3, 3), (4, 1, 3, 3), dict(stride=3, output_padding=2, groups=4)),
    (3, (1, 2, 2, 3, 2), (2, 3, 2, 1, 3), dict(stride=2)),
]


@pytest.mark.parametrize("count, shape, weight, names", TRANSPOSED)
@pytest.mark.parametrize("bias", [True, False])
def test_transposed_convolutions(count, shape, weight, names, bias):
    name = f"conv_transpose{count}d"
    channels = weight[1] * names.get("groups", 1)
    check(getattr(B, name), getattr(F, name), random(*shape), random(*weight), random(channels) if bias else None, **names)


# ---- Pooling ----


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("names", [dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=3, stride=2, padding=1, ceil_mode=True)])
@pytest.mark.parametrize("batch", [True, False])
def test_pooling(count, names, batch):
    x = random(*(2,) * batch, 3, *(6, 5, 7)[:count])
    for kind in ("max", "avg"):
        name = f"{kind}_pool{count}d"
        check(getattr(B, name), getattr(F, name), x, **names)
    name = f"max_pool{count}d"
    check(getattr(B, name), getattr(F, name), x, **names, return_indices=True, gradcheck=False)


def test_further_fields_of_pooling():
    x = random(1, 2, 9, 9)
    check(B.max_pool2d, F.max_pool2d, x, 3, dilation=2, ceil_mode=True, stride=2)
    check(B.avg_pool2d, F.avg_pool2d, x, (3, 2), stride=2, padding=1, count_include_pad=False)
    check(B.avg_pool2d, F.avg_pool2d, x, 2, divisor_override=3)
    check(B.avg_pool1d, F.avg_pool1d, random(1, 2, 7), 3, 2, 1, True, False)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_pooling(kind):
    for count, size in ((1, 3), (2, (3, None)), (3, (1, 2, 3)), (2, 1)):
        name = f"adaptive_{kind}_pool{count}d"
        check(getattr(B, name), getattr(F, name), random(2, 3, *(6, 5, 7)[:count]), size)
        check(getattr(B, name), getattr(F, name), random(3, *(6, 5, 7)[:count]), size)


# ---- Normalization ----


@pytest.mark.parametrize("affine", [True, False])
def test_norms(affine):
    x = random(3, 4, 5)

    def given(*shape):
        return (random(*shape), random(*shape)) if affine else (None, None)

    check(B.layer_norm, F.layer_norm, x, (5,), *given(5))
    check(B.layer_norm, F.layer_norm, x, (4, 5), *given(4, 5), eps=1e-3)
    check(B.group_norm, F.group_norm, x, 2, *given(4))
    check(B.rms_norm, F.rms_norm, x, (5,), given(5)[0])
    check(B.rms_norm, F.rms_norm, x, (5,), given(5)[0], eps=0.1)
    check(B.instance_norm, lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, *given(4))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5), (2, 4, 3, 3)])
def test_batch_norm(affine, shape):
    weight, bias = (random(4), random(4)) if affine else (None, None)
    check(lambda x, w, b: B.batch_norm(x, None, None, w, b, True), lambda x, w, b: F.batch_norm(x, None, None, w, b, True), random(*shape), weight, bias)
    mean, var = random(4, grad=False), random(4, grad=False).abs() + 0.1
    check(lambda x, w, b: B.batch_norm(x, mean, var, w, b), lambda x, w, b: F.batch_norm(x, mean, var, w, b), random(*shape), weight, bias)


def test_running_statistics():
    x = random(5, 4, 3)
    ours, theirs = ([torch.zeros(4, dtype=F64), torch.ones(4, dtype=F64)] for _ in range(2))
    for _ in range(3):
        B.batch_norm(x, *ours, training=True, momentum=0.3).sum().backward()
        F.batch_norm(x, *theirs, training=True, momentum=0.3)
    torch.testing.assert_close(ours, theirs)
    with pytest.raises(bp.BadValueError, match="running_mean"):
        B.batch_norm(x, None, None)


# ---- Rows and attention ----


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim):
    check(B.softmax, F.softmax, random(3, 4, 5), dim)
    check(B.log_softmax, F.log_softmax, random(3, 4, 5), dim)
    check(B.softmax, F.softmax, random(3, 4, dtype=torch.float32), 1, dtype=F64, gradcheck=False)


def test_embedding():
    indices = torch.tensor([[0, 2, 2], [1, 0, 4]])
    check(lambda w: B.embedding(indices, w), lambda w: F.embedding(indices, w), random(5, 3))
    for padding in (2, -1):
        check(lambda w: B.embedding(indices, w, padding), lambda w: F.embedding(indices, w, padding), random(5, 3), gradcheck=False)


@pytest.mark.parametrize("mask", ["none", "bool", "float", "causal"])
def test_attention(mask):
    q, k, v = random(2, 2, 4, 3), random(2, 2, 5, 3), random(2, 2, 5, 6)
    given = {"none": None, "causal": None, "bool": torch.rand(4, 5) > 0.3, "float": random(2, 1, 4, 5)}[mask]
    if mask == "bool":
        given[:, 0] = True
    check(B.scaled_dot_product_attention, F.scaled_dot_product_attention, q, k, v, given, is_causal=mask == "causal", scale=0.7)


def test_attention_of_groups():
    check(B.scaled_dot_product_attention, F.scaled_dot_product_attention, random(2, 4, 3, 2), random(2, 2, 5, 2), random(2, 2, 5, 2), enable_gqa=True)


def test_dropout_of_attention():
    q, k, v = (random(2, 2, 40, 8) for _ in range(3))
    torch.manual_seed(3)
    a = B.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    torch.manual_seed(3)
    b = B.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    c = B.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert torch.equal(a, b) and not torch.equal(a, c)

    def fixed(q, k, v):
        torch.manual_seed(3)
        return B.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

    assert torch.autograd.gradcheck(fixed, [random(1, 1, 3, 2) for _ in range(3)])


# ---- Functions of single elements ----

FUNCTIONS = [
    ("relu", ()), ("relu6", ()), ("sigmoid", ()), ("tanh", ()), ("gelu", ()), ("silu", ()), ("mish", ()), ("elu", (0.7,)), ("celu", (0.7,)), ("selu", ()),
    ("leaky_relu", (0.1,)), ("hardtanh", (-0.5, 0.7)), ("hardsigmoid", ()), ("hardswish", ()), ("hardshrink", (0.3,)), ("softshrink", (0.3,)),
    ("softplus", (2.0, 1.5)), ("threshold", (0.2, 5.0)), ("logsigmoid", ()), ("softsign", ()), ("tanhshrink", ()),
]  # fmt: skip


@pytest.mark.parametrize("name, numbers", FUNCTIONS)
def test_functions(name, numbers):
    x = (torch.linspace(-4, 4, 31, dtype=F64) + 0.013).requires_grad_()
    check(getattr(B, name), getattr(F, name), x, *numbers)


def test_gelu_by_tanh():
    check(lambda x: B.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), random(20))


def test_all_functions_are_tested():
    tested = {name for name, _ in FUNCTIONS}
    others = {"embedding", "linear", "softmax", "log_softmax", "scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu"}
    assert tested | others | {name for name in B.__all__ if "conv" in name or "pool" in name or "norm" in name} == set(B.__all__)


# ---- Recurrent layers ----


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(
    "names", [dict(), dict(num_layers=2, bidirectional=True), dict(bias=False, batch_first=True), dict(num_layers=2, batch_first=True)]
)
def test_recurrent_layers(kind, names):
    for nonlinearity in ("tanh", "relu") if kind == "RNN" else (None,):
        more = {"nonlinearity": nonlinearity} if nonlinearity else {}
        layer = getattr(nn, kind)(3, 4, dtype=F64, **names, **more)
        check_layer(layer, f"rnn_{nonlinearity}" if nonlinearity else kind.lower())


def test_projections():
    check_layer(nn.LSTM(3, 4, proj_size=2, dtype=F64, bidirectional=True), "lstm")


def test_unbatched_layers():
    check_layer(nn.GRU(3, 4, dtype=F64), "gru", x=random(5, 3))


def check_layer(layer, name, x=None):
    x = random(5, 2, 3) if x is None else x
    unbatched = x.dim() == 2
    items = () if unbatched else (x.shape[0] if layer.batch_first else x.shape[1],)
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    states = [random(rows, *items, layer.proj_size or layer.hidden_size), random(rows, *items, layer.hidden_size)][: 1 + (name == "lstm")]
    rest = (layer.bias, layer.num_layers, 0.0, False, layer.bidirectional, layer.batch_first)
    count = len(states)

    def ours(x, *given):
        hx = given[:count] if count > 1 else given[0]
        return getattr(B, name)(x, hx, list(given[count:]), *rest)

    def theirs(x, *given):
        names = [one for one, _ in layer.named_parameters()]
        output, hx = torch.func.functional_call(layer, dict(zip(names, given[count:])), (x, given[:count] if count > 1 else given[0]))
        return (output, *hx) if count > 1 else (output, hx)

    check(ours, theirs, x, *states, *layer.parameters(), gradcheck=False)


def test_dropout_between_layers():
    layer = nn.GRU(3, 4, num_layers=2, dtype=F64)
    x, h = random(5, 2, 3), random(2, 2, 4)
    params = list(layer.parameters())
    torch.manual_seed(1)
    a, _ = B.gru(x, h, params, True, 2, 0.5, True)
    b, _ = B.gru(x, h, params, True, 2, 0.5, False)
    assert not torch.equal(a, b)
    with pytest.raises(bp.BadValueError, match="params"):
        B.gru(x, h, params[:-1], True, 2)


# ---- The operators ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_types(dtype):
    x, w = random(4, 6, dtype=dtype), random(3, 6, dtype=dtype)
    B.relu(B.linear(x, w)).sum().backward()
    assert x.grad.dtype == w.grad.dtype == dtype
    torch.testing.assert_close(x.grad, ((x @ w.T > 0).to(dtype) @ w).detach(), rtol=0.02, atol=0.02)


def test_rules_of_torch():
    x, w = random(2, 3, 6, 6), random(4, 3, 3, 3)
    torch.library.opcheck(torch.ops.backplane.convolution, (x, w, None, [1, 1], [0, 0], [1, 1], 1))
    torch.library.opcheck(torch.ops.backplane.linear, (random(2, 3), random(4, 3), random(4)))
    torch.library.opcheck(torch.ops.backplane.layer_norm, (random(2, 3), [3], None, None, 1e-5))
    torch.library.opcheck(torch.ops.backplane.max_pool, (x, [2, 2], [2, 2], [0, 0], [1, 1], False))
    torch.library.opcheck(torch.ops.backplane.attention, (*(random(1, 2, 3, 4) for _ in range(3)), None, 0.0, False, None, False, None))


def test_views_and_layouts():
    base = random(4, 6)
    check(lambda x: B.softmax(x.T[::2], 0), lambda x: F.softmax(x.T[::2], 0), base)
    images = random(2, 3, 5, 5).detach().to(memory_format=torch.channels_last).requires_grad_()
    check(B.conv2d, F.conv2d, images, random(4, 3, 3, 3), compiled=False)
    check(lambda x, w: B.linear(x.expand(5, 3), w), lambda x, w: F.linear(x.expand(5, 3), w), random(1, 3), random(2, 3))


LAST = torch.channels_last
IMAGES = [
    (lambda x: B.conv2d(x, torch.ones(4, 3, 3, 3, dtype=F64)), lambda x: F.conv2d(x, torch.ones(4, 3, 3, 3, dtype=F64))),
    (lambda x: B.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2)),
    (lambda x: B.max_pool2d(x, 2, return_indices=True)[1], lambda x: F.max_pool2d(x, 2, return_indices=True)[1]),
    (lambda x: B.avg_pool2d(x, 3, 1), lambda x: F.avg_pool2d(x, 3, 1)),
    (lambda x: B.adaptive_avg_pool2d(x, 2), lambda x: F.adaptive_avg_pool2d(x, 2)),
    (lambda x: B.adaptive_max_pool2d(x, 2), lambda x: F.adaptive_max_pool2d(x, 2)),
    (
        lambda x: B.batch_norm(x, torch.zeros(3, dtype=F64), torch.ones(3, dtype=F64)),
        lambda x: F.batch_norm(x, torch.zeros(3, dtype=F64), torch.ones(3, dtype=F64)),
    ),
    (lambda x: B.batch_norm(x, None, None, training=True), lambda x: F.batch_norm(x, None, None, training=True)),
    (lambda x: B.group_norm(x, 3), lambda x: F.group_norm(x, 3)),
    (lambda x: B.gelu(x), lambda x: F.gelu(x)),
]


@pytest.mark.parametrize("ours, theirs", IMAGES)
def test_images_keep_their_layout(ours, theirs):
    images = random(2, 3, 6, 6).detach().to(memory_format=LAST).requires_grad_()
    result, want = ours(images), theirs(images)
    assert result.stride() == want.stride() and not result.is_contiguous()
    assert torch.compile(ours, backend="aot_eager", fullgraph=True)(images).stride() == want.stride()
    if result.is_floating_point():
        by = torch.randn_like(want)
        (mine,), (its,) = torch.autograd.grad(result, images, by), torch.autograd.grad(want, images, by)
        torch.testing.assert_close(mine, its)


@pytest.mark.parametrize("shape", [(2, 4, 6, 1), (2, 4, 1, 6), (1, 4, 6, 6), (2, 1, 6, 6), (2, 4, 6, 12)])
def test_chains_of_images(shape):
    """A result is the next input, so that strides of dimensions of one element count, too. The last shape is cut below."""
    size = (min(2, shape[2]), min(2, shape[3]))

    def chain(x):
        return B.group_norm(B.avg_pool2d(B.silu(B.max_pool2d(B.gelu(x), 1)), size), 1)

    images = random(*shape).detach().to(memory_format=LAST)
    images = images[..., ::2] if shape[3] == 12 else images
    compiled = torch.compile(chain, backend="aot_eager", fullgraph=True)(images)
    torch.testing.assert_close(compiled, chain(images))
    torch._dynamo.reset()


def test_rules_of_torch_for_channels_last():
    x, w, of = random(2, 3, 6, 6).detach().to(memory_format=LAST).requires_grad_(), random(4, 3, 3, 3), torch.ops.backplane
    torch.library.opcheck(of.convolution, (x, w, None, [1, 1], [0, 0], [1, 1], 1))
    torch.library.opcheck(of.max_pool, (x, [2, 2], [2, 2], [0, 0], [1, 1], False))
    torch.library.opcheck(of.relu, (x,))
    torch.library.opcheck(of.group_norm, (x, 3, None, None, 1e-5))
    torch.library.opcheck(of.relu, (random(3, 4, 5).permute(2, 0, 1).detach().requires_grad_(),))


def test_gradients_of_gradients_are_refused():
    x, w = random(3, 3), random(4, 3)
    for y in (B.linear(x, w), B.softmax(x, 1), B.layer_norm(x, (3,)), B.conv1d(x.unsqueeze(0), w.unsqueeze(2))):
        (by,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="gradients of gradients"):
            by.sum().backward()


def test_errors():
    with pytest.raises(bp.Error):
        B.linear(random(2, 3), random(4, 5))
    with pytest.raises(bp.BadValueError, match="stride"):
        B.conv2d(random(1, 1, 5, 5), random(1, 1, 2, 2), stride=(1, 2, 3))
    with pytest.raises(bp.BadValueError, match="same"):
        B.conv2d(random(1, 1, 5, 5), random(1, 1, 2, 2), stride=2, padding="same")
    with pytest.raises(bp.BadValueError, match="dimensions"):
        B.conv2d(random(5, 5), random(1, 1, 2, 2))
    with pytest.raises(NotImplementedError):
        B.relu(torch.ones(3, device="meta").to_sparse())


# ---- A model ----


class Model(nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.functions = functions
        self.conv, self.norm, self.out = nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Linear(6 * 16, 3)

    def forward(self, x):
        f = self.functions
        x = f.conv2d(x, self.conv.weight, self.conv.bias, padding=1)
        x = f.batch_norm(x, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias, self.training)
        x = f.max_pool2d(f.gelu(x), 2)
        return f.log_softmax(f.linear(x.flatten(1), self.out.weight, self.out.bias), -1)


def train(model, call, steps=30):
    torch.manual_seed(2)
    x, y = torch.randn(24, 1, 8, 8), torch.randint(3, (24,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.nll_loss(call(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("compiled", [False, True])
def test_training(compiled):
    ours, theirs = Model(B), Model(F)
    ours.load_state_dict(theirs.state_dict())
    torch._dynamo.reset()
    call = torch.compile(ours, backend="aot_eager", fullgraph=True) if compiled else ours
    with bp.record() as calls:
        a = train(ours, call)
    b = train(theirs, theirs)
    assert a[-1] < 0.3 * a[0]
    assert max(abs(x - y) for x, y in zip(a, b)) < 1e-3
    torch.testing.assert_close(ours.norm.running_var, theirs.norm.running_var, rtol=1e-3, atol=1e-4)
    names = {row.operation for row in calls.plans}
    assert any("conv" in name for name in names) and any("norm" in name for name in names)
