"""Runs the blocks of code in the guide, and compares what they print with what the guide says they print. See docs/test.

* The `sh` blocks of a page run in order in one bash, with `set -e`; its `python` blocks in order in one Python. Both work in one
  directory, which is empty at first, and blocks of both kinds run in the order in which they stand.
* A `text` block directly after one of these is what it prints, to standard output and error together. A line `...` stands for
  any lines, `...` within a line for any characters.
* `$HASHBROOK_SOURCE` is the directory of the repository.
* A page that imports what the environment does not have (another search engine, say) is left out from there on, and named.
* Blocks in tabs count like others. `rust` blocks are tested by `cargo test --doc`, which has the pages included. rustdoc takes
  what is indented for Rust, so on a page with `rust` blocks no tab or note may be written by indentation."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DOCS = pathlib.Path(__file__).resolve().parent
FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([\w+-]*)(.*)$")
SECONDS = 300

BASH = r"""
set -e
while IFS= read -r block <&3; do
  source "$block" > "$block.out" 2>&1 < /dev/null 3<&- 4>&-
  echo done >&4
done
"""
PYTHON = r"""
import os, sys, traceback
names = {"__name__": "__main__"}
commands, answers = os.fdopen(3), os.fdopen(4, "w")
for block in commands:
    block = block.rstrip("\n")
    out = os.open(block + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    with open(block, encoding="utf-8") as file:
        text = file.read()
    try:
        exec(compile(text, os.path.basename(block), "exec"), names)
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    answers.write("done\n")
    answers.flush()
"""


@dataclasses.dataclass
class Block:
    line: int
    language: str
    text: str
    indent: str
    output: str | None = None


def blocks_of(text):
    """Returns the blocks of a page, each with its expected output if the page states one."""
    blocks, lines = [], text.splitlines()
    at, last_end = 0, None
    while at < len(lines):
        mark = FENCE.match(lines[at])
        if not mark:
            if lines[at].strip():
                last_end = None
            at += 1
            continue
        indent, fence, language = mark[1], mark[2], mark[3]
        begin = at
        at += 1
        inside = []
        while at < len(lines) and not (lines[at].strip().startswith(fence) and not lines[at].strip().strip(fence[0])):
            line = lines[at]
            inside.append(line[len(indent):] if line.startswith(indent) else line.lstrip())
            at += 1
        if at == len(lines):
            raise SystemExit(f"the block of line {begin + 1} has no end")
        at += 1
        block = Block(begin + 1, language, "\n".join(inside) + "\n", indent)
        if language == "text" and last_end is not None and last_end.indent == indent and last_end.language in ("sh", "python"):
            last_end.output = block.text
        blocks.append(block)
        last_end = block
    return blocks


def line_is(expected, actual):
    pieces = [re.escape(piece) for piece in expected.rstrip().split("...")]
    return re.fullmatch(".*?".join(pieces), actual.rstrip()) is not None


def prints(expected, actual):
    """Returns whether the actual lines match the expected lines. A line `...` matches any lines."""
    expected, actual = expected.strip("\n").splitlines(), actual.strip("\n").splitlines()
    reached = {0}  # numbers of actual lines that the expected lines so far can match
    for line in expected:
        if line.strip() == "...":
            reached = set(range(min(reached), len(actual) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(actual) and line_is(line, actual[at])}
    return len(actual) in reached


class Runner:
    """A bash or Python process that runs one block after the other."""

    def __init__(self, command, directory, environment):
        (commands, self.commands), (self.answers, answers) = os.pipe(), os.pipe()
        # In the child process the descriptors are 3 and 4, whatever their numbers are here.
        script = 'exec "$@" 3<&%d 4>&%d' % (commands, answers)
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command],
            cwd=directory, env=environment, pass_fds=(commands, answers), stdin=subprocess.DEVNULL, start_new_session=True,
        )
        os.close(commands)
        os.close(answers)

    def run(self, file):
        """Runs the block in a file. Returns None if the block succeeded in time, or else the problem."""
        os.write(self.commands, f"{file}\n".encode())
        ready, _, _ = select.select([self.answers], [], [], SECONDS)
        if not ready:
            return f"was not over after {SECONDS} seconds"
        if os.read(self.answers, 100) != b"done\n":
            return "failed"
        return None

    def end(self):
        os.close(self.commands)
        os.close(self.answers)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                break
            until = time.monotonic() + 3
            while time.monotonic() < until:
                self.process.poll()
                try:
                    os.killpg(self.process.pid, 0)
                except ProcessLookupError:
                    break
                time.sleep(0.02)
        self.process.wait()


def indented(text):
    """Returns the line number of the first indented tab or note of a page, or None."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"^(===|!!!|\?\?\?\+?) ", line):
            return number
    return None


def run_page(path, environment, python, show):
    """Runs a page. Returns its name, the numbers of blocks run and of outputs compared, and the problem or None."""
    name = str(path.relative_to(DOCS))
    text = path.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    ran = compared = 0
    if any(block.language == "rust" for block in blocks) and indented(text):
        return name, ran, compared, f"docs/{name}:{indented(text)}: rustdoc takes what is indented for Rust: write `/// tab | Name` ... `///`"
    if any(block.language == "rust" for block in blocks) and any(not block.language for block in blocks):
        line = next(block.line for block in blocks if not block.language)
        return name, ran, compared, f"docs/{name}:{line}: rustdoc takes a block without a language for Rust: call it `text`"
    if any(block.language in ("bash", "shell", "python3") for block in blocks):
        return name, ran, compared, f"docs/{name}: blocks that run are `sh` or `python`"
    blocks = [block for block in blocks if block.language in ("sh", "python")]
    if not blocks:
        return name, ran, compared, None
    aside = pathlib.Path(tempfile.mkdtemp(prefix="guide-blocks-"))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="guide-"))
    runners = {}
    try:
        for number, block in enumerate(blocks):
            if block.language not in runners:
                command = ["bash", "--noprofile", "--norc", "-c", BASH] if block.language == "sh" else [python, "-c", PYTHON]
                runners[block.language] = Runner(command, directory, environment)
            file = aside / f"{number}.{block.language}"
            file.write_text(block.text, encoding="utf-8")
            problem = runners[block.language].run(file)
            out = file.with_name(file.name + ".out")
            actual = out.read_text(encoding="utf-8", errors="replace") if out.exists() else ""
            ran += 1
            if show:
                print(f"---- docs/{name}:{block.line}\n{actual}", end="", flush=True)
            if problem is None and block.output is not None:
                compared += 1
                if not prints(block.output, actual):
                    problem = "printed something else"
            missing = problem and re.search(r"^ModuleNotFoundError: No module named '(\w+)", actual, re.MULTILINE)
            if missing and missing[1] != "hashbrook":
                return name, ran - 1, compared, f"left out docs/{name}:{block.line} and what follows: there is no {missing[1]} in this environment"
            if problem:
                report = f"docs/{name}:{block.line}: a block {problem}\n----\n{block.text}"
                if block.output is not None:
                    report += f"---- expected\n{block.output}"
                return name, ran, compared, f"{report}---- actual\n{actual}----"
    finally:
        for runner in runners.values():
            runner.end()
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)
    return name, ran, compared, None


