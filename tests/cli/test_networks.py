"""The example networks, with their real weights, against recorded results of other programs."""
import json
import re
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
    assert done.stderr.count("(conv)") == 5 and "lstm, 32 steps" in done.stderr


def test_refusals(tmp_path):
    program = BUILD / "examples/voice_activity"
    bad = tmp_path / "bad.safetensors"
    wav = ROOT / "examples/data/speech.wav"
    for content, words in ((b"", "the file ends"), (b"\x08\0\0\0\0\0\0\0{}", "ends before its header"),
                           (b"\x02\0\0\0\0\0\0\0{}", "has no tensor model.stft")):
        bad.write_bytes(content)
        done = subprocess.run([program, bad, wav], capture_output=True, text=True)
        assert done.returncode == 1 and words in done.stderr, (content, done.stderr)
    done = subprocess.run([program, bad, bad], capture_output=True, text=True)
    assert done.returncode == 1 and "is no WAV file" in done.stderr
    done = subprocess.run([program, "--set", "nonsense=1", bad, wav], capture_output=True, text=True)
    assert done.returncode == 1 and "nonsense" in done.stderr
    assert subprocess.run([program], capture_output=True).returncode == 1


@pytest.fixture
def sentences(tmp_path):
    """The recorded sentences, and a file with their texts. The reference is BertModel of transformers 5.23 in f64, with word
    pieces of tokenizers 0.23."""
    fetch("sentence_embedding")
    recorded = json.loads((Path(__file__).parent / "sentence_embedding.json").read_text())
    file = tmp_path / "sentences.txt"
    file.write_text("\n\n".join(one["text"] for one in recorded))
    return recorded, file


def embed(*arguments):
    """Runs the program; WEIGHTS stands for its file."""
    weights = MODELS / "sentence_embedding.safetensors"
    return run(BUILD / "examples/sentence_embedding", *(weights if word == "WEIGHTS" else word for word in arguments))


def test_word_pieces(sentences):
    recorded, file = sentences
    got = [[int(word) for word in line.split()] for line in embed("--tokens", "WEIGHTS", file).stdout.splitlines()]
    assert got == [one["tokens"] for one in recorded]


# Settings, the largest error of a cosine, and the kernel of attention. bf16 has 8 bits, so each input of a layer has an error of
# 2^-9 at most; some processors have no such kernels and compute in f32.
@pytest.mark.parametrize("settings, error, kernel", [
    ((), 1e-5, "flash"), (("num_threads=1",), 1e-5, "flash"), (("deterministic=threads",), 1e-5, "flash"),
    (("cuda.flash_sdp=false",), 1e-5, "mem_efficient"),
    (("cuda.flash_sdp=false", "cuda.mem_efficient_sdp=false"), 1e-5, "math"), (("fp32_precision=bf16",), 1e-2, "flash")])
def test_sentence_embedding(sentences, settings, error, kernel):
    recorded, file = sentences
    options = [word for setting in settings for word in ("--set", setting)]
    done = embed("--explain", *options, "WEIGHTS", file)
    vectors = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(vectors) == len(recorded)
    for one, vector in zip(recorded, vectors):
        assert len(vector) == 384
        assert max(abs(a - b) for a, b in zip(vector, one["first_numbers"])) < error
        cosines = [sum(a * b for a, b in zip(vector, other)) for other in vectors]
        assert max(abs(a - b) for a, b in zip(cosines, one["cosines"])) < error
    parts = re.findall(r"^ +\d+  node \d+ \((\w+)\) +(\S+) +(\S+)", done.stderr, re.M)
    attention = {(library, algorithm) for call, library, algorithm in parts if call == "attention"}
    assert attention in ({("native", kernel)}, {("native", kernel + "_bf16")} if "fp32_precision=bf16" in settings else None)
    assert {call for call, _, _ in parts} == {"take", "binary", "layer_norm", "linear", "attention", "matmul"}
    assert sum(call == "linear" for call, _, _ in parts) % 24 == 0  # of each shape
    if options == []:
        assert not any("bf16" in algorithm for _, _, algorithm in parts)


def test_query(sentences):
    """The sentences are printed in the order of the recorded similarities."""
    recorded, file = sentences
    lines = embed("WEIGHTS", file, recorded[1]["text"]).stdout.splitlines()
    wanted = sorted(zip(recorded[1]["cosines"], (one["text"] for one in recorded)), reverse=True)
    assert [line.split(" ", 1)[1] for line in lines] == [text for _, text in wanted]
    assert max(abs(float(line.split()[0]) - cosine) for line, (cosine, _) in zip(lines, wanted)) < 1e-4


def test_refused_sentences(sentences, tmp_path):
    recorded, file = sentences
    program, weights, bad = BUILD / "examples/sentence_embedding", MODELS / "sentence_embedding.safetensors", tmp_path / "bad"
    content = weights.read_bytes()
    for content, arguments, words in (
            (content.replace(b'tokenizer.rules":{"dtype":"U8"', b'tokenizer.rules":{"dtype":"I8"', 1), (bad, file),
             "tokenizer.rules has another type or shape"),
            (content.replace(b"[196608,12]", b"[196607,12]", 1), (bad, file), "data_offsets of tokenizer.rules"),
            (content.replace(b"[196608,12]", b"[393216,6]", 1).replace(b"  ", b"   ", 1), (bad, file), "tokenizer.rules"),
            (content.replace(b"layer.5.output.dense", b"layer.6.output.dense", 1), (bad, file), "has no tensor encoder.layer.5"),
            (b"", (bad, file), "the file ends"),
            (b"good\nbad \xff\n", (weights, bad), "line 2: the text is not UTF-8"),
            (b"good\nbad \xe2\x82", (weights, bad), "line 2: the text is not UTF-8"),
            (b" \n\n", (weights, bad), "has no sentences"),
            (b"", (weights, tmp_path / "none"), "cannot open"),
            (b"", ("--nonsense", weights, file), "usage"),
            (b"", (), "usage")):
        bad.write_bytes(content)
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and words in done.stderr, (words, done.stderr)


def test_awkward_lines(sentences, tmp_path):
    """Long lines are cut off at 256 word pieces, long words are unknown (100), and control characters are removed."""
    file = tmp_path / "lines"
    file.write_bytes(b"word " * 100000 + b"\n" + b"x" * 101 + b" a\0b\x07\r\n\r\n\0\n!")
    lines = [line.split() for line in embed("--tokens", "WEIGHTS", file).stdout.splitlines()]
    assert len(lines[0]) == 256 and set(lines[0][1:-1]) == {"2773"}
    assert lines[1] == ["101", "100", "11113", "102"] and lines[2] == ["101", "999", "102"] and len(lines) == 3
