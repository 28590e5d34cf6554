"""Turns formulas of the guide, `$...$` in a line and `$$...$$` around lines, into MathML when it is built.

What is in code, in a block or in a line, stays as it is. `$` begins a formula only where no space follows it, and
ends one only where no space precedes it and no digit follows, so that "$5 or $6" is not one; `\\$` never does."""

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
    """Pieces of a page, each with whether it is a block of code."""
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
    # What latex2mathml does not know, in words that it knows.
    latex = re.sub(r"(\\(?:begin|end)\{)aligned\}", r"\1split}", latex)
    latex = re.sub(r"\\arg\\?(min|max)?(?![a-zA-Z])", lambda found: r"\operatorname{%s}" % " ".join(filter(None, ("arg", found[1]))), latex)
    latex = re.sub(r"\\operatorname\*?\{([^{}]*)\}", lambda found: r"\operatorname{%s}" % found[1].replace(r"\,", " "), latex)
    try:
        made = latex2mathml.converter.convert(latex.strip(), display="block" if display else "inline")
    except Exception as error:  # its errors have no common kind
        log.warning("%s: the formula %s cannot be read: %s", page, latex.strip(), type(error).__name__)
        return latex
    # Browsers align cells by style alone.
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
