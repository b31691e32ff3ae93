{{- define "tiphys.name" -}}
{{- if contains "tiphys" .Release.Name }}{{ .Release.Name | trunc 50 }}{{ else }}{{ printf "%s-tiphys" .Release.Name | trunc 50 }}{{ end -}}
{{- end }}
{{- define "tiphys.selector" -}}
app.kubernetes.io/name: tiphys
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tiphys.labels" -}}
{{ include "tiphys.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "tiphys.adminSecret" -}}
{{ .Values.adminSecret | default (printf "%s-admin" (include "tiphys.name" .)) }}
{{- end }}
