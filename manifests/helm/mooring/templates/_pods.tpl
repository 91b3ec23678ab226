{{/* The full image reference. */}}
{{- define "mooring.image" -}}
{{- with .Values.image -}}
{{- if not .repository }}{{ fail "image.repository is missing: name the image that you built and pushed, such as registry.example/mooring (docs/install.md, Image)" }}{{ end -}}
{{- if and .tag .digest }}{{ fail "image.tag and image.digest exclude each other: a digest says already which image it is" }}{{ end -}}
{{- .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{/* Turns settings by flag into the programs' environment variables: "log-level" is MOORING_LOG_LEVEL. JSON. */}}
{{- define "mooring.environment" -}}
{{- $environment := dict -}}
{{- range $flag, $value := . -}}
{{- $_ := set $environment (printf "MOORING_%s" ($flag | upper | replace "-" "_")) (toString $value) -}}
{{- end -}}
{{- toJson $environment -}}
{{- end -}}

{{/* Applies the values that every workload has. Arguments: object, values (agent, aggregator or provisioner), environment, chart (the root). */}}
{{- define "mooring.workload" -}}
{{- $values := .values -}}
{{- $chart := .chart -}}
{{- $environment := .environment -}}
{{- $template := .object.spec.template -}}
{{- $pod := $template.spec -}}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end -}}
{{- with $chart.Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end -}}
{{- $_ := set $pod "priorityClassName" $values.priorityClassName -}}
{{- $_ := set $pod "nodeSelector" (merge (dict) $pod.nodeSelector $values.nodeSelector) -}}
{{- range $container := concat (default list $pod.initContainers) $pod.containers -}}
{{- $_ := set $container "image" (include "mooring.image" $chart) -}}
{{- with $chart.Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- end -}}
{{- include "mooring.container" (dict "container" (first $pod.containers) "values" $values "environment" $environment) -}}
{{- end -}}

{{/* Applies resources and environment to a container. */}}
{{- define "mooring.container" -}}
{{- $container := .container -}}
{{- $environment := .environment -}}
{{- $_ := set $container "resources" .values.resources -}}
{{- $env := list -}}
{{- range $entry := $container.env -}}
{{- if not (hasKey $environment $entry.name) }}{{ $env = append $env $entry }}{{ end -}}
{{- end -}}
{{- range $name, $value := $environment }}{{ $env = append $env (dict "name" $name "value" $value) }}{{ end -}}
{{- $_ := set $container "env" $env -}}
{{- end -}}
