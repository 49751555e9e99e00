// Services: addresses for pods. The embedded server hands out cluster addresses but routes nothing.
import type { KubeObject } from '#api/schema/object.ts'
import { duplicate, invalid, notSupported, required } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, listAt, number, shown, specOf, statusOf, text, textsAt } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinKind, Draft, StrategyContext } from './kind.ts'
import { PORT_TEXT, isPort, labelProblems } from './pod-validate.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const PROTOCOLS = ['SCTP', 'TCP', 'UDP']

const servicePort = s.struct('ServicePort', {
  name: s.str,
  protocol: s.withDefault(s.str, 'TCP'),
  appProtocol: s.pointer(s.str),
  port: s.always(s.int32),
  targetPort: s.intOrString,
  nodePort: s.int32,
})

const hasAddress = (spec: Fields): boolean => text(spec['type']) !== 'ExternalName'

/** The 65,000 addresses of 10.96.0.0/16 are used from a random start, so that two creates rarely meet. */
function freeAddress(ctx: StrategyContext): string {
  const used = new Set(ctx.list('', 'services').map((s) => text(specOf(s)['clusterIP'])))
  const hosts = 65_000
  const start = Math.floor(ctx.random() * hosts)
  for (let i = 0; i < hosts; i++) {
    const n = ((start + i) % hosts) + 10
    const address = `10.96.${n >> 8}.${n & 255}`
    if (!used.has(address)) return address
  }
  return ''
}

const FIRST_NODE_PORT = 30_000
const LAST_NODE_PORT = 32_767

function withNodePorts(spec: Fields, ctx: StrategyContext): readonly Fields[] {
  const used = new Set(
    ctx.list('', 'services').flatMap((s) => listAt(specOf(s), 'ports').map((p) => number(p['nodePort']))),
  )
  let next = FIRST_NODE_PORT
  return listAt(spec, 'ports').map((p) => {
    if (number(p['nodePort']) > 0) return p
    while (used.has(next) && next < LAST_NODE_PORT) next++
    used.add(next)
    return { ...p, nodePort: next }
  })
}

function allocate(o: Draft, ctx: StrategyContext): Draft {
  const spec = specOf(o)
  const type = text(spec['type'])
  if (!TYPES.includes(type) || !hasAddress(spec)) return o
  const asked = text(spec['clusterIP']) || textsAt(spec, 'clusterIPs')[0] || ''
  const clusterIP = asked === '' ? freeAddress(ctx) : asked
  const needsPorts = type === 'NodePort' || type === 'LoadBalancer'
  return {
    ...o,
    spec: {
      ...spec,
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: spec['ipFamilies'] ?? [clusterIP.includes(':') ? 'IPv6' : 'IPv4'],
      ipFamilyPolicy: spec['ipFamilyPolicy'] ?? 'SingleStack',
      ...(needsPorts ? { ports: withNodePorts(spec, ctx) } : {}),
    },
  }
}

function defaults(o: Draft): Draft {
  const spec = specOf(o)
  const type = text(spec['type'])
  const ports = Array.isArray(spec['ports'])
    ? listAt(spec, 'ports').map((p) =>
        p['targetPort'] === undefined || p['targetPort'] === 0 || p['targetPort'] === ''
          ? { ...p, targetPort: p['port'] ?? 0 }
          : p,
      )
    : undefined
  const external = type === 'NodePort' || type === 'LoadBalancer'
  return {
    ...o,
    spec: {
      ...spec,
      ...(ports === undefined ? {} : { ports }),
      ...(external ? { externalTrafficPolicy: spec['externalTrafficPolicy'] ?? 'Cluster' } : {}),
      ...(type === 'LoadBalancer'
        ? { allocateLoadBalancerNodePorts: spec['allocateLoadBalancerNodePorts'] ?? true }
        : {}),
      ...(hasAddress(spec) ? { internalTrafficPolicy: spec['internalTrafficPolicy'] ?? 'Cluster' } : {}),
      ...(text(spec['sessionAffinity']) === 'ClientIP' && spec['sessionAffinityConfig'] === undefined
        ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } }
        : {}),
    },
  }
}

function portProblems(spec: Fields): FieldProblem[] {
  const ports = listAt(spec, 'ports')
  const headless = text(spec['clusterIP']) === 'None'
  if (ports.length === 0) return headless || !hasAddress(spec) ? [] : [required('spec.ports')]
  const names = new Set<string>()
  const seen = new Set<string>()
  return ports.flatMap((p, i) => {
    const at = `spec.ports[${i}]`
    const out: FieldProblem[] = []
    const name = text(p['name'])
    if (name === '' && ports.length > 1) out.push(required(`${at}.name`))
    else if (name !== '') {
      out.push(...labelProblems(name, `${at}.name`))
      if (names.has(name)) out.push(duplicate(`${at}.name`, name))
      names.add(name)
    }
    if (!isPort(p['port'])) out.push(invalid(`${at}.port`, number(p['port']), PORT_TEXT))
    const protocol = text(p['protocol'])
    if (protocol === '') out.push(required(`${at}.protocol`))
    else if (!PROTOCOLS.includes(protocol)) out.push(notSupported(`${at}.protocol`, protocol, PROTOCOLS))
    if (typeof p['targetPort'] === 'number' && !isPort(p['targetPort']))
      out.push(invalid(`${at}.targetPort`, p['targetPort'], PORT_TEXT))
    const key = `${protocol}/${number(p['port'])}`
    if (seen.has(key)) out.push(duplicate(at, p))
    seen.add(key)
    return out
  })
}

