"""The page of bench: well-formed, self-contained, and readable in a real browser."""

import html.parser
import re
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import pytest

from browser import check_layout, chromium, look  # noqa: F401
from conftest import NO_LEAK_CHECK

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}


@pytest.fixture(scope="module")
def page(tmp_path_factory, probe_cache):
    """One page for all tests of this file."""
    import os

    from conftest import COMMAND, HANGS, ROOT, SANITIZED

    folder = tmp_path_factory.mktemp("page")
    kept = dict(os.environ)
    kept.update(XDG_CONFIG_HOME=str(folder), BACKPLANE_CACHE_DIR=str(probe_cache), VIRTUAL_ENV=str(ROOT / ".venv"), **NO_LEAK_CHECK)
    words = ["matmul", "fft", "svd", "einsum", "--sizes", "4,12,40", "--threads", "1,2", "--seconds", "300" if SANITIZED else "8", "--html", "page.html"]
    subprocess.run([COMMAND, "bench", *words], env=kept, cwd=folder, check=True, capture_output=True, timeout=HANGS)
    return folder / "page.html"


class Strict(html.parser.HTMLParser):
    """Fails on an end tag without a start tag, an open element, an unknown entity or a duplicate id."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.open, self.ids, self.tags, self.links, self.attributes = [], set(), [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        names = [name for name, value in attributes]
        assert len(names) == len(set(names)), (tag, names)
        facts = dict(attributes)
        if "id" in facts:
            assert facts["id"] not in self.ids, facts
            self.ids.add(facts["id"])
        if "href" in facts:
            self.links.append(facts["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open[-3:], tag, self.getpos())
        self.open.pop()

    def handle_entityref(self, name):
        assert name in ("amp", "lt", "gt", "quot"), name

    def handle_charref(self, name):
        assert name == "39", name

    def handle_data(self, data):
        if "style" not in self.open:
            assert "<" not in data and "&" not in data, data


def parse(text):
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_is_strict_html(page):
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    parser = parse(text)
    assert parser.tags.count("h1") == 1 and parser.tags.count("main") == 1
    assert all(link[1:] in parser.ids for link in parser.links if link.startswith("#"))
    assert ("meta", "content", "width=device-width, initial-scale=1") in parser.attributes


def test_needs_nothing_else(page):
    text = page.read_text()
    parser = parse(text)
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(parser.tags)
    assert all(link.startswith("#") for link in parser.links)
    assert not [v for v in parser.attributes if v[1] in ("src", "srcset", "action", "style") or v[1].startswith("on")]
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in rest and "https:" not in rest and "url(" not in rest and "@import" not in rest and "javascript" not in rest


def drawings(page):
    return [xml.etree.ElementTree.fromstring(text) for text in re.findall(r"<svg .*?</svg>", page.read_text(), re.S)]


SVG = "{http://www.w3.org/2000/svg}"


def test_drawings_are_xml_and_have_descriptions(page):
    found = drawings(page)
    assert len(found) >= 4 * 4 + 4 + 1 + 2  # speed of four operations, roofline, overhead, errors
    for svg in found:
        left, top, width, height = map(float, svg.get("viewBox").split())
        assert (left, top, width) == (0, 0, 400) and 60 < height < 700 and svg.get("role") == "img"
        title, description = svg.find(SVG + "title"), svg.find(SVG + "desc")
        assert title.text and len(description.text) > 20
        assert svg.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
        assert svg.get("width") is None  # the page decides
        for element in svg.iter(SVG + "text"):
            if element.get("x"):
                assert 0 <= float(element.get("x")) <= width and 0 <= float(element.get("y")) <= height


def test_numbers_of_drawings_are_finite_and_inside(page):
    for svg in drawings(page):
        height = float(svg.get("viewBox").split()[3])
        for element in svg.iter(SVG + "path"):
            moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform") or "")
            if moved:
                assert 0 <= float(moved[1]) <= 400 and 0 <= float(moved[2]) <= height
            assert not re.search("nan|inf", element.get("d"), re.I)


def test_series_have_different_markers(page):
    """Without colours the shapes still tell the libraries apart."""
    for svg in drawings(page):
        shapes = {}
        for element in svg.iter(SVG + "path"):
            kind = (element.get("class") or "").split()
            if kind and kind[0] in ("m", "h"):
                shapes.setdefault(kind[1], set()).add((kind[0], element.get("d")))
        assert all(len(found) == 1 for found in shapes.values())
        names = [e.text for e in svg.iter(SVG + "text") if e.get("text-anchor") == "start"]  # of the legend
        assert len(set.union(set(), *shapes.values())) == len(shapes) == len(set(names) - {"the choice", "bound"})


def test_tables_have_headers_and_scroll(page):
    text = page.read_text()
    tables = re.findall(r'<div class="scroll" tabindex="0" role="region" aria-label="[^"]+"><table><caption>[^<]+</caption><thead>', text)
    assert len(tables) == text.count("<table>") >= 6
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.S):
        assert '<th scope="' in row
    assert "prefers-color-scheme:dark" in text


def test_opens_with_findings(page):
    text = page.read_text()
    assert re.findall(r'<h2 id="(\w+)"', text)[:3] == ["findings", "libraries", "speed"]
    good, cases = map(int, re.search(r"or within 10 % of it, in (\d+) of (\d+) cases", text).groups())
    whole = int(re.search(r"geometric mean of (\d+) cases", text)[1])
    assert 0 <= good <= cases == whole
    table = re.search(r"<caption>Time / fastest</caption>.*?<tbody>(.*?)</tbody>", text, re.S)[1]
    rows = [re.findall(r">([^<]*)</t[hd]>", row) for row in table.strip().splitlines()]
    assert sum(int(row[2]) for row in rows) >= cases  # each case has a fastest library
    assert all(1 <= float(row[3]) <= float(row[4]) for row in rows)


def pixels(path):
    """Decodes a PNG of 8 bits: width, height and rows of bytes."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
            assert bits == 8 and colour in (2, 6)
            size = 3 if colour == 2 else 4
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, rows, old = zlib.decompress(packed), [], bytes(width * size)
    for y in range(height):
        kind, row = raw[y * (width * size + 1)], bytearray(raw[y * (width * size + 1) + 1 : (y + 1) * (width * size + 1)])
        for i in range(len(row)):
            a, b, c = row[i - size] if i >= size else 0, old[i], old[i - size] if i >= size else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, near)[kind]) & 255
        rows.append(bytes(row))
        old = row
    return width, height, [[tuple(row[i : i + 3]) for i in range(0, len(row), size)] for row in rows]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
def test_screenshot(page, chromium, tmp_path, width, height):
    shot = tmp_path / "page.png"
    chromium(page, width, height, f"--screenshot={shot}")
    got_width, got_height, rows = pixels(shot)
    assert (got_width, got_height) == (width, height)
    colours = {pixel for row in rows for pixel in row}
    assert len(colours) > 50  # text and lines, not a blank page
    background = rows[0][0]
    used = sum(any(pixel != background for pixel in row) for row in rows)
    assert used > height / 2


def test_layout(page, look):
    """Nothing is wider than the screen, and the charts are large enough for their text."""
    found = look(page.read_text())
    check_layout(found)
    for one in found:
        narrowest, widest = one["drawings"]
        assert narrowest > 300 and widest < 640  # a text of 11.5 units is 8.6 pixels or more
