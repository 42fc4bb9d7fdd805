#!/usr/bin/env python3
"""How benchd exits when it cannot start. Runs the program, without a cluster."""
import json
import os
import pathlib
import subprocess
import tempfile

BENCHD = os.environ["BENCHD"]
CONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
          "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
          "contexts": [{"name": "c", "context": {"cluster": "c"}}]}


def main():
    with tempfile.TemporaryDirectory(prefix="benchd-start-") as name:
        folder = pathlib.Path(name)
        config = folder / "kubeconfig"
        config.write_text(json.dumps(CONFIG), encoding="utf-8")
        store = ["--store", f"sqlite:{folder}/results.db"]
        cluster = ["--kubeconfig", str(config)]
        rows = [  # name, options, exit code, what it says
            ("an unknown option", ["--stoer", "x"], 2, "--stoer"),
            ("no cluster", store, 2, "not running in a cluster (no service account); pass --kubeconfig FILE"),
            ("no such kubeconfig", [*store, "--kubeconfig", f"{folder}/none"], 2, f"{folder}/none"),
            ("not a store URL", [*cluster, "--store", "results.db"], 2, "write sqlite:FILE"),
            ("a store in a missing folder", [*cluster, "--store", f"sqlite:{folder}/typo/x.db"], 2,
             f"there is no folder '{folder}/typo'; create it, or pass another --store"),
            ("a store that is a folder", [*cluster, "--store", f"sqlite:{folder}"], 9, "this is a folder"),
            ("not a format of logs", [*cluster, *store, "--log-format", "xml"], 2, "--log-format 'xml': expected logfmt or json"),
            ("no age", [*cluster, *store, "--keep", "90"], 2, "--keep '90': expected 1 to 36500 and m, h or d"),
            ("an age of nothing", [*cluster, *store, "--keep", "0d"], 2, "--keep '0d': expected 1 to 36500 and m, h or d"),
            ("no runs at all", [*cluster, *store, "--keep-runs", "0"], 2, "--keep-runs '0': expected a number from 1"),
            ("no number of runs", [*cluster, *store, "--keep-runs", "many"], 2, "--keep-runs 'many': expected a number from 1"),
            ("no size", [*cluster, *store, "--keep-bytes", "20GB"], 2, "--keep-bytes '20GB': expected a size from 1Mi"),
            ("a size that no store fits", [*cluster, *store, "--keep-bytes", "1000"], 2, "--keep-bytes '1000': expected a size from 1Mi"),
            ("a size of no log", [*cluster, *store, "--container-log-max-size", "0"], 2, "--container-log-max-size '0': expected a size from 1Ki"),
            ("a Lease that ends before its renewal", [*cluster, *store, "--lease-duration", "5"], 2,
             "--lease-duration '5': expected seconds from 6 to 3600, such as 15"),
            ("not an address", [*cluster, *store, "--listen", "nowhere"], 2, "nowhere"),
        ]
        env = {k: v for k, v in os.environ.items() if not k.startswith("KUBERNETES_")}
        print(f"1..{len(rows) + 3}")
        for i, (name, options, code, text) in enumerate(rows, 1):
            done = subprocess.run([BENCHD, *options], env=env, capture_output=True, text=True, timeout=90, check=False)
            is_good = done.returncode == code and text in done.stderr
            print(f"{'ok' if is_good else 'not ok'} {i} - {name}")
            if not is_good:
                print(f"# expected exit code {code} and {text!r}; got {done.returncode}: {done.stderr}")
        print(f"{'not ok' if (folder / 'typo').exists() else 'ok'} {len(rows) + 1} - a folder that the user named is not created")
        for i, option in enumerate(("--help", "--version"), len(rows) + 2):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([BENCHD, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=90, check=False)
            is_good = done.returncode == 9 and "cannot write to stdout: No space left on device" in done.stderr
            print(f"{'ok' if is_good else 'not ok'} {i} - {option} on a full disk")
            if not is_good:
                print(f"# expected exit code 9; got {done.returncode}: {done.stderr}")


if __name__ == "__main__":
    main()
