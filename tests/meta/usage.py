"""Every option, verb and field that a page names exists: verbs, options and output formats in the --help of the three programs, fields
of definitions and runs in what `benchctl explain` knows.

usage.py ROOT BUILD_DIR

An option after a verb must be one of that verb; elsewhere it must be one of any program or script of the project, or in FOREIGN."""

import functools
import os
import re
import subprocess
import sys

import csource

PROGRAMS = {"benchctl": "ctl/benchctl", "benchworker": "worker/benchworker", "benchd": "daemon/benchd"}
SKIPPED = ("CHANGELOG.md",)
# Options of other programs; one that no page names is a finding.
FOREIGN = {
    "docker": "build-arg target",
    "kubectl": "clusterrole docker-password docker-server docker-username force from grace-period ignore-not-found previous raw replicas serviceaccount type",
    "kubectl krew": "manifest",
    "helm": "create-namespace take-ownership",
    "apt-get": "no-install-recommends",
    "ld": "wrap",
    "meson": "prefix",
    "srun": "label",
    "torchrun": "nproc_per_node tee",
}
_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*\w)")
_FORMAT = re.compile(r"(?<![\w-])-o ([a-z]+)\b")
_CODE = re.compile(r"```[^\n]*\n(.*?)```|``(.+?)``|`([^`\n]+)`|((?:^ {4,}\S[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:^|[|;&(] *|\$ )(benchctl|benchworker|benchd|kubectl bench)(?= |$)((?:\\\n|[^\n|;&)#])*)", re.MULTILINE)
_FIELD = re.compile(r"(?:^|[\s{(])((?:[a-z]\w*(?:\[\])?\.)+[a-zA-Z]\w*)(?![\w.(/-])")
_FILE = re.compile(r"\.(?:c|h|py|md|sh|yaml|yml|json|txt|csv|log|io|db|sqlite|build)$")
_HELP_ROW = re.compile(r"^ {2,6}(?:-\w, )?--([a-z][\w-]*)", re.MULTILINE)
_HELP_VERB = re.compile(r"^  ([a-z]+) +[A-Z]", re.MULTILINE)
_HELP_FORMATS = re.compile(r"(?:Output formats \(-o\): |--output FORMAT +)([a-z|, ]+)")
_SCRIPTS = ("script", "bench", "benchmarks/profiles", "tests/e2e", "tests/sim")
# Where a script reads an option, or has it in its usage.
_SCRIPT_OPTION = re.compile(r'(?:add_argument\("|^ *(?:-\w \| )?|\n *"|\[|^# +script/\w+ [^\n]*?)--([a-z][\w-]*)(?:"|\)| )', re.MULTILINE)
_FIELDS_TABLE = re.compile(r"^\| field \| what it says \|\n\|[-|]+\n((?:\|[^\n]*\n)+)", re.MULTILINE)


