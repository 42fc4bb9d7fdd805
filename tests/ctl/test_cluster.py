#!/usr/bin/env python3
"""benchctl on a cluster, against an API server that answers what the test wants. What a run gave locally is
served as benchd would serve it, so that the same run must print the same text from both."""
import json
import os
import pathlib
import pty
import re

import cli
from cluster_case import ClusterCase, RunCase
from fake_cluster import NS, status, wait_until


class Reading(ClusterCase):
    def test_the_same_text_as_from_the_local_store(self):
        name = self.serve_local_run()
        for form in ("text", "markdown", "csv", "json"):
            local = self.ctl("results", name, "--store", self.store, "-o", form).stdout
            self.assertEqual(self.ctl("results", name, "-o", form).stdout, local, form)
            # Two trials and no change: nothing says how large one may be.
            local = self.ctl("compare", name, name, "--store", self.store, "-o", form, code=15).stdout
            self.assertEqual(self.ctl("compare", name, name, "-o", form, code=15).stdout, local, form)
        texts = [self.ctl("describe", name, *where).stdout for where in (("--store", self.store), ())]
        local, there = (re.sub(r"\b\d+[smh]\w*( ago)? *", "AGE ", text) for text in texts)
        self.assertEqual(there, local)
        self.assertEqual(self.ctl("results", name[-5:]).stdout, self.ctl("results", f"bmr/{name}").stdout)

    def test_the_read_key(self):
        """benchd asks for the key that its Lease has; the service proxy passes the header on."""
        name = self.serve_local_run()
        before = self.ctl("results", name, "-o", "json").stdout
        self.fake.read_key = "00ff"
        for self.fake.address in ("service", "https:service", self.fake.url):
            self.assertEqual(self.ctl("results", name, "-o", "json").stdout, before)
            self.assertIn("point=0", self.ctl("logs", name, "--point", "0").stdout)
        self.fake.read_key = "no hexadecimal digits"
        self.assertEqual(self.ctl("results", name, code=4).stdout, "")

    def test_results_outlive_the_object(self):
        """Its time to live is over; benchd has kept what came out."""
        name = self.serve_local_run()
        before = self.ctl("results", name, "-o", "json").stdout
        del self.fake.objects["benchmarkruns"][name]
        self.assertEqual(self.ctl("results", name, "-o", "json").stdout, before)
        self.assertIn(name, self.ctl("describe", f"bmr/{name}").stdout)
        self.assertIn("point=0", self.ctl("logs", name, "--point", "0").stdout)
        for verb in ("cancel", "delete"):   # they act on objects alone
            self.assertIn(f"there is no run '{name}'", self.ctl(verb, name, code=3).stderr)
        self.fake.lease_age_s = 60
        self.assertIn(f"there is no run '{name}'", self.ctl("results", name, code=3).stderr)

    def test_get(self):
        self.assertEqual(self.ctl("get").stderr, "No resources found in bench namespace.\n")
        for name, phase, created in (("a-1", "Running", "2026-01-01T00:00:00Z"),
                                     ("b-2", "Failed", "2026-01-02T00:00:00Z")):
            self.fake.put("benchmarkruns", {
                "metadata": {"name": name, "creationTimestamp": created},
                "spec": {"benchmarkRef": {"name": "tiny"}},
                "status": {"phase": phase, "completions": "2/5", "succeeded": 2, "failed": 1, "total": 5,
                           "conditions": [{"type": "Failed", "status": "True", "reason": "TooMany",
                                           "message": "too many"}]}})
        rows = [line.split() for line in self.ctl("get", "runs").stdout.splitlines()]
        self.assertEqual(rows[0], ["NAME", "BENCHMARK", "PHASE", "TRIALS", "AGE", "DURATION"])
        self.assertEqual([row[:4] for row in rows[1:]],
                         [["b-2", "tiny", "Failed", "3/5"], ["a-1", "tiny", "Running", "3/5"]])
        item = json.loads(self.ctl("get", "bmr", "b-2", "-o", "json").stdout)["items"][0]
        self.assertEqual((item["trialsFailed"], item["reason"]), (1, "TooMany"))
        self.fake.put("benchmarks", {"metadata": {"name": "tiny"}, "spec": cli.definition()["spec"]})
        self.assertRegex(self.ctl("get", "benchmarks").stdout, r"tiny +vgg16-fluid-fc512 +PServer +SingleNode +3 +2")

    def test_namespace(self):
        rows = [((), NS), (("-n", "other"), "other")]
        for args, namespace in rows:
            self.fake.requests.clear()
            self.ctl("get", *args)
            self.assertIn(f"/namespaces/{namespace}/", self.fake.requests[0][1])
        self.env["KUBECONFIG"] = self.fake.kubeconfig(self.folder / "no-namespace", namespace=None)
        self.ctl("get")
        self.assertIn("/namespaces/benchd/", self.fake.requests[-1][1])

    def with_plugin(self, script):
        """A kubeconfig whose user is a credential plugin, which refuses to be run twice."""
        path = self.folder / "kubeconfig"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["users"][0]["user"] = {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "interactiveMode": "IfAvailable",
            "installHint": "Ask the platform team for login.", "env": [{"name": "LOGIN", "value": "hidden"}]}}
        path.write_text(json.dumps(document), encoding="utf-8")
        login = self.folder / "login"
        login.write_text(f"#!/bin/sh\nmkdir {self.folder}/ran || exit 9\n{script}\n", encoding="utf-8")
        login.chmod(0o755)

    def test_a_credential_plugin_that_asks(self):
        """At a terminal it has ours: it asks on standard error, and reads the answer."""
        self.with_plugin("""printf 'Password: ' >&2; read -r word; [ "$word" = open ] || exit 8
            case $KUBERNETES_EXEC_INFO in *'"interactive":true'*) ;; *) exit 7 ;; esac
            printf '%s' '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t0"}}'""")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        os.write(master, b"open\n")
        self.assertIn("Password: ", self.ctl("get", stdin=slave).stderr)

    def test_an_insecure_kubeconfig_is_noted(self):
        path = self.folder / "kubeconfig"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
        path.write_text(json.dumps(document), encoding="utf-8")
        done = self.ctl("get")
        self.assertEqual(done.stderr.count("warning: insecure-skip-tls-verify is set"), 1, done.stderr)

    def test_logs(self):
        name = self.serve_local_run()
        self.fake.logs[name] = "a line\n"
        done = self.ctl("logs", name, "--point", "1", "--role", "pserver")
        self.assertEqual(done.stdout, "a line\npoint=1&trial=0&attempt=0&role=pserver&index=0\n")
        self.assertIn("available logs", self.ctl("logs", name, code=2).stderr)

    def test_a_run_that_was_not_accepted(self):
        self.fake.put("benchmarkruns", {
            "metadata": {"name": "bad-1"}, "spec": {"benchmarkRef": {"name": "bad"}},
            "status": {"phase": "Failed", "conditions": [
                {"type": "Accepted", "status": "False", "reason": "InvalidDefinition",
                 "message": "spec.sweep: no such name"}]}})
        text = self.ctl("describe", "bad-1", code=3).stdout
        self.assertRegex(text, r"Reason: +InvalidDefinition: spec.sweep: no such name")


