// Whether a pipeline gate passes with the readings of one cluster. A missing reading fails the gate. Pure.
import { GATE_KINDS, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Baseline } from '#api/kinds/inventory.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'
import { machinesBefore, namesBefore } from './baseline.ts'

export type Stage = ReleasePipelineSpec['stages'][number]
export type Gate = NonNullable<Stage['gates']>[number] & {
  /** What an approval is asked for, where the gate is about one change. */
  readonly about?: string
}
export type ApprovalAsk = NonNullable<Gate['approval']>

/** The values that gates check; unreadable counts are absent. */
export interface ClusterReadings {
  readonly machines?: {
    readonly total: number
    /** UIDs of machines that are not Ready. */
    readonly notReady: readonly string[]
    /** UIDs of machines that do not run their declared components. */
    readonly inconsistent: readonly string[]
    /** UIDs of machines that their sets postpone. */
    readonly skipped: readonly string[]
  }
  /** When repairs started, in milliseconds since 1970, and the names of the node and the machine. */
  readonly repairs?: readonly { readonly at: number; readonly names: readonly string[] }[]
}

/** Whether a gate passes, and what was observed. */
export interface Finding {
  readonly holds: boolean
  readonly seen: string
  /** Being read now: a missing answer is not a bad one. */
  readonly isPending?: boolean
}

export interface GateResult {
  readonly name: string
  readonly holds: boolean
  /** "machinesReady 3 of 5, 98% needed". */
  readonly seen: string
  readonly timeoutMs: number
}

/** One user; an admission policy ensures that the groups are really the user's. */
export interface Approver {
  readonly by: string
  readonly groups: readonly string[]
}

export interface GateFacts {
  readonly now: number
  readonly approvedBy: readonly Approver[]
  /** What was failing before the release; absent: no earlier failures are known. */
  readonly baseline?: Baseline | undefined
  /** The latest answer of the other system that the gate queries; absent before the first. */
  readonly check?: CheckResult | undefined
  /** The result of a custom rule with these readings; absent before its first evaluation. */
  readonly rule?: Finding | undefined
}

/** A machine needs minutes, and a user may be asleep. */
const TIMEOUT = '1h'
const TIMEOUT_OF_APPROVAL = '168h'

export const timeoutOf = ({ timeout, approval: asked }: Gate): string =>
  timeout ?? (asked === undefined ? TIMEOUT : TIMEOUT_OF_APPROVAL)

/** The gate queries another system, once for all clusters. */
export const isRemote = ({ http, prometheus }: Gate): boolean => http !== undefined || prometheus !== undefined

/** The gate is judged by the clusters' reports. */
export const isOfClusters = (gate: Gate): boolean => !isRemote(gate) && gate.approval === undefined

/** What must be read of a cluster for these gates. */
export function readingNeeds(gates: readonly Gate[]): { readonly machines: boolean; readonly repairs: boolean } {
  const isAny = (...kinds: readonly GateKind[]) => gates.some((g) => kinds.some((kind) => g[kind] !== undefined))
  return {
    machines: isAny('machinesReady', 'componentsConsistent', 'custom'),
    repairs: isAny('noNewRepairs', 'custom'),
  }
}

export type GateKind = (typeof GATE_KINDS)[number]

export const kindOf = (gate: Gate): GateKind | undefined => GATE_KINDS.find((kind) => gate[kind] !== undefined)

export function judgeGate(gate: Gate, readings: ClusterReadings | undefined, facts: GateFacts): GateResult {
  const [holds, seen] = verdict(gate, readings, facts)
  return { name: gate.name, holds, seen, timeoutMs: parseDuration(timeoutOf(gate)) }
}

function verdict(gate: Gate, readings: ClusterReadings | undefined, facts: GateFacts): [boolean, string] {
  if (gate.approval !== undefined) {
    const [holds, seen] = approval(gate.approval, facts.approvedBy)
    return [holds, gate.about === undefined || gate.about === '' ? seen : `${gate.about}: ${seen}`]
  }
  const { machines } = readings ?? {}
  if (gate.machinesReady !== undefined) {
    if (machines === undefined) return [false, 'cannot read the machines']
    const { total, notReady } = machines
    const before = machinesBefore(facts.baseline, 'NotReady')
    const old = notReady.filter((uid) => before.has(uid)).length
    return share('Ready', total - notReady.length, total - old, old, gate.machinesReady.minPercent)
  }
  if (gate.componentsConsistent !== undefined) {
    if (machines === undefined) return [false, 'cannot read the machines']
    const { total, inconsistent } = machines
    const before = machinesBefore(facts.baseline, 'NotReadyOrInconsistent')
    const skipped = new Set(machines.skipped)
    const old = inconsistent.filter((uid) => before.has(uid) || skipped.has(uid)).length
    return share('consistent', total - inconsistent.length, total - old, old, gate.componentsConsistent.minPercent)
  }
  if (gate.noNewRepairs !== undefined) {
    if (readings?.repairs === undefined) return [false, 'cannot read the repairs']
    return newRepairs(readings.repairs, parseDuration(gate.noNewRepairs.within), facts)
  }
  if (isRemote(gate)) return facts.check === undefined ? [false, NOT_ASKED] : [facts.check.holds, facts.check.seen]
  if (gate.custom !== undefined)
    return facts.rule === undefined ? [false, NOT_EVALUATED] : [facts.rule.holds, facts.rule.seen]
  return [false, 'this kind of gate is unknown to this version']
}