class Programs:
    """What the built programs know."""

    def __init__(self, root, build):
        self.paths = {name: os.path.join(build, path) for name, path in PROGRAMS.items()}
        self.verbs = {name: {} for name in PROGRAMS}    # {program: {verb: (options, formats)}}
        for name in ("benchctl", "benchworker"):
            for verb in _HELP_VERB.findall(self.run(name, "--help")[1]):
                self.verbs[name][verb] = self.read(self.run(name, verb, "--help")[1])
        self.verbs["benchd"][""] = self.read(self.run("benchd", "--help")[1])
        self.scripts = {"help", "version"}
        for path in csource.files(root, _SCRIPTS, ("", ".py", ".c")):
            self.scripts |= set() if path.endswith(".zst") else set(_SCRIPT_OPTION.findall(csource.read(root, path)))

    def run(self, name, *words):
        done = subprocess.run([self.paths[name], *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    @staticmethod
    def read(text):
        formats = _HELP_FORMATS.search(text)
        return set(_HELP_ROW.findall(text)) | {"help", "version"}, set(re.findall("[a-z]+", formats[1])) if formats else set()

    @functools.lru_cache(maxsize=None)
    def has_field(self, path):
        return self.run("benchctl", "explain", path, "--local")[0] == 0


def commands(code):
    """(program, its words, may it be output?) for each command of the project in a piece of code."""
    for program, rest in _COMMAND.findall(code):
        yield ("benchctl" if program == "kubectl bench" else program), rest.replace("\\\n", " ").split(" -- ")[0], "\n$ " in "\n" + code


def check_command(programs, program, words, is_output=False):
    """What is wrong with the words after the name of a program; output may begin with its name, too."""
    if program == "benchd":
        verb = ""
    else:
        verb = re.match(r"\s*([a-z]+)\b", words)
        if verb is None or (is_output and verb[1] not in programs.verbs[program]):
            return []
        verb = verb[1]
        if verb not in programs.verbs[program]:
            return [f"{program} has no {verb}"]
    options, formats = programs.verbs[program][verb]
    name = f"{program} {verb}".rstrip()
    return ([f"{name} has no --{option}" for option in _OPTION.findall(words) if option not in options] +
            [f"{name} has no format {form}" for form in _FORMAT.findall(words) if program == "benchctl" and form not in formats])


def resolves(programs, path):
    path = re.sub(r"\bROLE\b", "trainer", path.replace("[]", ""))
    paths = [path] if path.startswith(("spec.", "benchmarkrun.")) else ["spec." + path]
    paths += ["benchmarkrun." + (path if path.startswith(("spec.", "status.")) else "spec." + path)]
    return any(programs.has_field(p) for p in paths)


def check_fields_table(programs, text):
    """The rows "PATH name, name" of the table of fields: a name is a field of the path, of the name before it, or next to the path."""
    missing = []
    for row in (rows for table in _FIELDS_TABLE.findall(text) for rows in table.splitlines()):
        words = [w for w in re.findall(r"[A-Za-z][\w.]*(?:\[\])?", row.split("|")[1]) if w not in ("or", "and")]
        path = last = words[0]
        missing += [] if resolves(programs, path) else [path]
        for word in words[1:]:
            places = [f"{path}.{word}", f"{last}.{word}", *(f"{p.rpartition('.')[0]}.{word}" for p in (last, path)), word]
            found = next((place for place in places if resolves(programs, place)), None)
            if found is None:
                missing.append(f"{path} {word}")
            else:
                last = found
                path = found if word.endswith("[]") else path
    return [f"no field {name}" for name in missing]


def check_page(programs, text, tops):
    """Findings of a page as (offset, text), and the options of other programs that it names."""
    ours = programs.scripts.union(*(options for verbs in programs.verbs.values() for options, _ in verbs.values()))
    foreign = {option: program for program, options in FOREIGN.items() for option in options.split()}
    findings, used = [], set()
    for m in _OPTION.finditer(text):
        if m[1] in ours:
            continue
        used.add(m[1])
        if m[1] not in foreign:
            findings.append((m.start(), f"no program has --{m[1]}"))
    for m in _CODE.finditer(text):
        code = next(filter(None, m.groups()))
        findings += [(m.start(), bad) for command in commands(code) for bad in check_command(programs, *command)]
        first = re.match(r"([a-z]+) (?=.*(?:--|-o ))", code)
        if m[3] and first and first[1] in programs.verbs["benchctl"]:
            findings += [(m.start(), bad) for bad in check_command(programs, "benchctl", code)]
        for path in _FIELD.findall(code) if m[3] else ():
            if re.split(r"[.\[]", path)[0] in tops and not _FILE.search(path) and not resolves(programs, path):
                findings.append((m.start(), f"no field {path}"))
    return findings + [(0, bad) for bad in check_fields_table(programs, text)], used


def check(root, programs):
    tops = {"spec", "status"} | set(re.findall(r"^  (\w+)   <", programs.run("benchctl", "explain", "spec", "--local")[1], re.MULTILINE))
    findings, used = [], set()
    for path in csource.files(root, ("docs", "dashboards"), (".md",)) + [p for p in csource.files(root, ("",), (".md",)) if "/" not in p]:
        if path in SKIPPED:
            continue
        text = csource.read(root, path)
        found, options = check_page(programs, text, tops)
        findings += [f"{path}:{csource.line_of(text, at)}: {bad}" for at, bad in sorted(found)]
        used |= options
    return findings + [f"--{option} of {program} is named by no page" for program, options in FOREIGN.items()
                       for option in options.split() if option not in used]


if __name__ == "__main__":
    if not all(os.path.exists(os.path.join(sys.argv[2], path)) for path in PROGRAMS.values()):
        print("a program was not built")
        sys.exit(77)
    built = Programs(sys.argv[1], sys.argv[2])
    csource.main(lambda root: check(root, built))
