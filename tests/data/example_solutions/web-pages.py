import functools
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Path("collect.py").write_text("""
import csv
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin
from urllib.request import urlopen


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.cell, self.link, self.next = [], None, None, None

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag == "a":
            self.link = dict(attributes).get("href")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell.strip())
            self.cell = None
        elif tag == "a":
            self.link = None

    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text
        if self.link and text.strip() == "next":
            self.next = self.link


url, table = sys.argv[1], []
while url:
    page = Page()
    with urlopen(url) as answer:
        page.feed(answer.read().decode())
    table += page.rows[1 if table else 0 :]
    url = page.next and urljoin(url, page.next)
with open(sys.argv[2], "w", newline="", encoding="utf-8") as stream:
    csv.writer(stream).writerows(table)
""")
server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(SimpleHTTPRequestHandler, directory="pages"))
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/index.html"
subprocess.run([sys.executable, "collect.py", url, "isotopes.csv"], check=True)
