// Nodes: identity, capacity and conditions.
import { isObject, jsonEqual } from '#lib/json.ts'
import { isIP } from 'node:net'
import type { KubeObject } from '#api/schema/object.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { forbidden, immutable, invalid, notSupported, required, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind, Draft } from './kind.ts'
import * as s from './shape.ts'
import { labelValueProblems, qualifiedNameProblems } from '#api/schema/name-problems.ts'

const taint = s.struct('Taint', { key: s.always(s.str), value: s.str, effect: s.always(s.str), timeAdded: s.time })

const configSource = s.struct(
  'NodeConfigSource',
  {
    configMap: s.struct(
      'ConfigMapNodeConfigSource',
      {
        namespace: s.always(s.str),
        name: s.always(s.str),
        uid: s.str,
        resourceVersion: s.str,
        kubeletConfigKey: s.always(s.str),
      },
      { 'x-go-field': 'pointer' },
    ),
  },
  { 'x-go-field': 'pointer' },
)

const systemInfo = s.struct('NodeSystemInfo', {
  machineID: s.always(s.str),
  systemUUID: s.always(s.str),
  bootID: s.always(s.str),
  kernelVersion: s.always(s.str),
  osImage: s.always(s.str),
  containerRuntimeVersion: s.always(s.str),
  kubeletVersion: s.always(s.str),
  kubeProxyVersion: s.always(s.str),
  operatingSystem: s.always(s.str),
  architecture: s.always(s.str),
  swap: s.struct('NodeSwapStatus', { capacity: s.pointer(s.int64) }, { 'x-go-field': 'pointer' }),
})

const condition = s.struct('NodeCondition', {
  type: s.always(s.str),
  status: s.always(s.str),
  lastHeartbeatTime: s.always(s.time),
  lastTransitionTime: s.always(s.time),
  reason: s.str,
  message: s.str,
})

const handlerFeatures = s.struct(
  'NodeRuntimeHandlerFeatures',
  { recursiveReadOnlyMounts: s.pointer(s.bool), userNamespaces: s.pointer(s.bool) },
  { 'x-go-field': 'pointer' },
)

const status = s.struct('NodeStatus', {
  capacity: s.mapOf(s.quantity),
  allocatable: s.mapOf(s.quantity),
  phase: s.str,
  conditions: s.mapList(['type'], condition),
  addresses: s.mapList(['type'], s.struct('NodeAddress', { type: s.always(s.str), address: s.always(s.str) })),
  daemonEndpoints: s.always(
    s.struct('NodeDaemonEndpoints', {
      kubeletEndpoint: s.always(s.struct('DaemonEndpoint', { Port: s.always(s.int32) })),
    }),
  ),
  nodeInfo: s.always(systemInfo),
  images: s.listOf(s.struct('ContainerImage', { names: s.listOf(s.str), sizeBytes: s.int64 })),
  volumesInUse: s.listOf(s.str),
  volumesAttached: s.listOf(s.struct('AttachedVolume', { name: s.always(s.str), devicePath: s.always(s.str) })),
  config: s.struct(
    'NodeConfigStatus',
    { assigned: configSource, active: configSource, lastKnownGood: configSource, error: s.str },
    { 'x-go-field': 'pointer' },
  ),
  runtimeHandlers: s.listOf(
    s.struct('NodeRuntimeHandler', { name: { ...s.str, 'x-go-field': 'always' }, features: handlerFeatures }),
  ),
  features: s.struct('NodeFeatures', { supplementalGroupsPolicy: s.pointer(s.bool) }, { 'x-go-field': 'pointer' }),
  declaredFeatures: s.listOf(s.str),
})

type Fields = Readonly<Record<string, unknown>>
const fieldsAt = (o: KubeObject, field: string): Fields => {
  const v = o[field]
  return isObject(v) ? v : {}
}
const spec = (o: KubeObject): Fields => fieldsAt(o, 'spec')
const statusOf = (o: KubeObject): Fields => fieldsAt(o, 'status')
const listAt = (f: Fields, key: string): readonly Fields[] => {
  const v = f[key]
  return Array.isArray(v) ? v.filter(isObject) : []
}

/** podCIDR is the first of podCIDRs, whichever the client set. */
function pairedCidrs(o: Draft, old: KubeObject | undefined): Draft {
  const s = spec(o)
  const one = s['podCIDR']
  const many = Array.isArray(s['podCIDRs']) ? s['podCIDRs'] : []
  if (one === undefined && many.length === 0) return o
  if (one === undefined) return { ...o, spec: { ...s, podCIDR: many[0] } }
  const moved =
    many.length === 0 || (old !== undefined && one !== spec(old)['podCIDR'] && jsonEqual(many, spec(old)['podCIDRs']))
  return moved ? { ...o, spec: { ...s, podCIDRs: [one] } } : o
}

/** A node that cannot run pods yet is marked from the start. */
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const

function tainted(o: Draft): Draft {
  const taints = listAt(spec(o), 'taints')
  if (taints.some((t) => t['key'] === NOT_READY.key && t['effect'] === NOT_READY.effect)) return o
  return { ...o, spec: { ...spec(o), taints: [...taints, NOT_READY] } }
}

