"""The commands of sam and AWS's command line on the pages, as bash passes them to these programs.

Bash runs each page from its top to its end in a copy of what sam reads, with every program replaced by one that does nothing:
so quotes, variables, substitutions and the folders of `cd` are those of a reader.
"""

import itertools
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from template import PROJECT

STREAM_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/T/stream/2026-11-20T00:00:00.000"
# What a reader puts in place of names in capitals, where a program looks at it.
PLACEHOLDERS = ((r"\b([A-Z]+_)?ARN\b", STREAM_ARN), (r"\bID\b", "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a"))
# Where a shell expects a command. A page names the program alone, or with a folder, in other places.
COMMAND = re.compile(r"(?:^|[;&|(])[ \t]*(?:\w+=\S*[ \t]+)*(?:sam|aws)[ \t]+[a-z]", re.MULTILINE)
# What is between the records of two commands, and between the words of one.
END_OF_RECORD, END_OF_WORD = "\x1e", "\x1f"
# The programs that the pages run. What they print is the least that the commands behind them accept.
PRELUDE = r"""
PATH=/nowhere
command_not_found_handle() { :; }
# With -eu, a script would end the page at what is not there.
set() { :; }
exit() { :; }
record() { local IFS=$'\x1f'; printf '%s\x1e' "$*" >>"$RECORDS"; }
sam() { record sam "$PWD" "$@"; }
aws() { record aws "$PWD" "$@"; case "$*" in *get-caller-identity*) echo 123456789012 ;; *) echo arn:aws:service::123456789012:name ;; esac; }
gh() { echo repo:OWNER/REPOSITORY; }
jq() { echo '{"Policy": "{}"}'; }
INTAKE_STACK=intake-dev
"""


@dataclass(frozen=True)
class Script:
    """A block of shell commands, or one in backquotes."""

    place: str
    text: str


@dataclass(frozen=True)
class Command:
    """A program with its arguments, in a folder below the root of the copy."""

    program: str
    folder: str
    arguments: tuple[str, ...]

    @property
    def overrides(self) -> tuple[str, ...]:
        """What the command gives to the parameters of a template."""
        if "--parameter-overrides" not in self.arguments:
            return ()
        start = self.arguments.index("--parameter-overrides") + 1
        return tuple(itertools.takewhile(lambda word: not word.startswith("-"), self.arguments[start:]))

    def with_one_override(self) -> "Command":
        """The command with another parameter in place of its own."""
        if not self.overrides:
            return self
        start = self.arguments.index("--parameter-overrides") + 1
        rest = self.arguments[start + len(self.overrides):]
        return Command(self.program, self.folder, (*self.arguments[:start], "Name=value", *rest))

    def __str__(self) -> str:
        return f"{self.program} {' '.join(self.arguments)} (in {self.folder})"


def pages() -> list[Path]:
    """Every page of the repository."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [PROJECT / name for name in listed.split()]


def scripts(page: Path) -> list[Script]:
    """The scripts of a page, from top to bottom."""
    text = page.read_text()
    found = []
    # A block, or what is in backquotes. A row of a table has the bars of its commands escaped.
    for match in re.finditer(r"^ *```(?P<language>\w*)\n(?P<block>.*?)^ *```$|`(?P<span>[^`\n]+(?:\n[^`\n]+)?)`", text, re.MULTILINE | re.DOTALL):
        place = f"{page.relative_to(PROJECT)}:{text.count(chr(10), 0, match.start()) + 1}"
        if match["language"] == "sh":
            found.append(Script(place, match["block"]))
            found.extend(Script(place, comment) for comment in commented(match["block"]))
        elif match["span"] and COMMAND.match(match["span"]):
            found.append(Script(place, " ".join(match["span"].replace("\\|", "|").split("\n"))))
    return found


def commented(block: str) -> list[str]:
    """The commands that the comments of a block name."""
    return re.findall(r" # .*?\b((?:sam|aws) [a-z]+ .*)$", block, re.MULTILINE)


def count(script: str) -> int:
    """How many commands a reader sees in a script."""
    without_comments = re.sub(r"(^|\s)#.*$", "", script, flags=re.MULTILINE)
    return len(COMMAND.findall(without_comments))


def copy_project(folder: Path):
    """Copies what sam reads: the templates, their configuration, and the folders of the functions."""
    for name in ("template.yaml", "samconfig.toml", "delivery/template.yaml", "delivery/samconfig.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, folder / name)
    shutil.copytree(PROJECT / "deploy", folder / "deploy")
    for manifest in [*PROJECT.glob("functions/*/Cargo.toml"), PROJECT / "delivery" / "function" / "Cargo.toml"]:
        copied = folder / manifest.relative_to(PROJECT)
        copied.parent.mkdir(parents=True)
        shutil.copy(manifest, copied)
    # It would call AWS. Its own commands are tried as those of a page are.
    (folder / "deploy" / "streams").write_text(f"#!/bin/sh\necho SignalsStreamArn={STREAM_ARN} SignalsFunctionName=f\n")
    # What delivery/history.py writes.
    (folder / "lake").mkdir()
    (folder / "lake" / "1.gz").touch()


def recorded(run: list[Script], folder: Path) -> dict[Script, list[Command]]:
    """What bash passes to the two programs, script by script, as one reader enters them."""
    records = folder / "records"
    records.touch()
    text = PRELUDE + "".join(f"\n{script.text}\nrecord end\n" for script in run)
    done = subprocess.run(["/bin/bash", "-c", text], cwd=folder, env={"RECORDS": str(records)}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    made, rest = {}, [record.split(END_OF_WORD) for record in records.read_text().split(END_OF_RECORD)]
    records.unlink()
    for script in run:
        if ["end"] not in rest:
            raise AssertionError(f"Bash stopped in {script}: {done.stderr[-2000:]}")
        end = rest.index(["end"])
        made[script] = [Command(program, str(Path(at).relative_to(folder)), tuple(map(filled_in, words)))
                        for program, at, *words in rest[:end]]
        rest = rest[end + 1:]
    return made


def filled_in(word: str) -> str:
    for placeholder, value in PLACEHOLDERS:
        word = re.sub(placeholder, value, word)
    return word


def made_by_pages(project: Path) -> dict[Script, list[Command]]:
    """The commands of all pages, and of deploy/streams, by the script that has them. Makes the folder, as a copy of what sam reads."""
    copy_project(project)
    made = {}
    for page in pages():
        made |= recorded(scripts(page), project)
    # The prelude has what the commands of this script print.
    streams = Script("deploy/streams", (PROJECT / "deploy" / "streams").read_text().replace("$1", "intake-dev"))
    return made | recorded([streams], project)
