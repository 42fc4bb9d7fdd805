"""An API server for tests of benchctl: objects of benchd.io in memory, the Lease, watches, and the service
proxy with benchd's API behind it. It answers what it is told to: every test bends it by its fields."""
import datetime
import http.server
import json
import queue
import re
import threading
import time
import urllib.parse
import uuid

import run_file

NS = "bench"
KINDS = {"benchmarks": "Benchmark", "benchmarkruns": "BenchmarkRun"}


def rfc3339(offset_s=0.0):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=offset_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def status(code, reason, message):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                  "message": message}


class FakeCluster:
    def __init__(self):
        self.lock = threading.RLock()
        self.objects = {plural: {} for plural in KINDS}
        self.version = 100
        self.watchers = []       # (plural, queue)
        self.history = []        # (version, plural, event): what a watch from an older version is told first
        self.lease_age_s = 0.0   # None: no lease
        self.address = "service"
        self.read_key = None     # what benchd wants to see, and its Lease has
        self.kinds_installed = True
        self.before_patch = lambda obj: None
        self.answers = []        # (method, regex of the path, code, body): before everything else
        self.requests = []       # (method, path, body)
        self.documents = {}      # run name: what benchd knows of it (run_file.document)
        self.file = None         # what `export` wrote of the run that these documents come from
        self.states = {}         # run name: benchd's state of it
        self.logs = {}           # run name: text
        self.on_create = None    # called with each new BenchmarkRun
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                fake.requests.append((self.command, self.path, body))
                if fake.read_key and "/api/v1/runs" in self.path and \
                        self.headers.get("X-Benchd-Read-Key") != fake.read_key:
                    self.send_error(403)
                    return
                if "watch=1" in self.path:
                    self.watch()
                    return
                code, answer = fake.answer(self.command, self.path, body)
                kind = {str: "text/plain", bytes: "application/zstd"}.get(type(answer), "application/json")
                data = answer if isinstance(answer, bytes) else (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any

            def watch(self):
                plural = urllib.parse.urlsplit(self.path).path.rsplit("/", 1)[1]
                events = queue.Queue()
                since = int(re.search(r"resourceVersion=(\d+)", self.path).group(1))
                with fake.lock:
                    for version, of, event in fake.history:
                        if of == plural and version > since:
                            events.put(event)
                    fake.watchers.append((plural, events))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    while (event := events.get()) is not None:
                        line = (json.dumps(event) + "\n").encode()
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                except OSError:
                    pass
                self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        for _, events in self.watchers:
            events.put(None)
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self, path, namespace=NS):
        context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "test", "context": context}]}), encoding="utf-8")
        return str(path)

    # --- Objects ---

    def put(self, plural, obj, event="ADDED"):
        with self.lock:
            self.version += 1
            meta = obj["metadata"]
            meta.setdefault("uid", str(uuid.uuid4()))
            meta.setdefault("namespace", NS)
            meta.setdefault("creationTimestamp", rfc3339()[:19] + "Z")
            meta["resourceVersion"] = str(self.version)
            obj.setdefault("apiVersion", "benchd.io/v1alpha1")
            obj.setdefault("kind", KINDS[plural])
            self.objects[plural][meta["name"]] = obj
            self.tell(plural, event, obj)
            return obj

    def tell(self, plural, event, obj):
        told = {"type": event, "object": json.loads(json.dumps(obj))}
        self.history.append((self.version, plural, told))
        for name, events in self.watchers:
            if name == plural:
                events.put(told)

    def set_status(self, name, **fields):
        """Completions such as 1/6 are the integers, too."""
        if "completions" in fields:
            fields["succeeded"], fields["total"] = map(int, fields["completions"].split("/"))
        with self.lock:
            obj = self.objects["benchmarkruns"][name]
            obj.setdefault("status", {}).update(fields)
            self.put("benchmarkruns", obj, "MODIFIED")

    def remove(self, plural, name):
        with self.lock:
            obj = self.objects[plural].pop(name)
            self.version += 1
            obj["metadata"]["resourceVersion"] = str(self.version)
            self.tell(plural, "DELETED", obj)
            return obj

    # --- Requests ---

    def answer(self, method, path, body):
        for want, pattern, code, text in self.answers:
            if method == want and re.search(pattern, path):
                return code, text
        url = urllib.parse.urlsplit(path)
        parts = url.path.strip("/").split("/")
        with self.lock:
            if parts[:1] == ["apis"] and parts[1] == "benchd.io":
                return self.answer_object(method, parts, body, url.query)
            if "leases" in parts:
                return self.answer_lease()
            if "proxy" in parts:
                scheme = self.address.removesuffix("service") if self.address.endswith("service") else ""
                if urllib.parse.unquote(parts[parts.index("services") + 1]) != f"{scheme}benchd:8080":
                    return 503, "error trying to reach service: benchd speaks another protocol"
                return self.answer_benchd("/".join(parts[parts.index("proxy") + 1:]), url.query)
            if url.path.startswith("/api/v1/runs"):
                return self.answer_benchd(url.path[1:], url.query)
        return 404, "404 page not found\n"

    def answer_object(self, method, parts, body, query):
        if not self.kinds_installed:
            return 404, "404 page not found\n"
        if len(parts) == 4:   # of all namespaces
            parts = [*parts[:3], "namespaces", None, parts[3]]
        plural, name = parts[5], parts[6] if len(parts) > 6 else None
        there = self.objects[plural]
        if method == "POST":
            name = body["metadata"]["name"]
            if name in there:
                return status(409, "AlreadyExists", f'{plural}.benchd.io "{name}" already exists')
            obj = self.put(plural, body)
            if plural == "benchmarkruns" and self.on_create:
                threading.Thread(target=self.on_create, args=(name,), daemon=True).start()
            return 201, obj
        if name is None:
            selector = urllib.parse.parse_qs(query).get("labelSelector", [""])[0]
            wanted = dict(pair.split("=") for pair in selector.split(",") if pair)
            items = [o for o in there.values()
                     if parts[4] in (None, o["metadata"]["namespace"]) and
                     all(o["metadata"].get("labels", {}).get(k) == v for k, v in wanted.items())]
            return 200, {"kind": KINDS[plural] + "List", "apiVersion": "benchd.io/v1alpha1",
                         "metadata": {"resourceVersion": str(self.version)}, "items": items}
        if name not in there:
            return status(404, "NotFound", f'{plural}.benchd.io "{name}" not found')
        if method == "DELETE":
            return 200, self.remove(plural, name)
        if method == "PATCH":
            self.before_patch(there[name])
            if body.get("metadata", {}).get("uid", there[name]["metadata"]["uid"]) != there[name]["metadata"]["uid"]:
                return status(409, "Conflict", f'Operation cannot be fulfilled on {plural}.benchd.io "{name}": Precondition failed: UID')
            for part in ("status",) if parts[7:] == ["status"] else ("spec", "metadata"):
                there[name].setdefault(part, {}).update(body.get(part, {}))
            self.put(plural, there[name], "MODIFIED")
        return 200, there[name]

    def answer_lease(self):
        if self.lease_age_s is None:
            return status(404, "NotFound", 'leases.coordination.k8s.io "benchd" not found')
        return 200, {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
                     "metadata": {"name": "benchd", "annotations": {
                         "benchd.io/address": self.address, **({"benchd.io/read-key": self.read_key} if self.read_key else {})}},
                     "spec": {"holderIdentity": "pod_1", "leaseDurationSeconds": 15,
                              "renewTime": rfc3339(-self.lease_age_s)}}

    def answer_benchd(self, path, query):
        name, _, rest = path.removeprefix("api/v1/runs/").partition("/")
        args = {k: v[0] for k, v in urllib.parse.parse_qs(query).items()}
        name = next((n for n, d in self.documents.items() if d["run"]["uid"] == name), name)
        if name not in self.documents:
            return 404, {"code": 404, "message": f"there is no run '{name}'"}
        document = self.documents[name]
        if rest == "logs":
            return 200, self.logs.get(name, "") + query + "\n"
        if rest == "file":
            if document["run"]["definition"] is None:
                return 409, {"code": 409, "message": f"run '{name}' is not accepted, so it has no file"}
            return 200, run_file.of_document(self.file, document, args)
        return 200, self.states.get(name) or state_of(document)


def state_of(document, progress=None):
    st = document["run"]["status"]
    return {"name": document["run"]["name"], "uid": document["run"]["uid"],
            **{k: st[k] for k in ("phase", "reason", "message", "trialsDone", "trialsFailed", "trialsTotal",
                                  "current")},
            "started": None, "ended": None, "progress": progress,
            "attempts": [{k: a[k] for k in ("point", "trial", "attempt")}
                         for a in document["attempts"]]}


def wait_until(condition, timeout_s=90):
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        time.sleep(0.01)


__all__ = ["FakeCluster", "NS", "rfc3339", "state_of", "status", "wait_until"]
