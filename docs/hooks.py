"""Converts the formulas of the guide to MathML during the build: `$...$` in a line and `$$...$$` around lines.

Code blocks and inline code stay unchanged. `$` begins a formula only if no space follows the `$`. `$` ends a formula only if
no space precedes and no digit follows the `$`, so that "$5 or $6" is not a formula. `\\$` never begins or ends a formula."""

import logging
import re

import latex2mathml.converter

log = logging.getLogger("mkdocs.hooks.formulas")

FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
PARTS = re.compile(
    r"(?P<code>(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escaped>\\\$)"
    r"|(?<![\\$])\$\$(?P<display>(?:(?!\n[ \t]*\n)[^$])+?)\$\$(?!\$)"
    r"|(?<![\\$])\$(?![\s$])(?P<inline>(?:(?!\n[ \t]*\n)[^$])*?(?<![\s\\]))\$(?![\d$])",
    re.DOTALL,
)
PLACE = re.compile(r"<p>\s*formulaplace(\d+)x\s*</p>|formulaplace(\d+)x")


def outside_of_fences(text):
    """Splits a page into pieces, and returns for each piece whether it is a code block."""
    pieces, code, fence = [[]], [False], None
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
            pieces.append([line])
            code.append(True)
        elif fence is not None and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            pieces[-1].append(line)
            pieces.append([])
            code.append(False)
            fence = None
        else:
            pieces[-1].append(line)
    return [("".join(piece), is_code) for piece, is_code in zip(pieces, code)]


def mathml(latex, display, page):
    # Replaces commands that latex2mathml does not know by commands that it knows.
    latex = re.sub(r"(\\(?:begin|end)\{)aligned\}", r"\1split}", latex)
    latex = re.sub(r"\\arg\\?(min|max)?(?![a-zA-Z])", lambda found: r"\operatorname{%s}" % " ".join(filter(None, ("arg", found[1]))), latex)
    latex = re.sub(r"\\operatorname\*?\{([^{}]*)\}", lambda found: r"\operatorname{%s}" % found[1].replace(r"\,", " "), latex)
    try:
        made = latex2mathml.converter.convert(latex.strip(), display="block" if display else "inline")
    except Exception as error:  # latex2mathml's errors have no common base class
        log.warning("%s: the formula %s cannot be read: %s", page, latex.strip(), type(error).__name__)
        return latex
    # Browsers ignore `columnalign`, and align cells by their style only.
    made = re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', made)
    if "\\" in re.sub(r"<mo>\\</mo>", "", made):
        log.warning("%s: the formula %s has a command that is not known", page, latex.strip())
    if display:
        return f'<div style="overflow: auto hidden; padding: 0.6em 0">{made}</div>'
    return made


def on_page_markdown(markdown, page, **_):
    formulas = []

    def replace(match):
        if match["code"]:
            return match[0]
        if match["escaped"]:
            return "$"
        display = match["display"] is not None
        formulas.append(mathml(match["display"] if display else match["inline"], display, page.file.src_path))
        return f"formulaplace{len(formulas) - 1}x"

    made = "".join(piece if code else PARTS.sub(replace, piece) for piece, code in outside_of_fences(markdown))
    page.formulas = formulas
    return made


def on_page_content(html, page, **_):
    return PLACE.sub(lambda match: page.formulas[int(match[1] or match[2])], html)
