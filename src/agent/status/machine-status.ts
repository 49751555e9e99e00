// Pure: what the agent reports in its Machine's status. Only its own fields: the rest of the status belongs to the machine controller.
import { timestamp } from '#lib/clock.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { AcceptanceReport, ComponentOrder, ComponentStatus, Machine, MachineNotices } from '#api/kinds/machine.ts'
import { START_UNREPORTED_MS } from '#api/protocol/switch.ts'
import { defined } from '#lib/defined.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { type ComponentRecord, targetOf } from '../components/record.ts'
import type { ComponentWorker } from '../components/worker.ts'
import type { HostFacts } from '../node/facts.ts'
import type { KubeletTrust } from '../node/kubelet-trust.ts'

/** What a component's loop knows in addition to its journal. */
type Shown = Pick<
  ComponentWorker,
  'waiting' | 'waitingBecause' | 'stepProblem' | 'removalProblem' | 'drift' | 'adoption' | 'removal'
>

export interface MachineObservation {
  readonly name: string
  readonly facts: HostFacts
  readonly version: string
  /** There is no agent on the host. */
  readonly channel?: 'SSH'
  /** Set while the agent hands its host back. */
  readonly phase?: 'Leaving' | 'Left'
  /** The key to which this machine's secret values are sealed. */
  readonly publicKey?: string
  /** The agent's own version, as the host names it. */
  readonly folder?: string
  /** Validity of the certificate. */
  readonly certificate?: { readonly from: number; readonly to: number; readonly authority?: string } | undefined
  /** Prints of the authorities that the agent uses to verify its server. */
  readonly authorities?: readonly string[]
  /** Undefined on a host without a kubelet. */
  readonly kubelet?: KubeletTrust | undefined
  readonly components: readonly ComponentStatus[]
  /** Paths on the node that hold files of other owners. */
  readonly foreign?: readonly string[]
  readonly notices?: MachineNotices | undefined
  readonly acceptance?: AcceptanceReport | undefined
  /** Conditions that the agent reports. */
  readonly conditions?: readonly Condition[]
}

const MAX_MESSAGE = 200
const MAX_FOREIGN = 20

/** A first install whose record cannot be written, on a full disk, is reported too: nothing else would say why it does not begin. */
export function componentReport(
  worker: Pick<ComponentWorker, 'component' | 'record'> & Shown,
  order: ComponentOrder | undefined,
): ComponentStatus | undefined {
  const { component, record, stepProblem } = worker
  if (record !== undefined) return componentStatus(record, order, worker)
  if (order === undefined || stepProblem === undefined) return undefined
  const { since } = stepProblem
  const unwritten = { format: 1, component, state: 'Fetching', since, target: targetOf(order), pins: [] } as const
  return componentStatus(unwritten, order, worker)
}

export function componentStatus(
  record: ComponentRecord,
  order: Pick<ComponentOrder, 'version'> | undefined,
  { waiting, waitingBecause, stepProblem, removalProblem, drift, adoption, removal }: Shown,
): ComponentStatus {
  const { component, state, since, current, target, open, output, healthy = [] } = record
  // A component that differs from its declaration has a reason; others need no message.
  const reboot = open?.phase === 'GoingBack' ? open.back : open?.reboot?.boot === undefined ? open?.reboot : undefined
  const isAwaited = reboot !== undefined && open?.phase === 'Switching'
  const own = isAwaited ? (waiting ?? record.message) : record.message
  const message = removalProblem ?? stepProblem?.message ?? own ?? (state === 'Healthy' ? undefined : waiting)
  const ownReason = record.message === undefined && state !== 'Healthy' ? waitingBecause : record.reason
  const reason = removalProblem === undefined ? (stepProblem?.because ?? ownReason) : ownReason
  // While a switch is open the old version counts: a revert would restore it.
  const inUse = open === undefined ? current : (open.from ?? undefined)
  return {
    name: component,
    state,
    since: timestamp(since),
    attempt: target.attempt,
    desired: order?.version ?? target.version,
    ...(inUse === undefined ? {} : { version: inUse.version }),
    ...(current === undefined ? {} : { digest: current.digest }),
    ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
    ...defined({ reason, output }),
    ...(reboot !== undefined && { rebootingSince: timestamp(reboot.since) }),
    ...(drift === undefined ? {} : { drifted: drift.slice(0, MAX_MESSAGE) }),
    ...defined({ adoption, removal }),
    ...(healthy.length === 0 ? {} : { healthyBefore: healthy }),
  }
}

/**
 * Limit for all components together. API servers accept 64 KiB from an agent (docs/operations/apiserver.md); the rest of 64 components fits into the
 * other half.
 */
const MAX_OUTPUT_BYTES = 24 * 1024

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** When many components fail at once, shortens the output of each so that all fit. */
function withShortOutputs(components: readonly ComponentStatus[]): readonly ComponentStatus[] {
  const outputs = components.flatMap(({ output }) => output ?? [])
  if (outputs.reduce((sum, output) => sum + bytesOf(output), 0) <= MAX_OUTPUT_BYTES) return components
  const share = Math.floor(MAX_OUTPUT_BYTES / outputs.length)
  return components.map((c) => {
    const bytes = c.output === undefined ? 0 : bytesOf(c.output)
    if (c.output === undefined || bytes <= share) return c
    return { ...c, output: c.output.slice(-Math.floor((c.output.length * share) / bytes)).toWellFormed() }
  })
}

