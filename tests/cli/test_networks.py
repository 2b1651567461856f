"""The example networks, with their real weights, against recorded results of other programs."""
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT


MODELS = BUILD / "models"


def fetch(name):
    """Downloads the weights, once for a build."""
    done = subprocess.run([sys.executable, ROOT / "examples/networks/fetch.py", name, MODELS], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"the weights of {name} cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")


def run(*arguments):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("settings", [(), ("num_threads=1",), ("conv.preferred=native:implicit", "deterministic=threads")])
def test_voice_activity(settings):
    """The reference is onnxruntime 1.32 with the ONNX file of silero-vad 6.2.3, block by block."""
    fetch("voice_activity")
    options = [word for setting in settings for word in ("--set", setting)]
    program, data = BUILD / "examples/voice_activity", ROOT / "examples/data/speech.wav"
    done = run(program, *options, "--probabilities", MODELS / "voice_activity.safetensors", data)
    got = [float(line) for line in done.stdout.split()]
    wanted = [float(line) for line in (Path(__file__).parent / "voice_activity.txt").read_text().split()]
    assert len(got) == len(wanted)
    assert max(abs(a - b) for a, b in zip(got, wanted)) < 1e-4
    done = run(program, "--explain", *options, MODELS / "voice_activity.safetensors", data)
    assert done.stdout.splitlines() == ["0.70 2.27", "3.20 3.84", "4.22 4.80"]
    assert "lstm" in done.stderr and "conv4" in done.stderr


def test_refusals(tmp_path):
    program = BUILD / "examples/voice_activity"
    bad = tmp_path / "bad.safetensors"
    wav = ROOT / "examples/data/speech.wav"
    for content, words in ((b"", "no safetensors file"), (b"\x08\0\0\0\0\0\0\0{}", "is cut off"),
                           (b"\x02\0\0\0\0\0\0\0{}", "has no tensor model.stft")):
        bad.write_bytes(content)
        done = subprocess.run([program, bad, wav], capture_output=True, text=True)
        assert done.returncode == 1 and words in done.stderr, (content, done.stderr)
    done = subprocess.run([program, bad, bad], capture_output=True, text=True)
    assert done.returncode == 1 and "is no WAV file" in done.stderr
    done = subprocess.run([program, "--set", "nonsense=1", bad, wav], capture_output=True, text=True)
    assert done.returncode == 1 and "nonsense" in done.stderr
    assert subprocess.run([program], capture_output=True).returncode == 1
