#!/usr/bin/env python3
"""Credential plugins: real programs in the kubeconfig, and an API server that wants what they answer."""
import json
import os
import pathlib
import sys
import tempfile
import time
from unittest import mock

import fake_api
from fake_api import obj, status, stream
from probe import Probe, ProbeScene
from test_client import kubeconfig, tap

V1, V1BETA1 = (f"client.authentication.k8s.io/{v}" for v in ("v1", "v1beta1"))
HINT = "Install it with\n   make install"
# Each run appends a line to the file `runs`; $N is its number.
COUNT = 'echo run >> "$RUNS"; N=$(wc -l < "$RUNS")\n'


def credential(version=V1BETA1, **fields):
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": fields})


def answer(version=V1BETA1, **fields):
    """A shell line that prints a credential; $N in a value is the number of the run."""
    return f"printf '%s' \"{credential(version, **fields)}\"\n".replace('{"', '{\\"').replace('": "', '\\": \\"').replace(
        '", "', '\\", \\"').replace('": {', '\\": {').replace('"}', '\\"}')


class Scene(ProbeScene):
    """A plugin as a script beside the kubeconfig, a fake, a probe on it."""

    def __init__(self, t, name, script, timeout_ms=None, tls=None, **fields):
        self.t, self.name, self.script, self.timeout_ms, self.tls, self.fields = t, name, script, timeout_ms, tls, fields

    def __enter__(self):
        self.kept = tempfile.TemporaryDirectory(prefix="benchd-kube-")
        self.folder = pathlib.Path(self.kept.name)
        plugin = self.folder / "login"
        plugin.write_text("#!/bin/sh\n" + COUNT + self.script)
        plugin.chmod(0o755)
        self.fake = fake_api.FakeApi(*self.tls_of())
        self.fake.__enter__()
        environment = os.environ | {"RUNS": str(self.folder / "runs"), "KUBERNETES_EXEC_INFO": "of another plugin"}
        more = [] if self.timeout_ms is None else [str(self.timeout_ms)]
        ca = {} if self.tls is None else {"certificate-authority": "server.crt"}
        self.probe = Probe(kubeconfig(self.folder, self.fake.url, **ca, exec={
            "apiVersion": V1BETA1, "command": "./login", "installHint": HINT} | self.fields), more=more, env=environment)
        return self

    def tls_of(self):
        return () if self.tls is None else (self.tls(self.folder),)

    def runs(self):
        path = self.folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def tokens(self, path):
        return [r.headers.get("authorization") for r in self.fake.seen("GET", path)]


def good(t):
    script = 'echo "hello there" >&2\ntr "\\0" "\\n" </proc/$$/environ >"$RUNS.env"; echo "$@" > "$RUNS.args"; ls -l /proc/self/fd > "$RUNS.fds"\n'
    with Scene(t, "a good plugin", script + answer(token="token-$N"), args=["get-token", "two words"],
               env=[{"name": "STAGE", "value": "a=b"}, {"name": "HOME", "value": "/nowhere"}]) as s:
        s.fake.on("GET", "/x", obj(200, {}))
        s.equal(0, s.probe.ask("get", path="/x").get("r"), "the answer")
        s.equal(0, s.probe.ask("burst", path="/x", n=20).get("r"), "many more")
        s.equal(({"Bearer token-1"}, 1), (set(s.tokens("/x")), s.runs()), "one run is enough")
        s.said = "hello there\n"   # once
        lines = [line.split("=", 1) for line in (s.folder / "runs.env").read_text().splitlines() if "=" in line]
        environment = dict(lines)
        s.equal(("a=b", "/nowhere", os.environ["PATH"]), tuple(environment.get(k) for k in ("STAGE", "HOME", "PATH")), "its environment")
        s.equal({"apiVersion": V1BETA1, "kind": "ExecCredential", "spec": {"interactive": False}},
                json.loads(environment["KUBERNETES_EXEC_INFO"]), "KUBERNETES_EXEC_INFO")
        s.equal(1, sum(name == "KUBERNETES_EXEC_INFO" for name, _ in lines), "and not the one that we inherited")
        s.equal("get-token two words\n", (s.folder / "runs.args").read_text(), "its arguments")
        inherited = [line for line in (s.folder / "runs.fds").read_text().splitlines() if "socket:" in line or "eventpoll" in line]
        s.equal([], inherited, "no descriptor of ours is in it")


