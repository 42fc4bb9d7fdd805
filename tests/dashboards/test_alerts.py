"""The alert rules: promtool takes them, their tests pass, and those tests notice an alert that never fires, and one that always
does. All tests pass again next to a second benchd that works, in another namespace of the cluster: it hides nothing. Each alert says
what is wrong and names a section of docs/alerts.md; each metric is documented."""
import pathlib
import re
import subprocess
import sys
import tempfile

import lint
import shared
import tap

RULES = shared.FOLDER / "alerts.yaml"
TESTS = shared.ROOT / "tests" / "dashboards" / "alerts_test.yaml"
PAGE = shared.ROOT / "docs" / "alerts.md"
# An alert, up to the next one: its name, its text.
ALERT = re.compile(r"(?ms)^  - alert: (\w+)\n(.*?)(?=^  - |^- |\Z)")
EXPR = re.compile(r"(?m)^    expr: .*\n(      .*\n)*")
# The alerts that do not say which instance they are about, and why.
WITHOUT_INSTANCE = {"BenchdDown": "the pod that has gone is replaced by one with another address",
                    "BenchdNotLeader": "one of the benchds of a namespace holds the Lease, and the others wait for it"}


def promtool(*args):
    done = subprocess.run(["promtool", *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_rules(text, stories):
    """promtool's answer to the tests of these stories, over these rules."""
    with tempfile.TemporaryDirectory(prefix="benchd-alerts-") as folder:
        rules, tests = pathlib.Path(folder, "alerts.yaml"), pathlib.Path(folder, "test.yaml")
        rules.write_text(text, encoding="utf-8")
        tests.write_text(stories.replace("../../dashboards/alerts.yaml", str(rules)), encoding="utf-8")
        return promtool("test", "rules", str(tests))


def with_expr(text, expr):
    """The rules with this expression in all alerts."""
    return ALERT.sub(lambda match: EXPR.sub(f"    expr: {expr}\n", match.group(0)), text)


def in_namespace(name, text):
    """Series, labels and words of the one benchd of a story, which has no namespace so far."""
    text = text.replace('{job="benchd", instance=', f'{{job="benchd", namespace="{name}", instance=')
    text = text.replace("job: benchd", f"job: benchd, namespace: {name}")
    return re.sub(r"(summary: No benchd .*)\.", rf"\1 in namespace {name}.", text)


def with_neighbour(stories):
    """The stories of one benchd, now in namespace b, with the healthy one of the first story in namespace a."""
    head, healthy, *others = re.split(r"(?m)^(?=- name: )", stories)
    series = in_namespace("a", "".join(re.findall(r"(?m)^  - {series: 'benchd_.*\n|^  - {series: '(?:up|rest).*\n", healthy)))
    own = [story for story in others if '{job="benchd", instance=' in story]
    own = [re.sub(r"(?ms)^  promql_expr_test:.*?(?=^  \w)", "", in_namespace("b", story)) for story in own]
    return head + "".join(story.replace("  input_series:\n", f"  input_series:\n{series}") for story in own)


def check_neighbour(t, text, stories, names):
    """Each alert that fires in a story fires next to a benchd that works, too, and says where."""
    stories = with_neighbour(stories)
    code, out = test_rules(text, stories)
    t.ok(code == 0, "promtool test rules, with a second benchd in another namespace", out)
    fired = re.findall(r"alertname: (\w+)\n    exp_alerts:\n    - exp_labels: {(.*)}", stories)
    t.equal(sorted(names), sorted({name for name, _ in fired}), "every alert fires in a story with two benchds")
    for name, labels in fired:
        t.ok("namespace: b" in labels, f"{name} keeps the namespace", labels)
        t.equal(name not in WITHOUT_INSTANCE, "instance: " in labels, f"{name} keeps the instance, or a reason is known")


def check_tests(t, text, stories, names):
    """Each alert has a test in which it fires, and one in which it does not."""
    for expr, what, found in (("vector(1) > 2", "never fires", r"exp:\[\s*0:"), ("vector(1)", "always fires", r"exp:\[\s*\]")):
        _, out = test_rules(with_expr(text, expr), stories)
        for name in names:
            t.match(rf"alertname: {name}, time: \S+,\s+{found}", out, f"the tests see that {name} {what}")


def check_alert(t, name, rule, headings):
    for key in ("summary", "description"):
        t.match(rf"(?m)^      {key}: \S", rule, f"{name} has a {key}")
    t.match(r"(?m)^    for: \d+m$", rule, f"{name} waits before it fires")
    t.match(r"(?m)^    labels: {severity: (critical|warning)", rule, f"{name} has a severity")
    t.match(rf"(?m)^      runbook_url: docs/alerts.md#{name.lower()}$", rule, f"{name} has a link")
    t.ok(name in headings, f"docs/alerts.md has a section {name}", headings)


def main():
    t = tap.Tap()
    text = RULES.read_text(encoding="utf-8")
    alerts = {match.group(1): match.group(2) for match in ALERT.finditer(text)}
    headings = re.findall(r"(?m)^## (\w+)$", PAGE.read_text(encoding="utf-8"))
    t.equal(text.count("- alert:"), len(alerts), "every alert is seen")
    for name, rule in alerts.items():
        check_alert(t, name, rule, headings)
    t.equal([], [h for h in headings if h.startswith("Bench") and h not in alerts], "docs/alerts.md has no section without an alert")
    recorded = re.findall(r"record: (\S+)", text)
    names = {name for name in lint.NAME.findall(re.sub("|".join(map(re.escape, recorded)), "", text))}
    t.equal([], sorted(names - set(shared.documented_metrics())), "each metric is in docs/metrics.md")
    code, out = promtool("check", "rules", str(RULES))
    t.ok(code == 0, "promtool check rules", out)
    stories = TESTS.read_text(encoding="utf-8")
    code, out = test_rules(text, stories)
    t.ok(code == 0, "promtool test rules", out)
    check_tests(t, text, stories, alerts)
    check_neighbour(t, text, stories, alerts)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
