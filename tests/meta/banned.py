"""Functions and words that the house style bans, with the places where one is right. Elsewhere a comment that
begins with "Rule zero:" within the ten lines above says why the rule fails there."""

import fnmatch
import re

import csource

# name: (pattern in code, why, {place: reason})
CALLS = {
    "unbounded strings": (
        r"\b(strcpy|strcat|stpcpy|sprintf|vsprintf|gets|strncpy|strncat)\s*\(",
        "use buf, snprintf or memcpy with a known length", {}),
    "hidden state": (r"\bstrtok\s*\(", "use strtok_r in tests, parse by hand elsewhere", {}),
    "unchecked numbers": (
        r"\b(atoi|atol|atoll|atof|strtol|strtoul|strtoll|strtoull|strtod|strtof|strtold|sscanf)\s*\(",
        "use base/parse.h",
        {
            "lib/base/parse.c": "base/parse.h is made of them",
            "tests/*": "tests read formats of their own, and compare with libc's answer",
        }),
    "the user's locale": (
        r"\b(is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper)"
        r"|strn?casecmp|strcasestr|str(coll|xfrm)|(is|to)w[a-z]+)(_l)?\s*\(",
        "it follows LC_CTYPE or LC_COLLATE; use ascii_lower, str_eq_nocase or str_find_nocase of base/str.h",
        {}),
    "another locale": (
        r"\bsetlocale\s*\(", "numbers and words must not change with the user's locale",
        {"ctl/cli/cli.c": "LC_CTYPE alone, for what the terminal can show"}),
    "a newer glibc": (r"\b(hypotf?|pidfd_(open|getfd)|arc4random\w*|closefrom)\s*\(", "the wheel runs with glibc 2.34", {"tests/*": "run where they are built"}),
    "stack by size": (r"\b(alloca|__builtin_alloca)\s*\(", "use xmalloc and _cleanup_", {}),
    "a shell": (r"\b(system|popen)\s*\(", "fork and exec the program itself", {}),
    "leaving below main": (
        r"(?<![\w.>])(exit|quick_exit)\s*\(", "return an error up to main",
        {
            "tests/*": "fakes and benches are all main; a broken test stops",
        }),
    "leaving a child": (
        r"(?<![\w.>])_exit\s*\(", "only a forked child or a handler may leave like this",
        {
            "lib/run/*.c": "children between fork and exec",
            "ctl/verbs/complete.c": "a handler of SIGALRM may call nothing else",
            "worker/main.c": "a handler of SIGTERM may call nothing else",
            "bench/fault_*.c": "the processes of its gang are forked children",
            "tests/*": "children between fork and exec",
        }),
    "abort": (
        r"(?<![\w.>])abort\s*\(", "return an error",
        {
            "lib/base/mem.c": "memory is gone: crash-only programs restart",
            "lib/base/buf.c": "memory is gone: crash-only programs restart",
            "lib/doc/tree_yaml.c": "memory is gone, says libyaml",
            "worker/comm/link/auth.c": "memory is gone, says OpenSSL",
            "worker/comm/ps/reduce.c": "memory is gone, aligned as base/mem.h cannot",
            "lib/run/processes/links.c": "the thread cannot leave the network namespace that it has made",
            "tests/*": "a broken test stops",
        }),
    "sleeping to wait": (
        r"(?<![\w.>])(sleep|usleep|nanosleep|thrd_sleep)\s*\(", "wait for the event itself",
        {
            "tests/*fake*.c": "a fake program whose job is to take its time",
            "bench/fault_gang.c": "its workers sleep where they would compute",
        }),
}
RULE_ZERO_LINES = 10
WORDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
WORD_FILES = (".c", ".h", ".py", ".sh", "meson.build", ".sql")


def is_listed(path, places):
    return any(fnmatch.fnmatchcase(path, place) for place in places)


def has_rule_zero(comments, line):
    return any("Rule zero:" in text for text in comments[max(line - 1 - RULE_ZERO_LINES, 0):line])


def check_calls(path, text):
    findings = []
    code = csource.code_only(text)
    comments = csource.comments_only(text).splitlines()
    for name, (pattern, why, places) in CALLS.items():
        if is_listed(path, places):
            continue
        for match in re.finditer(pattern, code):
            line = csource.line_of(code, match.start())
            call = match.group(0).split("(")[0].strip()
            if not has_rule_zero(comments, line):
                findings.append(f"{path}:{line}: {call}: {name}: {why}")
    return findings


def check(root):
    findings = []
    folders = csource.SOURCE_FOLDERS + csource.TEST_FOLDERS
    for path in csource.files(root, folders):
        findings += check_calls(path, csource.read(root, path))
    for path in csource.files(root, folders + ("script", "manifests"), WORD_FILES):
        for number, line in enumerate(csource.read(root, path).splitlines(), 1):
            match = WORDS.search(line)
            if match:
                findings.append(f"{path}:{number}: {match.group(0)}: do it now or leave it out")
    return findings


if __name__ == "__main__":
    csource.main(check)
