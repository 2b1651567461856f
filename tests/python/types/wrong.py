"""Wrong uses of the package: each line with a comment, and no other, is an error that names the word of the comment. Nothing here runs."""

import numpy as np

import backplane as bp
from backplane import elementwise, fft, linalg, reduce
from backplane.nn import functional as F
from backplane.nn import grad as G

own = np.ones((2, 2))
bp.flags(num_threds=1)  # error: num_threds
bp.flags(num_threads="two")  # error: int
bp.flags({"cudnn.determinist": True})  # error: Named
bp.set_flags(dispatch__fallback="never")  # error: never
bp.Options({"num_threads": "1"})  # error: int
F.linear(own, own, settings={"num_threds": 1})  # error: linear
F.linear(own, own, activation="gelo")  # error: linear
F.linear("text", own)  # error: linear
F.conv2d(own, own, padding="full")  # error: conv2d
F.max_pool2d(own, "2")  # error: max_pool2d
F.softmax(own)  # error: softmax
F.gelu(own, approximate="erf")  # error: gelu
F.lstm(own, own, [own])  # error: lstm
number: int = F.relu(own)  # error: int
one: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]" = F.max_pool2d(own, 2, return_indices=True)  # error: Tuple
elementwise.add(own)  # error: add
elementwise.exp(None)  # error: exp
elementwise.where(own, own)  # error: where
reduce.sum(own, axes=0)  # error: sum
reduce.mean(own, settings={"num_threads": "x"})  # error: mean
fft.fft(own, norm="orthogonal")  # error: fft
linalg.qr(own, "half")  # error: qr
linalg.norm(own, "froo")  # error: norm
linalg.inv(own, driver="x")  # error: inv
linalg.svd(own).V  # error: V
bp.matmul(own)  # error: matmul
bp.gemm(own, own, transform_a="turned")  # error: gemm
bp.einsum("ij", own, optimise=True)  # error: einsum
G.linear_weight(own)  # error: linear_weight
bp.settings.num_thread = 2  # error: num_thread
bp.settings.num_threads = "two"  # error: int
bp.settings.dispatch.fallback = "never"  # error: Literal
bp.settings.cudnn.determinist = True  # error: determinist
bp.backends.cudnn.conv.fp32 = "ieee"  # error: fp32
print(bp.settings.nothing)  # error: nothing
count: str = bp.settings.num_threads  # error: str