function withAllocatable(o: Draft): Draft {
  const s = statusOf(o)
  return s['allocatable'] === undefined && s['capacity'] !== undefined
    ? { ...o, status: { ...s, allocatable: s['capacity'] } }
    : o
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

function taintProblems(o: KubeObject): FieldProblem[] {
  const seen = new Set<string>()
  return listAt(spec(o), 'taints').flatMap((t, i) => {
    // the path that a real server reports
    const at = `metadata.taints[${i}]`
    const key = String(t['key'] ?? '')
    const effect = String(t['effect'] ?? '')
    const out: FieldProblem[] = qualifiedNameProblems(key).map((p) => invalid(`${at}.key`, key, p))
    out.push(...labelValueProblems(String(t['value'] ?? '')).map((p) => invalid(`${at}.value`, t['value'], p)))
    if (effect === '') out.push(required(`${at}.effect`))
    else if (!EFFECTS.includes(effect)) out.push(notSupported(`${at}.effect`, effect, EFFECTS))
    const both = `${key}/${effect}`
    if (seen.has(both))
      out.push({
        type: 'FieldValueDuplicate',
        field: at,
        badValue: t,
        detail: 'taints must be unique by key and effect pair',
      })
    seen.add(both)
    return out
  })
}

function cidrProblems(o: KubeObject): FieldProblem[] {
  const many = spec(o)['podCIDRs']
  const list = Array.isArray(many) ? many.map(String) : []
  return list.flatMap((c, i) =>
    isCidr(c)
      ? []
      : [invalid(`spec.podCIDRs[${i}]`, c, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')],
  )
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  const version = isIP(address)
  return rest.length === 0 && version !== 0 && /^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)
}

function changeProblems(o: KubeObject, old: KubeObject): FieldProblem[] {
  const out: FieldProblem[] = []
  const was = spec(old)
  const is = spec(o)
  if (was['podCIDRs'] !== undefined && !jsonEqual(was['podCIDRs'], is['podCIDRs']))
    out.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'))
  if (was['providerID'] !== undefined && was['providerID'] !== is['providerID'])
    out.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'))
  if (was['externalID'] !== undefined && was['externalID'] !== is['externalID'])
    out.push(immutable('spec.externalID', is['externalID']))
  return out
}

const ROLE = /^node-role\.kubernetes\.io\/(.+)$/

function readiness(o: KubeObject): string {
  const ready = listAt(statusOf(o), 'conditions').find((c) => c['type'] === 'Ready')
  const state = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady'
  return spec(o)['unschedulable'] === true ? `${state},SchedulingDisabled` : state
}

function roles(o: KubeObject): string {
  const labels = o.metadata.labels ?? {}
  const found = Object.keys(labels).flatMap((k) => ROLE.exec(k)?.[1] ?? [])
  const legacy = labels['kubernetes.io/role']
  const all = [...new Set(legacy === undefined ? found : [...found, legacy])].sort()
  return all.length === 0 ? '<none>' : all.join(',')
}

const address = (o: KubeObject, type: string): string =>
  String(listAt(statusOf(o), 'addresses').find((a) => a['type'] === type)?.['address'] ?? '<none>')
const info = (o: KubeObject, key: string): string => {
  const v = statusOf(o)['nodeInfo']
  const found = isObject(v) ? v[key] : undefined
  return typeof found === 'string' ? found : ''
}
const orUnknown = (s: string): string => (s === '' ? '<unknown>' : s)

export const node: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false },
  shortNames: ['no'],
  subresources: ['status'],
  schema: s.struct('Node', {
    spec: s.always(
      s.struct('NodeSpec', {
        podCIDR: s.str,
        podCIDRs: s.setOf(s.str),
        providerID: s.str,
        unschedulable: s.bool,
        taints: s.listOf(taint),
        configSource,
        externalID: s.str,
      }),
    ),
    status: s.always(status),
  }),
  columns: [
    nameColumn,
    text('Status', readiness),
    text('Roles', roles),
    ageColumn,
    text('Version', (o) => info(o, 'kubeletVersion')),
    text('Internal-IP', (o) => address(o, 'InternalIP'), 1),
    text('External-IP', (o) => address(o, 'ExternalIP'), 1),
    text('OS-Image', (o) => orUnknown(info(o, 'osImage')), 1),
    text('Kernel-Version', (o) => orUnknown(info(o, 'kernelVersion')), 1),
    text('Container-Runtime', (o) => orUnknown(info(o, 'containerRuntimeVersion')), 1),
  ],
  selectableFields: { 'spec.unschedulable': (o) => String(spec(o)['unschedulable'] === true) },
  prepareForCreate: (o) => withAllocatable(tainted(pairedCidrs(o, undefined))),
  prepareForUpdate: (o, old) => pairedCidrs(o, old),
  prepareForStatusUpdate: (o) => withAllocatable(o),
  validate: (o, old) => [...(old === undefined ? [] : changeProblems(o, old)), ...taintProblems(o), ...cidrProblems(o)],
}