function platformOf(facts: HostFacts): NonNullable<NonNullable<Machine['status']>['platform']> {
  const { distribution, boot } = facts
  return {
    os: distribution?.name ?? facts.os,
    arch: facts.arch,
    kernel: facts.kernel,
    ...(distribution !== undefined && {
      distribution: defined({ id: distribution.id, like: distribution.like, version: distribution.version }),
    }),
    ...(boot !== undefined && { bootArguments: boot.named, bootDigest: boot.digest }),
  }
}

export const machineStatus = ({
  name,
  facts,
  version,
  channel,
  phase,
  publicKey,
  folder,
  certificate,
  authorities = [],
  kubelet,
  components,
  foreign = [],
  notices,
  acceptance,
  conditions = [],
}: MachineObservation): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  status: {
    bootID: facts.bootId,
    agent: {
      version,
      ...defined({ channel, phase, folder, publicKey }),
      ...(authorities.length > 0 && { authorities }),
      ...(certificate !== undefined && {
        certificate: {
          issued: timestamp(certificate.from),
          expires: timestamp(certificate.to),
          ...defined({ authority: certificate.authority }),
        },
      }),
      ...defined({ kubelet }),
    },
    platform: platformOf(facts),
    components: withShortOutputs(components).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ...(conditions.length === 0 ? {} : { conditions }),
    ...defined({ notices, acceptanceReport: acceptance }),
    ...(foreign.length === 0 ? {} : { foreignFiles: foreign.toSorted().slice(0, MAX_FOREIGN) }),
  },
})

/** For these states the order in the Machine's spec informs controllers too. That a version is being fetched is only in the report. */
const ON_ITS_WAY: ReadonlySet<unknown> = new Set<ComponentStatus['state']>(['Switching', 'Probing'])

/** Starting a version takes less time, and the probing state alone covers it. */
export const PASSING_MS = 200

/**
 * How long a report may wait in which only components that are being switched differ. Their outcome is reported in any case. While the order stands, it
 * shows the switch as well as the report does. Without it, as after it was withdrawn, only the report shows that the agent has started.
 */
export function passingMs(
  before: KubeObject,
  now: KubeObject,
  isOrdered: (name: unknown, attempt: unknown) => boolean,
): number {
  const [a, b] = [before['status'], now['status']]
  if (!isObject(a) || !isObject(b)) return 0
  const [known, reports] = [reportsIn(a), reportsIn(b)]
  const changed = reports.filter((r) => !known.some((k) => jsonEqual(k, r)))
  const isPassing =
    known.length === reports.length &&
    changed.every((r) => ON_ITS_WAY.has(r['state']) && known.some((k) => k['name'] === r['name'])) &&
    jsonEqual({ ...a, components: [] }, { ...b, components: [] })
  if (!isPassing) return 0
  // A reboot ends the agent that would report it.
  const mayLast = changed.every((r) => isOrdered(r['name'], r['attempt']) && r['rebootingSince'] === undefined)
  return mayLast ? START_UNREPORTED_MS : PASSING_MS
}

const reportsIn = ({ components }: Readonly<Record<string, unknown>>) =>
  Array.isArray(components) ? components.filter(isObject) : []

/** Status fields that only the agent writes. */
const OWN_FIELDS = ['bootID', 'agent', 'platform', 'components', 'notices', 'acceptanceReport', 'foreignFiles'] as const
const OWN_CONDITIONS: readonly string[] = ['Frozen', 'TrustRefused', 'TokenExpiring']

/** Whether the Machine on the server has the last written report. */
export function hasReport({ status }: Pick<Machine, 'status'>, written: KubeObject): boolean {
  return jsonEqual(ownOf(status), ownOf(written['status']))
}

/** Whether a whole part of that report is missing, for example after a user cleared the status. An older report on the server is not missing any part. */
export function lacksReport({ status = {} }: Pick<Machine, 'status'>, written: KubeObject): boolean {
  const own = isObject(written['status']) ? written['status'] : {}
  return OWN_FIELDS.some((field) => own[field] !== undefined && status[field] === undefined)
}

function ownOf(status: unknown): unknown {
  if (!isObject(status)) return {}
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isOwn) : []
  return { ...Object.fromEntries(OWN_FIELDS.map((field) => [field, status[field]])), conditions: byType(conditions) }
}

const isOwn = (condition: unknown): condition is Readonly<Record<string, unknown>> =>
  isObject(condition) && OWN_CONDITIONS.includes(String(condition['type']))

const byType = (conditions: readonly Readonly<Record<string, unknown>>[]): unknown =>
  conditions.toSorted((a, b) => (String(a['type']) < String(b['type']) ? -1 : 1))
