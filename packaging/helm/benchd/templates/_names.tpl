{{/* Cluster-wide objects carry the namespace in their name, except in the usual one. */}}
{{- define "benchd.replicas" -}}
{{- if eq .Release.Namespace "benchd" }}benchd-replicas{{ else }}benchd-replicas-{{ .Release.Namespace }}{{ end }}
{{- end }}
{{- define "benchd.kueue" -}}
{{- if eq .Release.Namespace "benchd" }}benchd-kueue{{ else }}benchd-kueue-{{ .Release.Namespace }}{{ end }}
{{- end }}
