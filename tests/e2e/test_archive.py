#!/usr/bin/env python3
"""benchd --archive, with a real API server and a real server of S3 (moto) that checks signatures: each finished run is in the bucket,
as `benchctl export` writes it, a new disk is filled from there, and what fails is said and blocks no run."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import urllib.request

import tap
from benchd import BENCHCTL, Benchd, Kubelet, definition, wait_for
from cluster import Cluster
from fault_proxy import LOSE, Fault, FaultProxy, answer
from s3_server import BUCKET, S3Server
from test_runs import FINAL, create, get, wait_phase

PLACE = f"s3://{BUCKET}/team/a"
SMALL = definition(repeats={"min": 1})


class Proxy(FaultProxy):
    """Before the server of S3, without TLS."""

    def __init__(self, port, pki):
        super().__init__(port, pki)
        self._to_server = None

    def tls(self):
        return None


class RefusePuts(Fault):
    def before(self, request):
        body = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
        return answer(503, "Slow Down", body) if request.method == "PUT" else None


class LosePuts(Fault):
    """The server has the bytes, benchd never learns it."""
    def __init__(self):
        self.n = 0

    def after(self, request, status, body):
        self.n += request.method == "PUT"
        return LOSE if request.method == "PUT" else None


class Silence(Fault):
    delay_s = 3600

    def __init__(self):
        self.n = 0

    def before(self, request):
        self.n += 1


def finish(t, k, node, name):
    create(k, name, definition=SMALL)
    t.equal("Succeeded", wait_phase(node, name, FINAL, ends=True), f"{name} ends")
    return get(node, name)["metadata"]["uid"]


def archived(s3, uid):
    return wait_for(lambda: [name for name in s3.names() if uid in name])


def erase_disk(daemon):
    store = pathlib.Path(daemon.store.removeprefix("sqlite:"))
    for file in store.parent.glob(store.name + "*"):
        file.unlink()
    return store


def ctl(*args):
    return subprocess.run([BENCHCTL, *args], capture_output=True, text=True, timeout=180)


def check_put(t, k, node, daemon, s3):
    """Returns {uid: name of its run}."""
    runs = {finish(t, k, node, name): name for name in ("one", "same")}
    k("delete", "bmr", "same")
    wait_for(lambda: get(node, "same") is None)
    runs[finish(t, k, node, "same")] = "same"   # the earlier one has another name now, in the store
    for uid, name in runs.items():
        t.equal([f"team/a/{name}.{uid}.benchd.db.zst"], archived(s3, uid), f"{name} is in the bucket")
        file = daemon.cluster.dir / "own.zst"
        uid_now = json.loads(daemon.ctl("results", name, "-o", "json").stdout)["uid"]
        if uid_now == uid:
            done = daemon.ctl("export", name, "-f", str(file))
            digest = done.stdout.split()[0] if done.returncode == 0 else done.stderr
            file.write_bytes(s3.bytes(f"team/a/{name}.{uid}.benchd.db.zst"))
            t.ok(ctl("import", str(file), "--dry-run").stdout.startswith(digest), f"{name}: the digest that benchctl export prints", digest)
    return runs


def tables(daemon):
    """{uid: result} of all runs in the store."""
    listed = daemon.ctl("get", "runs", "-o", "json")
    names = [run["name"] for run in json.loads(listed.stdout)["items"]] if listed.returncode == 0 else []   # there may be no store yet
    answers = [daemon.ctl("results", name, "-o", "json") for name in names]   # one may be deleted in between
    return {result["uid"]: result for result in (json.loads(answer.stdout) for answer in answers if answer.stdout)}


def namespaces(store):
    """{uid: namespace of its object} of all runs."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        return dict(db.execute("select uid, object_ns from run"))