def open_connections(t):
    """A plugin that runs while connections are open must not inherit them."""
    script = 'ls -l /proc/self/fd > "$RUNS.fds"\n'
    with Scene(t, "a second run", script + answer(token="token-$N")) as s:
        s.fake.on("GET", "/x", status(401, "Unauthorized", "no"), obj(200, {}))
        s.fake.on("GET", "/w", stream("x", end="silence"))
        s.probe.until(s.probe.start("stream", path="/w"), "data")
        s.equal(0, s.probe.ask("get", path="/x").get("r"), "the answer")
        s.equal(2, s.runs(), "runs")
        s.equal([], [line for line in (s.folder / "runs.fds").read_text().splitlines() if "socket:" in line], "no socket")


def cluster_info(t):
    with Scene(t, "provideClusterInfo", 'printf "%s" "$KUBERNETES_EXEC_INFO" > "$RUNS.info"\n' + answer(V1, token="t"),
               apiVersion=V1, provideClusterInfo=True, interactiveMode="Never") as s:
        s.fake.on("GET", "/x", obj(200, {}))
        s.equal(0, s.probe.ask("get", path="/x").get("r"), "the answer")
        info = json.loads((s.folder / "runs.info").read_text())
        s.equal((V1, {"server": s.fake.url, "config": None}), (info["apiVersion"], info["spec"]["cluster"]), "the cluster")


def refused(t):
    """A 401 first: the plugin runs once more, for all requests of that moment; then it is the server's word."""
    with Scene(t, "401 first", answer(token="token-$N")) as s:
        def judge(fake, handler):
            is_new = handler.asked.headers.get("authorization") == "Bearer token-2"
            (obj(200, {}) if is_new else status(401, "Unauthorized", "old"))(fake, handler)
        s.fake.on("GET", "/x", judge)
        s.equal(0, s.probe.ask("burst", path="/x", n=20).get("r"), "all are answered")
        s.equal(2, s.runs(), "by one more run")
    with Scene(t, "always 401", answer(token="token-$N")) as s:
        s.fake.on("GET", "/x", status(401, "Unauthorized", "never"))
        got = s.probe.ask("get", path="/x")
        s.equal((-13, 2), (got.get("r"), s.runs()), "one more run")
        s.match("log in again", got.get("error", ""), "the error")
        s.probe.ask("get", path="/x")
        s.equal((2, 3), (s.runs(), len(s.fake.seen("GET", "/x"))), "no loop")
    with Scene(t, "a stream that is refused", answer(token="token-$N")) as s:
        s.fake.on("GET", "/w", status(401, "Unauthorized", "old"), stream("x"))
        number = s.probe.start("stream", path="/w")
        s.equal(["open", "data", "end"], [s.probe.next(number).get("event") for _ in range(3)], "is opened again")
        s.equal(["Bearer token-1", "Bearer token-2"], s.tokens("/w"), "with the new token")


def expired(t):
    past = answer(token="token-$N", expirationTimestamp="2001-01-01T00:00:00Z")
    with Scene(t, "expired when it comes", past) as s:
        s.fake.on("GET", "/x", obj(200, {}))
        for _ in range(3):
            s.equal(0, s.probe.ask("get", path="/x").get("r"), "the server decides")
        s.equal(True, s.runs() <= 2, f"no loop ({s.runs()} runs)")