/** Must be free of all other services' addresses, except the service's own. */
function nodePortProblems(o: KubeObject, old: KubeObject | undefined, ctx: StrategyContext): FieldProblem[] {
  const asked = listAt(specOf(o), 'ports')
  if (asked.every((p) => number(p['nodePort']) === 0)) return []
  const others = ctx.list('', 'services').filter((s) => s.metadata.uid !== o.metadata.uid)
  const taken = new Set(others.flatMap((s) => listAt(specOf(s), 'ports').map((p) => number(p['nodePort']))))
  const before = new Set(listAt(old === undefined ? {} : specOf(old), 'ports').map((p) => number(p['nodePort'])))
  return asked.flatMap((p, i) => {
    const port = number(p['nodePort'])
    if (port === 0 || before.has(port)) return []
    const at = `spec.ports[${i}].nodePort`
    if (port < FIRST_NODE_PORT || port > LAST_NODE_PORT)
      return [
        invalid(
          at,
          port,
          `provided port is not in the valid range. The range of valid ports is ${FIRST_NODE_PORT}-${LAST_NODE_PORT}`,
        ),
      ]
    return taken.has(port) ? [invalid(at, port, 'provided port is already allocated')] : []
  })
}

function validate(o: KubeObject, old: KubeObject | undefined, ctx: StrategyContext): readonly FieldProblem[] {
  const spec = specOf(o)
  const out = [...portProblems(spec), ...nodePortProblems(o, old, ctx)]
  const type = text(spec['type'])
  if (type === '') out.push(required('spec.type'))
  else if (!TYPES.includes(type)) out.push(notSupported('spec.type', type, TYPES))
  const affinity = text(spec['sessionAffinity'])
  if (!['ClientIP', 'None'].includes(affinity))
    out.push(notSupported('spec.sessionAffinity', affinity, ['ClientIP', 'None']))
  const before = old === undefined ? '' : text(specOf(old)['clusterIP'])
  if (before !== '' && hasAddress(spec) && text(spec['clusterIP']) !== before) {
    out.push(invalid('spec.clusterIPs[0]', textsAt(spec, 'clusterIPs'), 'may not change once set'))
  }
  if (type === 'ExternalName' && text(spec['externalName']) === '') out.push(required('spec.externalName'))
  return out
}

/** An allocated address is kept when an update omits it. */
const EXTERNAL: ReadonlySet<unknown> = new Set(['NodePort', 'LoadBalancer'])
/** Fields that only some types of Services have. */
const DEPENDENT: Readonly<Record<string, (type: unknown) => boolean>> = {
  externalTrafficPolicy: (type) => EXTERNAL.has(type),
  allocateLoadBalancerNodePorts: (type) => type === 'LoadBalancer',
  loadBalancerClass: (type) => type === 'LoadBalancer',
  healthCheckNodePort: (type) => type === 'LoadBalancer',
}

/** Who changes the type alone need not take away what came with the type before. */
function withoutDependents(o: Draft, old: KubeObject): Draft {
  const [spec, before] = [specOf(o), specOf(old)]
  const goes = (field: string): boolean => {
    const needs = DEPENDENT[field]
    return needs !== undefined && needs(before['type']) && !needs(spec['type']) && spec[field] === before[field]
  }
  const kept = Object.fromEntries(Object.entries(spec).filter(([field]) => !goes(field)))
  const losesPorts = EXTERNAL.has(before['type']) && !EXTERNAL.has(spec['type'])
  const had = new Set(listAt(before, 'ports').map((p) => p['nodePort']))
  const ports = listAt(spec, 'ports').map((p): Fields => {
    const { nodePort, ...rest } = p
    return losesPorts && had.has(nodePort) ? rest : p
  })
  return { ...o, spec: { ...kept, ...(Array.isArray(spec['ports']) && { ports }) } }
}

