"""Modules and names of torch.backends that programs import or read."""

import pytest

import backplane as bp

MODULES = """
import sys, backplane
backplane.install_as_torch()
import torch.backends.xeon
import torch.backends.cudnn.rnn
from torch.backends.xeon import run_cpu
rnn = sys.modules["torch.backends.cudnn.rnn"]
assert run_cpu.__name__ == "backplane.backends.xeon.run_cpu" and rnn.fp32_precision == "tf32"
torch.backends.cudnn.rnn.fp32_precision = "ieee"
assert rnn.fp32_precision == backplane.settings.cudnn.rnn.fp32_precision == "ieee"
rnn.fp32_precision = "tf32"
assert torch.backends.cudnn.rnn.fp32_precision == "tf32"
try:
    rnn.precision = 1
except AttributeError:
    print("refused")
backplane.uninstall_as_torch()
try:
    import torch.backends.cudnn.rnn
except ImportError:
    print("gone")
"""


def test_modules_of_the_stand_in(python):
    done = python("-c", MODULES)
    assert done.stdout == "refused\ngone\n", done.stderr


def test_levels_of_verbose():
    mkl, mkldnn = bp.backends.mkl, bp.backends.mkldnn
    for wrong in (2, -1):
        with pytest.raises(ValueError, match=f"level: {wrong} is not accepted"):
            mkl.verbose(wrong)
    assert mkl.verbose(mkl.VERBOSE_ON).enable == 1 and mkldnn.verbose(mkldnn.VERBOSE_ON_CREATION).level == 2


def test_spelling_of_aotriton():
    kinds = bp.backends.cuda._ROCmFABackend
    assert kinds.AOTriton is kinds.Aotriton and [one.name for one in kinds] == ["Default", "Aotriton", "Ck"]