def slow(t):
    """While it runs, the loop goes on."""
    with Scene(t, "a slow plugin", "while [ ! -e \"$RUNS.go\" ]; do sleep 0.05; done\n" + answer(token="t")) as s:
        s.fake.on("GET", "/x", obj(200, {}))
        call = s.probe.start("get", path="/x")
        s.probe.ask("stats")
        other = s.probe.start("get", path="/x")
        s.probe.send(op="cancel", target=other)
        s.equal(({}, "stats"), (s.probe.next(call, 0.3), s.probe.ask("stats").get("event")), "others go on")
        (s.folder / "runs.go").touch()
        s.equal(0, s.probe.next(call).get("r"), "and then the request")
        s.equal((1, {}), (s.runs(), s.probe.next(other, 0.1)), "once; the cancelled one never")
    started = time.monotonic()
    with Scene(t, "a plugin that hangs", "sleep 1000 & wait\n", timeout_ms=1000) as s:
        got = s.probe.ask("get", path="/x")
        s.equal(-5, got.get("r"), "fails")
        s.match(r"ask: no credentials: '.*/login' did not end within 1 s; Install it with", got.get("error", ""), "the error")
        s.equal([], s.fake.requests, "nothing was sent")
    with Scene(t, "a plugin that ignores TERM", "trap '' TERM; while true; do sleep 0.1; done\n", timeout_ms=500) as s:
        s.equal(-5, s.probe.ask("get", path="/x").get("r"), "fails")
    with Scene(t, "quit while it runs", "exec sleep 1000\n") as s:
        s.probe.start("get", path="/x")
        s.probe.ask("stats")
    t.ok(time.monotonic() - started < 400, "nobody waits for a plugin that hangs")


def late_words(t):
    """What its children print after its end counts, and their end is the end; for two seconds at most."""
    results = []
    while (0, True) not in results and len(results) < 5:   # the machine may be slow
        with Scene(t, "late words", f"(sleep 0.1; {answer(token='t').strip()}) 2>&- &\n") as s:
            s.fake.on("GET", "/x", obj(200, {}))
            started = time.monotonic()
            results.append((s.probe.ask("get", path="/x").get("r"), time.monotonic() - started < 2))
    t.ok((0, True) in results, "late words: waited for, no longer", results)


def group(t):
    """What a plugin has started goes with it when it is stopped."""
    script = "trap '' TERM\nsleep 100 >/dev/null 2>&1 &\necho $! > \"$RUNS.pid\"\ntrap - TERM\nhead -c 10000000 /dev/zero\nwait\n"
    with Scene(t, "a plugin with a child", script) as s:
        s.match("printed more than", s.probe.ask("get", path="/x").get("error", ""), "is stopped")
        command = pathlib.Path("/proc", (s.folder / "runs.pid").read_text().strip(), "cmdline")
        deadline = time.monotonic() + 20
        while (is_there := command.exists() and command.read_text() != "") and time.monotonic() < deadline:
            time.sleep(0.05)
        s.equal(False, is_there, "its child is gone, though it ignores TERM")


def failing(t):
    secret = "ey-secret"
    rows = [
        ("exit 3", "exit 3\n", r"ask: no credentials: '.*/login' exited with code 3; Install it with$"),
        ("killed", "kill -9 $$\n", r"'.*/login' was killed by signal 9; Install"),
        ("garbage", f"echo 'token={secret}'\n", r"'.*/login': its output is not JSON"),
        ("HTML", f"echo '<html>{secret}</html>'\n", "not JSON"),
        ("nothing", "exit 0\n", "not JSON"),
        ("another version", answer(V1, token=secret), "has another apiVersion than the kubeconfig"),
        ("no status", f"echo '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"{V1BETA1}\"}}'\n", "neither a token nor"),
        ("a space in its token", answer(token="ey-secret two"), "byte 10 of its token is not allowed in a token"),
        ("10 MB", "head -c 10000000 /dev/zero | tr '\\0' x\n", "printed more than 1048576 bytes"),
    ]
    for name, script, text in rows:
        with Scene(t, f"a failing plugin, {name}", script) as s:
            got = s.probe.ask("get", path="/x")
            s.equal(-5, got.get("r"), "fails")
            s.match(text, got.get("error", ""), "the error")
            s.equal(False, secret in got.get("error", ""), "its output is not quoted")
            s.probe.ask("get", path="/x")
            s.equal((1, []), (s.runs(), s.fake.requests), "it rests; nothing was sent")
    rows = [
        ("missing", {"command": "no-such-plugin"}, "cannot run 'no-such-plugin': no such file or directory; Install it"),
        ("not executable", {"command": "./config"}, "/config': permission denied; Install"),
        ("no terminal", {"interactiveMode": "Always"}, r"login' needs a terminal \(interactiveMode: Always\)"),
    ]
    for name, fields, text in rows:
        with Scene(t, f"a plugin that cannot start, {name}", "", **fields) as s:
            s.match(text, s.probe.ask("get", path="/x").get("error", ""), "the error")
            s.match(text, s.probe.ask("stream", path="/x").get("error", ""), "of a stream")


