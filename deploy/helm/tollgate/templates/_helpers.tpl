{{- define "tollgate.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{/* Labels of one component: (list $ "api"). */}}
{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}
{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "tollgate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The environment of one program: (list $ "api"). Secrets that another program alone needs are left out. */}}
{{- define "tollgate.env" -}}
{{- $root := index . 0 }}
{{- $program := index . 1 }}
{{- $config := dict }}
{{- if $root.Values.temporal.enabled }}
{{- $_ := set $config "TEMPORAL_ADDRESS" (printf "%s-temporal:7233" (include "tollgate.name" $root)) }}
{{- end }}
{{- range $name, $value := merge $config $root.Values.config }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- $only := dict "MIGRATE_DATABASE_URL" "migrate" "INTERNAL_JOB_TOKENS" "api" "OIDC_CLIENT_SECRET" "api" }}
{{- range $name, $ref := $root.Values.secrets }}
{{- if and $ref (eq (get $only $name | default $program) $program) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $ref.name | quote }}, key: {{ $ref.key | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{- define "tollgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- define "tollgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "tollgate.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: files, mountPath: /var/lib/tollgate }
{{- end }}
{{- define "tollgate.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
- name: files
{{- if .Values.files.existingClaim }}
  persistentVolumeClaim: { claimName: {{ .Values.files.existingClaim | quote }} }
{{- else }}
  emptyDir: { sizeLimit: {{ .Values.files.sizeLimit }} }
{{- end }}
{{- end }}

{{/* What a pod of a program has beside its container: (list $ "api"). */}}
{{- define "tollgate.placing" -}}
{{- $root := index . 0 }}
{{- $own := get $root.Values (index . 1) }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: { {{ include "tollgate.selector" . | replace "\n" ", " }} } }
{{- with $own.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tollgate.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 1
{{- end }}
