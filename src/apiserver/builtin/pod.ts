// Pods: the server's decisions when one is created, changed or deleted.
import { timestamp } from '#lib/clock.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { forbidden, invalid } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { specAndStatus } from './shape.ts'
import type { BuiltinKind, Draft, StrategyContext } from './kind.ts'
import { fields, listAt, number, shown, specOf as spec, statusOf as status, text } from './fields.ts'
import type { Fields } from './fields.ts'
import { podSpec, podSpecDefaults } from './pod-spec.ts'
import { podStatus, qosClass } from './pod-status.ts'
import { podSpecProblems } from './pod-validate.ts'

const DEFAULT_GRACE_SECONDS = 30
/** How long a pod tolerates a node that is not ready before it is evicted. */
const NOT_READY_SECONDS = 300
const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
}

/** Tolerations that every pod gets unless it says something about these taints itself. */
function withNodeTolerations(list: readonly Fields[]): readonly Fields[] {
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) =>
      !list.some(
        (t) =>
          (t['key'] === key || (!t['key'] && t['operator'] === 'Exists')) &&
          (!t['effect'] || t['effect'] === 'NoExecute'),
      ),
  )
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: NOT_READY_SECONDS,
  }))
  return [...list, ...added]
}

interface Priority {
  readonly priority: number
  readonly preemptionPolicy: string
  readonly priorityClassName?: string
}

/** The class that a pod names, or the cluster's default one, or zero. Undefined: it names one that does not exist. */
function priorityOf(s: Fields, ctx: Pick<StrategyContext, 'find' | 'list'>): Priority | undefined {
  const name = typeof s['priorityClassName'] === 'string' ? s['priorityClassName'] : ''
  const found =
    name === ''
      ? ctx.list('scheduling.k8s.io', 'priorityclasses').find((c) => c['globalDefault'] === true)
      : ctx.find('scheduling.k8s.io', 'priorityclasses', '', name)
  if (found === undefined && name !== '') {
    const system = SYSTEM_PRIORITIES[name]
    return system === undefined ? undefined : { priority: system, preemptionPolicy: 'PreemptLowerPriority' }
  }
  return {
    priority: typeof found?.['value'] === 'number' ? found['value'] : 0,
    preemptionPolicy:
      typeof found?.['preemptionPolicy'] === 'string' ? found['preemptionPolicy'] : 'PreemptLowerPriority',
    ...(found?.metadata.name === undefined ? {} : { priorityClassName: found.metadata.name }),
  }
}

const gatedSince = (now: number) => ({
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: timestamp(now),
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
})

function prepareForCreate(pod: Draft, ctx: StrategyContext): Draft {
  const s = spec(pod)
  const priority = priorityOf(s, ctx)
  const gated = listAt(s, 'schedulingGates').length > 0 ? { conditions: [gatedSince(ctx.now)] } : {}
  const phase = { phase: 'Pending', ...gated, qosClass: qosClass(s) }
  return {
    ...pod,
    spec: { ...s, tolerations: withNodeTolerations(listAt(s, 'tolerations')), ...priority },
    status: phase,
  }
}

function prepareForStatusUpdate(pod: Draft, old: KubeObject): Draft {
  // The class never changes, not even by a write to the status.
  return { ...pod, status: { ...status(pod), qosClass: status(old)['qosClass'] ?? qosClass(spec(old)) } }
}

const IMMUTABLE_TEXT =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** A spec without what may change, so that two of them can be compared. */
function frozenPart(s: Fields): Fields {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = s
  const noImage = (list: string) =>
    s[list] === undefined ? {} : { [list]: listAt(s, list).map(({ image: _image, ...c }) => c) }
  return { ...rest, ...noImage('containers'), ...noImage('initContainers') }
}

/** A pod's deadline may be shortened, not extended. */
function deadlineProblems(next: unknown, old: unknown): FieldProblem[] {
  const field = 'spec.activeDeadlineSeconds'
  if (typeof old !== 'number') return []
  if (typeof next !== 'number') return [invalid(field, null, 'must not update from a positive integer to nil value')]
  return next > old ? [invalid(field, next, 'must be less than or equal to previous value')] : []
}

/** The first address is one field and the head of a list; setting either sets both. */
function withPodIps(o: Draft): Draft {
  const s = status(o)
  const ip = text(s['podIP'])
  const ips = listAt(s, 'podIPs')
  const first = text(ips[0]?.['ip'])
  if (ip === first) return o
  return { ...o, status: ip === '' ? { ...s, podIP: first } : { ...s, podIPs: [{ ip }] } }
}

