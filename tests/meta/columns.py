"""Comments of C sources, scripts and meson.build keep to 100 columns. clang-format wraps code, but not comments (.clang-format)."""

import csource

COLUMNS = 100
_FOLDERS = csource.SOURCE_FOLDERS + csource.TEST_FOLDERS + ("benchmarks",)


def comments(path, text):
    """The lines that are comments or end in one, with their numbers."""
    if path.endswith((".c", ".h")):
        marks = csource.comments_only(text).splitlines()
    else:
        marks = [line.lstrip() if line.lstrip().startswith("#") else "" for line in text.splitlines()]
    return [(at, line) for at, (line, mark) in enumerate(zip(text.splitlines(), marks), 1) if mark.strip()]


def check(root):
    paths = csource.files(root, _FOLDERS, (".c", ".h", ".sh")) + csource.files(root, ("script",), ("",))
    paths = [path for path in paths if not path.endswith(".py")] + csource.files(root, ("",), ("meson.build",))
    return [f"{path}:{at}: a comment of {len(line)} columns, limit {COLUMNS}" for path in paths
            for at, line in comments(path, csource.read(root, path)) if len(line) > COLUMNS]


if __name__ == "__main__":
    csource.main(check)
