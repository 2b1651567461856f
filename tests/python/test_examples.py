"""Each documented example runs unchanged, in its own process."""

import pathlib
import re

import pytest

import backplane

EXAMPLES = sorted((pathlib.Path(__file__).parent / "examples").glob("*.py"))
# Settings that an example needs and that not every build has.
NEEDS = {
    "deterministic": ["cudnn.deterministic", "cudnn.benchmark", "deterministic_algorithms"],
    "precision": ["float32_matmul_precision"],
    "tf32": ["cuda.matmul.allow_tf32", "cudnn.allow_tf32"],
    "tf32_tree": ["fp32_precision", "cuda.matmul.fp32_precision", "cudnn.conv.fp32_precision"],
    "opt_einsum_strategy": ["opt_einsum.strategy"],
    "cufft_plan_cache": ["cuda.cufft_plan_cache.max_size"],
    "sdp_kernel": ["cuda.flash_sdp", "cuda.math_sdp"],
    "cudnn_flags": ["cudnn.enabled", "cudnn.benchmark"],
}


def test_there_are_examples():
    assert len(EXAMPLES) > 5 and set(NEEDS) <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, python):
    missing = [name for name in NEEDS.get(path.stem, []) if name not in backplane.settings]
    if missing:
        pytest.skip(f"the table has no setting {missing[0]}")
    done = python(path)
    assert done.returncode == 0, done.stderr
    assert not re.search("Traceback|(?<!Future)Warning", done.stderr)
    if path.stem == "conv_switches" and backplane.backends.mkldnn.is_available():
        assert "exec,cpu,convolution" in done.stdout