class Errors(ClusterCase):
    def test_each_has_its_code_and_says_what_to_do(self):
        self.fake.put("benchmarks", {"metadata": {"name": "tiny"}, "spec": cli.definition()["spec"]})
        forbidden = status(403, "Forbidden", 'benchmarkruns.benchd.io is forbidden: User "u" cannot list resource')
        invalid = status(422, "Invalid", "spec.overrides: Invalid value")
        no_namespace = status(404, "NotFound", 'namespaces "bench" not found')
        rows = [  # name, what to bend, words, code, text
            ("no such run", {}, ["results", "x"], 3, "there is no run 'x' in namespace 'bench'"),
            ("no such run to delete", {}, ["delete", "x"], 3, "there is no run 'x'"),
            ("no such benchmark", {}, ["run", "tinny"], 3, "no file and no shipped definition"),
            ("kinds missing", {"kinds_installed": False}, ["get", "runs"], 3, "benchmark-crd.yaml"),
            ("kinds missing for run", {"kinds_installed": False}, ["run", "tiny"], 3, "benchmark-crd.yaml"),
            ("kinds missing for delete", {"kinds_installed": False}, ["delete", "x"], 3, "benchmark-crd.yaml"),
            ("forbidden", {"answers": [("GET", "/benchmarkruns", *forbidden)]}, ["get"], 4, "cannot list"),
            ("unauthorised", {"answers": [("GET", "/benchmarkruns", 401, "Unauthorized\n")]}, ["get"], 4,
             "log in again"),
            ("no lease", {"lease_age_s": None}, ["run", "tiny"], 5, "kubectl apply -k manifests/"),
            ("old lease", {"lease_age_s": 60}, ["run", "tiny"], 5, "last renewed the lease 'benchd'"),
            ("lease forbidden", {"answers": [("GET", "/leases/", *forbidden)]}, ["run", "tiny"], 4, "HTTP 403"),
            ("invalid for the server", {"answers": [("POST", "/benchmarkruns", *invalid)]}, ["run", "tiny"], 2,
             "spec.overrides"),
            ("no namespace", {"answers": [("POST", "/benchmarkruns", *no_namespace)]}, ["run", "tiny"], 3,
             'namespaces "bench" not found'),
            ("server broken", {"answers": [("GET", "/benchmarkruns", 500, "oops")]}, ["get"], 5, "HTTP 500"),
            ("wrong option", {}, ["run", "tiny", "--set", "pserver=1"], 2, "pserver"),
            ("wrong steps", {}, ["run", "tiny", "--steps", "0"], 2, "--steps '0'"),
            ("wrong warm-up", {}, ["run", "tiny", "--warmup", "1000001"], 2, "--warmup '1000001': expected a whole number from 0 to 1000000"),
            ("too many lanes", {}, ["run", "tiny", "--parallel", "17"], 2, "--parallel '17'"),
            ("no wait at all", {}, ["run", "tiny", "--wait", "0"], 2, "--wait '0': expected a whole number from 1 to 31536000"),
            ("lanes on one machine", {}, ["run", "tiny", "--local", "--parallel", "2"], 2, "--parallel is for runs in a cluster"),
            ("resume", {}, ["run", "--resume", "x"], 2, "--resume is for local runs"),
            ("no context", {}, ["get", "--context", "nowhere"], 2, "nowhere"),
            ("no kubeconfig", {}, ["get", "--kubeconfig", "/no/such/file"], 2, "/no/such/file"),
        ]
        plain = {"kinds_installed": True, "answers": [], "lease_age_s": 0.0}
        for name, bend, words, code, text in rows:
            with self.subTest(name):
                for key, value in {**plain, **bend}.items():
                    setattr(self.fake, key, value)
                done = self.ctl(*words, code=code)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertEqual(self.fake.objects["benchmarkruns"], {})

    def test_nobody_listens(self):
        self.fake.close()
        self.assertIn("cannot reach the API server", self.ctl("get", code=5).stderr)

    def test_describe_tells_what_it_can_without_benchd(self):
        name = self.serve_local_run()
        self.fake.lease_age_s = None
        done = self.ctl("describe", name, code=5)
        self.assertIn("benchd is not running in namespace 'bench'", done.stderr)
        self.assertRegex(done.stdout, r"Phase: +Succeeded\nReason: .*\nTrials: +6 of 6 done")

    def test_the_proxy_finds_no_benchd(self):
        name = self.serve_local_run()
        self.fake.answers = [("GET", "/proxy/", *status(503, "ServiceUnavailable", "no endpoints available"))]
        self.assertIn("no endpoints available", self.ctl("results", name, code=5).stderr)


