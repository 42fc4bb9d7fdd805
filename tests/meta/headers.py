"""Every header compiles alone, with the project's flags and no warning.

headers.py ROOT [BUILD_DIR]: flags are those of compile_commands.json in BUILD_DIR, taken from a source
of the same folder if there is one; without BUILD_DIR, a minimal set."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

import csource

FALLBACK = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra"]
# A test's header is read behind cmocka's, which needs its own company.
CMOCKA = "".join(f"#include <{h}.h>\n" for h in ("setjmp", "stdarg", "stddef", "stdint", "cmocka"))
# A header may define small static functions that it does not call.
EXTRA = ["-Werror", "-Wno-unused-function", "-fsyntax-only", "-x", "c", "-"]
KEPT = ("-I", "-isystem", "-D", "-U", "-W", "-std=", "-f", "-m")


def flags_of(command, directory):
    """The flags of a compile command that matter to a header, with absolute folders."""
    words = shlex.split(command)
    flags = []
    for i, word in enumerate(words[1:], 1):
        if words[i - 1] in ("-isystem", "-I") or not word.startswith(KEPT):
            continue
        if word.startswith("-fsanitize") or word.startswith("-fdiagnostics"):
            continue
        if word in ("-I", "-isystem"):
            flags += [word, os.path.join(directory, words[i + 1])]
        elif word.startswith("-I"):
            flags.append("-I" + os.path.join(directory, word[2:]))
        else:
            flags.append(word)
    return flags


def flags_by_folder(root, build):
    """Compiler and flags for each source folder: {folder: [cc, flags...]}; "" is for the rest."""
    includes = [f"-I{root}", f"-I{os.path.join(root, 'lib')}"]
    commands = {"": [*shlex.split(os.environ.get("CC", "cc")), *FALLBACK, *includes]}
    if build is None:
        return commands
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            folder = os.path.dirname(os.path.relpath(source, root))
            if folder not in commands:
                compiler = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")][0]
                commands[folder] = ([compiler] + flags_of(entry["command"], entry["directory"]) + includes)
    return commands


def compile_alone(root, commands, path):
    folder = os.path.dirname(path)
    while folder and folder not in commands:
        folder = os.path.dirname(folder)
    full = os.path.join(root, path)
    prelude = CMOCKA if path.startswith("tests/") else ""
    result = subprocess.run(commands[folder] + [f"-I{os.path.dirname(full)}"] + EXTRA,
                            input=prelude + f'#include "{full}"\n',
                            capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.splitlines() if "error" in line or "warning" in line]
    return f"{path}: does not compile alone: {lines[0] if lines else result.stderr.strip()[:200]}"


def check(root, build=None):
    root = os.path.realpath(root)
    commands = flags_by_folder(root, build)
    paths = csource.files(root, csource.SOURCE_FOLDERS + csource.TEST_FOLDERS, (".h",))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: compile_alone(root, commands, path), paths)
    return [r for r in results if r]


if __name__ == "__main__":
    csource.main(lambda root: check(root, sys.argv[2] if len(sys.argv) > 2 else None))
