{{- define "replica" -}}
spec:
  {{- with .root.Values.volumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
  - name: mxnet
    image: {{ .root.Values.image | quote }}
    {{- with .root.Values.command }}
    command:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.args }}
    args:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.env }}
    env:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.volumeMounts }}
    volumeMounts:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
