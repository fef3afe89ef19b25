{{- /*
The rules of a place (cluster, jobs, own), a list of which may be given: those of files/rights.yaml that these values
need, the same objects' as one. The same as `mxjob rbac` prints.
*/ -}}
{{- define "mxjob.rules" -}}
{{- $values := .root.Values }}
{{- $parts := list "jobs" }}
{{- if $values.webhook.enabled }}{{ $parts = append $parts "webhook" }}{{ end }}
{{- if and $values.webhook.enabled (not $values.webhook.certManager.enabled) }}{{ $parts = append $parts "certificate" }}{{ end }}
{{- if eq $values.crds.install "operator" }}{{ $parts = append $parts "installCrds" }}{{ end }}
{{- if $values.leaderElection.enabled }}{{ $parts = append $parts "leaderElection" }}{{ end }}
{{- $rules := list }}
{{- $known := dict }}
{{- range $place := .places }}
{{- range $right := (fromYaml ($.root.Files.Get "files/rights.yaml")).rights }}
{{- if and (eq $right.place $place) (has $right.part $parts) (or (not $right.api) (has $right.api $values.apis)) }}
{{- $rule := deepCopy $right.rule }}
{{- if eq (toJson $rule.apiGroups) `["coordination.k8s.io"]` }}
{{- if $rule.resourceNames }}{{ $_ := set $rule "resourceNames" (list $values.leaderElection.leaseName) }}{{ end }}
{{- end }}
{{- $object := toJson (omit $rule "verbs") }}
{{- if hasKey $known $object }}
{{- $one := get $known $object }}
{{- $_ := set $one "verbs" (concat $one.verbs $rule.verbs | uniq | sortAlpha) }}
{{- else }}
{{- $_ := set $known $object $rule }}
{{- $rules = append $rules $rule }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $rules }}{{ toYaml $rules }}{{ end }}
{{- end }}

{{- /* A role and its binding to the operator; nothing where nothing is to be allowed. */ -}}
{{- define "mxjob.role" -}}
{{- $rules := include "mxjob.rules" . }}
{{- if $rules }}
{{- $kind := ternary "Role" "ClusterRole" (hasKey . "namespace") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "mxjob.labels" .root | nindent 4 }}
rules:
{{ $rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "mxjob.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: mxjob-operator
  namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}
