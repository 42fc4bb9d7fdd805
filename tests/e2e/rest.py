"""The API server without kubectl, for tests that make hundreds of requests: as the cluster's administrator."""
import http.client
import json
import re
import ssl

NS = "/api/v1/namespaces/benchd"
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

    def __call__(self, method, path, body=None, kind="application/json"):
        """The status and the object; once more over a new connection if the server had closed the old one."""
        for last in (False, True):
            try:
                self._connection = self._connection or self._connect(60)
                self._connection.request(method, path, body if body is None else json.dumps(body), {"Content-Type": kind})
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
        """The events from now on, after one ADDED for each object that is there, until the server ends it."""
        connection = self._connect(None)
        connection.request("GET", path + "?watch=1&resourceVersion=0&timeoutSeconds=3600")
        res = connection.getresponse()
        while line := res.readline():
            yield json.loads(line)

    def _connect(self, seconds):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=seconds)


def port_of(cluster):
    return int(re.search(r"https://127\.0\.0\.1:(\d+)", cluster.kubeconfig.read_text())[1])
