{{/* Where pods of Lockstep may go, as rules of NetworkPolicies. */}}
{{- define "lockstep.toApiServer" -}}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - port: {{ int . }}
      protocol: TCP
    {{- end }}
  {{- with .Values.networkPolicy.apiServerCIDRs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end }}

{{- define "lockstep.toNames" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
  {{- with .Values.networkPolicy.dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
