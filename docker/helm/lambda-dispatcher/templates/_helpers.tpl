{{- define "lambda-dispatcher.selector" -}}
app.kubernetes.io/name: lambda-dispatcher
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lambda-dispatcher.labels" -}}
{{ include "lambda-dispatcher.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "lambda-dispatcher.serviceAccount" -}}
{{- .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{/* The port of a setting without its address, or nothing if it is off. Takes setting and value. */}}
{{- define "lambda-dispatcher.port" -}}
{{- $text := regexReplaceAll "^.*:" (toString .value | trimSuffix " proxy-protocol") "" -}}
{{- if not (has $text (list "off" "false")) -}}
{{- if or (not (regexMatch "^[0-9]{1,5}$" $text)) (lt (int $text) 1) (gt (int $text) 65535) -}}
{{- fail (printf "config.%s: expected a port from 1 to 65535 or off, got %q. Probes and Services need a fixed port" .setting $text) -}}
{{- end -}}
{{- $text -}}
{{- end -}}
{{- end }}

{{- define "lambda-dispatcher.plainPort" -}}
{{- include "lambda-dispatcher.port" (dict "setting" "public.plain.port" "value" (dig "public" "plain" "port" 8080 .Values.config)) }}
{{- end }}

{{/* Opens only with a certificate. */}}
{{- define "lambda-dispatcher.tlsPort" -}}
{{- if dig "public" "tls" "certificate" "" .Values.config -}}
{{- include "lambda-dispatcher.port" (dict "setting" "public.tls.port" "value" (dig "public" "tls" "port" 8443 .Values.config)) }}
{{- end -}}
{{- end }}

{{- define "lambda-dispatcher.workerPort" -}}
{{- include "lambda-dispatcher.port" (dict "setting" "workers.port" "value" (dig "workers" "port" 8444 .Values.config)) }}
{{- end }}

{{- define "lambda-dispatcher.adminPort" -}}
{{- include "lambda-dispatcher.port" (dict "setting" "admin.port" "value" (dig "admin" "port" 9901 .Values.config)) }}
{{- end }}

{{/* A duration in seconds, rounded up. Takes setting and value. */}}
{{- define "lambda-dispatcher.seconds" -}}
{{- $text := toString .value -}}
{{- $number := regexFind "^[0-9]+" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- $units := dict "ms" 0.001 "s" 1 "m" 60 "h" 3600 "d" 86400 -}}
{{- if eq $text "0" -}}
0
{{- else if and $number (hasKey $units $unit) -}}
{{- mulf (float64 $number) (get $units $unit) | ceil | int -}}
{{- else -}}
{{- fail (printf "config.%s: expected 0, or a duration such as 500ms, 10s, 15m or 1h, got %q" .setting $text) -}}
{{- end -}}
{{- end }}

{{/* The 30 s are for the workers' goodbyes, and for the end of the JVM. */}}
{{- define "lambda-dispatcher.terminationGracePeriod" -}}
{{- $delay := include "lambda-dispatcher.seconds" (dict "setting" "shutdown.delay" "value" (dig "shutdown" "delay" "0" .Values.config)) -}}
{{- $grace := include "lambda-dispatcher.seconds" (dict "setting" "shutdown.grace" "value" (dig "shutdown" "grace" "25s" .Values.config)) -}}
{{- add (int $delay) (int $grace) 30 -}}
{{- end }}

{{/* Fails with what the schema cannot say. */}}
{{- define "lambda-dispatcher.check" -}}
{{- range $name, $value := .Values.config -}}
{{- $names := list $name -}}
{{- if kindIs "map" $value -}}
{{- $names = concat $names (keys $value) -}}
{{- end -}}
{{- range $names -}}
{{- if contains "." . -}}
{{- fail (printf "config: expected nested settings such as {shutdown: {delay: 10s}}, got the name %q" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.config.function .Values.config.functions) -}}
{{- fail "config: expected function or functions, got neither. Example: --set config.function.name=api" -}}
{{- end -}}
{{- if not (include "lambda-dispatcher.adminPort" .) -}}
{{- fail "config.admin.port: expected a port, because the kubelet probes it, got off" -}}
{{- end -}}
{{- $admin := dig "admin" "port" 9901 .Values.config | toString -}}
{{- if or (not (contains ":" $admin)) (has (regexReplaceAll ":[0-9]+$" $admin "") (list "127.0.0.1" "localhost" "[::1]")) -}}
{{- fail (printf "config.admin.port: expected a port of all addresses such as 0.0.0.0:9901, because the kubelet probes the pod's address, got %q" $admin) -}}
{{- end -}}
{{- with ((.Values.config.admin).tls).certificate -}}
{{- fail (printf "config.admin.tls.certificate: expected none, because the kubelet and the PodMonitor ask the admin port without TLS, got %q. Remove config.admin.tls, and let networkPolicy.admin say who reaches the port" .) -}}
{{- end -}}
{{- if not (include "lambda-dispatcher.workerPort" .) -}}
{{- fail "config.workers.port: expected a port from 1 to 65535, got off" -}}
{{- end -}}
{{- if not (or (include "lambda-dispatcher.plainPort" .) (include "lambda-dispatcher.tlsPort" .)) -}}
{{- fail "config.public: expected public.plain.port, or public.tls.certificate, because otherwise clients have no port" -}}
{{- end -}}
{{- $places := dict "workers.secret" (dig "workers" "secret" "" .Values.config) -}}
{{- $_ := set $places "admin.token" (dig "admin" "token" "" .Values.config) -}}
{{- $_ := set $places "admin.read-token" (dig "admin" "read-token" "" .Values.config) -}}
{{- $_ := set $places "function.secret" (dig "function" "secret" "" .Values.config) -}}
{{- range $i, $function := .Values.config.functions -}}
{{- $_ := set $places (printf "functions[%d].secret" $i) (dig "secret" "" $function) -}}
{{- end -}}
{{- range $setting, $secret := $places -}}
{{- if and $secret (not (hasPrefix "file:" (toString $secret))) -}}
{{- fail (printf "config.%s: expected no secret, because everyone who may read ConfigMaps would see it. Create a Secret, name it in secrets, and set config.%s to file:/secrets/NAME/KEY" $setting $setting) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.workers) -}}
{{- fail "networkPolicy.workers: expected who may connect to the worker port, got nothing. Name the subnets of the Lambda functions, such as [{ipBlock: {cidr: 10.0.128.0/18}}], or set networkPolicy.enabled to false" -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled (dig "admin" "read-token" "" .Values.config) -}}
{{- fail "podMonitor.enabled: expected false with config.admin.read-token, because the PodMonitor has no token, so the dispatcher would answer it 401, got true. Remove config.admin.read-token, or create a PodMonitor of your own with an authorization" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas: expected at most autoscaling.maxReplicas (%d), got %d" (int .Values.autoscaling.maxReplicas) (int .Values.autoscaling.minReplicas)) -}}
{{- end -}}
{{- end }}
