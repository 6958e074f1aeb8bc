"""The review and the report in a real browser: they load alone, run nothing, and can be read by everybody."""

import base64
from dataclasses import replace
from itertools import pairwise

import browser
import finished_campaign
import pytest
import toy

from sophron.campaign.approval import amendment_draft, approve
from sophron.campaign.planning.plan import Plan, PlannedStep
from sophron.campaign.rendering import html
from sophron.campaign.report import report, report_page
from sophron.campaign.review import review, review_page
from sophron.campaign.spec.spec import load
from sophron.records import approvals
from sophron.records.files import write_text

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason="chromium is not installed")

PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><rect width="400" height="300" fill="teal"/></svg>'
)
READABLE = 4.5  # contrast ratio of WCAG 2.1, level AA, for text
# The colours that a reader sees, element by element: contrast of each text with the first opaque ground below it.
CONTRAST = """
(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = colour => { const [r, g, b] = parse(colour).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = node => { for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor; const parts = parse(colour);
    if (parts.length === 3 || parts[3] === 1) return colour; } return 'rgb(255, 255, 255)'; };
  const found = [];
  for (const node of document.body.querySelectorAll('*')) {
    const own = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    if (!own || node.closest('svg')) continue;
    const a = light(getComputedStyle(node).color), b = light(ground(node));
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.tagName + ' ' + node.className]);
  }
  return found.sort((x, y) => x[0] - y[0])[0];
})()
"""


CAVEATS = {
    "backend": "heuristic",
    "answer": {
        "summary": "One caveat.",
        "caveats": [{"about": "size", "severity": "note", "text": "A <script>alert(1)</script> small box."}],
    },
}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """`review.html` and `report.html` of a campaign, with a plot, an amendment, and text of a stranger."""
    folder = tmp_path_factory.mktemp("campaign")
    with pytest.MonkeyPatch.context() as patch:
        campaign = toy.campaign(folder, patch)
        campaign.edit("The numbers are finite.", "The <script>alert(1)</script> numbers are finite.")
        patch.chdir(campaign.root)
        campaign.sign()
        for name in "abcdef":
            assert not any(finished_campaign.stage(campaign, name)), name
        spec = load(campaign.spec)
        gathered = report.collect(campaign.root, spec, approvals.signed_gate(campaign.root))
        picture = folder / "curve.svg"
        picture.write_text(PICTURE)
        plot = report.Plot("d", "curve_plot", "A curve.", "image/svg+xml", picture)
        gathered.__dict__["plots"] = [plot, replace(plot, step="f")]
        write_text(folder / "report.html", report_page.render(gathered, CAVEATS))
        steps = [PlannedStep(name, "sophron", "0" * 64, {"replica": str(n)}) for name in "abcdef" for n in range(50)]
        drafted = amendment_draft.Draft(
            "", 2, ["stages.c.definition.weight: 0.5 -> 0.25"], "because", ["c", "d", "f"], ""
        )
        proposal = approve.Proposal(campaign.root, Plan(spec, tuple(steps)), "{}\n", drafted)
        now = [PlannedStep("c", "sophron", "0" * 64, {}, reason="Params have changed since last execution: x")]
        looked = review.Review(proposal, now, [], ["the assumption finite is UNVERIFIED; verify it"])
        write_text(folder / "review.html", review_page.render(looked))
    return folder


@pytest.mark.parametrize("name", ["review", "report"])
def test_a_page_loads_alone_and_runs_nothing(chromium, pages, name):
    tab = chromium.open(pages / f"{name}.html")
    assert [url for url in tab.requests() if not url.startswith("data:image/")] == [(pages / f"{name}.html").as_uri()]
    assert tab.complaints() == []
    assert tab.value("getComputedStyle(document.body).fontVariantNumeric") == "lining-nums tabular-nums"
    tab.value(
        "for (const code of ['window.ran = 1']) { const node = document.createElement('script'); node.textContent = code;"
        " document.body.append(node); const image = new Image(); image.src = 'https://example.invalid/x.png';"
        " document.body.append(image); }"
    )
    assert tab.value("window.ran === undefined") is True
    assert tab.value("document.body.innerText.includes('<script>alert(1)</script>')") is True


@pytest.mark.parametrize("name", ["review", "report"])
@pytest.mark.parametrize("width", [340, 800, 1500])
def test_a_page_fits_every_width(chromium, pages, name, width):
    tab = chromium.open(pages / f"{name}.html", width)
    tab.value("for (const node of document.querySelectorAll('details')) node.open = true")
    assert tab.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["review", "report"])
@pytest.mark.parametrize("dark", [False, True])
def test_all_text_can_be_read_in_light_and_dark(chromium, pages, name, dark):
    tab = chromium.open(pages / f"{name}.html", dark=dark)
    tab.value("for (const node of document.querySelectorAll('details')) node.open = true")
    ratio, where = tab.value(CONTRAST)
    assert ratio >= READABLE, where
    red = tab.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert (int(red) < 64) is dark


@pytest.mark.parametrize("name", ["review", "report"])
def test_a_page_has_its_headings_names_and_headers(chromium, pages, name):
    tab = chromium.open(pages / f"{name}.html")
    levels = tab.value("[...document.querySelectorAll('h1,h2,h3')].map(node => Number(node.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    images = [node["name"]["value"] for node in nodes if node.get("role", {}).get("value") in ("image", "img")]
    assert "Stages of arithmetic-toy" in images
    assert all(images)
    assert tab.value("[...document.querySelectorAll('table')].every(node => node.querySelector('thead th'))") is True


def test_plots_are_shown(chromium, pages):
    tab = chromium.open(pages / "report.html")
    assert tab.value("[...document.images].map(node => node.naturalWidth > 0 && node.alt !== '')") == [True, True]


@pytest.mark.parametrize("name", ["review", "report"])
def test_a_page_prints(chromium, pages, name):
    tab = chromium.open(pages / f"{name}.html", dark=True)
    printed = base64.b64decode(tab.call("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_another_style_than_the_page_was_made_with_is_refused(chromium, pages, tmp_path):
    spoiled = (pages / "review.html").read_text().replace("<style>", "<style>body { display: none; } ", 1)
    write_text(tmp_path / "spoiled.html", spoiled)
    tab = chromium.open(tmp_path / "spoiled.html")
    assert tab.value("getComputedStyle(document.body).display") == "block"
    assert any("Content Security Policy" in complaint for complaint in tab.complaints())


def test_only_our_own_pictures_pass_unescaped():
    assert str(html.picture("<svg></svg>")) == "<svg></svg>"
