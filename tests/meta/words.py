"""The words of a dialect, which a reader has to decode, are in no comment, string or page (CONTRIBUTING.md, "How the text
reads"). Reads the C sources, benches and scripts; of tests the pages only.

ALLOWED has the strings and pages that may have one, as (file, word) by their reason. An entry without a hit is a finding, so
that the list can only shrink."""

import io
import re
import tokenize

import csource

INSTEAD = {
    r"told|tells?": "reported, logged, printed, says",
    r"mended|put right": "fixed",
    r"(?:is|are|was|were|be) none": "does not exist, without, is not a",
    r"it is no (?!longer|more)": "it is not a",
    r"nobody": "no process, no user, nothing",
    r"beside": "next to, compared with, in addition to",
    r"behind": "after",
    r"(?:stands?|stood) (?:above|before|behind|below|beside|between|here|in|on|still|there|under)": "is in, is stuck",
    r"borne": "tolerated",
    r"seldomer": "less often",
    r"meanwhile": "during that time",
    r"lest": "so that ... not",
    r"(?<=[,;:] )whose": "a sentence of its own",
    r"judges": "checks, evaluates",
    r"for who": "for the process, the client, the caller",
}
PRINTED = "printed text: goldens and tables have it; a commit of prose alone changes it"
ALLOWED = {
    PRINTED: (
        ("bench/control/scale.py", "beside"), ("bench/control/soak.py", "beside"),
        ("bench/random_faults.py", "nobody"), ("bench/systems.py", "beside"),
        ("benchmarks/profiles/open-mpi/logistic.c", "is none"), ("dashboards/make.py", "beside"),
        ("lib/kube/exec_plugin.c", "is none"), ("lib/kube/lease.c", "nobody"),
        ("lib/reference/reference_read.c", "is none"), ("lib/report/phases_sheet.c", "behind"),
        ("lib/report/reference_beside.c", "beside"), ("lib/run/pods/pod_lanes.c", "nobody"),
        ("lib/store/run_file_zstd.c", "behind"),
        ("worker/comm/mailbox.c", "nobody"),
    ),
    "a name: no scheduler has it": (("bench/control/scale.py", "nobody"),),
}
_WORDS = [(re.compile(rf"(?<![\w-])(?:{word})(?!\w)"), instead) for word, instead in INSTEAD.items()]
_FOLDERS = csource.SOURCE_FOLDERS + ("bench", "benchmarks", "dashboards", "docs", "packaging")
_STAR = re.compile(r"\n\s*(?:\*(?!/)|#)?\s*")
_NAME = re.compile(r"`\w+`")
_SHELL_COMMENT = re.compile(r"(?m)(?:^|\s)#[^\n]*")


def texts(path, text):
    """What of the file people read, as (may be printed, text)."""
    if path.endswith(".md"):
        return [(True, text)]
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [(token.type != tokenize.COMMENT, token.string) for token in tokens
                if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))]  # the last: from Python 3.12
    if path.endswith((".c", ".h")):
        return [(False, csource.comments_only(text))] + [(True, string) for string in csource.strings(text)]
    return [(False, comment) for comment in _SHELL_COMMENT.findall(text)]


def check(root, allowed=ALLOWED):
    known = {entry for entries in allowed.values() for entry in entries}
    found, findings = set(), []
    paths = csource.files(root, _FOLDERS, (".c", ".h", ".py", ".md", "meson.build"))
    paths += csource.files(root, ("script",), ("",))
    paths += [path for path in csource.files(root, ("",), (".md",)) if "/" not in path]
    for path in paths:
        for is_printed, text in texts(path, csource.read(root, path)):
            text = _STAR.sub(" ", _NAME.sub("", text)).lower()
            for words, instead in _WORDS:
                for hit in words.finditer(text):
                    entry = (path, hit.group(0))
                    if is_printed and entry in known:
                        found.add(entry)
                    else:
                        findings.append(f"{path}: '{entry[1]}'; say: {instead}")
    return findings + [f"{path}: '{word}' is allowed and has no hit" for path, word in sorted(known - found)]


if __name__ == "__main__":
    csource.main(check)
