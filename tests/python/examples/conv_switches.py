import numpy as np

import backplane as torch
from backplane.nn import functional as F

random = np.random.default_rng(0)
x = random.standard_normal((2, 32, 14, 14), dtype="float32")
w = random.standard_normal((32, 32, 3, 3), dtype="float32")


def model(data):
    return F.conv2d(data, w, padding=1)


exact = F.conv2d(x.astype("float64"), w.astype("float64"), padding=1)


def error(result):
    return abs(np.asarray(result) - exact).max() / abs(exact).max()


torch.backends.cudnn.benchmark = True
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.allow_tf32 = False
assert error(model(x)) < 1e-5
with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
    assert error(model(x)) < 1e-5

with torch.backends.mkldnn.flags(enabled=False):
    model(x)
    assert torch.last_plan().library != "onednn"

torch.backends.mkldnn.conv.fp32_precision = "ieee"
assert error(model(x)) < 2e-6 and torch.last_plan().algorithm != "winograd"
torch.backends.mkldnn.conv.fp32_precision = "none"

torch.backends.mkldnn.deterministic = True
first = np.asarray(model(x))
assert (np.asarray(model(x)) == first).all()

if torch.backends.mkldnn.is_available():
    with torch.flags(**{"conv.preferred": "onednn"}), torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
        model(x)
