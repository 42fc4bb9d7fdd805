{{- /* The labels that Kubernetes recommends, as JSON: (list $ COMPONENT), or (list $) of what has none. */}}
{{- define "benchd.labels" }}
{{- $root := first . }}
{{- $labels := dict "app.kubernetes.io/name" "benchd" "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/part-of" "benchd"
     "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service
     "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) }}
{{- range rest . }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end }}
{{- toJson $labels }}
{{- end }}
