"""What the end-to-end tests share: TAP on stdout, and the files that they read."""
import pathlib
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHIPPED = sorted((ROOT / "benchmarks").glob("*.yaml"))


def whole(path):
    """The text of a definition with its templates in it, as benchctl would send it and kubectl can."""
    def template(found):
        text = (ROOT / "benchmarks" / found[2]).read_text(encoding="utf-8")
        return f"{found[1]}template:\n" + "".join(f"{found[1]}  {line}\n" for line in text.splitlines())
    text = re.sub(r"(?m)^( +launcher:) \{(templateFrom: .*)\}$", r"\1\n      \2", path.read_text(encoding="utf-8"))
    return re.sub(r"(?m)^( +)templateFrom: (\S+)\n", template, text)


def make_certificate(folder, name, subject="IP:127.0.0.1"):
    """The files of a certificate, which is its own authority, and of its key."""
    pair = folder / f"{name}.crt", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pair[1], "-out", pair[0],
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}"], check=True, capture_output=True)
    return pair


AT_END = []   # called with the Tap before it prints its plan


class Tap:
    """Counts checks and prints each one as it is made, of whatever thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0
        self.failures = 0

    def ok(self, good, name, detail=""):
        with self.lock:
            self.count += 1
            print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
            if not good:
                self.failures += 1
                for line in str(detail).splitlines():
                    print(f"#   {line}", flush=True)
        return good

    def equal(self, expected, actual, name):
        return self.ok(expected == actual, name, f"expected: {expected!r}\nactual:   {actual!r}")

    def match(self, pattern, text, name):
        return self.ok(re.search(pattern, text), name, f"expected: /{pattern}/\nactual:   {text}")

    def done(self):
        """Prints the plan; returns the exit status."""
        for check in AT_END:
            check(self)
        print(f"1..{self.count}", flush=True)
        return 1 if self.failures else 0


def skip_if(reason):
    """Ends the program well, if there is a reason why it cannot run here."""
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)


def wrong_tags(path):
    """The head of a wrong file as {tag: value}, and "here": the number of the marked line."""
    lines = path.read_text().splitlines()
    tags = dict(m.groups() for m in (re.match(r"# (layer|expect|benchd): (.*)", line) for line in lines) if m)
    here = [number for number, line in enumerate(lines, 1) if line.endswith("# <- here")]
    if here:
        tags["here"] = here[0]
    return tags
