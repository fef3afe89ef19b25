{{- define "mxjob.selector" -}}
app.kubernetes.io/name: mxjob
app.kubernetes.io/component: operator
{{- end }}

{{- define "mxjob.labels" -}}
{{ include "mxjob.selector" . }}
app.kubernetes.io/part-of: mxjob
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "mxjob.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* What a container may not do: as restricted Pod Security wants it, and no file is written. */ -}}
{{- define "mxjob.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
  - ALL
{{- end }}

{{- define "mxjob.nobody" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Values that fit no operator together. */ -}}
{{- define "mxjob.check" -}}
{{- if and (not .Values.leaderElection.enabled) (gt (int .Values.replicas) 1) }}
{{- fail (printf "replicas is %d and leaderElection.enabled is false: two operators without an election undo what each other does; set replicas to 1, or leaderElection.enabled to true" (int .Values.replicas)) }}
{{- end }}
{{- if and .Values.webhook.certManager.enabled (not .Values.webhook.enabled) }}
{{- fail "webhook.certManager.enabled is true and webhook.enabled is false: there is nothing that shows a certificate; set webhook.enabled to true" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.metrics.serviceMonitor.enabled (not .Values.networkPolicy.metricsNamespace) }}
{{- fail "networkPolicy.enabled and metrics.serviceMonitor.enabled are true and networkPolicy.metricsNamespace is empty: Prometheus could not come to the operator; set networkPolicy.metricsNamespace to its namespace" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service) }}
{{- fail "metrics.serviceMonitor.enabled is true and metrics.service is false: there is nothing to be monitored; set metrics.service to true" }}
{{- end }}
{{- end }}
