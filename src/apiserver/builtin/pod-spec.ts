// The spec of a pod, which pods and every workload's template share, and its defaults that a schema cannot say.
import { isObject } from '#lib/json.ts'
import * as s from './shape.ts'
import { listAt } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinSchema } from './kind.ts'
import {
  appArmorProfile,
  container,
  ephemeralContainer,
  resources,
  seLinuxOptions,
  seccompProfile,
  windowsOptions,
} from './pod-container.ts'
import { affinity, spreadConstraints, tolerations } from './pod-scheduling.ts'
import { localReference, templateMeta, volume } from './pod-volumes.ts'

const podSecurityContext = s.pointer(
  s.struct('PodSecurityContext', {
    seLinuxOptions,
    windowsOptions,
    runAsUser: s.pointer(s.int64),
    runAsGroup: s.pointer(s.int64),
    runAsNonRoot: s.pointer(s.bool),
    supplementalGroups: s.listOf(s.int64),
    supplementalGroupsPolicy: s.pointer(s.str),
    fsGroup: s.pointer(s.int64),
    sysctls: s.listOf(s.struct('Sysctl', { name: s.always(s.str), value: s.always(s.str) })),
    fsGroupChangePolicy: s.pointer(s.str),
    seccompProfile,
    appArmorProfile,
    seLinuxChangePolicy: s.pointer(s.str),
  }),
)

/** A volume may change its kind: keys that a strategic patch does not name are removed. */
const volumes = s.mapList(['name'], volume, { 'x-kubernetes-patch-strategy': 'merge,retainKeys' })

export const podSpec: BuiltinSchema = s.struct('PodSpec', {
  volumes,
  initContainers: s.mapList(['name'], container),
  containers: s.always(s.mapList(['name'], container)),
  ephemeralContainers: s.mapList(['name'], ephemeralContainer),
  restartPolicy: s.withDefault(s.str, 'Always'),
  terminationGracePeriodSeconds: s.withDefault(s.pointer(s.int64), 30),
  activeDeadlineSeconds: s.pointer(s.int64),
  dnsPolicy: s.withDefault(s.str, 'ClusterFirst'),
  nodeSelector: s.mapOf(s.str, { 'x-kubernetes-map-type': 'atomic' }),
  serviceAccountName: s.str,
  serviceAccount: s.str,
  automountServiceAccountToken: s.pointer(s.bool),
  nodeName: s.str,
  hostNetwork: s.bool,
  hostPID: s.bool,
  hostIPC: s.bool,
  shareProcessNamespace: s.pointer(s.bool),
  securityContext: s.withDefault(podSecurityContext, {}),
  imagePullSecrets: s.mapList(['name'], localReference),
  hostname: s.str,
  subdomain: s.str,
  affinity,
  schedulerName: s.withDefault(s.str, 'default-scheduler'),
  tolerations,
  hostAliases: s.mapList(['ip'], s.struct('HostAlias', { ip: s.always(s.str), hostnames: s.listOf(s.str) })),
  priorityClassName: s.str,
  priority: s.pointer(s.int32),
  dnsConfig: s.pointer(
    s.struct('PodDNSConfig', {
      nameservers: s.listOf(s.str),
      searches: s.listOf(s.str),
      options: s.listOf(s.struct('PodDNSConfigOption', { name: s.str, value: s.pointer(s.str) })),
    }),
  ),
  readinessGates: s.listOf(s.struct('PodReadinessGate', { conditionType: s.always(s.str) })),
  runtimeClassName: s.pointer(s.str),
  enableServiceLinks: s.pointer(s.bool),
  preemptionPolicy: s.pointer(s.str),
  overhead: s.mapOf(s.quantity),
  topologySpreadConstraints: spreadConstraints,
  setHostnameAsFQDN: s.pointer(s.bool),
  os: s.pointer(s.struct('PodOS', { name: s.always(s.str) })),
  hostUsers: s.pointer(s.bool),
  schedulingGates: s.mapList(['name'], s.struct('PodSchedulingGate', { name: s.always(s.str) })),
  resourceClaims: s.mapList(
    ['name'],
    s.struct('PodResourceClaim', {
      name: s.always(s.str),
      resourceClaimName: s.pointer(s.str),
      resourceClaimTemplateName: s.pointer(s.str),
    }),
    { 'x-kubernetes-patch-strategy': 'merge,retainKeys' },
  ),
  resources: s.pointer(resources),
  hostnameOverride: s.pointer(s.str),
})

export const podTemplate: BuiltinSchema = s.struct('PodTemplateSpec', {
  metadata: s.always(templateMeta),
  spec: s.always(podSpec),
})

/** The tag of an image decides whether its content may change under the same name. */
function pullPolicy(image: unknown): string {
  const text = typeof image === 'string' ? image : ''
  if (text.includes('@')) return 'IfNotPresent'
  const tag = /:([^/:]+)$/.exec(text)?.[1]
  return tag === undefined || tag === 'latest' ? 'Always' : 'IfNotPresent'
}

function containerDefaults(c: Fields, hostNetwork: boolean): Fields {
  const out: Record<string, unknown> = { ...c }
  if (!c['imagePullPolicy']) out['imagePullPolicy'] = pullPolicy(c['image'])
  // On the host's network a container's port is the host's port.
  if (hostNetwork && Array.isArray(c['ports'])) {
    out['ports'] = listAt(c, 'ports').map((p) => (p['hostPort'] ? p : { ...p, hostPort: p['containerPort'] }))
  }
  const asked = isObject(c['resources']) ? c['resources'] : undefined
  if (asked && isObject(asked['limits'])) {
    // A resource with a limit and no request is requested in full.
    out['resources'] = {
      ...asked,
      requests: { ...asked['limits'], ...(isObject(asked['requests']) ? asked['requests'] : {}) },
    }
  }
  return out
}

/** Defaults that depend on other fields. Idempotent; runs on every write. */
export function podSpecDefaults(spec: Fields): Fields {
  const out: Record<string, unknown> = { ...spec }
  const hostNetwork = spec['hostNetwork'] === true
  for (const field of ['containers', 'initContainers', 'ephemeralContainers']) {
    if (Array.isArray(spec[field])) out[field] = listAt(spec, field).map((c) => containerDefaults(c, hostNetwork))
  }
  if (Array.isArray(spec['volumes'])) out['volumes'] = listAt(spec, 'volumes').map(volumeDefaults)
  // Two names of one field, kept equal for old clients.
  const account = spec['serviceAccountName'] ?? spec['serviceAccount']
  if (account) Object.assign(out, { serviceAccountName: account, serviceAccount: account })
  return out
}

const volumeDefaults = (v: Fields): Fields => (Object.keys(v).length === 1 && 'name' in v ? { ...v, emptyDir: {} } : v)

/** The same for the template of a workload. */
export function templateDefaults(spec: Fields): Fields {
  const template = spec['template']
  if (!isObject(template) || !isObject(template['spec'])) return spec
  return { ...spec, template: { ...template, spec: podSpecDefaults(template['spec']) } }
}
