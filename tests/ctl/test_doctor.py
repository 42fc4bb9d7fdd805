"""benchctl doctor on this machine: worker, store, exit codes."""
import json

import cli


class Doctor(cli.CliCase):
    def checks(self, *args, code=0):
        document = json.loads(self.ctl("doctor", *args, "-o", "json", code=code).stdout)
        self.assertEqual((document["kind"], document["exitCode"]), ("DoctorReport", code))
        return {check["name"]: check for check in document["checks"]}

    def setUp(self):
        super().setUp()
        for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
            self.env.pop(name, None)
        self.version = self.put_worker()

    def test_a_machine_that_works(self):
        checks = self.checks("--local")
        self.assertEqual(list(checks), ["worker", "cpus", "frequency", "store"])
        self.assertEqual(checks["worker"]["result"], "ok")
        self.assertRegex(checks["store"]["found"], r"data/benchd/results\.db: the first run creates it$")
        self.assertEqual([c for c in checks.values() if c["result"] == "fail"], [])
        for check in checks.values():
            self.assertEqual(check["fix"] is not None, check["result"] == "warn", check)
        self.assertFalse((self.folder / "data").exists())   # it looks, and makes nothing
        text = self.ctl("doctor", "--local").stdout
        self.assertRegex(text, rf"^ok    worker      {self.folder}/worker {self.version}\n")
        self.assertEqual([line for line in text.splitlines() if len(line) > 80 and " " in line[18:].strip()], [])

    def test_a_store_that_is_there(self):
        self.env["BENCHWORKER"] = cli.FAKE_REPLICA
        self.run_tiny(repeats=1)
        self.put_worker()
        self.assertEqual(self.checks("--store", self.store)["store"], {
            "name": "store", "result": "ok", "found": f"{self.folder}/results.db", "fix": None})

    def test_without_a_kubeconfig_the_cluster_is_skipped(self):
        kubeconfig = self.checks()["kubeconfig"]
        self.assertEqual(kubeconfig["result"], "skip")
        self.assertIn("runs on this machine need none", kubeconfig["found"])

    def test_faults(self):
        def no_worker():
            self.env["BENCHWORKER"] = "/no/such"

        def wrong_version():
            self.put_worker("0.0.1")

        def broken_worker():
            self.put_worker(code=1)

        def no_place():
            self.env["XDG_DATA_HOME"] = "/dev/null"

        def no_home():
            self.env["XDG_DATA_HOME"] = self.env["HOME"] = ""

        def damaged():
            (self.folder / "results.db").write_text("x" * 5000, encoding="utf-8")

        rows = [  # what is wrong, options, check, result, exit code, found
            (no_worker, ["--local"], "worker", "fail", 9, "$BENCHWORKER is '/no/such'"),
            (wrong_version, ["--local"], "worker", "warn", 0, "'benchworker 0.0.1'"),
            (broken_worker, ["--local"], "worker", "fail", 9, "does not start"),
            (no_place, ["--local"], "store", "fail", 9, "/dev/null"),
            (no_home, ["--local"], "store", "fail", 9, "neither XDG_DATA_HOME nor HOME"),
            (damaged, ["--store", self.store], "store", "fail", 9, "results.db"),
            (lambda: None, ["--store", "sqlite:/no/such/x.db"], "store", "fail", 9, "/no/such"),
            (lambda: None, ["--kubeconfig", "/no/such"], "kubeconfig", "fail", 2, "/no/such"),
        ]
        env = dict(self.env)
        for change, args, name, result, code, found in rows:
            with self.subTest(found):
                self.env = dict(env)
                self.put_worker()
                change()
                check = self.checks(*args, code=code)[name]
                self.assertEqual(check["result"], result)
                self.assertIn(found, check["found"])
                self.assertTrue(check["fix"] or name == "kubeconfig")


if __name__ == "__main__":
    cli.main()
