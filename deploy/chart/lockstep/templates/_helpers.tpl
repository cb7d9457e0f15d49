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

{{/* By digest if there is one: a tag may be moved. */}}
{{- define "lockstep.image" -}}
{{ required "image.repository is empty: no image is published yet; build one (make image), push it to a registry that the nodes reach, and name it: lockstep install --image, or image.repository" .Values.image.repository }}
{{- if .Values.image.digest }}{{ printf "@%s" .Values.image.digest }}{{ else }}{{ printf ":%s" (.Values.image.tag | default .Chart.AppVersion) }}{{ end }}
{{- end }}

{{- define "lockstep.gateImage" -}}
{{ .Values.controller.gateImage | default (include "lockstep.image" .) }}
{{- end }}

{{/* As the API server names the account. */}}
{{- define "lockstep.controllerUser" -}}
{{ printf "system:serviceaccount:%s:%s" .Release.Namespace (include "lockstep.serviceAccount" .) }}
{{- end }}

{{/* Variable of a policy: the node that the token of the requester is bound to; empty where it is bound to none. */}}
{{- define "lockstep.nodeOfUser" -}}
- name: node
  expression: >-
    request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][?0].orValue('')
{{- end }}

{{/* Validation of a policy, beside the one of its own. */}}
{{- define "lockstep.tokenHasNode" -}}
- expression: variables.node != ''
  messageExpression: >-
    request.userInfo.username + ' may write here only with the token of a pod: this one is bound to no node'
  message: the token is bound to no node
  reason: Forbidden
{{- end }}
