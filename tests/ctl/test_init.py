#!/usr/bin/env python3
"""benchctl init: a definition for a command, which is valid, and says what it guessed."""
import json

import cli

BARE_TORCH = "the script imports torch, not torch.distributed"
PROFILES = ["jax", "none", "paddle-fleet", "paddle-fluid", "tf-config", "tf-config-chief", "torchrun"]

# The script of the page that says that init guesses its profile.
OWN_SCRIPT = (cli.ROOT / "docs" / "own-script.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


class Init(cli.CliCase):
    def init(self, *args):
        """The text, and the definition as `plan` reads it."""
        text = self.ctl("init", *args).stdout
        path = self.folder / "made.yaml"
        path.write_text(text, encoding="utf-8")
        self.assertIn("is valid", self.ctl("validate", str(path)).stdout)
        self.assertEqual([line for line in text.splitlines() if len(line) > 120], [])
        plan = json.loads(self.ctl("plan", str(path), "--local", "-o", "json").stdout)
        return text, plan

    def line(self, text, key):
        """What stands behind a key, up to its comment."""
        found = [line.split(": ", 1)[1].split("  #")[0] for line in text.splitlines()
                 if line.lstrip(" -").startswith(key + ": ")]
        self.assertEqual(len(found), 1, text)
        return found[0]

    def test_every_profile_is_valid(self):
        for profile in PROFILES:
            with self.subTest(profile):
                text, _ = self.init("--profile", profile, "--image", "registry/x:1", "--", "train.py", "--lr", "0.1")
                self.assertEqual(self.line(text, "profile"), profile)
                self.assertEqual(self.line(text, "image"), "registry/x:1")
                self.assertNotIn("guessed", text)

    def test_names_and_commands(self):
        rows = [  # command, name, line
            (["train.py"], "train", "[python3, train.py]"),
            (["src/Train_MNIST.py", "--lr", "0.1"], "train-mnist", '[python3, src/Train_MNIST.py, "--lr", "0.1"]'),
            (["python3", "-u", "./a.py"], "a", '[python3, "-u", ./a.py]'),
            (["/opt/bin/bench"], "bench", "[/opt/bin/bench]"),
            (["./123"], "benchmark", '["./123"]'),
            (["sh", "-c", 'echo "5 img/s": yes'], "sh", '[sh, "-c", "echo \\"5 img/s\\": yes"]'),
            (["x", "yes", "~", "12:30", "-1", "a: b", "#x", "", "1e3", ".5", "k=v", "$(BENCHD_STEPS)"], "x",
             '[x, "yes", "~", "12:30", "-1", "a: b", "#x", "", "1e3", ".5", k=v, "$(BENCHD_STEPS)"]'),
            (["x", "null", "True", ".nan", ".inf", "=", "0x1f"], "x", '[x, "null", "True", ".nan", ".inf", "=", "0x1f"]'),
        ]
        for words, name, command in rows:
            with self.subTest(" ".join(words)):
                text, plan = self.init("--", *words)
                self.assertEqual(self.line(text, "command"), command)
                self.assertEqual(plan["benchmark"], name)

    def test_the_profile_is_guessed_by_what_shows_it(self):
        rows = [  # command, text of the script, profile, reason
            (["torchrun", "train.py"], None, "torchrun", "the command is torchrun"),
            (["python3", "-m", "torch.distributed.run", "x.py"], None, "torchrun", "the command is torchrun"),
            (["mpirun", "-np", "2", "./train"], None, "none", "the command starts its own processes"),
            (["mpirun", "--hostfile", "h", "./train"], None, "none", "the command starts its own processes"),
            (["/opt/bin/mpirun", "./train"], None, "open-mpi", "the command is mpirun without hosts"),
            (["train.py"], "s = tf.distribute.MultiWorkerMirroredStrategy()", "tf-config", "the script names MultiWorkerMirroredStrategy"),
            (["train.py"], "os.environ['TF_CONFIG']; ParameterServerStrategy", "tf-config-chief", "the script names ParameterServerStrategy"),
            (["train.py"], "jax.distributed.initialize()", "jax", "the script names jax.distributed"),
            (["train.py"], 'os.environ["JAX_COORDINATOR_ADDRESS"]', "jax", "the script names JAX_COORDINATOR_ADDRESS"),
            (["train.py"], "int(os.environ['WORLD_SIZE'])", "torchrun", "the script names 'WORLD_SIZE'"),
            (["train.py"], OWN_SCRIPT, "torchrun", "the script names torch.distributed"),
            (["train.py"], "os.environ['OMPI_COMM_WORLD_SIZE']", "none", "nothing in the command or its script shows another"),
            (["train.py"], "from torch import distributed as dist", "torchrun", "the script names torch import distributed"),
            (["train.py"], "import torch\nfrom accelerate import Accelerator\n", "torchrun", "the script imports accelerate"),
            (["train.py"], "from transformers import Trainer", "torchrun", "the script imports transformers"),
            (["train.py"], "import lightning as L", "torchrun", "the script imports lightning"),
            (["train.py"], "import pytorch_lightning as pl", "torchrun", "the script imports pytorch_lightning"),
            (["train.py"], "import deepspeed", "torchrun", "the script imports deepspeed"),
            (["train.py"], "import transformers, jax\njax.distributed.initialize()", "jax", "the script names jax.distributed"),
            (["train.py"], "import torch", "none", BARE_TORCH),
            (["train.py"], "if x:\n    from torch.nn import Linear", "none", BARE_TORCH),
            (["train.py"], "import torch\n# results from transformers import no more", "none", BARE_TORCH),
            (["train.py"], "import torch, lightning as L", "torchrun", "the script imports lightning"),
            (["train.py"], "import torch\nfrom lightning.pytorch import Trainer", "torchrun", "the script imports lightning"),
            (["train.py"], "import torch\nimport lightning.pytorch as pl", "torchrun", "the script imports lightning"),
            (["train.py"], "from torch.nn.parallel import DistributedDataParallel as DDP", "torchrun", "the script names DistributedDataParallel"),
            (["train.py"], "import torch\ndist.init_process_group()", "torchrun", "the script names init_process_group"),
            (["train.py"], "import torch\nint(os.environ['LOCAL_RANK'])", "torchrun", "the script names 'LOCAL_RANK'"),
            (["train.py"], "import torch\nimport jax", "none", "the script imports jax"),
            (["train.py"], "import torchvision, my_torch", "none", "nothing in the command or its script shows another"),
            (["other.py"], "import torch.distributed", "none", "nothing in the command shows another; no script found"),
            (["./train"], None, "none", "nothing in the command shows another"),
        ]
        for words, script, profile, why in rows:
            with self.subTest(" ".join(words) + str(script)):
                (self.folder / "train.py").unlink(missing_ok=True)
                if script is not None:
                    (self.folder / "train.py").write_text(script, encoding="utf-8")
                text, _ = self.init("--", *words)
                self.assertEqual(self.line(text, "profile"), profile)
                self.assertIn(f"guessed: {why}\n", text)
        for words, is_said in ((["--nproc_per_node=4"], True), (["--nproc-per-node", "gpu"], True), ([], False),
                               (["--nproc_per_node=1"], False), (["--nproc_per_node", "1"], False),
                               (["--nproc_per_node=1", "--nproc-per-node=4"], True), (["--nproc_per_node=4", "--nproc_per_node=1"], False)):
            with self.subTest(" ".join(words)):
                text, _ = self.init("--", "torchrun", *words, "train.py", "--nproc_per_node=2")
                self.assertEqual("With --tee 3" in text, is_said, text)
                self.assertEqual("devices: {value: 4}" in text, words != [] and words[-1].endswith("=4"), text)
        for words, added in ((["--trainer.max_epochs=1"], True), (["--trainer.max_epochs=1", "--trainer.num_nodes=1"], False), (["--epochs=1"], False)):
            with self.subTest(" ".join(words)):  # LightningCLI takes no number of nodes from a variable
                text, _ = self.init("--profile", "torchrun", "--", "train.py", *words)
                self.assertEqual('"--trainer.num_nodes=$(BENCHD_WORKERS)"]\n' in text, added, text)
        rows = [  # options, those that stay; the profile says by variables what the others say
            (["--nnodes=2", "--rdzv-backend=c10d", "--rdzv_endpoint", "host:29400", "--rdzv_id", "7"], []),
            (["--standalone", "--tee", "3", "--master_addr=h", "--master-port", "1", "--node_rank=0"], ["--tee", '"3"']),
            (["--max-restarts=0", "--rdzv-conf", "timeout=3"], ["--max-restarts=0"]),
        ]
        for options, stay in rows:
            with self.subTest(" ".join(options)):
                text, _ = self.init("--", "torchrun", *options, "train.py", "--nnodes=5")
                stays = "".join(f'"{word}", ' if word.startswith("-") else f"{word}, " for word in stay)
                self.assertEqual(f'[torchrun, {stays}train.py, "--nnodes=5"]', self.line(text, "command"))
                self.assertEqual(len(stay) < len(options), "]\n    # torchrun's options that the profile sets were left out\n" in text, text)
        text, _ = self.init("--", "python3", "-m", "torch.distributed.run", "--nnodes", "2", "-m", "pkg", "--nnodes", "3")
        self.assertEqual('[python3, "-m", torch.distributed.run, "-m", pkg, "--nnodes", "3"]', self.line(text, "command"))
        text, _ = self.init("--profile", "none", "--", "torchrun", "--nnodes=2", "train.py")
        self.assertEqual('[torchrun, "--nnodes=2", train.py]', self.line(text, "command"))
        text, _ = self.init("--", "mpirun", "-np", "2", "x")
        self.assertIn("grid: {workers: [1]}", text)
        text, _ = self.init("--", "mpirun", "x")
        self.assertIn("grid: {workers: [1, 2]}", text)
        self.assertEqual("mpi", self.line(text, "log"))

    def test_a_batch_is_that_of_the_command(self):
        """Nothing is guessed: without an option that says it the batch is unknown."""
        rows = [
            (["train.py", "-b", "8"], 8, "-b 8"), (["train.py", "-bs", "8"], 8, "-bs 8"), (["train.py", "--batch", "8"], 8, "--batch 8"),
            (["train.py", "--batch-size", "128", "x"], 128, "--batch-size 128"), (["train.py", "--batch_size=12"], 12, "--batch_size 12"),
            (["train.py", "--per_device_train_batch_size", "16"], 16, "--per_device_train_batch_size 16"),
            (["./train", "--micro-batch-size=4"], 4, "--micro-batch-size 4"), (["train.py", "-b", "8", "-b", "9"], 9, "-b 9"),
            (["train.py"], None, None), (["train.py", "-b"], None, None), (["train.py", "-b", "auto"], None, None),
            (["train.py", "--batch-size=0"], None, None), (["train.py", "--batch-size-test", "8"], None, None),
            (["all_reduce_perf", "-b", "8"], None, None), (["mpirun", "-np", "2", "all_reduce_perf", "-b", "8"], None, None),
            (["torchrun", "--nproc_per_node=4", "train.py", "-b", "8"], None, None),
            (["train.py", "--bs=$(BENCHD_BATCH_SIZE)"], 32, None),
        ]
        for words, batch, source in rows:
            with self.subTest(" ".join(words)):
                text, plan = self.init("--", *words)
                if batch is None:
                    self.assertIn("    # batchSize: 32  # samples a step of each worker; without it figures are steps/s", text)
                    self.assertNotIn("    batchSize", text)
                else:
                    self.assertEqual(str(batch), self.line(text, "batchSize"))
                    self.assertIn(f"; from {source} of the command\n" if source else ", for the command\n", text)
                self.assertNotIn("batch_size 0", json.dumps(plan))

    def test_a_batch_of_accumulated_gradients_is_unknown(self):
        """A step has the samples of several batches, and maybe of all workers together: nothing is guessed."""
        batch = ["train.py", "--batch_size=8"]
        for words, option in ((["--gradient_accumulation_steps=4"], "--gradient_accumulation_steps 4"), (["--accum-steps", "2"], "--accum-steps 2"),
                              (["--grad_accum", "8", "-x"], "--grad_accum 8"), (["trainer.accumulate_grad_batches=4"], "trainer.accumulate_grad_batches 4"),
                              (["--gradient_accumulation_steps=auto"], "--gradient_accumulation_steps auto"),
                              (["--gradient-accumulation-steps", "2", "--accum", "1"], "--gradient-accumulation-steps 2")):
            with self.subTest(" ".join(words)):
                text, plan = self.init("--", *batch, *words)
                self.assertNotIn("    batchSize", text)
                self.assertIn(f"    # batchSize: 32  # unknown: {option} accumulates; write batch x accumulation, and\n"
                              "    #                # 'batchScope: Job' where the workers divide it; without it figures are steps/s\n", text)
                self.assertNotIn("batch_size 8", json.dumps(plan))
        self.assertIn("needs a batch size", self.ctl("init", "--", "train.py", "--b=$(BENCHD_BATCH_SIZE)", "--accum", "2", code=2).stderr)
        for words in (["--gradient_accumulation_steps=1"], ["--accum-steps", "1"], ["--accuracy", "4"], ["accumulated"]):
            with self.subTest(" ".join(words)):
                self.assertEqual("8", self.line(self.init("--", *batch, *words)[0], "batchSize"))

    def test_validate_says_what_pods_cannot_run(self):
        path = self.folder / "made.yaml"
        path.write_text(self.ctl("init", "--", "x").stdout, encoding="utf-8")
        done = self.ctl("validate", str(path))
        self.assertIn("; 1 of 1 systems with --local only)", done.stdout)
        line = next(i for i, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text.startswith("  - name: x"))
        self.assertIn(f"{path}:{line}:5: spec.systems[0]: in a cluster: spec.roles.worker has no template", done.stderr)
        self.assertEqual("", self.ctl("validate", str(path), "--local").stderr)
        path.write_text(self.ctl("init", "--image", "r/x:1", "--", "x").stdout, encoding="utf-8")
        done = self.ctl("validate", str(path))
        self.assertEqual(("", False), (done.stderr, "only" in done.stdout))
        path.write_text("#" * (1 << 20 | 1), encoding="ascii")
        self.assertIn("fix: write less", self.ctl("validate", str(path), code=2).stderr)

    def of_manifest(self, text, code=0):
        path = self.folder / "manifest.yaml"
        path.write_text(text, encoding="utf-8")
        return self.ctl("init", "-f", str(path), code=code)

    def test_manifests(self):
        """The number of workers is swept up to that of the manifest; what benchd names, and what a cluster has added, is left out."""
        template = "template: {spec: {containers: [{name: main, image: i, command: [python, pretrain_gpt.py], args: ['--x', 'on']}]}}"
        rows = {
            "batch/v1\nkind: Job": (f"{{parallelism: 6, {template}}}", "[1, 2, 4, 6]"),
            "batch/v1beta1\nkind: Job": (f"{{{template}}}", "[1, 2]"),
            "jobset.x-k8s.io/v1alpha2\nkind: JobSet": (
                f"{{replicatedJobs: [{{name: a, template: {{spec: {{parallelism: 2, {template}}}}}}}]}}", "[1, 2]"),
            "trainer.kubeflow.org/v1alpha1\nkind: TrainJob": ("{trainer: {numNodes: 4}}", "[1, 2, 4]"),
            "kubeflow.org/v2beta1\nkind: MPIJob": (
                f"{{mpiReplicaSpecs: {{Launcher: {{{template}}}, Worker: {{replicas: 2, {template}}}}}}}", "[1, 2]"),
            "ray.io/v1\nkind: RayJob": (
                f"{{submitterPodT{template[1:]}, rayClusterSpec: {{workerGroupSpecs: [{{replicas: 2, {template}}}]}}}}", "[1, 2]"),
        }
        for kind, (spec, workers) in rows.items():
            with self.subTest(kind):
                made = self.of_manifest(f"apiVersion: {kind}\nmetadata: {{name: My-Job, namespace: a, uid: u, labels: {{a: 'yes'}}}}\n"
                                        f"spec: {spec}\nstatus: {{active: 1}}\n").stdout
                path = self.folder / "made.yaml"
                path.write_text(made, encoding="utf-8")
                self.assertIn("is valid", self.ctl("validate", str(path)).stdout)
                self.assertIn(f"workers: {workers}", made)
                self.assertIn("log: torch-ddp\n", made)
                self.assertIn("name: my-job\n", made)
                self.assertEqual([word for word in ("namespace:", "uid:", "status:", "My-Job") if word in made], [])
                self.assertIn('a: "yes"', made)
                self.assertIn("leave out --local, or the system with --systems", self.ctl("run", str(path), "--local", code=2).stderr)
                self.assertIn("Largest point:", self.ctl("plan", str(path), "--repeats", "1").stdout)

    def test_other_manifests(self):
        for text, words in (("apiVersion: apps/v1\nkind: Deployment\n", "is a Deployment of apps/v1, for which no profile exists; there are Job (batch/v1)"),
                            ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n", "is a Job of batch.volcano.sh/v1alpha1, for which no"),
                            ("kind: Job\n", "has no apiVersion and kind"), ("[1", "not valid YAML"), ("7", "has no apiVersion")):
            with self.subTest(text):
                self.assertIn(words, self.of_manifest(text, code=2).stderr)

    def test_what_is_refused(self):
        lone = self.folder / "place" / "profiles" / "lone"
        lone.mkdir(parents=True)
        (lone / "profile.yaml").write_text("name: lone\nexchanges: [None]\n", encoding="utf-8")
        self.env["BENCHCTL_PATH"] = str(self.folder / "place")
        rows = [
            ([], "needs a command or -f"),
            (["-f", "/nowhere", "--", "x"], "the manifest of -f says what runs"),
            (["-f", "/nowhere"], "/nowhere: No such file or directory"),
            (["--profile", "torchru", "--", "x"], "did you mean 'torchrun'?"),
            (["--profile", "zzzzzzzz", "--", "x"], "fix: allowed: benchworker, fluid, jax, "),
            (["--profile", "benchworker", "--", "x"], "brings its own program"),
            (["--profile", "lone", "--", "x"], "does not support exchange AllReduce"),
            (["--name", "X_", "--", "x"], "error: metadata.name: "),
        ]
        for words, text in rows:
            with self.subTest(" ".join(words)):
                done = self.ctl("init", *words, code=2)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    cli.main()
