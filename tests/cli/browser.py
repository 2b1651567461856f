"""Pages in a real browser: Debian's chromium, where it is installed. Tests without it are skipped with a reason."""

import html
import json
import re
import shutil
import subprocess

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCREENS = [(width, height, scheme) for width, height in ((390, 844), (1280, 900), (2400, 1200)) for scheme in ("light", "dark")]

# Runs in a copy of the page. `narrow` are texts of several lines with a word or less in each; `outside` are parts of the
# page that leave their box; `faint` are texts whose contrast with the page is below 4.5, the least of WCAG's level AA.
LOOK = r"""<script>addEventListener('load', () => {
    document.querySelectorAll('details').forEach(d => d.open = true);
    const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
    const text = e => e.textContent.trim().slice(0, 60);
    const numbers = colour => colour.match(/[\d.]+/g).map(Number);
    const light = colour => numbers(colour).slice(0, 3).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = e => { while (e && (numbers(getComputedStyle(e).backgroundColor)[3] === 0)) e = e.parentElement;
        return getComputedStyle(e || document.body).backgroundColor; };
    const found = {inner: innerWidth, scroll: document.documentElement.scrollWidth, dark: matchMedia('(prefers-color-scheme: dark)').matches,
        outside: [], narrow: [], faint: [], colours: {}};
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode, e = node.parentElement, words = node.data.trim();
        if (!words || !shown(e) || /^(SCRIPT|STYLE|TITLE|DESC)$/i.test(e.tagName)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const boxes = [...range.getClientRects()].filter(r => r.width > 0);
        if (boxes.some(r => r.left < -0.5 || r.right > innerWidth + 0.5)) found.outside.push(text(e));
        if (e.closest('svg')) continue;
        const lines = new Set(boxes.map(r => Math.round(r.top / 4))).size;
        if (lines > 2 && words.length / lines < 12) found.narrow.push(text(e));
        const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) found.faint.push(text(e));
    }
    for (const box of document.querySelectorAll('.scroll')) if (shown(box) && box.scrollWidth > box.clientWidth + 1) found.outside.push('table ' + box.ariaLabel);
    for (const cell of document.querySelectorAll('td,th,li,dd')) if (shown(cell) && cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).display !== 'inline') found.outside.push(text(cell));
    for (const kind of ['error', 'warning', 'note']) { const e = document.querySelector('.' + kind + ' b'); if (e) found.colours[kind] = getComputedStyle(e).color; }
    const drawings = [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width);
    found.drawings = drawings.length ? [Math.min(...drawings), Math.max(...drawings)] : null;
    found.headings = [...document.querySelectorAll('h2')].map(h => h.id);
    parent.postMessage(JSON.stringify(found), '*');
});</script>"""


@pytest.fixture
def chromium(tmp_path):
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.skip("NO BROWSER: install Debian's chromium to test the page in one")

    def run(path, width, height, *words):
        command = [
            found,
            "--headless",
            "--no-sandbox",  # which is refused to root
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},{height}",
            *words,
            path.as_uri(),
        ]
        return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode()

    return run


@pytest.fixture
def look(chromium, tmp_path):
    """Shows a page on all screens, and returns for each what the script above has found. The page is in frames of these sizes,
    because a browser's window has a least width; a frame gives the page its colour scheme."""

    def run(text):
        probe, frames = tmp_path / "probe.html", tmp_path / "frames.html"
        assert "</body>" in text
        probe.write_text(text.replace("</body>", LOOK + "</body>"))
        frames.write_text(
            "<!DOCTYPE html><body><script>onmessage = e => {"
            "const all = [...document.querySelectorAll('iframe')], at = all.findIndex(f => f.contentWindow === e.source);"
            "all[at].dataset.found = e.data}</script>"
            + "".join(f'<iframe src="probe.html" style="border:0;color-scheme:{s};width:{w}px;height:{h}px"></iframe>' for w, h, s in SCREENS)
        )
        shown = chromium(frames, 2500, 1300, "--dump-dom", "--virtual-time-budget=20000")
        found = [json.loads(html.unescape(text)) for text in re.findall(r'data-found="([^"]*)"', shown)]
        assert len(found) == len(SCREENS)
        return found

    return run


def check_layout(found):
    """On no screen a text or a column is outside of its box or has a word a line, and the page does not scroll to the side."""
    for (width, _, scheme), one in zip(SCREENS, found):
        assert one["inner"] == width and one["dark"] == (scheme == "dark")
        assert one["scroll"] <= width
        assert (one["outside"], one["narrow"], one["faint"]) == ([], [], []), (width, scheme)
