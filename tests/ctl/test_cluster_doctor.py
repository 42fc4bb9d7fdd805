"""benchctl doctor in a cluster: each check right, wrong, and not allowed to be asked."""
import json

import cli
from cluster_case import ClusterCase
from fake_cluster import NS, status

REVIEWS = "/selfsubjectaccessreviews"
FORBIDDEN = status(403, "Forbidden", "you may not ask")
KINDS = {"kind": "APIResourceList", "resources": [{"name": "benchmarks"}, {"name": "benchmarks/status"},
                                                  {"name": "benchmarkruns"}]}


def quota(cpu, cohort=None, names=("cpu", "memory", "nvidia.com/gpu"), **limit):
    resources = [{"name": name, "nominalQuota": cpu if name == "cpu" else "64Gi", **(limit if name == "cpu" else {})} for name in names]
    return 200, {"spec": {**({"cohortName": cohort} if cohort else {}), "resourceGroups": [{"flavors": [{"name": "f", "resources": resources}]}]}}


class Doctor(ClusterCase):
    WELL = [
        ("GET", r"^/version$", 200, {"gitVersion": "v1.30.1"}),
        ("GET", r"^/apis/benchd\.io/v1alpha1$", 200, KINDS),
        ("POST", REVIEWS, 201, {"status": {"allowed": True}}),
        ("GET", r"proxy/api/v1/runs$", 200, {"items": []}),
    ]

    def setUp(self):
        super().setUp()
        self.fake.answers = list(self.WELL)
        self.put_worker()

    def checks(self, *args, code=0):
        document = json.loads(self.ctl("doctor", *args, "-o", "json", code=code).stdout)
        return {check["name"]: check for check in document["checks"]}

    def test_a_cluster_that_works(self):
        checks = self.checks()
        found = {name: check["found"] for name, check in checks.items()}
        self.assertEqual(list(checks)[4:], ["kubeconfig", "server", "kinds", "rights", "benchd"])
        self.assertEqual([name for name in list(checks)[4:] if checks[name]["result"] != "ok"], [])
        self.assertEqual(found["kubeconfig"], f"context 'test', namespace '{NS}'")
        self.assertEqual(found["server"], f"{self.fake.url} is Kubernetes v1.30.1")
        asked = [body["spec"]["resourceAttributes"] for _, body in self.sent("POST", REVIEWS)]
        self.assertIn({"namespace": NS, "group": "", "resource": "services", "subresource": "proxy", "verb": "get"}, asked)
        self.assertEqual({method for method, path, _ in self.fake.requests if REVIEWS not in path}, {"GET"})   # it changes nothing

    def test_what_is_wrong(self):
        def no_benchd():
            self.fake.lease_age_s = 3600.0

        def put(method, path, code, body):
            return lambda: self.fake.answers.insert(0, (method, path, code, body))

        rows = [  # what is wrong, check, result, exit code, found, fix
            (put("GET", "^/version$", *FORBIDDEN), "server", "fail", 4, "you may not ask", "log in again"),
            (put("GET", r"v1alpha1$", 404, "404 page not found"), "kinds", "fail", 3, "does not have the kinds", "kubectl apply"),
            (put("GET", r"v1alpha1$", 200, {"resources": [{"name": "benchmarks"}]}), "kinds", "fail", 3, "not have", "apply"),
            (put("POST", REVIEWS, 201, {"status": {"allowed": False}}), "rights", "fail", 4,
             f"missing in '{NS}': get benchmarkruns, ", "added to a Role"),
            (put("POST", REVIEWS, *FORBIDDEN), "rights", "skip", 0, "you may not ask", None),
            (no_benchd, "benchd", "fail", 5, "it is not running", "get lease,pods"),
            (put("GET", "proxy", 503, "no endpoints"), "benchd", "fail", 5, "503", "troubleshooting"),
        ]
        for change, name, result, code, found, fix in rows:
            with self.subTest(check=name, found=found):
                self.fake.answers = list(self.WELL)
                self.fake.lease_age_s = 0.0
                change()
                check = self.checks(code=code)[name]
                self.assertEqual(check["result"], result, check)
                self.assertIn(found, check["found"])
                self.assertIn(fix or "", check["fix"] or "")
                self.assertEqual(check["fix"] is None, fix is None)

    def test_points_that_never_fit(self):
        """The points are a server and a trainer, a server and two trainers, of 10 CPUs and 1 GPU each, and one trainer alone."""
        plan = ("plan", self.define("p.json", extra={"roles": {role: {"replicas": {"from": role + "s"}, "template": {"spec": {"containers": [
            {"name": "main", "command": ["x"], "resources": {"requests": {"cpu": 10, "memory": "1Gi"}, "limits": {"cpu": "12", "nvidia.com/gpu": "1"}}}]}}}
            for role in ("pserver", "trainer")}}, pservers=[1], trainers=[1, 2]))

        def nodes(*cpus, gpus=8):
            return 200, {"items": [{"status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "nvidia.com/gpu": str(gpus)}}} for cpu in cpus]}
        one = "never fit what there is: point 1 has too little cpu"
        rows = [  # nodes, quota; the result of each check, and what was found
            (nodes("31"), quota("30"), "ok", "no point asks for more", "ok", "no point asks for more"),
            (nodes("29"), quota("29"), "fail", one, "fail", one),                          # 30 CPUs are asked for
            (nodes("16", "15900m"), quota("29", "c"), "fail", one, "ok", "loans"),           # two nodes take one pod each
            (nodes("9", "9"), quota("9"), "fail", "point 0 has too little cpu; point 1", "fail", "point 2 has too little cpu"),
            (nodes("64", gpus=2), quota("29", "c", borrowingLimit="1"), "fail", "never fit what there is: point 1 has too little nvidia.com/gpu", "ok", ""),
            (nodes("64"), quota("28", "c", borrowingLimit="1500m"), "ok", "", "fail", one),
            (nodes("64"), quota("29", borrowingLimit="9"), "ok", "", "fail", one),
            (nodes("64"), quota("64", names=["cpu", "memory"]), "ok", "", "fail", "point 0 has too little nvidia.com/gpu"),
            (FORBIDDEN, FORBIDDEN, "skip", "unknown: list nodes in all namespaces: HTTP 403", "skip",
             "unknown: get cluster queue 'shared': HTTP 403"),
        ]
        for node_list, cluster_queue, *wanted in rows:
            with self.subTest(wanted=wanted):
                self.fake.answers = [("GET", "^/api/v1/nodes$", *node_list), ("GET", "/clusterqueues/shared$", *cluster_queue),
                                     ("GET", f"/namespaces/{NS}/localqueues/team$", 200, {"spec": {"clusterQueue": "shared"}})]
                code = 1 if "fail" in wanted else 0
                nodes_check, queue_check = json.loads(self.ctl(*plan, "--queue", "team", "-o", "json", code=code).stdout)["cluster"]
                self.assertEqual([nodes_check["result"], queue_check["result"]], wanted[::2], (nodes_check, queue_check))
                self.assertIn(wanted[1], nodes_check["found"])
                self.assertIn(wanted[3], queue_check["found"])
                text = self.ctl(*plan, "--cluster", code=1 if wanted[0] == "fail" else 0).stdout
                self.assertRegex(text, f"(?s)POINT.*\n{wanted[0]} +nodes +\\S+ \\S+")
                self.assertNotIn("queue", text)

    def test_a_server_that_is_gone(self):
        self.fake.server.server_close()
        checks = self.checks(code=5)
        self.assertEqual((checks["server"]["result"], list(checks)[-1]), ("fail", "server"))

    def test_a_machine_alone(self):
        self.assertNotIn("kubeconfig", self.checks("--local"))
        self.assertEqual(self.fake.requests, [])


if __name__ == "__main__":
    cli.main()
