{{/* Names and labels that several templates share. */}}
{{- define "lockstep.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "lockstep.labels" -}}
{{ include "lockstep.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "lockstep.name" -}}
{{ printf "%s-controller" .Release.Name }}
{{- end }}

{{- define "lockstep.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "lockstep.name" .) }}
{{- end }}
