# The image of test_systems.py, which dockerfile.py builds: JAX, and Open MPI with sshd, for programs in Python. The context is benchmarks/profiles.
FROM python:3.11-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends openmpi-bin openssh-client openssh-server \
 && rm -rf /var/lib/apt/lists/*
COPY jax-cpu/requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir --no-deps -r /tmp/requirements.txt
# sshd lets in only a user whom the system knows.
RUN useradd --uid 65532 --home-dir /tmp --shell /bin/sh bench
USER 65532:65532