def check_restore(t, k, node, daemon, s3, runs):
    before = tables(daemon)
    t.equal(set(runs), set(before), "the store has all runs")
    daemon.kill()
    store = erase_disk(daemon)
    daemon.start()
    t.ok(wait_for(lambda: store.exists() and set(tables(daemon)) == set(runs) and not pathlib.Path(f"{store}.new").exists()),
         "a benchd without its disk has all runs again", daemon.log.read_text())
    t.equal(before, tables(daemon), "with the same tables, and each name is that of the same run")
    living = {run["metadata"]["uid"] for run in json.loads(k("get", "bmr", "-o", "json").stdout)["items"]}
    t.ok(wait_for(lambda: namespaces(store) == {uid: "benchd" if uid in living else None for uid in runs}), "those with an object belong to it",
         namespaces(store))
    number = len(s3.names())
    daemon.stop()
    daemon.start()
    finish(t, k, node, "later")
    t.ok(archived(s3, get(node, "later")["metadata"]["uid"]), "later runs follow")
    t.equal(number + 1, len(s3.names()), "and the others are not put again")


def check_deleted(t, k, node, daemon, s3):
    """What the user deleted stays in the archive, and away from the store."""
    run = get(node, "later")["metadata"]["uid"]
    done = ctl("delete", "later", "--kubeconfig", str(daemon.cluster.dir / "pki/admin.kubeconfig"), "-n", "benchd")
    t.ok(wait_for(lambda: run not in tables(daemon)), "a run is deleted", done.stderr)
    daemon.kill()
    daemon.start()
    finish(t, k, node, "last")
    t.ok(archived(s3, get(node, "last")["metadata"]["uid"]), "after a restart")
    t.ok(run not in tables(daemon) and archived(s3, run), "it is in the archive alone")


def check_import(t, daemon, s3, runs):
    store = f"sqlite:{daemon.cluster.dir}/imported.db"
    one = next(name for name in s3.names() if "/one." in name)
    done = ctl("import", f"s3://{BUCKET}/{one}", "--store", f"sqlite:{daemon.cluster.dir}/single.db", "-o", "json")
    t.equal((0, daemon.results("one")["points"]), (done.returncode, json.loads(done.stdout)["points"]), "benchctl import of one archive")
    folder = daemon.cluster.dir / "folder"
    folder.mkdir()
    (folder / pathlib.Path(one).name).write_bytes(s3.bytes(one))
    for url in (str(folder), f"file://{folder}"):
        done = ctl("import", url, "--store", f"sqlite:{daemon.cluster.dir}/{len(url)}.db")
        t.ok(done.returncode == 0 and "run/one imported" in done.stderr, f"{url}: all of a folder", done.stderr)
        done = ctl("import", url, "--store", f"sqlite:{daemon.cluster.dir}/{len(url)}.db")
        t.ok(done.returncode == 0 and "run/one is already stored" in done.stderr, f"{url}: twice", done.stderr)
    rows = {"no archive": ((f"s3://{BUCKET}/team/none",), {}, 3, "there are no archives"),
            "no object": ((f"s3://{BUCKET}/no.benchd.db.zst",), {}, 3, "404: NoSuchKey"),
            "no bucket": (("s3://nowhere/x",), {}, 9, "404: NoSuchBucket"),
            "a wrong secret": ((PLACE,), {"AWS_SECRET_ACCESS_KEY": "wrong"}, 9, "403: SignatureDoesNotMatch"),
            "a wrong key": ((PLACE,), {"AWS_ACCESS_KEY_ID": "AKIANONE"}, 9, "403: InvalidAccessKeyId"),
            "no key": ((PLACE,), {"AWS_ACCESS_KEY_ID": ""}, 2, "AWS_ACCESS_KEY_ID is not set"),
            "no server": ((PLACE,), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 9, "Failed to connect")}
    for name, (args, env, code, words) in rows.items():
        done = subprocess.run([BENCHCTL, "import", *args, "--store", store], capture_output=True, text=True, env={**os.environ, **env}, timeout=180)
        t.ok(done.returncode == code and words in done.stderr, f"import, {name}", f"exit {done.returncode}\n{done.stderr}")


