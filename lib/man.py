#!/usr/bin/env python3
"""Writes manual pages from what a program prints with --help: man.py VERSION PAGE... -- PROGRAM

A page is a file such as benchctl.1, benchctl-run.1 or benchd.8. PROGRAM may be several words: an emulator and its options come first. The exit codes are those of docs/contracts/exit-codes.md."""
import pathlib
import re
import subprocess
import sys

EXIT_CODES = pathlib.Path(__file__).resolve().parents[1] / "docs/contracts/exit-codes.md"
VARIABLES = {
    "BENCHCTL_PATH": "Folders of definitions, separated by colons; searched first",
    "BENCHWORKER": "The benchworker of local runs; default: next to benchctl, else in PATH",
    "KUBECONFIG": "The kubeconfig; default: ~/.kube/config",
    "NO_COLOR": "If set, colors are not used; CLICOLOR_FORCE and FORCE_COLOR force them",
    "XDG_DATA_HOME": "The local store is in its folder benchd; default: ~/.local/share",
}
DESCRIPTIONS = {
    "benchctl":
        "benchctl runs a benchmark that a YAML file defines, in a cluster through benchd or with `--local` on this "
        "machine, and prints throughput, speedup and efficiency with their intervals. Each verb has a page of its own, "
        "such as `benchctl-run`(1).",
    "benchd":
        "benchd watches the kind BenchmarkRun, creates the pods of one run after another, keeps what they measured in "
        "its store, and serves results, metrics and pages over HTTP. People use it through `benchctl`(1) and kubectl. "
        "It ends with SIGTERM; pods of the active run go on, and the next benchd continues with them.",
    "benchworker":
        "benchworker is one process of a training run. `benchctl run --local` and benchd start trainers, parameter "
        "servers and workers; the other roles are for use by hand. `benchworker` ROLE `--help` lists the "
        "options of a role, and the environment variables that an option stands for.",
}
HELP_OPTION = (None, "-h, --help", "", "Print the help of the verb")


def escaped(text):
    """What roff would take for its own is escaped; a word in `backquotes` is bold."""
    bold = re.split("`", text.replace("\\", "\\e").replace("-", "\\-"))
    text = "".join(part + ("" if i == len(bold) - 1 else "\\fP" if i % 2 else "\\fB") for i, part in enumerate(bold))
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text):
    return escaped(text).replace("\n\n", "\n.PP\n") + "\n"


def item(term, text):
    return f".TP\n\\fB{escaped(term)}\\fP\n{paragraphs(text)}"


def lines(text):
    return f".nf\n{escaped(text.rstrip(chr(10)))}\n.fi\n"


def option(names, value, text):
    bold = ", ".join(f"\\fB{escaped(name)}\\fP" for name in names.split(", "))
    return f".TP\n{bold}{value and f' {chr(92)}fI{escaped(value)}{chr(92)}fP'}\n{paragraphs(text)}"


def options(text):
    """The options of a list as base/args.c prints it, as items; --help is left out. What a long name leaves no room
    for begins after one blank, so that a value is known by its capitals or its choices."""
    found = ""
    for entry in re.split(r"^(?=  (?:-\w, |    )--)", text, flags=re.MULTILINE)[1:]:
        names, rest = re.match(r"\s*((?:-\w, )?--[\w-]+)(.*)", entry, re.DOTALL).groups()
        value = re.match(r" ([A-Z][A-Z0-9_:/=,.]*|\S+\|\S+)(?= )", rest)
        help_text = " ".join(rest[value.end() if value else 0:].split())
        if names != "-h, --help":
            found += option(names, value.group(1) if value else "", help_text)
    return found


def exit_codes(program):
    rows = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \|$", EXIT_CODES.read_text(encoding="utf-8"), re.MULTILINE)
    return ".SH EXIT STATUS\n" + "".join(item(code, meaning) for code, programs, meaning in rows
                                         if programs == "all" or program in programs.split(", "))