const NOT_ASKED = 'no answer yet'
const NOT_EVALUATED = 'the rule is not evaluated yet'

/** What must happen, for users. */
export function unblockOf(gate: Gate, release: string): string {
  const { machinesReady, componentsConsistent, noNewRepairs, approval: asked, http, prometheus, custom } = gate
  if (asked !== undefined) return `run kubenode approve release/${release} --reason WHY`
  if (machinesReady !== undefined) return `${machinesReady.minPercent}% of the machines are Ready`
  if (componentsConsistent !== undefined)
    return `${componentsConsistent.minPercent}% of the machines run what is declared`
  if (noNewRepairs !== undefined) return `no repair starts for ${noNewRepairs.within}`
  if (http !== undefined) return `${URL.parse(http.url)?.host ?? 'the URL'} answers ${http.expectedStatus}`
  if (prometheus !== undefined)
    return `the query returns a value between ${prometheus.min ?? 'any'} and ${prometheus.max ?? 'any'}`
  if (custom !== undefined) return custom.message ?? `the rule of gate ${gate.name} is true`
  return `gate ${gate.name} passes`
}

function share(what: string, good: number, of: number, old: number, minPercent: number): [boolean, string] {
  const but = old === 0 ? '' : `; ${old} failed before the release and ${old === 1 ? 'does' : 'do'} not count`
  // A cluster without machines proves nothing wrong. If it has machines but none counts, it proves nothing at all.
  if (of === 0) return old === 0 ? [true, 'the cluster has no machines'] : [false, `no machine to judge by${but}`]
  // Multiplied, not divided, so that 98 of 100 is not less than 98 %.
  return [good * 100 >= minPercent * of, `${good} of ${of} machines are ${what}, ${minPercent}% are needed${but}`]
}

/** If a node was faulty before the release, its repair belongs to that earlier problem. */
function newRepairs(
  repairs: NonNullable<ClusterReadings['repairs']>,
  withinMs: number,
  { now, baseline }: GateFacts,
): [boolean, string] {
  const before = namesBefore(baseline)
  // Both are in whole seconds, so a repair in the same second counts as new.
  const since = baseline === undefined ? Number.NEGATIVE_INFINITY : Date.parse(baseline.takenAt)
  const fresh = repairs.filter((r) => r.at >= since && now - r.at <= withinMs && !r.names.some((n) => before.has(n)))
  const [newest] = fresh.toSorted((a, b) => b.at - a.at)
  if (newest === undefined) return [true, 'no new repairs']
  return [false, `a repair of ${newest.names[0] ?? ''} started ${formatDuration(Math.max(0, now - newest.at))} ago`]
}

const GROUP = 'group:'

export const groupOf = (from: string): string | undefined =>
  from.startsWith(GROUP) ? from.slice(GROUP.length) : undefined

/** Every user of the server: no other client can create an Approval. */
export const ANYONE = 'group:system:authenticated'

export const isFrom = ({ by, groups }: Approver, from: readonly string[]): boolean =>
  from.some((f) => f === ANYONE || (f.startsWith(GROUP) ? groups.includes(f.slice(GROUP.length)) : f === by))

/** The approvers that an approval gate counts; none for other gates. */
export const approversOf = ({ approval: asked }: Gate, approvers: readonly Approver[]): readonly string[] =>
  asked === undefined ? [] : approvers.filter((a) => isFrom(a, asked.from)).map((a) => a.by)

/** A user counts once, with any number of Approvals and groups. */
function approval({ from, count }: ApprovalAsk, approvers: readonly Approver[]): [boolean, string] {
  const people = new Set(approvers.filter((a) => isFrom(a, from)).map((a) => a.by))
  return [people.size >= count, `approved by ${people.size} ${askText({ from, count })}`]
}

const askText = ({ from, count }: ApprovalAsk): string => `of ${count} (${namesOf(from)})`

/** Whether an observation comes from an approval gate with these approvers, or with any. A status may contain only its start. */
export function isAskedAs(asks: ApprovalAsk | undefined, seen: string): boolean {
  const [, own] = /(?:^|: )approved by \d+ (of \d+ \([^]*)$/.exec(seen) ?? []
  if (own === undefined || asks === undefined) return own !== undefined
  return own.endsWith('…') ? askText(asks).startsWith(own.slice(0, -1)) : askText(asks) === own
}

/** Whether the gate with this observation waits for users. */
export const isApprovalText = (seen: string): boolean => isAskedAs(undefined, seen)

export const namesOf = (from: readonly string[]): string =>
  from.map((f) => (f.startsWith(GROUP) ? `group ${f.slice(GROUP.length)}` : f)).join(', ')
