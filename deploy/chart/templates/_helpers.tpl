{{- define "undrift.name" -}}
{{- if contains "undrift" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-undrift" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "undrift.selector" -}}
app.kubernetes.io/name: undrift
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "undrift.labels" -}}
{{ include "undrift.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "undrift.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "undrift.config" -}}
{{ .Values.config | default (.Files.Get "files/serve.toml") }}
{{- end }}