def head(name, section, summary, synopsis, version):
    return (f'.TH {name.upper()} {section} "" "benchd {version}"\n.SH NAME\n{escaped(name)} \\- {escaped(summary)}\n'
            f".SH SYNOPSIS\n{paragraphs(synopsis)}")


def see_also(*names):
    return ".SH SEE ALSO\n" + ",\n".join(f"\\fB{escaped(name)}\\fP(1)" for name in names) + "\n"


def described(name):
    return f".SH DESCRIPTION\n{paragraphs(DESCRIPTIONS[name])}"


def benchctl(version, program):
    text = program("--help")
    summary, examples, verbs = re.fullmatch(r"benchctl (.*?), and .*?\n\n(.*?\n)\n(\S.*?)\n\nUse .*", text, re.DOTALL).groups()
    return (head("benchctl", 1, summary, "`benchctl` VERB [option...]\n\n`kubectl bench` VERB [option...]", version) +
            described("benchctl") + ".SH VERBS\n" + "".join(item(*line.split(maxsplit=1)) for line in re.findall("^  (.+)", verbs, re.MULTILINE)) +
            ".SH OPTIONS OF ALL VERBS\n" + options(program("version", "--help").split("\nGlobal options:\n")[1]) +
            option(*HELP_OPTION[1:]) + exit_codes("benchctl") +
            ".SH ENVIRONMENT\n" + "".join(item(*row) for row in VARIABLES.items()) + ".SH EXAMPLES\n" + lines(examples))


def benchctl_verb(version, program, verb):
    summary, examples, synopsis, details, formats, own, everyone = re.fullmatch(
        r"(.*?)\n\nExamples:\n(.*?)\nUsage: benchctl \S+(.*?)\n(?:\n(.*?)\n)??(?:\nOutput formats \(-o\): (.*?)\n)?"
        r"\nOptions:\n(.*?)\nGlobal options:\n(.*)", program(verb, "--help"), re.DOTALL).groups()
    return (head(f"benchctl-{verb}", 1, summary, f"`benchctl {verb}`{synopsis or ' '}", version) +
            (f".SH DESCRIPTION\n{paragraphs(details)}" if details else "") +
            (f".SH OUTPUT FORMATS\n{paragraphs('`-o` takes: ' + ''.join(formats.split()))}" if formats else "") +
            ".SH OPTIONS\n" + options(own) + options(everyone) + option(*HELP_OPTION[1:]) +
            ".SH EXAMPLES\n" + lines(examples) + exit_codes("benchctl") + see_also("benchctl"))


def benchd(version, program):
    text = program("--help")
    return (head("benchd", 8, re.match("benchd: (.*)", text).group(1), "`benchd` [option...]", version) +
            described("benchd") + ".SH OPTIONS\n" + options(text) + exit_codes("benchd") + see_also("benchctl", "kubectl"))


def benchworker(version, program):
    roles = program("--help").split("\nRoles:\n")[1].split("\n\n")[0]
    return (head("benchworker", 1, "trains VGG16 with parameter servers or a ring all-reduce",
                 "`benchworker` ROLE [option...]", version) +
            described("benchworker") + ".SH ROLES\n" + "".join(item(*line.split(maxsplit=1)) for line in roles.splitlines()) +
            exit_codes("benchworker") + see_also("benchctl", "benchctl-run"))


def main():
    at = sys.argv.index("--")
    version, *pages = sys.argv[1:at]

    def program(*args):
        return subprocess.run([*sys.argv[at + 1:], *args], capture_output=True, text=True, check=True).stdout

    makers = {"benchctl": benchctl, "benchd": benchd, "benchworker": benchworker}
    for page in map(pathlib.Path, pages):
        name, _, verb = page.stem.partition("-")
        text = benchctl_verb(version, program, verb) if verb else makers[name](version, program)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