def metric(daemon, name):
    address = json.loads(daemon.cluster.kubectl("get", "lease", "benchd", "-o", "json").stdout)["metadata"]["annotations"]["benchd.io/address"]
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as response:
        return {line.split()[0]: float(line.split()[1]) for line in response.read().decode().splitlines() if line[:1] not in ("#", "")}[name]


def check_faults(t, k, node, cluster, s3):
    with Proxy(s3.port, cluster.dir / "pki") as proxy:
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{proxy.port}"
        with Benchd(cluster, "--archive", f"s3://{BUCKET}/faults", name="faults") as daemon:
            proxy.fault = RefusePuts()
            uid = finish(t, k, node, "slow")
            words = "answered 503: SlowDown: Please reduce your request rate."
            t.ok(wait_for(lambda: words in k("get", "events.events.k8s.io", "-o", "jsonpath={.items[*].note}").stdout),
                 "a server that refuses: an Event of the run says it", daemon.log.read_text())
            t.match("the archive fails, retrying.*" + words, daemon.log.read_text(), "and the log")
            t.ok(metric(daemon, "benchd_archive_failures_total") >= 1, "and a metric")
            proxy.fault = lost = LosePuts()
            t.ok(wait_for(lambda: lost.n > 0), "an answer is lost")
            daemon.kill()
            proxy.fault = Fault()
            daemon.start()
            finish(t, k, node, "quick")
            t.ok(wait_for(lambda: metric(daemon, "benchd_archive_puts_total") >= 1), "after kill -9 benchd goes on")
            t.equal(1, len(archived(s3, uid)), "a run is there once")
            proxy.fault = silence = Silence()
            finish(t, k, node, "silent")
            t.ok(wait_for(lambda: silence.n > 0), "a server that says nothing blocks no run")
            t.equal(0, daemon.stop(), "nor the end of benchd")
    os.environ.update(s3.env)
    with Benchd(cluster, "--archive", "s3://nowhere", name="nowhere") as daemon:
        t.ok(wait_for(lambda: "404: NoSuchBucket" in daemon.log.read_text()), "no bucket: the log says it")
        finish(t, k, node, "homeless")
    folder = cluster.dir / "kept"
    with Benchd(cluster, "--archive", f"file://{folder}", name="kept") as daemon:
        t.ok(wait_for(lambda: f"folder '{folder}': No such file" in daemon.log.read_text()), "no folder: the log says it")
        folder.mkdir()
        uid = finish(t, k, node, "filed")
        t.ok(wait_for(lambda: list(folder.glob(f"filed.{uid}.benchd.db.zst"))), "a folder that comes later gets its runs")
        daemon.kill()
        store = erase_disk(daemon)
        aside = folder.rename(cluster.dir / "aside")
        past = daemon.log.read_text().count("No such file")
        daemon.start()
        t.ok(wait_for(lambda: daemon.log.read_text().count("No such file") > past), "a folder that is missing at the start")
        finish(t, k, node, "meanwhile")   # by then benchd knows that the object is one of the past
        aside.rename(folder)
        t.ok(wait_for(lambda: uid in tables(daemon)), "gives its runs back later")
        t.ok(wait_for(lambda: namespaces(store).get(uid) == "benchd"), "to their objects", namespaces(store))
    return uid


def main():
    t = tap.Tap()
    with S3Server() as s3, Cluster() as cluster:
        os.environ.update(s3.env)
        k, node = cluster.kubectl, Kubelet(cluster)
        cluster.apply_kinds()
        with Benchd(cluster, "--archive", PLACE) as daemon:
            runs = check_put(t, k, node, daemon, s3)
            check_restore(t, k, node, daemon, s3, runs)
            check_import(t, daemon, s3, runs)
            check_deleted(t, k, node, daemon, s3)
            t.ok(s3.secret.encode() not in daemon.log.read_bytes() + pathlib.Path(daemon.store.removeprefix("sqlite:")).read_bytes(),
                 "the secret key is in no log and in no store")
            daemon.stop()
        check_faults(t, k, node, cluster, s3)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
