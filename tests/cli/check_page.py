#!/usr/bin/env python3
"""The page at `/` in headless Chromium: it asks, and every step shows up. Skips (77) without Chromium or the model. With --screenshots FOLDER it
leaves pictures for people, of a desk and of a phone.

  check_page.py --engine ENGINE --model FILE
"""
import argparse
import re
import shutil
import signal
import sys
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from chromium import Chromium  # noqa: E402
from served import Served  # noqa: E402


class Text(HTMLParser):
    """The text of each element with an id, and how many elements of each class there are."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.classes, self.labels = [], {}, {}, {}
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in (attributes.get("class") or "").split():
            self.classes[name] = self.classes.get(name, 0) + 1
        if "aria-label" in attributes and "id" in attributes:
            self.labels[attributes["id"]] = attributes["aria-label"]
        if tag not in ("input", "meta", "br"):
            self.open.append((tag, attributes.get("id")))
            if attributes.get("id"):
                self.text[attributes["id"]] = ""

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.text[name] += data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--screenshots", type=Path)
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program or not Path(options.model).exists():
        print("skipped: Chromium or the model is not here")
        return 77

    ended = "(status => !!status && (status.className === 'error' || ['Done.', 'Stopped.'].includes(status.textContent)))(document.getElementById('status'))"
    with Served(options.engine, "--model", options.model, "--quiet") as server, Chromium(program) as browser:
        opened = browser.open(server.url + "/#ask")
        opened.wait_for(ended)
        page = Text(opened.html())
        for name in ("status", "answer", "answer-note", "stages", "tokens-note", "blocks-note", "cache-note", "chosen", "kept"):
            print(f"{name}: {page.text[name][:200]!r}")
        assert page.text["status"] == "Done.", page.text["status"]
        assert len(page.text["answer"]) > 2
        assert re.fullmatch(r"\d+ tokens, ended by (stop|length)\. First token after [\d.]+ ms.*", page.text["answer-note"])
        assert re.search(r"prefill[\d.]+ ms", page.text["stages"])
        tokens = int(re.match(r"(\d+) tokens", page.text["tokens-note"])[1])
        assert page.classes["chip"] == tokens
        assert "block 0 " in page.labels["blocks"] and "head " in page.labels["blocks"]
        assert page.classes["block"] >= 1 and page.classes["number"] > 40
        assert "can be drawn" in page.text["kept"] and "Chosen: " in page.text["chosen"]
        if options.screenshots:
            for name, width, height in (("desk", 1000, 2700), ("phone", 390, 3500)):
                seen = browser.open(server.url + "/#ask", width, height)
                seen.wait_for(ended)
                seen.screenshot(options.screenshots / f"{name}.png")
        assert server.stop(signal.SIGTERM) == 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
