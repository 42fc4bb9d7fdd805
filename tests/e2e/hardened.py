"""Which protections of SECURITY.md a program lacks: read from the file, of a build tree (test_image.py) or of a release (release_checks.py)."""
import pathlib
import platform
import re
import subprocess

# Of each architecture: the instruction that a branch may lead to, and the probe of a stack that grows by a page.
CODE = {"x86_64": (bytes.fromhex("f30f1efa"), bytes.fromhex("48830c2400")), "aarch64": (bytes.fromhex("5f2403d5"), bytes.fromhex("ff0302f9"))}
LINKED = {
    "a program at any address": r"DYN \(Position-Independent Executable file\)",
    "a stack that is no code": r"GNU_STACK +\S+ \S+ \S+ \S+ \S+ RW ",
    "relocations read-only": r"GNU_RELRO",
    "immediate binding": r"BIND_NOW",
    "the stack protector": r"__stack_chk_fail@",
    "_FORTIFY_SOURCE": r"__snprintf_chk@",
}
COMPILED = ("-fstack-protector-strong", "-fstack-clash-protection", "-ftrivial-auto-var-init=zero", "-fcf-protection=full|-mbranch-protection=standard")


def missing(program):
    """The protections that it lacks. Initialised variables show in debug information only."""
    text = subprocess.run(["readelf", "--wide", "-h", "-l", "-d", "--dyn-syms", "-p", ".debug_str", program], capture_output=True, text=True, check=True).stdout
    code, (target, probe) = pathlib.Path(program).read_bytes(), CODE[platform.machine()]
    found = [name for name, pattern in LINKED.items() if not re.search(pattern, text)]
    found += [] if code.count(target) > 500 else ["branch targets"]
    found += [] if probe in code else ["stack clash protection"]
    return found + sorted({option for line in re.findall(r"GNU C\d+ .*", text) for option in COMPILED if not re.search(option, line)})
