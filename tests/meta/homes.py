"""A function's home: what x.h declares, x.c of the same folder defines (for x_internal.h also x.c). A header whose
functions lie elsewhere names that .c file in a comment, so that a reader finds the body without a search."""

import re

import csource

# `type name(parameters)` and what may stand behind it; its own line begins in column 1.
_DECLARATION = re.compile(
    r"^(?!static\b|typedef\b|return\b|struct \w+ \{)[A-Za-z_][\w \t*]*?[ *](\w+)\(([^;{}]*)\)[^;{}()]*"
    r"(?:__attribute__\s*\(\(.*?\)\)\s*)*;", re.MULTILINE | re.DOTALL)
# A definition whose name a macro makes: `DEFINE_PRODUCT(name, ...)`, `void ISA_SYMBOL(name)(...)`, which is name_avx2.
_MADE = re.compile(r"^(?:\w[\w *]* )?[A-Z][A-Z_]*\((\w+)[,)]", re.MULTILINE)


def declarations(code):
    """(line, name) of each function that a header declares and does not define."""
    return [(csource.line_of(code, m.start()), m.group(1)) for m in _DECLARATION.finditer(code)
            if m.group(1) != "__attribute__"]


def homes(root, paths):
    """Two dicts of {function: files that define it}: by its name, and by the beginning that a macro completes."""
    found, made = {}, {}
    for path in paths:
        code = csource.code_only(csource.read(root, path))
        for function in csource.functions(code):
            if not function.is_static:
                found.setdefault(function.name, set()).add(path)
        for name in _MADE.findall(code):
            made.setdefault(name, set()).add(path)
    return found, made


def own_files(header):
    """The .c files that need no mention in this header."""
    stem = header.removesuffix(".h")
    return {stem + ".c", stem.removesuffix("_internal") + ".c"}


def check(root):
    findings = []
    defined, made = homes(root, csource.files(root, csource.SOURCE_FOLDERS, (".c",)))
    for header in csource.files(root, csource.SOURCE_FOLDERS, (".h",)):
        text = csource.read(root, header)
        comments = csource.comments_only(text)
        for line, name in declarations(csource.code_only(text)):
            places = defined.get(name) or made.get(name) or made.get(name.rpartition("_")[0], set())
            if places & own_files(header):
                continue
            if not places:
                findings.append(f"{header}:{line}: {name} is defined nowhere")
            elif not any(re.search(rf"(?<![\w*]){re.escape(p.rpartition('/')[2])}", comments) for p in places):
                findings.append(f"{header}:{line}: {name} is defined in {', '.join(sorted(places))}, which the header "
                                "does not name")
    return findings


if __name__ == "__main__":
    csource.main(check)
