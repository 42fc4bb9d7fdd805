"""The API server's audit log: its own clock, the same for all that are measured. Pure, but for Audit."""
import datetime
import json

POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create]
  resources:
  - {group: "", resources: [pods]}
  - {group: benchd.io, resources: [benchmarkruns]}
  - {group: jobset.x-k8s.io, resources: [jobsets]}
- level: Metadata
  verbs: [patch, update]
  resources: [{group: "", resources: [pods/status]}]
- level: Metadata
  verbs: [delete]
  resources: [{group: "", resources: [pods]}]
- {level: None}
"""
DRY_RUN = b"dryRun=All"  # benchd tries a template of each role first; nothing is made
KWOK = "kwok"                      # the user that writes the statuses of pods
BY_KWOK = b'"username":"kwok"'    # is in the lines of its requests


def options(folder):
    """Of an API server that logs to FOLDER/audit.log."""
    (folder / "policy.yaml").write_text(POLICY)
    return (f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/audit.log", "--audit-log-maxsize=100000")


def seconds(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def events(lines):
    """(verb, resource, name, user, arrival, end) of what was done, of lines as bytes; times in seconds."""
    for line in lines:
        if DRY_RUN in line:
            continue
        event = json.loads(line)
        if event["responseStatus"]["code"] < 300:
            target = event.get("objectRef", {})
            yield (event["verb"], "/".join(filter(None, (target.get("resource"), target.get("subresource")))), target.get("name", ""),
                   event["user"]["username"], seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"]))


def creations(found, prefix):
    """(arrival, end) of every pod whose name begins so, in the order of arrival. A name that the server made is not there."""
    return sorted((arrival, end) for verb, what, name, _, arrival, end in found
                  if (verb, what) == ("create", "pods") and (not name or name.startswith(prefix)))


def states(found, prefix):
    """{pod: [when its status was written, ...]}: running first, then ended."""
    written = {}
    for verb, what, name, user, _, end in sorted(found, key=lambda event: event[5]):
        if verb in ("patch", "update") and what == "pods/status" and user == KWOK and name.startswith(prefix):
            written.setdefault(name, []).append(end)
    return written


def asked(found, resource, name):
    """When the object had been made: the end of the answer to its creation."""
    return next(end for verb, what, made, _, _, end in found if (verb, what, made) == ("create", resource, name))


class Audit:
    def __init__(self, path):
        self.path, self.read_to = path, 0

    def forget(self):
        """What has come so far is of no interest any more."""
        self.read_to = self.path.stat().st_size

    def counter(self, *words):
        """Counts lines with all these words from here on. They are not parsed: whoever is measured needs the CPU."""
        at, n = self.read_to, 0

        def count():
            nonlocal at, n
            with open(self.path, "rb") as log:
                log.seek(at)
                text = log.read()
            text = text[:text.rfind(b"\n") + 1]   # the last line may be half there
            at += len(text)
            n += sum(all(word in line for word in words) and DRY_RUN not in line for line in text.splitlines())
            return n
        return count

    def events(self):
        with open(self.path, "rb") as log:
            log.seek(self.read_to)
            text = log.read()
        return list(events(text[:text.rfind(b"\n") + 1].splitlines()))
