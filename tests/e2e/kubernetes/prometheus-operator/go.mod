module prometheus-operator-peer

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.92.1