function updateProblems(next: Fields, old: Fields): FieldProblem[] {
  for (const list of ['containers', 'initContainers'])
    if (listAt(next, list).length !== listAt(old, list).length)
      return [forbidden(`spec.${list}`, 'pod updates may not add or remove containers')]
  const out = deadlineProblems(next['activeDeadlineSeconds'], old['activeDeadlineSeconds'])
  const gates = new Set(listAt(old, 'schedulingGates').map((g) => g['name']))
  for (const [i, gate] of listAt(next, 'schedulingGates').entries())
    if (!gates.has(gate['name']))
      out.push(
        forbidden(
          `spec.schedulingGates[${i}].name`,
          `only deletion is allowed, but found new scheduling gate '${text(gate['name'])}'`,
        ),
      )
  const kept = listAt(next, 'tolerations')
  for (const t of listAt(old, 'tolerations')) {
    if (kept.some((k) => jsonEqual({ ...k, tolerationSeconds: 0 }, { ...t, tolerationSeconds: 0 }))) continue
    out.push(forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'))
    break
  }
  if (!jsonEqual(frozenPart(next), frozenPart(old))) out.push(forbidden('spec', IMMUTABLE_TEXT))
  return out
}

function validate(pod: KubeObject, old: KubeObject | undefined): readonly FieldProblem[] {
  const problems = podSpecProblems(spec(pod), 'spec')
  if (old !== undefined) return [...problems, ...updateProblems(spec(pod), spec(old))]
  return listAt(spec(pod), EPHEMERAL).length === 0
    ? problems
    : [...problems, forbidden(`spec.${EPHEMERAL}`, 'cannot be set on create')]
}

const EPHEMERAL = 'ephemeralContainers'
const MIRROR = 'kubernetes.io/config.mirror'

/** When a pod's ephemeral containers change: they may be added, and stay unchanged until the pod ends. */
export function ephemeralProblems(pod: KubeObject, old: KubeObject): readonly FieldProblem[] {
  if (old.metadata.annotations?.[MIRROR] !== undefined)
    return [forbidden('', 'static pods do not support ephemeral containers')]
  const next = new Map(listAt(spec(pod), EPHEMERAL).map((c) => [c['name'], c]))
  const out = podSpecProblems(spec(pod), 'spec')
  for (const before of listAt(spec(old), EPHEMERAL)) {
    const now = next.get(before['name'])
    const which = `existing ephemeral containers ${JSON.stringify(text(before['name']))}`
    if (now === undefined) out.push(forbidden(`spec.${EPHEMERAL}`, `${which} may not be removed\n`))
    else if (!jsonEqual(now, before)) out.push(forbidden(`spec.${EPHEMERAL}`, `${which} may not be changed\n`))
  }
  return out
}

function admit(pod: KubeObject, old: KubeObject | undefined, ctx: StrategyContext): string | undefined {
  const name = spec(pod)['priorityClassName']
  if (old !== undefined || typeof name !== 'string' || name === '') return undefined
  return priorityOf(spec(pod), ctx) === undefined ? `no PriorityClass with name ${name} was found` : undefined
}

const containers = (pod: KubeObject) => listAt(status(pod), 'containerStatuses')
const restarts = (pod: KubeObject): number => containers(pod).reduce((n, c) => n + number(c['restartCount']), 0)

/** The text in the STATUS column: the most specific reason. */
function shownStatus(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating'
  const s = status(pod)
  for (const c of containers(pod)) {
    for (const kind of ['waiting', 'terminated'] as const) {
      const detail = fields(c['state'])[kind]
      if (isObject(detail) && typeof detail['reason'] === 'string' && detail['reason'] !== '') return detail['reason']
    }
  }
  return text(s['reason']) || text(s['phase']) || 'Unknown'
}

export const pod: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
  shortNames: ['po'],
  categories: ['all'],
  subresources: ['status', 'ephemeralcontainers', 'eviction', 'binding', 'log'],
  generation: true,
  schema: specAndStatus(podSpec, podStatus),
  selectableFields: {
    'spec.nodeName': (o) => text(spec(o)['nodeName']),
    'spec.restartPolicy': (o) => text(spec(o)['restartPolicy']),
    'spec.schedulerName': (o) => text(spec(o)['schedulerName']),
    'spec.serviceAccountName': (o) => text(spec(o)['serviceAccountName']),
    'spec.hostNetwork': (o) => String(spec(o)['hostNetwork'] === true),
    'status.phase': (o) => text(status(o)['phase']),
    'status.podIP': (o) => text(status(o)['podIP']),
    'status.nominatedNodeName': (o) => text(status(o)['nominatedNodeName']),
  },
  columns: [
    { name: 'Name', type: 'string', format: 'name', cell: (o) => o.metadata.name ?? '' },
    {
      name: 'Ready',
      type: 'string',
      cell: (o) => `${containers(o).filter((c) => c['ready'] === true).length}/${listAt(spec(o), 'containers').length}`,
    },
    { name: 'Status', type: 'string', cell: shownStatus },
    { name: 'Restarts', type: 'string', cell: (o) => String(restarts(o)) },
    { name: 'Age', type: 'string', cell: () => null },
    { name: 'IP', type: 'string', priority: 1, cell: (o) => shown(status(o)['podIP']) },
    { name: 'Node', type: 'string', priority: 1, cell: (o) => shown(spec(o)['nodeName']) },
    { name: 'Nominated Node', type: 'string', priority: 1, cell: (o) => shown(status(o)['nominatedNodeName']) },
    {
      name: 'Readiness Gates',
      type: 'string',
      priority: 1,
      cell: (o) =>
        listAt(spec(o), 'readinessGates').length === 0 ? '<none>' : String(listAt(spec(o), 'readinessGates').length),
    },
  ],
  applyDefaults: (o) => {
    const defaulted = podSpecDefaults(spec(o))
    // Only pods themselves ask for service variables by default; templates leave the choice to their pods.
    return { ...withPodIps(o), spec: { ...defaulted, enableServiceLinks: defaulted['enableServiceLinks'] ?? true } }
  },
  prepareForCreate,
  prepareForStatusUpdate,
  validate,
  admit,
  gracePeriod: (o, asked) => {
    const own = spec(o)['terminationGracePeriodSeconds']
    const grace = asked ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS)
    // A pod that no node runs, or that has ended, needs no grace period.
    const idle = !spec(o)['nodeName'] || ['Succeeded', 'Failed'].includes(text(status(o)['phase']))
    return idle ? 0 : Math.max(0, grace)
  },
}