function keepAllocated(o: Draft, old: KubeObject): Draft {
  const spec = specOf(o)
  const before = specOf(old)
  if (!hasAddress(spec) || !hasAddress(before)) return o
  const keep = (field: string) => (spec[field] === undefined || spec[field] === '' ? { [field]: before[field] } : {})
  const ports = listAt(spec, 'ports').map((p) => {
    const same = listAt(before, 'ports').find((q) => q['port'] === p['port'] && q['protocol'] === p['protocol'])
    const wants = ['NodePort', 'LoadBalancer'].includes(text(spec['type']))
    return wants && !p['nodePort'] && same?.['nodePort'] ? { ...p, nodePort: same['nodePort'] } : p
  })
  return {
    ...o,
    spec: {
      ...spec,
      ...(Array.isArray(spec['ports']) ? { ports } : {}),
      ...keep('clusterIP'),
      ...(textsAt(spec, 'clusterIPs').length === 0 ? { clusterIPs: before['clusterIPs'] } : {}),
      ...keep('ipFamilies'),
      ...keep('ipFamilyPolicy'),
    },
  }
}

const portsText = (o: KubeObject): string => {
  const ports = listAt(specOf(o), 'ports').map(
    (p) => `${number(p['port'])}${number(p['nodePort']) > 0 ? `:${number(p['nodePort'])}` : ''}/${text(p['protocol'])}`,
  )
  return ports.length === 0 ? '<none>' : ports.join(',')
}

export const service: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true },
  shortNames: ['svc'],
  categories: ['all'],
  subresources: ['status'],
  nameRule: 'label',
  createOnUpdate: true,
  schema: s.specAndStatus(
    s.struct('ServiceSpec', {
      ports: s.mapList(['port', 'protocol'], servicePort),
      selector: s.mapOf(s.str, { 'x-kubernetes-map-type': 'atomic' }),
      clusterIP: s.str,
      clusterIPs: s.listOf(s.str),
      type: s.withDefault(s.str, 'ClusterIP'),
      externalIPs: s.listOf(s.str),
      sessionAffinity: s.withDefault(s.str, 'None'),
      loadBalancerIP: s.str,
      loadBalancerSourceRanges: s.listOf(s.str),
      externalName: s.str,
      externalTrafficPolicy: s.str,
      healthCheckNodePort: s.int32,
      publishNotReadyAddresses: s.bool,
      sessionAffinityConfig: s.pointer(
        s.struct('SessionAffinityConfig', {
          clientIP: s.pointer(s.struct('ClientIPConfig', { timeoutSeconds: s.pointer(s.int32) })),
        }),
      ),
      ipFamilies: s.listOf(s.str),
      ipFamilyPolicy: s.pointer(s.str),
      allocateLoadBalancerNodePorts: s.pointer(s.bool),
      loadBalancerClass: s.pointer(s.str),
      internalTrafficPolicy: s.pointer(s.str),
      trafficDistribution: s.pointer(s.str),
    }),
    s.struct('ServiceStatus', {
      loadBalancer: s.always(
        s.struct('LoadBalancerStatus', {
          ingress: s.listOf(
            s.struct('LoadBalancerIngress', {
              ip: s.str,
              hostname: s.str,
              ipMode: s.pointer(s.str),
              ports: s.listOf(
                s.struct('PortStatus', {
                  port: s.always(s.int32),
                  protocol: s.always(s.str),
                  error: s.pointer(s.str),
                }),
              ),
            }),
          ),
        }),
      ),
      conditions: s.conditions,
    }),
  ),
  selectableFields: {
    'spec.clusterIP': (o) => text(specOf(o)['clusterIP']),
    'spec.type': (o) => text(specOf(o)['type']),
  },
  columns: [
    nameColumn,
    { name: 'Type', type: 'string', cell: (o) => text(specOf(o)['type']) },
    { name: 'Cluster-IP', type: 'string', cell: (o) => shown(specOf(o)['clusterIP']) },
    {
      name: 'External-IP',
      type: 'string',
      cell: (o) => {
        const ingress = listAt(fields(statusOf(o)['loadBalancer']), 'ingress').map(
          (i) => text(i['ip']) || text(i['hostname']),
        )
        const all = [
          ...ingress,
          ...textsAt(specOf(o), 'externalIPs'),
          ...(text(specOf(o)['externalName']) ? [text(specOf(o)['externalName'])] : []),
        ]
        return all.length > 0 ? all.join(',') : text(specOf(o)['type']) === 'LoadBalancer' ? '<pending>' : '<none>'
      },
    },
    { name: 'Port(s)', type: 'string', cell: portsText },
    ageColumn,
    {
      name: 'Selector',
      type: 'string',
      priority: 1,
      cell: (o) =>
        shown(
          Object.entries(fields(specOf(o)['selector']))
            .map(([k, v]) => `${k}=${text(v)}`)
            .join(','),
        ),
    },
  ],
  applyDefaults: defaults,
  prepareForCreate: (o, ctx) => allocate({ ...o, status: { loadBalancer: {} } }, ctx),
  prepareForUpdate: (o, old, ctx) => allocate(keepAllocated(withoutDependents(o, old), old), ctx),
  validate,
}
