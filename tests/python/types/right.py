"""Right uses of the package, whose types test_types.py checks. Nothing here runs."""

from array import array
from typing import Any, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import backplane as bp
from backplane import Tensor, elementwise, fft, linalg, nn, reduce
from backplane.backends import cudnn
from backplane.nn import functional as F
from backplane.nn import grad as G


class Foreign:
    """An array of another library, such as torch."""

    @property
    def shape(self) -> Tuple[int, ...]:
        return (2, 2)

    @property
    def dtype(self) -> str:
        return "f32"

    def __dlpack__(self, *, stream: Optional[int] = None) -> object:
        return None


own, other, plain = np.ones((2, 2)), Foreign(), memoryview(b"")
tensor = bp.ones((2, 2))
rows = [[1.0, 2.0], [3.0, 4.0]]
assert_type(F.linear(own, own), NDArray[Any])
assert_type(F.linear(other, own, settings={"num_threads": 1}), Foreign)
assert_type(F.linear(tensor, tensor, activation="gelu"), Tensor)
assert_type(F.linear(plain, plain), Tensor)
assert_type(F.linear(tensor, own), NDArray[Any])
assert_type(F.linear(tensor, other), Foreign)
assert_type(F.linear(rows, rows), NDArray[Any])
assert_type(F.linear(own, own, out=tensor), Tensor)
assert_type(F.max_pool2d(own, 2), NDArray[Any])
assert_type(F.max_pool2d(other, (2, 2), return_indices=True), Tuple[Foreign, Foreign])
assert_type(F.max_pool1d(rows, 2, stride=[1], padding=0), NDArray[Any])
assert_type(F.conv2d(tensor, tensor, padding="same"), Tensor)
assert_type(F.scaled_dot_product_attention(other, other, other, return_logsumexp=True), Tuple[Foreign, Foreign])
assert_type(F.scaled_dot_product_attention(own, own, own, is_causal=True, seed=(1, 2), dropout_p=0.5), NDArray[Any])
assert_type(F.layer_norm(own, (2,), eps=1e-3), NDArray[Any])
assert_type(F.rms_norm(other, 2, return_statistics=True), Tuple[Foreign, Foreign])
assert_type(F.lstm(own, None, [own] * 4), Tuple[NDArray[Any], NDArray[Any], NDArray[Any]])
assert_type(F.gru(own, None, [own] * 4, return_reserve=True), Tuple[NDArray[Any], NDArray[Any], NDArray[Any]])
packed = nn.utils.rnn.pack_sequence([own])
assert_type(F.gru(packed, None, [own] * 4)[0], nn.utils.rnn.PackedSequence)
assert_type(F.relu(tensor, inplace=True), Tensor)
assert_type(F.embedding([0, 1], other), Foreign)
assert_type(F.gelu(other, approximate="tanh"), Foreign)
assert_type(G.linear_weight(own, own), NDArray[Any])
assert_type(G.linear_weight(own, own, bias=True), Tuple[NDArray[Any], NDArray[Any]])
assert_type(G.layer_norm_gradients(other, other, (2,)), Tuple[Foreign, Foreign, Foreign])
assert_type(G.conv1d_input((1, 1, 3), own, tensor), NDArray[Any])
assert_type(elementwise.add(own, 1), NDArray[Any])
assert_type(elementwise.flip(other, axis=(0, 1)), Foreign)
assert_type(elementwise.roll(own, (1, 2), axis=(0, 1)), NDArray[Any])
assert_type(elementwise.add(1, other), Foreign)
assert_type(elementwise.add(2.0, tensor), Tensor)
assert_type(elementwise.add(tensor, own), NDArray[Any])
assert_type(elementwise.add(1, 2), NDArray[Any])
assert_type(elementwise.multiply(array("d", [1.0]), 2), Tensor)
assert_type(elementwise.exp(rows), NDArray[Any])
assert_type(elementwise.where([True], tensor, 0.0), Tensor)
assert_type(elementwise.where(tensor, own, 1), NDArray[Any])
assert_type(elementwise.pow(other, 2), Foreign)
assert_type(elementwise.concat([other, other]), Foreign)
assert_type(elementwise.concat([own, own], axis=1), NDArray[Any])
assert_type(elementwise.astype(own, np.float32), NDArray[Any])
assert_type(elementwise.astype(tensor, bp.float16), Tensor)
assert_type(reduce.sum(own, axis=(0, 1)), NDArray[Any])
assert_type(reduce.argmax(other, axis=0), Foreign)
assert_type(reduce.mean(own, out=own), "np.ndarray[Tuple[int, int], np.dtype[np.float64]]")
assert_type(fft.fft(other, norm="ortho"), Foreign)
assert_type(fft.rfft2([[1.0]], axes=(0, 1)), NDArray[Any])
assert_type(fft.dct([1.0], axis=0, settings=bp.Options({"num_threads": 1})), NDArray[Any])
assert_type(fft.fftfreq(4), Tensor)
assert_type(fft.fftfreq(4, dtype=np.float32), NDArray[Any])
assert_type(linalg.inv([[1.0]], settings={"num_threads": 1}), NDArray[Any])
assert_type(linalg.inv(other), Foreign)
assert_type(linalg.svd(other).S, Foreign)
assert_type(linalg.inv_ex(own, out=(own, own)).info, "np.ndarray[Tuple[int, int], np.dtype[np.float64]]")
assert_type(linalg.eigh(tensor, "U").eigenvalues, Tensor)
assert_type(linalg.solve(own, rows), NDArray[Any])
assert_type(linalg.norm(other, "fro"), Foreign)
assert_type(linalg.norm(own, 2, axis=0, keepdims=True), NDArray[Any])
assert_type(linalg.multi_dot([own, own]), NDArray[Any])
assert_type(linalg.vecdot([1.0], [1.0], settings={"num_threads": 1}), NDArray[Any])
assert_type(bp.matmul(own, own), NDArray[Any])
assert_type(bp.matmul(other, other), Foreign)
assert_type(bp.matmul(tensor, tensor), Union[Tensor, NDArray[Any]])
assert_type(bp.gemm(own, own, own, beta=1.0), "np.ndarray[Tuple[int, int], np.dtype[np.float64]]")
assert_type(bp.gemm(own, own, transform_b="transpose"), NDArray[Any])
assert_type(bp.einsum("ij,jk", own, own), NDArray[Any])
assert_type(bp.einsum("ij,jk", [other, other]), Foreign)
assert_type(bp.einsum(other, [0, 1], own, [1, 2], [0, 2]), Foreign)
assert_type(bp.mm(rows, rows), NDArray[Any])
assert_type(bp.cumsum(own, 0), NDArray[Any])
assert_type(bp.cumsum(other, dim=-1, exclusive=True), Foreign)
assert_type(bp.cumsum(tensor, 0, reverse=True, dtype=bp.float32), Tensor)
with bp.flags(num_threads=1, cudnn__deterministic=True, matmul__benchmark=True):
    pass
with bp.flags({"dispatch.fallback": "strict"}):
    pass
bp.set_flags(num_threads=1, dispatch__fallback="allow")


def pooled(x: NDArray[Any], indices: bool) -> Union[NDArray[Any], Tuple[NDArray[Any], NDArray[Any]]]:
    return F.max_pool1d(x, 2, return_indices=indices)


def summed(x: NDArray[Any], out: Optional[NDArray[Any]] = None) -> NDArray[Any]:
    return reduce.sum(x, out=out)


assert_type(tensor.stride(), Tuple[int, ...])
assert_type(tensor.stride(0), int)
assert_type(tensor.numpy(), NDArray[Any])
bp.settings.num_threads = 2
bp.settings.cudnn.deterministic = True
bp.settings.dispatch.fallback = "strict"
bp.settings.deterministic_algorithms__warn_only = True
bp.settings["num_threads"] = 2
del bp.settings.num_threads
cudnn.benchmark = True
cudnn.conv.fp32_precision = "ieee"
bp.backends.cuda.matmul.allow_tf32 = False
count: int = bp.settings.num_threads
reason: str = bp.setting("num_threads").why_not
effect: bool = bp.setting("num_threads").has_effect
