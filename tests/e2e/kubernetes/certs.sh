#!/bin/sh
# certs.sh DIR SERVER_URL   Makes what a throw-away control plane and its administrator need, in DIR: one CA, the
# serving certificate, the key for service account tokens, and admin.kubeconfig. Keys are ECDSA P-256: fast to make.
set -eu
d=$1
url=$2
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
        DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1
    leaf admin /O=system:masters/CN=admin clientAuth
    key sa.key
    openssl ec -in sa.key -pubout -out sa.pub
}
make 2> openssl.log || {
    cat openssl.log >&2
    exit 1
}

cat > admin.kubeconfig <<Y
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "$url", certificate-authority: ca.crt}}]
users: [{name: admin, user: {client-certificate: admin.crt, client-key: admin.key}}]
contexts: [{name: test, context: {cluster: test, user: admin, namespace: benchd}}]
current-context: test
Y
