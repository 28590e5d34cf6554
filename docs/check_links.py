"""Checks that the links of HTML pages in the given directories and of the project's Markdown files are valid.

    python docs/check_links.py target/guide [target/doc]

The target file of a relative link must exist. If the link names an anchor, the file must have it: an id in HTML, or a heading
in Markdown, by GitHub's rule for anchors. For links to other machines only the form is checked. Prints the number of checked
links, or each invalid link, and then fails."""

import html.parser
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()
        # Nesting depth inside rustdoc's list of blanket implementations, whose documentation and links belong to other crates.
        self.foreign = 0

    def handle_endtag(self, tag):
        if self.foreign and tag == "div":
            self.foreign -= 1

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "div" and (self.foreign or attributes.get("id") == "blanket-implementations-list"):
            self.foreign += 1
        self.ids.add(attributes.get("id"))
        if tag == "a":
            self.ids.add(attributes.get("name"))
        link = attributes.get("href", attributes.get("src"))
        if link is not None and not self.foreign and tag in ("a", "area", "img", "link", "script", "iframe", "source"):
            self.links.append((self.getpos()[0], link))


def text_outside_of_code(text):
    """Returns the lines of a Markdown text, with empty lines in place of code blocks."""
    fence, lines = None, []
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = None
        elif fence is None:
            lines.append(line)
            continue
        lines.append("")
    return lines


def slug(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"<[^>]*>", "", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def read(path, known={}):
    """Returns the links of a file, each with its line number, and the anchors of the file."""
    if path in known:
        return known[path]
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".html":
        page = Page()
        page.feed(text)
        links, anchors = page.links, page.ids
    else:
        links, anchors = [], set()
        for number, line in enumerate(text_outside_of_code(text), 1):
            heading = re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
            if heading:
                name, count = slug(heading[1]), 0
                while (name if not count else f"{name}-{count}") in anchors:
                    count += 1
                anchors.add(name if not count else f"{name}-{count}")
            anchors.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
            # Code contains no links, but the text of a link may be code.
            bare = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda match: "`" * len(match[0]), line)
            links += [(number, found) for found in re.findall(r"\]\(<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\)", bare)]
            links += [(number, found) for found in re.findall(r"^\s{0,3}\[[^\]]+\]:\s+(\S+)\s*(?:\".*\")?$", bare)]
    known[path] = links, anchors
    return known[path]


def wrong(path, link, top):
    """Returns the problem of a link of a file, or None. Absolute paths are relative to `top`."""
    try:
        parts = urllib.parse.urlsplit(link)
    except ValueError:
        return "is no address"
    if parts.scheme in ("http", "https"):
        return None if re.fullmatch(r"[\w.-]+\.\w+(:\d+)?|localhost(:\d+)?|127\.0\.0\.1(:\d+)?", parts.netloc) else "is no address"
    if parts.scheme in ("mailto", "data", "javascript"):
        return None
    if parts.scheme or parts.netloc:
        return "is of a kind that is not known"
    target = urllib.parse.unquote(parts.path)
    if not target:
        file = path
    elif target.startswith("/"):
        file = top / target.lstrip("/")
    else:
        file = path.parent / target
    if not file.exists():
        return "leads to no file"
    file = file.resolve()
    if file.is_dir():
        if path.suffix == ".html":
            file = file / "index.html"
            if not file.exists():
                return "leads to a directory without a page"
        elif parts.fragment:
            return "has an anchor in a directory"
        else:
            return None
    anchor = parts.fragment
    if not anchor or file.suffix not in (".html", ".md"):
        return None
    # rustdoc's source pages create anchors for lines in the browser.
    if file.suffix == ".html" and re.fullmatch(r"\d+(-\d+)?", anchor):
        return None
    # Links of rustdoc contain ids literally. Other links may be percent-encoded.
    if not {anchor, urllib.parse.unquote(anchor)} & read(file)[1]:
        return "leads to no such place in its file"
    return None


def main():
    files = []
    for directory in map(pathlib.Path, sys.argv[1:]):
        if not directory.is_dir():
            sys.exit(f"there is no directory {directory}")
        # Skips rustdoc's help and settings pages, and the page for missing addresses, whose links are valid at one address only.
        own = {directory / name for name in ("404.html", "help.html", "settings.html")}
        files += [(path.resolve(), directory.resolve()) for path in sorted(directory.rglob("*.html")) if path not in own]
    texts = sorted(ROOT.glob("*.md"))
    for directory in ("docs", "python", "bench"):
        texts += sorted((ROOT / directory).rglob("*.md"))
    for path in texts:
        inside = path.relative_to(ROOT).parts
        if not any(part.startswith(".") or part in ("target", "node_modules", "work") for part in inside):
            files.append((path, ROOT))
    checked, bad = 0, []
    for path, top in files:
        for line, link in read(path)[0]:
            checked += 1
            problem = wrong(path, link, top)
            if problem:
                shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                bad.append(f"{shown}:{line}: {link} {problem}")
    print("\n".join(bad), end="\n" if bad else "")
    print(f"{checked:,} links of {len(files):,} files checked, {len(bad)} of them wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
