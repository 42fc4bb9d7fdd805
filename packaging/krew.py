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
"""
PLATFORM = """\
  - selector:
      matchLabels: {{os: linux, arch: {arch}}}
    uri: {url}/{name}
    sha256: '{digest}'
    bin: bin/kubectl-bench
"""


def manifest(archives, url, version):
    """Of the archives that will be served below the URL; the architecture is the end of a name: benchctl-1.0.0-linux-arm64.tar.gz."""
    return TEMPLATE.format(version=version) + "".join(
        PLATFORM.format(arch=path.name.removesuffix(".tar.gz").rpartition("-")[2], url=url.rstrip("/"), name=path.name,
                        digest=hashlib.sha256(path.read_bytes()).hexdigest()) for path in archives)
