"""The API server without kubectl, for tests that make hundreds of requests, of which kubectl makes each cost 0.1 s of a CPU: as the
cluster's administrator."""
import http.client
import json
import re
import ssl

NS = "/api/v1/namespaces/benchd"
BENCHMARKS = "/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarks"
RUNS = "/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarkruns"
MERGE = "application/merge-patch+json"


class Api:
    """One connection; so one for each thread."""

    def __init__(self, cluster):
        pki = cluster.dir / "pki"
        self.port = port_of(cluster)
        self._tls = ssl.create_default_context(cafile=pki / "ca.crt")
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._connection = None

    def __call__(self, method, path, body=None, kind="application/json", **headers):
        """The status and the object; once more over a new connection if the server had closed the old one."""
        for last in (False, True):
            try:
                self._connection = self._connection or self._connect(60)
                self._connection.request(method, path, body if body is None else json.dumps(body), {"Content-Type": kind, **headers})
                res = self._connection.getresponse()
                return res.status, json.loads(res.read() or b"null")
            except (OSError, http.client.HTTPException):
                self._connection = None
                if last:
                    raise

    def get(self, path):
        """The object, or None."""
        status, found = self("GET", path)
        return found if status == 200 else None

    def watch(self, path):
        """The events from now on, after one ADDED for each object that is there, until the server is gone. A server ends the watch
        of a reader that is slow, which a busy machine makes of any; the next one begins where that ended, so nothing is missed."""
        version = "0"
        while True:
            connection = self._connect(None)
            try:
                connection.request("GET", f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=3600")
            except ConnectionError:
                return
            res = connection.getresponse()
            while line := res.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise RuntimeError(f"watch of {path} from {version}: {event['object']['message']}")
                version = event["object"]["metadata"]["resourceVersion"]
                yield event

    def _connect(self, seconds):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=seconds)


def port_of(cluster):
    return int(re.search(r"https://127\.0\.0\.1:(\d+)", cluster.kubeconfig.read_text())[1])