# Third-party libraries whose arithmetic differs in the last digits between processors. A page that uses one runs a second time.
ARITHMETIC = re.compile(r"\b(sklearn|faiss|lancedb)\b|python/examples/|\b(np|numpy)\.(arccos|argsort|linalg|random)\b")


def other_arithmetic(python):
    """Returns environment variables that make third-party libraries compute as on an older processor, so that last digits differ.

    Numpy skips the instruction sets that it selects at run time. OpenBLAS uses another kernel and one thread.
    libjpeg-turbo (Pillow) and FAISS skip vector instructions.
    """
    names = "from numpy._core._multiarray_umath import __cpu_dispatch__ as all; print(*all)"
    chosen = subprocess.run([python, "-c", names], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "NPY_DISABLE_CPU_FEATURES": chosen,
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "JSIMD_FORCENONE": "1",
        "FAISS_SIMD_LEVEL": "NONE",
        "FAISS_OPT_LEVEL": "generic",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages, such as tutorial.md, docs/from/faiss.md or methods; all unless given")
    parser.add_argument("--hashbrook", required=True, help="the directory of the command")
    parser.add_argument("--python", required=True, help="the Python to run blocks with")
    parser.add_argument("--other-arithmetic", action="store_true",
                        help="run pages that use numpy and the like, with last digits as on an older processor")
    parser.add_argument("--show", action="store_true", help="print what each block prints")
    parser.add_argument("--jobs", type=int, default=2, help="how many pages at a time")
    given = parser.parse_args()

    pages = [page for page in sorted(DOCS.rglob("*.md")) if ".env" not in page.parts]
    if given.pages:
        wanted = {name.removeprefix("docs/").removesuffix("/").removesuffix(".md") for name in given.pages}
        found = {}
        for page in pages:
            place = page.relative_to(DOCS).with_suffix("")
            for name in (str(place), *map(str, place.parents)):
                if name in wanted:
                    found.setdefault(name, []).append(page)
        if wanted - set(found):
            sys.exit(f"there is no page {', '.join(sorted(wanted - set(found)))}")
        pages = sorted({page for some in found.values() for page in some})

    if given.other_arithmetic:
        pages = [page for page in pages if ARITHMETIC.search(page.read_text(encoding="utf-8"))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HASHBROOK", "PYTHON"))}
    environment |= {"LC_ALL": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    environment["HASHBROOK_SOURCE"] = str(pathlib.Path(__file__).resolve().parent.parent)
    if given.other_arithmetic:
        environment |= other_arithmetic(given.python)
    directories = [str(pathlib.Path(given.hashbrook).resolve()), str(pathlib.Path(given.python).absolute().parent)]
    environment["PATH"] = os.pathsep.join([*directories, environment.get("PATH", "")])
    blocks = outputs = failed = 0
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for name, ran, compared, problem in pool.map(lambda page: run_page(page, environment, given.python, given.show), pages):
            blocks += ran
            outputs += compared
            if problem:
                failed += not problem.startswith("left out ")
                print(problem, flush=True)
            elif ran:
                print(f"docs/{name}: {ran} blocks ran, {compared} outputs compared", flush=True)
    print(f"{blocks} blocks of {len(pages)} pages ran, {outputs} outputs compared, {failed} pages failed, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
