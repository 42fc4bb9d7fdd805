#!/bin/bash
# pin.sh   Writes go.mod and go.sum of the eleven modules in this folder anew from versions.env. Run
# by hand to change a version.
#
# They are eleven, because they ask for different versions of the same packages. The staging modules
# of k8s.io/kubernetes stand in its own go.mod as v0.0.0 with local replacements, which a consumer
# does not inherit: here each is replaced by its published v0.<minor>.<patch>.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ./versions.env
export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
staging_version=v0.${K8S_VERSION#1.}

go mod download "k8s.io/kubernetes@v$K8S_VERSION"
upstream=$(go env GOMODCACHE)/k8s.io/kubernetes@v$K8S_VERSION/go.mod
cobra_version=$(sed -n 's#^[[:space:]]*github.com/spf13/cobra \(v[^ ]*\).*#\1#p' "$upstream")
rm -f {etcd,kube,kwok,coredns,crd,jobset,kueue,trainer,helm,krew,prometheus-operator}/go.sum
{
    printf 'module kube-tools\n\n'
    grep '^go ' "$upstream"
    printf '\nrequire (\n\tk8s.io/kubernetes v%s\n\tk8s.io/component-base %s\n\tk8s.io/kubectl %s\n' \
        "$K8S_VERSION" "$staging_version" "$staging_version"
    printf '\tgithub.com/spf13/cobra %s\n)\n\nreplace (\n' "$cobra_version"
    # The sample-* modules are imported by no command, and not all of their versions are published.
    sed -n 's#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging.*#\1#p' "$upstream" | grep -v '/sample-' |
        while read -r module; do printf '\t%s => %s %s\n' "$module" "$module" "$staging_version"; done
    echo ')'
} > kube/go.mod
# This fills in the indirect requirements without the test dependencies that
# `go mod tidy` would fetch.
(cd kube && go list -mod=mod -deps . > /dev/null)

go_line=$(grep '^go ' kube/go.mod)
printf 'module etcd-tools\n\n%s\n\ntool %s\n\nrequire %s v%s\n' "$go_line" \
    go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3 "$ETCD_VERSION" > etcd/go.mod
# Always with @version: a bare path means "upgrade to the newest".
(cd etcd && go get -tool "go.etcd.io/etcd/server/v3@v$ETCD_VERSION")
printf 'module kwok-tools\n\n%s\n\ntool sigs.k8s.io/kwok/cmd/kwok\n\nrequire sigs.k8s.io/kwok v%s\n' \
    "$go_line" "$KWOK_VERSION" > kwok/go.mod
(cd kwok && go get -tool "sigs.k8s.io/kwok/cmd/kwok@v$KWOK_VERSION")
printf 'module coredns-tools\n\n%s\n\nrequire github.com/coredns/coredns v%s\n' "$go_line" "$COREDNS_VERSION" \
    > coredns/go.mod
(cd coredns && go list -mod=mod -deps . > /dev/null)
printf 'module crd-judge\n\n%s\n\nrequire k8s.io/apiextensions-apiserver %s\n' "$go_line" "$staging_version" > crd/go.mod
(cd crd && go list -mod=mod -deps . > /dev/null)
printf 'module jobset-peer\n\n%s\n\ntool sigs.k8s.io/jobset\n\nrequire sigs.k8s.io/jobset v%s\n' \
    "$go_line" "$JOBSET_VERSION" > jobset/go.mod
(cd jobset && go get -tool "sigs.k8s.io/jobset@v$JOBSET_VERSION")
printf 'module kueue-peer\n\n%s\n\ntool sigs.k8s.io/kueue/cmd/kueue\n\nrequire sigs.k8s.io/kueue v%s\n' \
    "$go_line" "$KUEUE_VERSION" > kueue/go.mod
(cd kueue && go get -tool "sigs.k8s.io/kueue/cmd/kueue@v$KUEUE_VERSION")
trainer=github.com/kubeflow/trainer/v2
printf 'module trainer-peer\n\n%s\n\ntool %s\n\nrequire %s v%s\n' \
    "$go_line" $trainer/cmd/trainer-controller-manager $trainer "$TRAINER_VERSION" > trainer/go.mod
(cd trainer && go get -tool "$trainer/cmd/trainer-controller-manager@v$TRAINER_VERSION")
printf 'module helm-tools\n\n%s\n\ntool helm.sh/helm/v4/cmd/helm\n\nrequire helm.sh/helm/v4 v%s\n' \
    "$go_line" "$HELM_VERSION" > helm/go.mod
(cd helm && go get -tool "helm.sh/helm/v4/cmd/helm@v$HELM_VERSION")
printf 'module krew-tools\n\n%s\n\ntool sigs.k8s.io/krew/cmd/krew\n\nrequire sigs.k8s.io/krew v%s\n' \
    "$go_line" "$KREW_VERSION" > krew/go.mod
(cd krew && go get -tool "sigs.k8s.io/krew/cmd/krew@v$KREW_VERSION")
operator=github.com/prometheus-operator/prometheus-operator
printf 'module prometheus-operator-peer\n\n%s\n\nrequire %s v%s\n' \
    "$go_line" $operator "$PROMETHEUS_OPERATOR_VERSION" > prometheus-operator/go.mod
(cd prometheus-operator && go mod download $operator)
