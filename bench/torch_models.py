"""torch_models.py - networks for bench/compile.py with the layers and shapes of known ones, and random weights."""
import torch
from torch import nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        return F.relu(self.norm3(self.conv3(y)) + (x if self.down is None else self.down(x)))


class ResNet50(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        layers, inputs = [], 64
        for count, width in zip((3, 4, 6, 3), (64, 128, 256, 512)):
            for i in range(count):
                layers.append(Bottleneck(inputs, width, 2 if i == 0 and width > 64 else 1))
                inputs = 4 * width
        self.layers, self.last = nn.Sequential(*layers), nn.Linear(inputs, classes)

    def forward(self, x):
        return self.last(F.adaptive_avg_pool2d(self.layers(self.stem(x)), 1).flatten(1))


class Encoder(nn.Module):
    """BERT: (384, 12, 1536, 6) are the sizes of MiniLM, (768, 12, 3072, 12) of BERT-base."""

    class Layer(nn.Module):
        def __init__(self, width, heads, wide):
            super().__init__()
            self.heads = heads
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.norm, self.last = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
            self.up, self.down = nn.Linear(width, wide), nn.Linear(wide, width)

        def forward(self, x, mask):
            items, steps, width = x.shape
            q, k, v = (one(x).view(items, steps, self.heads, -1).transpose(1, 2) for one in (self.query, self.key, self.value))
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(items, steps, width)
            x = self.norm(x + self.out(seen))
            return self.last(x + self.down(F.gelu(self.up(x))))

    def __init__(self, width=384, heads=12, wide=1536, count=6, words=30522):
        super().__init__()
        self.word, self.place, self.norm = nn.Embedding(words, width), nn.Embedding(512, width), nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Encoder.Layer(width, heads, wide) for _ in range(count))

    def forward(self, ids, attended):
        mask = (1.0 - attended[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        x = self.norm(self.word(ids) + self.place(torch.arange(ids.shape[1])))
        for layer in self.layers:
            x = layer(x, mask)
        weight = attended[..., None].to(x.dtype)
        return F.normalize((x * weight).sum(1) / weight.sum(1).clamp(min=1e-9), dim=1)


class Voice(nn.Module):
    """A voice detector: a transform as a convolution, four convolutions, an LSTM cell of 128."""

    def __init__(self):
        super().__init__()
        self.transform = nn.Conv1d(1, 258, 256, 128, bias=False)
        shapes = ((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))
        self.layers = nn.ModuleList(nn.Conv1d(inputs, outputs, 3, stride, 1) for inputs, outputs, stride in shapes)
        self.cell, self.last = nn.LSTMCell(128, 128), nn.Conv1d(128, 1, 1)

    def forward(self, x, hidden, cell):
        z = self.transform(F.pad(x, (0, 64), mode="reflect")[:, None])
        z = torch.sqrt(z[:, :129] ** 2 + z[:, 129:] ** 2)
        for layer in self.layers:
            z = F.relu(layer(z))
        hidden, cell = self.cell(z.squeeze(-1), (hidden, cell))
        return torch.sigmoid(self.last(F.relu(hidden)[..., None])).mean(2), hidden, cell


class Decoder(nn.Module):
    """A block of a decoder: RMS norm, rotary positions, causal attention with grouped heads, SwiGLU."""

    def __init__(self, width=256, heads=8, groups=2, steps=64):
        super().__init__()
        size = width // heads
        self.heads, self.groups = heads, groups
        self.norm, self.last = nn.RMSNorm(width, 1e-6), nn.RMSNorm(width, 1e-6)
        self.query, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False)
        angles = torch.arange(steps)[:, None] * (1e4 ** (-torch.arange(0, size, 2) / size))[None]
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        items, steps, width = x.shape
        y = self.norm(x)
        q = self.turned(self.query(y).view(items, steps, self.heads, -1).transpose(1, 2))
        k = self.turned(self.key(y).view(items, steps, self.groups, -1).transpose(1, 2))
        v = self.value(y).view(items, steps, self.groups, -1).transpose(1, 2)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(seen.transpose(1, 2).reshape(items, steps, width))
        y = self.last(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def chain(x, y):
    return torch.tanh(torch.relu(x * y + 0.5) * torch.sigmoid(x) - y)


def cheap(x, y):
    return torch.relu((x * y + 0.5) * x - y * 0.25 + x)


def norm_gelu(x, weight, bias):
    return F.gelu(F.layer_norm(x, (768,), weight, bias))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10), nn.LogSoftmax(-1))


def models():
    """Yields name, a function that makes the model, and its arguments."""
    torch.manual_seed(0)
    ids, attended = torch.randint(0, 30522, (1, 128)), torch.ones(1, 128, dtype=torch.long)
    attended[:, 100:] = 0
    yield "small: chain 4x4", lambda: chain, (torch.randn(4, 4), torch.randn(4, 4))
    yield "cheap chain 1000x1000", lambda: cheap, (torch.randn(1000, 1000), torch.randn(1000, 1000))
    yield "chain 1000x1000", lambda: chain, (torch.randn(1000, 1000), torch.randn(1000, 1000))
    yield "layer norm, gelu 1024x768", lambda: norm_gelu, (torch.randn(1024, 768), torch.randn(768), torch.randn(768))
    yield "mlp, 1 item", mlp, (torch.randn(1, 784),)
    yield "mlp, 64 items", mlp, (torch.randn(64, 784),)
    yield "voice, 1 block", Voice, (torch.randn(1, 576), torch.zeros(1, 128), torch.zeros(1, 128))
    yield "decoder block 2x64x256", Decoder, (torch.randn(2, 64, 256),)
    yield "encoder MiniLM 1x128", Encoder, (ids, attended)
    yield "resnet50, 1 image", ResNet50, (torch.randn(1, 3, 224, 224),)
