"""What a page is made of, as an HTML parser sees it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags with their attributes, and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th", "li", "dt", "dd", "p"):
            self.words += " "

    def handle_data(self, data):
        self.words += data

    def handle_entityref(self, name):
        raise AssertionError(name)
