"""Includes point down, as in the table of ARCHITECTURE.md, "May use, may not use".

A project include is quoted and names its path from lib/ ("spec/spec.h") or from the root
("worker/comm/link/net.h", "ctl/cli/cli.h"). What a folder may include from third parties is listed too, so that
a new dependency is a decision."""

import os

import csource

LIBC_PURE = {
    "assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h",
    "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h",
    "strings.h",
}  # stdio.h for snprintf; edges.py keeps its streams out of pure folders
ANY = None  # any libc or system header
LIBRARY = ["base", "core", "host", "doc", "logparse", "reference", "exchange", "network", "stats", "spec", "decide", "result", "compare", "predict", "pod", "kube", "bucket", "store", "report", "load", "run"]

# folder: (folders it may include, third-party headers it may include, libc headers)
RULES = {
    "base": (["base"], [], ANY),
    "core": (["base", "core"], ["jansson.h"], LIBC_PURE),
    "doc": (["base", "doc"], ["jansson.h", "yaml.h", "pcre2.h"], LIBC_PURE),
    "logparse": (["base", "core", "doc", "logparse"], ["jansson.h", "pcre2.h"], LIBC_PURE),
    "reference": (["base", "doc", "reference"], [], LIBC_PURE),
    "exchange": (["base", "exchange"], [], LIBC_PURE),
    "network": (["base", "network"], [], LIBC_PURE),
    "stats": (["base", "stats"], [], LIBC_PURE),
    "spec": (["base", "core", "doc", "logparse", "stats", "spec"], ["jansson.h"], LIBC_PURE),
    "decide": (["base", "core", "spec", "decide"], [], LIBC_PURE),
    "result": (["base", "core", "logparse", "stats", "spec", "result"], ["jansson.h"], LIBC_PURE),
    "compare": (["base", "core", "stats", "spec", "result", "compare"], ["jansson.h"], LIBC_PURE),
    "predict": (["base", "network", "spec", "predict"], [], LIBC_PURE),
    "pod": (["base", "core", "doc", "spec", "pod"], ["jansson.h"], LIBC_PURE),
    "kube": (["base", "doc", "kube"], ["jansson.h", "curl/", "uv.h"], ANY),
    "bucket": (["base", "bucket"], ["curl/", "openssl/"], ANY),
    "store": (["base", "core", "spec", "result", "store"], ["jansson.h", "sqlite3.h", "zstd.h", "openssl/"], ANY),
    "report": (["base", "core", "logparse", "reference", "stats", "spec", "result", "compare", "report"], ["jansson.h"], LIBC_PURE),
    "load": (["base", "core", "result", "store", "load"], ["jansson.h"], ANY),
    "host": (["base", "core", "host"], ["jansson.h", "openssl/"], ANY),
    "run": (["base", "core", "host", "logparse", "spec", "decide", "pod", "kube", "store", "run"], ["jansson.h", "uv.h"], ANY),
    "ctl": (LIBRARY + ["ctl"], ["jansson.h", "uv.h", "zlib.h", "zstd.h"], ANY),
    "daemon": (LIBRARY + ["daemon"], ["jansson.h", "uv.h", "microhttpd.h", "gnutls/", "openssl/", "zstd.h"], ANY),
    "worker/tensor": (["base", "worker/tensor"], ["immintrin.h"], ANY),
    "worker/kernels": (["base", "worker/tensor", "worker/kernels"], ["cblas.h", "immintrin.h", "cpuid.h"],
                       ANY),
    "worker/comm": (["base", "core", "exchange", "worker/tensor", "worker/comm"], ["isa-l/", "openssl/"], ANY),
    "worker/data": (["base", "worker/tensor", "worker/data"], ["zlib.h"], ANY),
    "worker/model": (["base", "network", "worker/tensor", "worker/kernels", "worker/model"], [], ANY),
    "worker": (["base", "core", "exchange", "host", "network", "worker", "worker/tensor", "worker/kernels", "worker/comm", "worker/data",
                "worker/model"], ["jansson.h"], ANY),
}

# Pure code takes time as data and does not log.
IMPURE_BASE = {"base/clock.h", "base/log.h"}
PURE = {"core", "doc", "logparse", "reference", "exchange", "network", "stats", "spec", "decide", "result", "compare", "predict", "pod", "report"}

# By Meson: version, data folder and build options; the source, which each build asks for anew; texts of profiles.
GENERATED = {"config.h", "base/build_source.h", "shipped_profiles.inc"}
GENERATED_USERS = {"ctl", "daemon", "worker", "report", "load"}
# What each build makes anew is included by one file.
GENERATED_FILES = {"lib/base/build_info.c", "lib/spec/shipped_profiles.c"}

# Known by name, so that a first use is a decision here; other headers in angle brackets count as libc's.
THIRD_PARTY = ("jansson.h", "yaml.h", "pcre2.h", "curl/", "uv.h", "openssl/", "sqlite3.h", "zstd.h",
               "libpq-fe.h", "microhttpd.h", "gnutls/", "cblas.h", "immintrin.h", "cpuid.h", "zlib.h", "hwloc.h",
               "archive.h", "isa-l/")


def folder_of(path):
    """The row of RULES that a path from the root falls under; None: a folder without a rule."""
    parts = path.split("/")
    if parts[0] == "lib":
        return parts[1] if len(parts) > 2 and parts[1] in RULES else None
    if parts[0] == "worker" and len(parts) > 2:
        return "/".join(parts[:2]) if "/".join(parts[:2]) in RULES else None
    return parts[0] if parts[0] in RULES else None


def resolve(root, name):
    """An include's path from the root, None if there is no such file."""
    for prefix in ("lib/", ""):
        if os.path.exists(os.path.join(root, prefix + name)):
            return prefix + name
    return None


def starts_with_any(name, prefixes):
    return any(name == p or (p.endswith("/") and name.startswith(p)) for p in prefixes)


def check_quoted(root, path, folder, name):
    allowed = RULES[folder][0]
    if name in GENERATED:
        may = path in GENERATED_FILES or (folder in GENERATED_USERS and name == "config.h")
        return None if may else f"{folder} may not use {name}"
    included = resolve(root, name)
    if included is None:
        return f"no such header from lib/ or the root: {name}"
    target = folder_of(included)
    if folder in PURE and name in IMPURE_BASE:
        return f"{folder} is pure: no {name}"
    if target not in allowed:
        return f"{folder} may not use {target or included} ({name})"
    return None


def check_system(folder, name):
    _, third_party, libc = RULES[folder]
    if starts_with_any(name, THIRD_PARTY):
        return None if starts_with_any(name, third_party) else f"{folder} may not use <{name}>"
    if libc is not ANY and name not in libc:
        return f"{folder} is pure: no <{name}>"
    return None


def check(root):
    findings = []
    for path in csource.files(root, csource.SOURCE_FOLDERS):
        folder = folder_of(path)
        if folder is None:
            findings.append(f"{path}: a folder that tests/meta/layers.py has no rule for")
            continue
        for line, is_quoted, name in csource.includes(csource.read(root, path)):
            problem = check_quoted(root, path, folder, name) if is_quoted else check_system(folder, name)
            if problem:
                findings.append(f"{path}:{line}: {problem}")
    return findings


if __name__ == "__main__":
    csource.main(check)