class Running(RunCase):
    def test_a_benchmark_of_the_cluster(self):
        self.put_tiny()
        self.play(self.document)
        done = self.ctl("run", "tiny", "--set", "pservers=1,2", "--warmup", "3", "--steps", "5", "--repeats", "4", "--queue", "team",
                        "--priority", "low", "--wait", "600", "-o", "json")
        (run,) = self.created()
        self.assertEqual({"definition", "scheduling"}, set(run["spec"]))
        self.assertEqual(run["spec"]["scheduling"], {"queueName": "team", "priorityClass": "low", "waitSeconds": 600})
        definition, written = run["spec"]["definition"], self.document["run"]["definition"]["spec"]
        self.assertEqual(definition["sweep"]["grid"], {**written["sweep"]["grid"], "pservers": [1, 2]})
        self.assertEqual(definition["measure"], {**written["measure"], "warmupSteps": 3, "steps": 5})
        self.assertEqual(definition["repeats"], {**written["repeats"], "min": 4})
        self.assertEqual(definition["systems"], written["systems"])
        self.assertEqual(run["metadata"]["labels"], {"benchd.io/benchmark": "tiny"})
        self.assertRegex(run["metadata"]["name"], r"^tiny-[a-z0-9]{5}$")
        result = json.loads(done.stdout)
        self.assertEqual((result["phase"], result["run"]), ("Succeeded", run["metadata"]["name"]))
        self.assertEqual(len(result["points"]), 2)
        self.assertEqual(self.sent("POST", "/benchmarks?"), [])
        for text in (f"run/{result['run']} created in namespace 'bench'", "outcome=Succeeded samples_per_s="):
            self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("outcome=Succeeded"), len(self.document["attempts"]))
        self.assertIn("phase=Succeeded", self.told(done)[-1])

    def told(self, done):
        """Lines of progress."""
        return [line for line in done.stderr.splitlines() if " phase=" in line or " outcome=" in line]

    def test_trials_that_ended_while_benchd_was_away_are_told(self):
        self.put_tiny()
        self.play(self.document, already=2)
        done = self.ctl("run", "tiny", "-o", "json")
        self.assertEqual(done.stderr.count("outcome=Succeeded"), len(self.document["attempts"]))
        self.assertIn("phase=Succeeded", self.told(done)[-1])

    def test_a_shipped_one_is_whole(self):
        """The cluster has neither its templates nor the profiles of its systems, and gets no Benchmark of it."""
        self.play(self.document)
        self.assertEqual(self.ctl("run", "vgg16-systems", "--set", "trainers=20", "--set", "pservers=20", "-q").stderr, "")
        spec = self.created()[0]["spec"]["definition"]
        self.assertIn("MASTER_ADDR", [v["name"] for system in spec["systems"][1:] for v in system["rendezvous"]])
        self.assertEqual({"replicas", "template"}, {key for role in spec["roles"].values() for key in role})
        self.assertEqual({"points": [{"pservers": 20, "trainers": 20, "batch_size": 128}]}, spec["sweep"])
        self.ctl("run", "vgg16-systems", "--set", "trainers=2", "--set", "pservers=1", "--set", "batch_size=4", "--set", "cpu=600m", "-q")
        grid = {"trainers": [2], "pservers": [1], "batch_size": [4], "cpu": ["600m"]}
        self.assertEqual({"grid": grid}, self.created()[1]["spec"]["definition"]["sweep"])
        self.assertEqual(self.sent("POST", "/benchmarks?"), [])

    def test_a_registry_of_ones_own_and_a_small_cluster(self):
        """Images of the project come from there, others stay. What no cluster of this size can hold is said before the run is made."""
        self.play(self.document)
        self.fake.answers.append(("GET", "^/api/v1/nodes$", 200, {"items": [{"status": {"allocatable": {"cpu": "48", "memory": "999Gi"}}}]}))
        done = self.ctl("run", "vgg16-systems", "--image-prefix", "r.example/team", "--image", "benchworker=mine.example/w:2", "-o", "json")
        systems = self.created()[0]["spec"]["definition"]["systems"]
        images = [system["image"] for system in systems if "image" in system]
        self.assertEqual(images[0], "mine.example/w:2")
        self.assertTrue(all(image.startswith("r.example/team/") for image in images[1:]), images)
        self.assertRegex(" ".join(done.stderr.split()), r"note: the largest point \(.*\) needs [\d.e+]+ cpu; the cluster has 48 cpu")
        self.assertIn("the definition has no such system", self.ctl("run", "vgg16-systems", "--image", "nobody=x", code=2).stderr)

    def test_systems_of_this_machine_are_refused(self):
        """Their programs are not in an image: said before anything is made."""
        self.play(self.document)
        text = (cli.ROOT / "benchmarks" / "vgg16-single-node.yaml").read_text(encoding="utf-8")
        (self.folder / "vgg16-single-node").write_text(re.sub(r", image: [^}]*", "", text), encoding="utf-8")   # a file here goes first
        done = self.ctl("run", "vgg16-single-node", code=2)
        self.assertRegex(done.stderr, "profile '[a-z]+' needs programs that only the machine of benchctl has")
        self.assertIn("--systems benchworker", done.stderr)
        self.assertEqual(self.sent("POST", ""), [])
        self.ctl("run", "vgg16-single-node", "--systems", "benchworker")
        self.assertEqual([s["name"] for s in self.created()[0]["spec"]["definition"]["systems"]], ["benchworker"])

    def test_systems_go_with_the_roles_that_they_use(self):
        self.play(self.document)
        for systems, roles in (("benchworker", ["pserver", "trainer"]), ("benchworker,tensorflow-ps", ["pserver", "trainer"]),
                               ("jax", ["worker"])):
            with self.subTest(systems):
                self.ctl("run", "vgg16-systems", "--systems", systems)
                self.assertEqual(list(self.created()[-1]["spec"]["definition"]["roles"]), roles)

    def test_pods_need_templates(self):
        path = pathlib.Path(self.define())
        document = json.loads(path.read_text())
        for role in document["spec"]["roles"].values():
            del role["template"]
        path.write_text(json.dumps(document))
        done = self.ctl("run", path, code=2)
        self.assertIn("spec.roles.pserver has no template", done.stderr)
        self.assertIn("add a PodTemplateSpec", done.stderr)
        self.assertNotIn("--systems", done.stderr)
        self.assertIn("note: this cannot run in a cluster: spec.roles.pserver", self.ctl("plan", path).stderr)
        self.assertNotIn("cannot run in a cluster", self.ctl("plan", path, "--local").stderr)
        self.assertEqual(self.sent("POST", ""), [])

    def test_a_file_goes_inline(self):
        self.put_tiny()
        self.play(self.document)
        self.ctl("run", self.define(), "--steps", "5")
        self.ctl("run", "tiny", "--systems", "benchworker")
        file, subset = self.created()
        self.assertEqual(list(file["spec"]), ["definition"])
        self.assertEqual(file["spec"]["definition"]["measure"], {"warmupSteps": 1, "steps": 5})
        self.assertEqual(file["metadata"]["labels"], {"benchd.io/benchmark": "tiny"})
        self.assertEqual(list(subset["spec"]), ["definition"])

    def test_the_phase_is_the_exit_code(self):
        self.put_tiny()
        for phase, code in (("Succeeded", 0), ("PartiallyFailed", 1), ("Failed", 1), ("Cancelled", 1)):
            with self.subTest(phase):
                self.play(self.document, ("Running", phase))
                self.assertEqual(json.loads(self.ctl("run", "tiny", "-o", "json", code=code).stdout)["phase"], phase)

    def test_not_accepted(self):
        self.put_tiny()

        def refuse(name):
            document = {**self.document, "attempts": [], "events": []}
            document["run"] = {**document["run"], "name": name, "definition": None, "createdUnixMs": 0}
            self.fake.documents[name] = document
            self.fake.set_status(name, phase="Failed", conditions=[
                {"type": "Accepted", "status": "False", "reason": "InvalidDefinition", "message": "no such system"}])

        self.fake.on_create = refuse
        done = self.ctl("run", "tiny", code=2)
        self.assertIn("was not accepted: no such system", done.stderr)
        self.assertRegex(done.stderr, r"fix: see benchctl describe tiny-[a-z0-9]{5}\n")
        run = re.search(r"tiny-[a-z0-9]{5}", done.stderr)[0]
        self.assertNotRegex(self.ctl("describe", run).stdout, "1970")

    def test_ctrl_c_detaches_and_attach_goes_on(self):
        self.put_tiny()
        go_on = []
        self.fake.on_create = lambda name: (self.fake.set_status(name, phase="Queued"), go_on.append(name))
        process = self.start("run", "tiny")
        wait_until(lambda: go_on and any("watch=1" in path for _, path, _ in self.fake.requests))
        code, out, err = self.stop(process, cli.SIGINT)
        name = go_on[0]
        self.assertEqual((code, out), (130, ""))
        self.assertIn(f"benchctl attach {name} -n bench", err)
        self.assertNotIn("cancel", self.fake.objects["benchmarkruns"][name]["spec"])
        self.play(self.document)
        document = json.loads(json.dumps(self.document))
        document["run"].update(name=name)
        self.fake.documents[name] = document
        self.fake.set_status(name, phase="Succeeded", completions="4/4")
        self.assertIn("samples/s", self.ctl("attach", name).stdout)

    def test_a_timeout_cancels(self):
        self.put_tiny()

        def hang(name):
            document = json.loads(json.dumps(self.document))
            document["run"].update(name=name)
            self.fake.documents[name] = document
            self.fake.set_status(name, phase="Running")
            wait_until(lambda: self.fake.objects["benchmarkruns"][name]["spec"].get("cancel"))
            self.fake.set_status(name, phase="Cancelled")

        self.fake.on_create = hang
        self.assertEqual(json.loads(self.ctl("run", "tiny", "--timeout", "1s", "-o", "json", code=8).stdout)["phase"], "Cancelled")

    def test_what_a_run_waits_for_is_told(self):
        self.put_tiny()
        waiting = [{"type": "Waiting", "status": "True", "reason": "PodsRemain", "message": "pod 'a' on node 'n1'"}]
        events = [{"unixMs": 1, "type": "Warning", "reason": reason, "note": note}
                  for reason, note in (("PodsRemain", "pod 'a' on node 'n1'"), ("PodsRemain", "pod 'b' on node 'n1'"))]

        def wait(name):
            document = json.loads(json.dumps(self.document))
            document["run"].update(name=name)
            self.fake.documents[name] = {**document, "attempts": document["attempts"][:-1], "events": []}
            self.fake.set_status(name, phase="Running")
            wait_until(lambda: len(self.sent("GET", "/proxy/")) >= 2)
            self.fake.set_status(name, phase="Running", conditions=waiting)
            n = len(self.sent("GET", "/proxy/"))
            wait_until(lambda: len(self.sent("GET", "/proxy/")) > n)
            self.fake.set_status(name, phase="Running", conditions=waiting, eta="5s")
            # With the next attempt benchd has events: of that wait, and of one that was over before the status said so.
            self.fake.documents[name] = {**document, "events": events}
            self.fake.set_status(name, phase="Succeeded", conditions=[])

        self.fake.on_create = wait
        said = self.ctl("run", "tiny").stderr
        self.assertEqual(said.count("warning PodsRemain: pod 'a' on node 'n1'"), 1)
        self.assertEqual(said.count("warning PodsRemain: pod 'b' on node 'n1'"), 1)

    def test_deleted_meanwhile(self):
        self.put_tiny()

        def vanish(name):
            wait_until(lambda: any("watch=1" in path for _, path, _ in self.fake.requests))
            self.fake.remove("benchmarkruns", name)

        self.fake.on_create = vanish
        self.assertIn("was deleted", self.ctl("run", "tiny", code=3).stderr)

    def test_benchd_goes_away_and_comes_back(self):
        self.put_tiny()
        self.play(self.document)
        inner = self.fake.on_create

        def silent_first(name):
            self.fake.answers = [("GET", "/proxy/", *status(503, "ServiceUnavailable", "no endpoints"))]
            self.fake.set_status(name, phase="Running")
            wait_until(lambda: len(self.sent("GET", "/proxy/")) >= 3)
            self.fake.answers = []
            inner(name)

        self.fake.on_create = silent_first
        done = self.ctl("run", "tiny")
        self.assertEqual(done.stderr.count("benchd does not answer; the run continues"), 1)
        self.assertIn("samples/s", done.stdout)

    def test_a_lost_answer_makes_no_second_run(self):
        self.put_tiny()
        self.play(self.document)
        answer = self.fake.answer

        def lose_first(method, path, body):
            code, answered = answer(method, path, body)
            if method == "POST" and code == 201 and len(self.created()) == 1:
                return 503, "lost"
            return code, answered

        self.fake.answer = lose_first
        self.ctl("run", "tiny")
        self.assertEqual(len(self.fake.objects["benchmarkruns"]), 1)
        self.assertEqual(len(self.created()), 2)

    def test_a_lost_answer_and_no_right_to_look(self):
        """What was made is not known: no second one is made, and the name is told."""
        self.put_tiny()
        self.fake.on_create = lambda name: None
        answer = self.fake.answer

        def lose(method, path, body):
            code, answered = answer(method, path, body)
            if method == "POST" and code == 201:
                return 503, "lost"
            if method == "GET" and "/benchmarkruns/" in path:
                return status(403, "Forbidden", 'User "u" cannot get resource "benchmarkruns"')
            return code, answered

        self.fake.answer = lose
        done = self.ctl("run", "tiny", code=4)
        name, = self.fake.objects["benchmarkruns"]
        self.assertRegex(done.stderr, f"run/{name} may have been created.*cannot get resource")

    def test_gone_before_the_first_look(self):
        """It was there when it was asked for by name, and is in no list: no watch ever tells that it has gone."""
        name = self.serve_name()
        answer = self.fake.answer

        def vanish(again):
            def bent(method, path, body):
                if method == "GET" and "/benchmarkruns?" in path and name in self.fake.objects["benchmarkruns"]:
                    self.fake.remove("benchmarkruns", name)
                    if again:
                        self.serve_name()
                return answer(method, path, body)
            return bent

        for again in (False, True):   # nothing of that name, another one
            with self.subTest(again=again):
                self.fake.objects["benchmarkruns"].clear()
                self.serve_name()
                self.fake.answer = vanish(again)
                self.assertIn(f"run/{name} was deleted", self.ctl("attach", name, code=3, timeout=90).stderr)

    def test_a_lost_answer_to_delete(self):
        name = self.serve_name()
        answer = self.fake.answer

        def lose(method, path, body):
            code, answered = answer(method, path, body)
            return (503, "lost") if method == "DELETE" and code == 200 else (code, answered)

        self.fake.answer = lose
        self.assertEqual(self.ctl("delete", name).stdout, f"run/{name} deleted\n")
        self.assertEqual(len(self.sent("DELETE", name)), 2)

    def test_cancel_what_has_ended(self):
        name = self.serve_name()
        self.fake.set_status(name, phase="Succeeded")
        done = self.ctl("cancel", name, code=2)
        self.assertIn(f"run/{name} has already ended: Succeeded", done.stderr)
        self.assertEqual((done.stdout, self.sent("PATCH", name)), ("", []))
        self.fake.set_status(name, phase="Cancelled")
        self.assertEqual(self.ctl("cancel", name).stdout, f"run/{name} cancelled\n")

    def test_cancel_and_delete(self):
        name = self.serve_name()
        self.assertEqual(self.ctl("cancel", name[-5:]).stdout, f"run/{name} cancelled\n")
        self.assertTrue(self.fake.objects["benchmarkruns"][name]["spec"]["cancel"])
        self.assertEqual(self.ctl("delete", name).stdout, f"run/{name} deleted\n")
        self.assertEqual(self.fake.objects["benchmarkruns"], {})
        (_, options), = self.sent("DELETE", name)
        self.assertIn("uid", options["preconditions"])
        # Who deletes by benchctl wants the results gone: benchd reads that from the object's last state.
        (_, cancel), (_, erase) = self.sent("PATCH", name)
        uid = options["preconditions"]["uid"]
        self.assertEqual(cancel, {"metadata": {"uid": uid}, "spec": {"cancel": True}})
        self.assertEqual(erase, {"metadata": {"uid": uid, "annotations": {"benchd.io/erase": "Now"}}})

    def test_another_run_of_the_name_is_left_alone(self):
        """Somebody deletes the run and creates it again after it was looked up."""
        for verb in ("cancel", "delete"):
            name = self.serve_name()
            self.fake.before_patch = lambda obj: obj["metadata"].update(uid="another")
            self.assertIn("Precondition failed: UID", self.ctl(verb, name, code=2).stderr)
            left = self.fake.objects["benchmarkruns"][name]
            self.assertEqual((left["metadata"].get("annotations"), left["spec"].get("cancel")), (None, None))

    def serve_name(self):
        name = "tiny-7k3fq"
        self.fake.put("benchmarkruns", {"metadata": {"name": name}, "spec": {"benchmarkRef": {"name": "tiny"}}})
        return name


class Plugin(ClusterCase):
    def test_kubectl_bench(self):
        plugin = self.folder / "kubectl-bench"
        plugin.symlink_to(cli.BENCHCTL)
        done = cli.subprocess.run([plugin, "run", "--help"], capture_output=True, text=True, check=True)
        self.assertIn("Usage: kubectl bench run NAME", done.stdout)


if __name__ == "__main__":
    cli.main()
