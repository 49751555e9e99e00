// The spec of a pod, which pods and every workload's template share, and its defaults that a schema cannot say.
import { isObject } from '#lib/json.ts'
import {
  always,
  bool,
  int32,
  int64,
  listOf,
  mapList,
  mapOf,
  pointer,
  quantity,
  str,
  struct,
  withDefault,
} from './shape.ts'
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

const podSecurityContext = pointer(
  struct('PodSecurityContext', {
    seLinuxOptions,
    windowsOptions,
    runAsUser: pointer(int64),
    runAsGroup: pointer(int64),
    runAsNonRoot: pointer(bool),
    supplementalGroups: listOf(int64),
    supplementalGroupsPolicy: pointer(str),
    fsGroup: pointer(int64),
    sysctls: listOf(struct('Sysctl', { name: always(str), value: always(str) })),
    fsGroupChangePolicy: pointer(str),
    seccompProfile,
    appArmorProfile,
    seLinuxChangePolicy: pointer(str),
  }),
)

/** A volume may change its kind: keys that a strategic patch does not name are removed. */
const volumes = mapList(['name'], volume, { 'x-kubernetes-patch-strategy': 'merge,retainKeys' })

export const podSpec: BuiltinSchema = struct('PodSpec', {
  volumes,
  initContainers: mapList(['name'], container),
  containers: always(mapList(['name'], container)),
  ephemeralContainers: mapList(['name'], ephemeralContainer),
  restartPolicy: withDefault(str, 'Always'),
  terminationGracePeriodSeconds: withDefault(pointer(int64), 30),
  activeDeadlineSeconds: pointer(int64),
  dnsPolicy: withDefault(str, 'ClusterFirst'),
  nodeSelector: mapOf(str, { 'x-kubernetes-map-type': 'atomic' }),
  serviceAccountName: str,
  serviceAccount: str,
  automountServiceAccountToken: pointer(bool),
  nodeName: str,
  hostNetwork: bool,
  hostPID: bool,
  hostIPC: bool,
  shareProcessNamespace: pointer(bool),
  securityContext: withDefault(podSecurityContext, {}),
  imagePullSecrets: mapList(['name'], localReference),
  hostname: str,
  subdomain: str,
  affinity,
  schedulerName: withDefault(str, 'default-scheduler'),
  tolerations,
  hostAliases: mapList(['ip'], struct('HostAlias', { ip: always(str), hostnames: listOf(str) })),
  priorityClassName: str,
  priority: pointer(int32),
  dnsConfig: pointer(
    struct('PodDNSConfig', {
      nameservers: listOf(str),
      searches: listOf(str),
      options: listOf(struct('PodDNSConfigOption', { name: str, value: pointer(str) })),
    }),
  ),
  readinessGates: listOf(struct('PodReadinessGate', { conditionType: always(str) })),
  runtimeClassName: pointer(str),
  enableServiceLinks: pointer(bool),
  preemptionPolicy: pointer(str),
  overhead: mapOf(quantity),
  topologySpreadConstraints: spreadConstraints,
  setHostnameAsFQDN: pointer(bool),
  os: pointer(struct('PodOS', { name: always(str) })),
  hostUsers: pointer(bool),
  schedulingGates: mapList(['name'], struct('PodSchedulingGate', { name: always(str) })),
  resourceClaims: mapList(
    ['name'],
    struct('PodResourceClaim', {
      name: always(str),
      resourceClaimName: pointer(str),
      resourceClaimTemplateName: pointer(str),
    }),
    { 'x-kubernetes-patch-strategy': 'merge,retainKeys' },
  ),
  resources: pointer(resources),
  hostnameOverride: pointer(str),
})

export const podTemplate: BuiltinSchema = struct('PodTemplateSpec', {
  metadata: always(templateMeta),
  spec: always(podSpec),
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