def certificates(t):
    """A client certificate from a plugin; the next run has another."""
    def tls(folder):
        server = tap.make_certificate(folder, "server", "IP:127.0.0.1")
        pairs = [tap.make_certificate(folder, f"c{i}", f"DNS:c{i}") for i in (1, 2)]
        for i, pair in enumerate(pairs, 1):
            (folder / f"credential{i}").write_text(credential(clientCertificateData=pair[0].read_text(), clientKeyData=pair[1].read_text()))
        context = fake_api.tls_context(*server)
        context.verify_mode = fake_api.ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata="".join(pair[0].read_text() for pair in pairs))
        return context

    def judge(fake, handler):
        subject = dict(pair[0] for pair in handler.connection.getpeercert()["subject"])["commonName"]
        (obj(200, {"who": subject}) if subject == "c2" else status(401, "Unauthorized", "expired"))(fake, handler)

    with Scene(t, "a certificate", 'cat "$(dirname "$RUNS")/credential$N"\n', tls=tls) as s:
        s.fake.on("GET", "/x", judge)
        got = s.probe.ask("get", path="/x")
        s.equal((0, '{"who": "c2"}', 2), (got.get("r"), got.get("body"), s.runs()), "the second one is accepted")


FIXTURES = pathlib.Path(__file__).resolve().parent / "kubeconfigs"


def providers(t):
    """Kubeconfigs as aws, gcloud and az write them, with stand-ins of their commands in PATH."""
    wanted = {
        "eks.yaml": ("aws", "--region eu-west-1 eks get-token --cluster-name bench --output json"),
        "gke.yaml": ("gke-gcloud-auth-plugin", ""),
        "aks.yaml": ("kubelogin", "get-token --environment AzurePublicCloud --server-id 6dae42f8 --client-id 80faf920 "
                                  "--tenant-id 72f988bf --login azurecli"),
    }
    for name, (command, arguments) in wanted.items():
        with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder, fake_api.FakeApi() as fake:
            folder = pathlib.Path(folder)
            fake.on("GET", "/x", status(401, "Unauthorized", "first"), obj(200, {}))
            (folder / "config").write_text((FIXTURES / name).read_text().replace("https://SERVER", fake.url))
            (folder / "bin").mkdir()
            stand_in = folder / "bin" / command
            stand_in.write_text('#!/bin/sh\necho "$@" > "$0.args"; printf "%s" "$AWS_PROFILE" > "$0.profile"\n'
                                'printf "%s" "$KUBERNETES_EXEC_INFO" > "$0.info"\n' + answer(
                                    token="provider", expirationTimestamp="2199-01-01T00:00:00Z"))
            stand_in.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}/bin:{os.environ['PATH']}"}):
                probe = Probe(folder / "config")
            t.equal(0, probe.ask("get", path="/x").get("r"), f"{name}: the answer")
            t.equal({"Bearer provider"}, {r.headers.get("authorization") for r in fake.seen("GET", "/x")}, f"{name}: token")
            t.equal(arguments + "\n", pathlib.Path(f"{stand_in}.args").read_text(), f"{name}: arguments")
            t.equal("team" if command == "aws" else "", pathlib.Path(f"{stand_in}.profile").read_text(), f"{name}: variables")
            info = json.loads(pathlib.Path(f"{stand_in}.info").read_text())
            t.equal(command == "gke-gcloud-auth-plugin", "cluster" in info["spec"], f"{name}: KUBERNETES_EXEC_INFO")
            t.equal((0, ""), probe.quit(), f"{name}: ends clean")


def main():
    t = tap.Tap()
    for test in (good, open_connections, cluster_info, refused, expired, slow, late_words, group, failing, certificates, providers):
        test(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
