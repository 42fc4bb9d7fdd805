#!/bin/sh
# certs.sh DIR SERVER_URL [NODE]
#
# Makes what a throw-away control plane, its clients and its real node need, in DIR: one CA, the
# serving certificate, the key for service account tokens, and a kubeconfig for each client.
# Keys are ECDSA P-256: fast to make. If DIR is there already, makes what one more NODE needs, which
# finds the server at SERVER_URL.
set -eu
d=$1
url=$2
node=${3:-}
umask 077
mkdir -p "$d"
cd "$d"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

leaf() { # name subject usage [subjectAltName]
    key "$1.key"
    openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
    {
        echo "extendedKeyUsage=$3"
        echo "keyUsage=critical,digitalSignature"
        [ -z "${4:-}" ] || echo "subjectAltName=$4"
    } > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt"
    rm -f "$1.csr" "$1.ext"
}

make() {
    key ca.key
    openssl req -x509 -new -key ca.key -days 30 -subj /CN=benchd-test-ca -out ca.crt \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
    leaf apiserver /CN=kube-apiserver serverAuth \
        DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1,IP:fd00:96::1
    leaf admin /O=system:masters/CN=admin clientAuth
    leaf kcm /CN=system:kube-controller-manager clientAuth
    leaf scheduler /CN=system:kube-scheduler clientAuth
    leaf kwok /O=system:masters/CN=kwok clientAuth
    leaf coredns /O=system:masters/CN=coredns clientAuth
    leaf apiserver-kubelet /O=system:masters/CN=apiserver-kubelet clientAuth
    key sa.key
    openssl ec -in sa.key -pubout -out sa.pub
}
fail() {
    cat openssl.log >&2
    exit 1
}
users=
if [ ! -f sa.pub ]; then
    make 2> openssl.log || fail
    users="admin kcm scheduler kwok coredns"
fi
if [ -n "$node" ]; then
    leaf "$node" "/O=system:nodes/CN=system:node:$node" clientAuth 2> openssl.log || fail
fi

for user in $users $node; do
    cat > "$user.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "$url", certificate-authority: ca.crt}}]
users: [{name: $user, user: {client-certificate: $user.crt, client-key: $user.key}}]
contexts: [{name: test, context: {cluster: test, user: $user, namespace: benchd}}]
current-context: test
Y
done
