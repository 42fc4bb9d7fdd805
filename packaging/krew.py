"""The manifest of krew for `kubectl bench`."""
import hashlib

TEMPLATE = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: bench
spec:
  version: v{version}
  shortDescription: Measure how distributed training scales
  description: |
    Runs a benchmark that one YAML file defines, as pods, and prints throughput, speedup and efficiency with their
    intervals. benchd must be installed in the cluster.
  platforms:
  - selector:
      matchLabels: {{os: linux, arch: {arch}}}
    uri: {url}/{name}
    sha256: '{digest}'
    bin: bin/kubectl-bench
"""


def manifest(archive, url, version, arch):
    """Of the archive that will be served below the URL."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return TEMPLATE.format(version=version, arch=arch, url=url.rstrip("/"), name=archive.name, digest=digest)
