#!/usr/bin/env python3
"""benchctl without a run: help, hints, exit codes, validate, plan, names of definitions."""
import json
import pathlib
import re
import shutil

import cli

VERBS = ["init", "try", "import", "explain", "validate", "plan", "simulate", "run", "get", "describe", "results", "report", "compare", "gate", "history",
         "export", "reproduce", "doctor", "logs", "attach", "cancel", "delete", "version", "help"]
SHIPPED = sorted(path.stem for path in (cli.ROOT / "benchmarks").glob("*.yaml") if path.stem != "signs")


class Usage(cli.CliCase):
    def test_help_of_every_verb_has_examples_and_options(self):
        text = self.ctl("help").stdout
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        for verb in VERBS:
            with self.subTest(verb):
                self.assertIn(f"\n  {verb} ", text)
                page = self.ctl(verb, "--help").stdout
                self.assertEqual(page, self.ctl("help", verb).stdout)
                self.assertEqual(page, self.ctl("--quiet", verb, "-h").stdout)
                self.assertIn(f"Examples:\n  benchctl {verb}", page)
                self.assertIn("--store URL", page)
                self.assertEqual([line for line in page.splitlines() if len(line) > 80], [])

    def test_version(self):
        self.assertRegex(self.ctl("version").stdout,
                         r"^benchctl \d+\.\d+\.\d+\nsource    \S+\ncompiler  \S+ [\d.]+\noptions   buildtype=\S+ .*\n$")
        self.assertEqual(self.ctl("version").stdout, self.ctl("--version").stdout)

    def test_version_as_json(self):
        version = json.loads(self.ctl("version", "-o", "json").stdout)
        self.assertEqual(list(version), ["version", "source", "compiler", "options"])
        self.assertEqual(self.ctl("version").stdout.splitlines()[0], f"benchctl {version['version']}")

    def test_validate_checks_each_file(self):
        bad, local = self.folder / "bad.json", self.folder / "local.json"
        document = cli.definition(extra={"baseline": "SingleNode", "timeout": "4h"})
        bad.write_text(json.dumps(document), encoding="utf-8")
        local.write_text(json.dumps(cli.definition(extra={"local": {"repeats": 3}})), encoding="utf-8")
        done = self.ctl("validate", str(bad), "vgg16-single-node", str(local), "/no/such.yaml", code=2)
        self.assertIn("vgg16-single-node.yaml: benchmark/vgg16-single-node is valid (", done.stdout)
        self.assertEqual(done.stdout.count(" is valid "), 1)
        for fix in ("write 'baseline: {kind: SingleNode}'", "write 'runPolicy: {activeDeadlineSeconds: 14400}'"):
            self.assertIn(fix, done.stderr)
        self.assertRegex(done.stderr, rf"{bad}:1:\d+: error: ")
        self.assertIn("spec.local.repeats", done.stderr)
        self.assertIn("error: /no/such.yaml: No such file", done.stderr)
        with open(local, encoding="utf-8") as file:
            again = self.ctl("validate", "-f", "-", "-f", str(bad), "vgg16-single-node", stdin=file, code=2)
        self.assertIn("(stdin)", again.stderr)
        self.assertIn("'validate' needs a FILE or -f FILE", self.ctl("validate", code=2).stderr)
        text = (cli.ROOT / "benchmarks" / "vgg16-systems.yaml").read_text(encoding="utf-8")
        (self.folder / "no-image.yaml").write_text(re.sub(r", image: [^}]*", "", text), encoding="utf-8")
        no_image = self.ctl("validate", "no-image.yaml")
        self.assertRegex(no_image.stdout, r"; \d of \d systems with --local only\)\n$")
        self.assertRegex(no_image.stderr, r"no-image.yaml:\d+:\d+: spec.systems\[\d\]: in a cluster: ")

    def test_wrong_command_lines(self):
        rows = [  # words, exit code, text
            ([], 2, "\nStart:\n  init "),
            (["list"], 2, "unknown verb 'list'\nfix: benchctl get runs\n"),
            (["ls"], 2, "fix: benchctl get runs\n"),
            (["status"], 2, "fix: benchctl get runs\n"),
            (["stop", "x"], 2, "fix: benchctl cancel RUN\n"),
            (["get", "runs", "--rank", "1"], 2, "fix: benchctl get --help lists the options\n"),
            (["plan", "x", "--workers", "4"], 2, "unknown option '--workers'\nfix: a value of the sweep is --set workers=4; "),
            (["run", "x", "--local", "--batch-size=64"], 2, "fix: a value of the sweep is --set batch_size=64; "),
            (["run", "x", "--dry-run"], 2, "unknown option '--dry-run'\nfix: benchctl run --help lists the options\n"),
            (["run", "--", "python3", "train.py"], 2, "fix: benchctl init -- COMMAND > my.yaml, for a command\n"),
            (["plot", "latest"], 2, "fix: benchctl report RUN\n"),
            (["resume", "latest"], 2, "fix: benchctl run --resume RUN\n"),
            (["diff", "a", "b"], 2, "fix: benchctl compare RUN RUN_B\n"),
            (["get", "runs", "--kubeconfig", "none"], 2, "none: No such file or directory\nfix: add --local to run on this machine, or choose a cluster"),
            (["run", "vgg16-single-node", "--local", "--repeats", "0"], 2, "from 1 to 1000\nfix: for example --repeats 1\n"),
            (["results", "x", "--workers", "4"], 2, "fix: benchctl results --help lists the options\n"),
            (["run", "train.py"], 2, "'train.py' is a program, and 'run' needs a definition of it\nfix: benchctl init -- train.py > my.yaml\n"),
            (["try", "./loop.sh", "--local"], 2, "fix: benchctl init -- ./loop.sh > my.yaml\n"),
            (["try", "vgg16-single-node", "--local", "--write"], 2, "--write needs a file\nfix: write the definition into a file"),
            (["runn"], 2, "did you mean 'run'?"),
            (["-V"], 2, "error: unknown option '-V'; --help lists them\nfix: list the verbs with: benchctl help\n"),
            (["--local", "--verson"], 2, "error: unknown option '--verson'"),
            (["--local"], 2, "error: a verb is missing\nfix: list the verbs with: benchctl help\n"),
            (["--store"], 2, "error: option --store needs a value (URL)"),
            (["nonsense"], 2, "list the verbs with: benchctl help"),
            (["help", "nonsense"], 2, "unknown verb 'nonsense'"),
            (["run", "x", "--lcoal"], 2, "error: run: unknown option '--lcoal'\nfix: did you mean --local?\n"),
            (["run", "x", "--local", "--progress", "loud"], 2, "--progress 'loud' is unknown"),
            (["run", "x", "--local", "--timeout", "soon"], 2, "--timeout 'soon': expected a duration"),
            (["run", "x", "--local", "--resume", "y"], 2, "--resume continues a run with its stored definition"),
            (["run", "--local"], 2, "needs a NAME or -f FILE"),
            (["run"], 2, "needs a NAME or -f FILE\nfix: list the names with: benchctl get benchmarks --local\n"),
            (["run", "x", "-f", "y"], 2, "not both"),
            (["run", "--resume", "x"], 2, "--resume is for local runs"),
            (["run", "x", "--local", "--queue", "q"], 2, "--queue is for runs in a cluster"),
            (["run", "x", "-f", "y", "--local"], 2, "not both"),
            (["plan", "vgg16-single-node", "--cluster", "--local"], 2, "--cluster and --queue ask a cluster"),
            (["plan", "vgg16-single-node", "--queue", ""], 2, "about a queue by its name"),
            (["plan", "vgg16-single-node", "--steps", "0"], 2, "--steps '0': expected a whole number"),
            (["plan", "vgg16-single-node", "-o", "jsn"], 2, "unknown output format 'jsn'"),
            (["logs", "x", "-o", "json"], 2, "'logs' does not take -o"),
            (["version", "--color", "green"], 2, "--color 'green' is unknown"),
            (["results"], 2, "needs an argument"),
            (["compare", "x", "--local"], 2, "compare needs two runs, or one run and --axis"),
            (["compare", "x", "y", "--local", "--threshold", "200%"], 2, "--threshold '200%' must be a ratio"),
            (["compare", "x", "y", "--local", "--threshold", "2"], 2, "--threshold 2% or --threshold 0.02"),
            (["compare", "x", "y", "--local", "--threshold", "%"], 2, "--threshold '%' must be a ratio"),
            (["results", "a", "b", "--local"], 2, "does not take 'b'"),
            (["doctor", "x"], 2, "fix: benchctl doctor\n"),
            (["results", "a", "--by", "host", "--local"], 2, "write --by point, node, replica, curve, phase or line"),
            (["results", "a", "--cells", "speed", "--local"], 2, "write one of throughput, speedup, efficiency,"),
            (["results", "a", "--price", "5", "--local"], 2, "for example --price 0.05/cpu-hour"),
            (["results", "a", "--price", "5/pod-hour", "--cells", "speedup", "--local"], 2, "--price needs --cells cost"),
            (["results", "a", "--rows", "system", "--by", "node", "--local"], 2, "ask for one of them at a time"),
            (["get", "pods", "--local"], 2, "cannot list 'pods'"),
            (["get", "runs", "--store", "results.db"], 2, "error: store 'results.db': not a store\nfix: write --store sqlite:results.db\n"),
            (["get", "runs", "--store", "postgres://x"], 2, "error: store 'postgres://x': not a store\nfix: write --store sqlite:FILE\n"),
            (["get", "runs", "--store", "sqlite:"], 2, "error: store 'sqlite:': not a store\nfix: write --store sqlite:FILE\n"),
            (["run", "vgg16-single-node"], 5, "add --local"),
            (["describe", "pod", "x", "--local"], 2, "'pod' cannot be described"),
            (["get", "runs"], 5, "add --local"),
            (["delete", "x"], 5, "add --local"),
            (["attach", "x", "--local"], 2, "in its own terminal"),
            (["cancel", "x", "--local"], 2, "Ctrl-C"),
            (["get", "runs", "--local", "-n", "x"], 2, "cannot be used with --local or --store"),
            (["get", "benchmarks", "vgg16-single-nod", "--local"], 3, "did you mean 'vgg16-single-node'?"),
            (["results", "x", "--local"], 3, "there is no folder"),
            (["validate", "vgg16-single-nod"], 3, "did you mean 'vgg16-single-node'?"),
            (["validate", "quite-another"], 3, "of that name\nfix: list the names with: benchctl get benchmarks --local\n"),
            (["plan", "vgg16-single-nod"], 3, "of that name\nfix: did you mean 'vgg16-single-node'?\n"),
            (["validate", "no/such/file.yaml"], 3, "No such file or directory\nfix: list the names with: benchctl get benchmarks --local\n"),
            (["run", "-f", "vgg16-single-node.yml", "--local"], 3, "No such file or directory\nfix: write vgg16-single-node, without -f and"),
            (["plan", "-f", "vgg16-single-node"], 3, "No such file or directory\nfix: write vgg16-single-node, without -f and"),
            (["report", "x", "-o", "page.html"], 2, "unknown output format 'page.html'\nfix: use -o html|svg\n"),
            (["results", "x", "-o", "page.html"], 2, "fix: use -o "),
            (["run", "x", "--a; b"], 2, "error: run: unknown option '--a; b'\nfix: benchctl run --help lists the options\n"),
            (["run", "x", "--local=a; b"], 2, "error: run: option --local takes no value, got 'a; b'\n"),
            (["validate", "/"], 9, "Is a directory"),
            (["import", "no.such.log"], 3, "error: no.such.log: No such file or directory\nfix: name a file that exists, or - for stdin\n"),
            (["import", "--dry-run", "no.such.benchd.db"], 3, "error: no.such.benchd.db: No such file or directory\nfix: write an archive with: benchctl export RUN\n"),
            (["reproduce", "no.such.benchd.db"], 3, "No such file or directory\nfix: write an archive with: benchctl export RUN\n"),
            (["import", "--dry-run", "mine.benchd.bd"], 3, "error: mine.benchd.bd: No such file or directory\nfix: did you mean 'mine.benchd.db'?\n"),
            (["import", "mine.benchd.db", "--rules", "no/rule.yaml"], 3,
             "no/rule.yaml: No such file or directory\nfix: name one of docs/log-rules.md with --rules, or a file with one\n"),
            (["import", "mine.benchd.db", "--rules", "my-ruel.yaml"], 3, "No such file or directory\nfix: did you mean 'my-rule.yaml'?\n"),
            (["import", "no.such.log", "--rules", "torch-ddp", "--batch", "1"], 3,
             "no.such.log: No such file or directory\nfix: name a file that exists, or - for stdin\n"),
            (["simulate", "vgg16-pserver-sweep", "--link", "1gbit", "--layers", "no/layers.yaml"], 3,
             "no/layers.yaml: No such file or directory\nfix: record them: benchworker bench --batch N -o trace >layers.yaml\n"),
            (["simulate", "vgg16-pserver-sweep", "--link", "1gbit", "--layers", "/"], 9, "error: /: Is a directory\n"),
            (["import", "trainers=2:no.such.log"], 3, "no.such.log: No such file or directory\n"),
        ]
        for name in ("mine.benchd.db", "my-rule.yaml"):
            (self.folder / name).touch()
        for words, code, text in rows:
            with self.subTest(" ".join(words)):
                done = self.ctl(*words, code=code)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_threshold_that_judges_nothing(self):
        """A gate that is always open: refused as written, noted where other values took the place of the file's."""
        path = self.define()
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        document["spec"]["thresholds"] = [{"metric": "throughput", "min": 0}, {
            "metric": "throughput", "min": 1, "where": {"trainers": 99}}]
        pathlib.Path(path).write_text(json.dumps(document, indent=1), encoding="utf-8")
        for verb in ("validate", "plan"):
            done = self.ctl(verb, path, code=2)
            self.assertRegex(done.stderr, r":\d+:\d+: error: spec\.thresholds\[1\]\.where: no point has these values")
        note = "note: threshold 1 (throughput >= 1 where trainers=99) is skipped: this run has no such point"
        self.assertIn(note, self.ctl("plan", path, "--set", "trainers=1").stderr)
        self.assertNotIn("is skipped", self.ctl("plan", path, "--set", "trainers=99").stderr)
        self.assertRegex(self.ctl("plan", "vgg16-pserver-sweep", "--local").stderr,
                         r"note: threshold 0 \(\w+ >= [\d.]+ where .*\) is skipped: this run has no such point\n")
        self.assertNotIn("is skipped", self.ctl("validate", "vgg16-pserver-sweep").stderr)

    def test_what_is_quoted_acts_on_no_terminal(self):
        done = self.ctl("run", "a\x1b[31mb", "--local", code=3)
        self.assertIn("'a?[31mb'", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_a_full_stdout_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = cli.subprocess.run([cli.BENCHCTL, "help"], stdout=full, stderr=cli.subprocess.PIPE,
                                      text=True, check=False)
        self.assertEqual(done.returncode, 9)
        self.assertIn("No space left on device", done.stderr)

    def test_no_worker_is_said_before_anything_is_made(self):
        self.env["BENCHWORKER"] = "/no/such/program"
        self.assertIn("/no/such/program", self.ctl("run", "vgg16-single-node", "--store", self.store, code=9).stderr)
        self.assertFalse((self.folder / "results.db").exists())


class Benchmarks(cli.CliCase):
    def test_the_shipped_ones(self):
        names = self.ctl("get", "benchmarks", "--local", "-o", "name").stdout.split()
        self.assertEqual(names, [f"benchmark.benchd.io/{name}" for name in SHIPPED])
        rows = self.ctl("get", "bm", "--local").stdout.splitlines()
        self.assertEqual(rows[0].split(), ["NAME", "MODEL", "EXCHANGE", "BASELINE", "STEPS", "REPEATS", "AGE"])
        self.assertEqual([row.split()[0] for row in rows[1:]], SHIPPED)
        items = json.loads(self.ctl("get", "bm", SHIPPED[0], "--local", "-o", "json").stdout)["items"]
        self.assertEqual([item["metadata"]["name"] for item in items], SHIPPED[:1])


class Validate(cli.CliCase):
    def test_whoever_reads_has_json(self):
        """Every verb but those that write bytes as they are, change something, or start something; explain prints the CRD's schema,
        validate has the form of a compiler, FILE:LINE:COLUMN: error: PATH: TEXT, and of describe results and export have all."""
        no_json = {"describe", "init", "try", "explain", "export", "reproduce", "logs", "cancel", "delete", "help", "report", "validate"}
        for verb in set(VERBS) - no_json:
            with self.subTest(verb):
                self.assertRegex(self.ctl(verb, "--help").stdout, r"(?s)Output formats \(-o\): .{0,200}?\bjson\b")

    def test_the_manifest_is_made_of_the_schema(self):
        kinds = cli.subprocess.run([cli.os.environ["KINDS_JSON"]], check=True, stdout=cli.subprocess.PIPE).stdout
        made = cli.subprocess.run([cli.ROOT / "script" / "crd", "-"], input=kinds, check=True, stdout=cli.subprocess.PIPE).stdout
        files = [cli.ROOT / "manifests" / "benchmark-crd.yaml", cli.ROOT / "docs" / "definitions.md"]
        self.assertEqual(made.decode(), "".join(file.read_text(encoding="utf-8") for file in files), "run script/crd")

    def test_the_kinds_follow_the_conventions_of_kubernetes(self):
        """Each node has a description, no number is a float, an integer has a format, and an enum's words are CamelCase. Names of roles are keys."""
        roles, nodes = {"pserver", "trainer", "worker", "launcher"}, 0

        def walk(node, path):
            nonlocal nodes
            nodes += 1
            if not path.endswith(("Benchmark.metadata", "BenchmarkRun.metadata")):   # the API server describes these
                self.assertRegex(node.get("description", ""), r"^\S.*[.)]$", path)
            self.assertNotEqual(node.get("type"), "number", path)
            if node.get("type") == "integer":
                self.assertIn(node.get("format"), ("int32", "int64"), path)
                self.assertFalse(node["format"] == "int32" and node.get("maximum", 0) >= 2 ** 31, path)
            for word in set(node.get("enum", ())) - roles:
                self.assertRegex(word, r"^[A-Z][A-Za-z0-9]*$", path)
                self.assertNotRegex(word, r"^(Dns|Ip|Tcp|Nccl|Idx|[A-Z][a-z]+[0-9]+)$", f"{path}: acronyms are in capitals")
            for key, child in node.get("properties", {}).items():
                walk(child, f"{path}.{key}")
            for key in {"items", "additionalProperties"} & node.keys():
                walk(node[key], f"{path}[]")

        manifest = cli.ROOT / "manifests" / "benchmark-crd.yaml"
        self.assertNotRegex(manifest.read_text(encoding="utf-8"), r"(?m)^[- ]*[\w-]+: [&*]", "anchors")
        strict = cli.subprocess.run([cli.os.environ["YAML_JSON"], manifest], check=True, stdout=cli.subprocess.PIPE)   # no key twice, no merge key
        for kind in json.loads(strict.stdout)["items"]:
            self.assertLess(len(json.dumps(kind, separators=(",", ":"))), 110_000, "kubectl apply keeps a copy in an annotation")
            walk(kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind["spec"]["names"]["kind"])
        self.assertGreater(nodes, 750)

    def test_explain_prints_what_a_field_means(self):
        text = self.ctl("explain", "spec.systems.log").stdout
        self.assertRegex(text, r"(?m)^FIELD:  spec\.systems\.log   <string or object>$")
        self.assertRegex(text, r"(?m)^  lines   <\[\]object>   required$")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        text = self.ctl("explain", "spec.measure").stdout
        self.assertRegex(text, r"steps   <integer>   1 to 1000000\n    Measured steps\. Default 100\.")
        self.assertEqual(self.ctl("explain", "Benchmark.spec").stdout.count("FIELDS:"), 1)
        self.assertIn("FIELD:  bmr.status.eta", self.ctl("explain", "bmr.status.eta").stdout)

    def test_explain_knows_no_such_field(self):
        for path, fix in (("spec.systms", "did you mean 'spec.systems'?"),
                          ("spec.systems[0].log.line", "did you mean 'spec.systems[0].log.lines'?"),
                          ("systems", "did you mean 'spec.systems'?"),
                          ("measure.steps", "did you mean 'spec.measure.steps'?"),
                          ("xyzzy", "it has: apiVersion, kind,"),
                          ("spec.xyzzy", "it has: description, systems,"),
                          ("spec.measure.steps.x", "it has no fields of its own")):
            with self.subTest(path=path):
                self.assertIn(f"fix: {fix}", self.ctl("explain", path, code=2).stderr)

    def test_shipped_definitions_are_valid(self):
        done = self.ctl("validate", *SHIPPED)
        self.assertEqual(len(done.stdout.splitlines()), len(SHIPPED))
        self.assertRegex(done.stdout, r"benchmark/vgg16-pserver-sweep is valid \(4 points, 1 baseline, "
                                      r"25 trials; with --local: 4 points, 1 baseline, 15 trials\)\n")

    def test_all_errors_at_once_with_their_places(self):
        path = self.folder / "wrong.yaml"
        text = (cli.ROOT / "benchmarks" / "vgg16-pserver-sweep.yaml").read_text(encoding="utf-8")
        text = text.replace("warmupSteps: 10, steps: 100", "warmupSteps: -1, stepz: 100")
        path.write_text(text.replace("order: Interleaved", "order: Random"), encoding="utf-8")
        done = self.ctl("validate", str(path), "vgg16-single-node", code=2)
        for part in ("warmupSteps", "stepz", "Random", "errors in"):
            self.assertIn(part, done.stderr)
        self.assertRegex(done.stderr, rf"{path}:\d+:\d+: ")
        self.assertIn("vgg16-single-node is valid", done.stdout)  # the others are still checked

    def define_from(self, template, name="my.json"):
        """A definition whose trainers name a template, which is written below its folder; NULL: no file is written."""
        path = pathlib.Path(self.define(name))
        document = json.loads(path.read_text(encoding="utf-8"))
        del document["spec"]["roles"]["trainer"]["template"]
        document["spec"]["roles"]["trainer"]["templateFrom"] = "pods/mine.yaml"
        path.write_text(json.dumps(document), encoding="utf-8")
        if template is not None:
            (path.parent / "pods").mkdir(exist_ok=True)
            (path.parent / "pods" / "mine.yaml").write_text(template, encoding="utf-8")
        return path

    def test_templates_by_name(self):
        """Next to the definition, else where shipped ones are; what is printed is whole."""
        path = self.define_from("spec:\n  containers:\n  - {name: near, resources: {requests: {cpu: 3}}}\n")
        document = json.loads(self.ctl("get", "bm", str(path), "--local", "-o", "json").stdout)["items"][0]
        self.assertEqual({"replicas": {"from": "trainers"},
                          "template": {"spec": {"containers": [{"name": "near", "resources": {"requests": {"cpu": 3}}}]}}},
                         document["spec"]["roles"]["trainer"])
        (self.folder / "frozen.json").write_text(json.dumps(document), encoding="utf-8")
        plan = self.ctl("plan", str(path), "-o", "json").stdout
        shutil.move(self.folder / "pods", self.folder / "places")
        self.assertEqual(plan, self.ctl("plan", "./frozen.json", "-o", "json").stdout)   # no file is needed any more
        done = self.ctl("plan", str(path), code=2)
        self.assertIn("spec.roles.trainer.templateFrom: no file 'pods/mine.yaml' next to the definition or with the shipped ones", done.stderr)
        (self.folder / "places" / "pods").mkdir()
        (self.folder / "places" / "mine.yaml").rename(self.folder / "places" / "pods" / "mine.yaml")
        self.env["BENCHCTL_PATH"] = f"/nowhere:{self.folder}/places"
        self.assertEqual(plan, self.ctl("plan", str(path), "-o", "json").stdout)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(plan, self.ctl("plan", "-f", "-", "-o", "json", stdin=file).stdout)

    def test_an_error_in_a_template_names_its_file(self):
        path = self.define_from("spec:\n  containers:\n  - name: main\n    resources: {requests: {cpu: lots}}\n")
        done = self.ctl("validate", str(path), code=2)
        self.assertIn(f"{self.folder}/pods/mine.yaml:4:33: error: spec.roles.trainer.template.spec.containers[0].resources.requests.cpu: ",
                      done.stderr)
        self.assertIn(f"\n1 error in templates of {path}\n", done.stderr)
        (self.folder / "pods" / "mine.yaml").unlink()
        (self.folder / "pods" / "mine.yaml").mkdir()   # a folder is no file
        self.assertIn("no file 'pods/mine.yaml'", self.ctl("validate", str(path), code=2).stderr)

    def test_shipped_templates_are_all_named(self):
        templates = {f"templates/{p.name}" for p in (cli.ROOT / "benchmarks" / "templates").iterdir()}
        texts = [(cli.ROOT / "benchmarks" / f"{name}.yaml").read_text(encoding="utf-8") for name in SHIPPED]
        self.assertEqual(templates, set(re.findall(r"templateFrom: ([^\s}]+)", "".join(texts))))
        self.assertNotIn(" template:", "".join(texts))

    def test_an_excluded_point_is_not_run_as_a_baseline(self):
        sweep = {"grid": {"pservers": [1, 2], "trainers": [1, 2]}, "exclude": [{"pservers": 2, "trainers": 1}]}
        path = self.define(extra={"sweep": sweep, "baseline": {"kind": "Point", "where": {"trainers": 1}}})
        why = "Point 2 has no speedup and no efficiency: the sweep leaves out its baseline"
        for options in ([], ["--set", "trainers=2"]):  # an exclusion outlives the value that it names
            done = self.ctl("plan", path, "-o", "json", *options)
            points = json.loads(done.stdout)["points"]
            self.assertFalse([p for p in points if p["parameters"] == {"pservers": 2, "trainers": 1}])
            self.assertEqual([p["baselinePoint"] for p in points if p["parameters"]["pservers"] == 2], [None])
            self.assertIn("note: " + (why if not options else why.replace("2", "1")), " ".join(done.stderr.split()))
        self.assertIn("note: " + why, " ".join(self.ctl("validate", path).stderr.split()))
        done = self.ctl("run", path, "--local", "-o", "json")
        self.assertIn("note: " + why, " ".join(done.stderr.split()))
        self.assertEqual([p["speedup"]["value"] is None for p in json.loads(done.stdout)["points"]], [False, False, True])

    def test_the_local_block_is_checked_merged(self):
        path = self.define(extra={"local": {"sweep": {"grid": {"trainers": [0]}}}})
        done = self.ctl("validate", path, code=2)
        self.assertIn("trainers", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_stdin(self):
        with open(self.define(), encoding="utf-8") as file:
            done = self.ctl("plan", "-f", "-", stdin=file)
        self.assertIn("trials of", done.stdout)


class Plan(cli.CliCase):
    def test_json(self):
        plan = json.loads(self.ctl("plan", "vgg16-pserver-sweep", "-o", "json").stdout)
        self.assertEqual(plan["kind"], "BenchmarkPlan")
        self.assertEqual([p["replicas"]["pserver"] for p in plan["points"]], [10, 20, 40, 60, 0])
        first = plan["points"][0]
        self.assertEqual(first["parameters"], {"batch_size": 64, "pservers": 10, "trainers": 100})
        self.assertEqual(first["cpuMillicores"], 110 * 10 * 1000)
        self.assertEqual(first["memoryBytes"], 110 * 5 * 1024**3)
        self.assertEqual([p["baseline"] for p in plan["points"]], [False] * 4 + [True])
        self.assertEqual(len(plan["order"]), 25)
        self.assertFalse(plan["rehearsal"])
        self.assertIsNone(plan["cpus"])

    def test_repeats_by_default(self):
        with open(self.define(), encoding="utf-8") as file:
            document = json.load(file)
        del document["spec"]["repeats"]
        path = self.folder / "silent.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        for where, repeats in (((), 5), (("--local",), 3)):
            plan = json.loads(self.ctl("plan", str(path), *where, "-o", "json").stdout)
            self.assertEqual(len(plan["order"]), repeats * 3, where)

    def test_overrides_and_local(self):
        plan = json.loads(self.ctl("plan", "vgg16-pserver-sweep", "--local", "--set", "pservers=3", "--set",
                                   "trainers=500", "--repeats", "4", "--steps", "7", "--warmup", "0", "-o", "json").stdout)
        self.assertEqual([p["parameters"]["trainers"] for p in plan["points"]], [500, 1])
        self.assertEqual((plan["warmupSteps"], plan["steps"]), (0, 7))
        self.assertEqual(len(plan["order"]), 8)
        self.assertTrue(plan["rehearsal"])

    def test_a_rehearsal_is_told_with_numbers(self):
        done = self.ctl("plan", "vgg16-pserver-sweep", "--local", "--set", "trainers=500")
        self.assertRegex(done.stderr, r"rehearsal: point \d+ needs 502 busy threads \(500 trainers x 1 \+ 2")
        self.assertEqual(self.ctl("plan", "vgg16-pserver-sweep", "-q").stderr, "")

    def test_text_fits_80_columns(self):
        for name in SHIPPED:
            for mode in ([], ["--local"]):
                for line in self.bytes_on_terminal(80, "plan", name, *mode).decode().splitlines():
                    self.assertLessEqual(len(line), 80, f"{name}: {line}")

    def test_one_of_each_is_no_plural(self):
        done = self.ctl("plan", "vgg16-single-node", "--local", "--systems", "benchworker", "--set", "batch_size=8",
                        "--repeats", "1", "--steps", "1")
        self.assertIn("\n1 trial of 1 warm-up + 1 measured step.\nLargest point: 1 replica.\n", done.stdout)

    def test_set_chooses_points(self):
        """Of a sweep that lists its points."""
        plan = json.loads(self.ctl("plan", "vgg16-systems", "--systems", "benchworker", "--set", "trainers=20,40", "--set", "pservers=20",
                                   "-o", "json").stdout)
        points = [(p["parameters"]["pservers"], p["parameters"]["trainers"]) for p in plan["points"] if not p["baseline"]]
        self.assertEqual([(20, 20), (20, 40)], points)
        done = self.ctl("plan", "vgg16-systems", "--set", "trainers=20,30", code=2)
        self.assertIn("--set trainers=20,30: error: no point has trainers=30\n  fix: choose values of the list, or --set all names of "
                      "its points for others\n", done.stderr)
        plan = self.ctl("plan", "vgg16-systems", "--set", "pservers=1", "--set", "trainers=2", "--set", "batch_size=4", "--set", "cpu=600m",
                        "--set", "memory=3Gi").stdout
        self.assertIn("Largest point: 3 replicas, 1800m CPU, 9Gi memory.\n", plan)
        self.assertIn("Largest point: 4 replicas, 256 CPU, 1Ti memory, 32 devices.\n", self.ctl("plan", "imagenet-gpu").stdout)

    def test_pairs_of_nodes(self):
        """Each pair once; or the next ones of the list only; or those of some."""
        for node, peer, more, pairs in (("a,c,b,d", "a,c,b,d", [], "ac ab ad cb cd bd"), ("a,c,b,d", "a,c,b,d", ["--set", "partners=2"], "ac ab cb cd bd"),
                                        ("d,a", "a,b,c,d", [], "db dc da ab ac"), ("b", "a", [], "ba")):
            plan = json.loads(self.ctl("plan", "node-pairs", "--set", f"node={node}", "--set", f"peer={peer}", *more, "-o", "json").stdout)
            self.assertEqual(sorted(pairs.split()), sorted(p["parameters"]["node"] + p["parameters"]["peer"] for p in plan["points"]))
        self.assertIn("no point", self.ctl("plan", "node-pairs", "--set", "node=a", "--set", "peer=a", code=2).stderr)

    def test_every_pod_can_be_made_smaller(self):
        """Of each shipped definition, of all roles. mlbench-resnet has no name left for the memory."""
        for name in SHIPPED:
            point = json.loads(self.ctl("plan", name, "-o", "json").stdout)["points"][0]["parameters"]
            memory = 5 * 1024 if name == "mlbench-resnet" else 301
            values = {**point, "cpu": "101m", **({"memory": "301Mi"} if memory == 301 else {})}
            sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
            for planned in json.loads(self.ctl("plan", name, *sets, "-o", "json").stdout)["points"]:
                n = planned["cpuMillicores"] // 101   # `replicas` has no launcher
                self.assertGreaterEqual(n, sum(planned["replicas"].values()), name)
                self.assertEqual((n * 101, n * memory * 1024**2), (planned["cpuMillicores"], planned["memoryBytes"]), name)

    def test_wrong_sets_are_refused(self):
        rows = [("pserverz=1", "pserverz"), ("pservers", "pservers"), ("trainers=0", "trainers")]
        for value, text in rows:
            with self.subTest(value):
                self.assertIn(text, self.ctl("plan", "vgg16-pserver-sweep", "--set", value, code=2).stderr)


class Names(cli.CliCase):
    def test_where_definitions_are_looked_for(self):
        mine = self.folder / "mine"
        (self.folder / "benchmarks").mkdir()
        mine.mkdir()
        del self.env["BENCHCTL_PATH"]
        pathlib.Path(self.define("benchmarks/tiny.json"))
        self.assertIn("6 trials of 1", self.ctl("plan", "tiny").stdout)           # ./benchmarks
        self.assertIn("6 trials of 1", self.ctl("plan", "benchmarks/tiny.json").stdout)
        self.define("mine/tiny.json", repeats=7)
        self.env["BENCHCTL_PATH"] = f"/nowhere:{mine}"
        self.assertIn("21 trials", self.ctl("plan", "tiny").stdout)            # the path comes first
        self.define("tiny", repeats=5)
        self.assertIn("15 trials", self.ctl("plan", "tiny").stdout)            # a file here before all


if __name__ == "__main__":
    cli.main()
