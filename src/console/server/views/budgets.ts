// What may still be disrupted in a cluster: limits with their remainder, breakers, blames, slot holders, and waiting permits. Pure.
import type { DefenderLedger } from '#api/kinds/defender-ledger.ts'
import { purposeOfPermit } from '#api/protocol/part.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { verdictNote } from '#explain/verdict.ts'
import { decidingPolicies, limitsOf, type LimitsSeen } from '#explain/limits.ts'
import { BUILTIN_POLICY_NAME } from '#defender/builtin-policy.ts'
import type { Unit } from '#defender/unit.ts'
import { openingOf } from '#permits/windows.ts'
import { counted } from '#lib/counted.ts'
import type {
  BlameRow,
  BreakerRow,
  BudgetRow,
  BudgetsHead,
  GrantRow,
  LimitRow,
  WaitingPermitRow,
  WindowRow,
} from '../../budget-topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import type { MachineRow } from '../machine-row.ts'
import { at, given, holdNotes, stamp, stampOr0 } from './parts.ts'
import { operationsText } from '../../operation-words.ts'
import { windowText } from './window-text.ts'

const ledgerOf = (cluster: ClusterState): DefenderLedger | undefined => cluster.list('ledgers')[0]

export function budgetsHead(cluster: ClusterState, now: number): BudgetsHead {
  const { spec } = ledgerOf(cluster) ?? {}
  const holds = holdNotes(cluster.list('holds'), [], now)
  return {
    ...at('asOf', spec?.asOf),
    ...given('leader', spec?.leader),
    ...given('holds', holds.length === 0 ? undefined : holds),
    isBuiltIn: decidingPolicies(cluster.list('policies')).some((p) => p.name === BUILTIN_POLICY_NAME),
    counts: spec?.counts ?? { granted: 0, denied: 0, succeeded: 0, failed: 0 },
  }
}

/** A machine as the Defender counts it. Facts only the Node has are not read: an unhealthy Node shows in its Machine's conditions. */
const unitOf = ({ metadata, place, state }: MachineRow): Unit => ({
  // Rows have no uids, and names work as long as no name is reused.
  id: metadata.name ?? '',
  space: 'machines',
  name: metadata.name ?? '',
  labels: place.labels,
  zone: place.zone,
  rack: place.rack,
  pool: place.pool,
  stage: '',
  region: '',
  health: state.service,
  why: '',
  isSilent: state.silent === 'Yes',
  isCutOff: false,
  badComponents: NO_COMPONENTS,
  source: NO_SOURCE,
})

/** A grant belongs to its machine, not to a later one with the same name. */
const findIn =
  (cluster: ClusterState): LimitsSeen['find'] =>
  ({ kind, name, uid }) => {
    const row = kind === 'Machine' ? cluster.machine(name) : undefined
    return row?.metadata.uid === uid ? { kind: 'Found', unit: unitOf(row) } : { kind: 'Absent' }
  }
const NO_COMPONENTS: ReadonlySet<string> = new Set()
const NO_SOURCE = { apiVersion: '', kind: 'Machine', metadata: {} }

export function budgetRows(cluster: ClusterState, now: number): readonly BudgetRow[] {
  const ledger = ledgerOf(cluster)
  const policies = cluster.list('policies')
  const limits = limitsOf({ policies, ledger, units: cluster.list('machines').map(unitOf), find: findIn(cluster), now })
  return [
    ...limits.map(({ what, freesInMs, ...limit }): LimitRow => ({
      id: `${limit.policy}/${what}/${limit.of}/${limit.per}/${limit.domain}`,
      row: what,
      ...limit,
      left: Math.max(0, limit.limit - limit.used),
      // Rounded, so that a row does not change at each computation.
      ...(freesInMs !== undefined && { nextAt: Math.ceil((now + freesInMs) / 1_000) * 1_000 }),
    })),
    ...(ledger?.spec.breakers ?? []).map(({ policy, state, since, failures, results }): BreakerRow => ({
      id: `${policy}/breaker`,
      row: 'Breaker',
      policy,
      state,
      since: stampOr0(since),
      failures,
      results,
    })),
    ...blameRows(ledger),
    ...grantRows(cluster),
    ...waitingRows(cluster),
    ...windowRows(cluster, now),
  ]
}

export const blameText = ({ kind, component, value }: NonNullable<DefenderLedger['spec']['blames']>[number]): string =>
  [kind, component, value].filter((part) => part !== '').join(' ')

const blameRows = (ledger: DefenderLedger | undefined): readonly BlameRow[] =>
  (ledger?.spec.blames ?? []).map((b) => ({
    id: `blame/${blameText(b)}`,
    row: 'Blame',
    text: blameText(b),
    since: stampOr0(b.since),
    failing: b.failing,
    members: b.members,
    failingElsewhere: b.failingElsewhere,
    elsewhere: b.elsewhere,
  }))

function grantRows(cluster: ClusterState): readonly GrantRow[] {
  const grants = ledgerOf(cluster)?.spec.grants ?? []
  const granted = new Set(grants.map((g) => g.permit))
  const own = cluster.list('permits').filter(({ metadata }) => granted.has(metadata.name ?? ''))
  const permits = new Map(own.map((p) => [p.metadata.name, p.spec]))
  return grants.map((g) => ({
    id: `grant/${g.permit}/${g.target}`,
    row: 'Grant',
    permit: g.permit,
    ...given('purpose', permits.has(g.permit) ? purposeOfPermit(permits.get(g.permit)) : undefined),
    target: { cluster: cluster.name, kind: g.kind, name: g.name, ...given('namespace', g.namespace) },
    operations: g.operations,
    state: g.state ?? 'Held',
    since: stampOr0(g.grantedAt),
    ...given('component', g.component),
    ...given('zone', g.zone),
    ...given('rack', g.rack),
    ...given('pool', g.pool),
  }))
}

/** Further permits wait for the same gates. */
const MOST_WAITING = 100
const MOST_GATES = 10

function waitingRows(cluster: ClusterState): readonly WaitingPermitRow[] {
  const waiting = cluster.list('permits').filter((p) => (p.status?.phase ?? 'Requested') === 'Requested')
  return waiting.slice(0, MOST_WAITING).map((permit) => {
    const { metadata, spec, status } = permit
    const shut = [...(status?.gates ?? []), ...(status?.verdicts ?? [])].filter((v) => v.verdict !== 'Granted')
    const gates = [...new Map(shut.map((v) => [`${v.gate} ${v.policy ?? ''}`, v])).values()].slice(0, MOST_GATES)
    const name = metadata.name ?? ''
    const text = `${operationsText(spec.operations)} on ${counted(spec.targets.length, 'target')}`
    return {
      id: `waiting/${name}`,
      row: 'Waiting',
      object: { cluster: cluster.name, kind: 'OperationPermit', name },
      operations: spec.operations,
      targets: spec.targets.length,
      ...given('since', stamp(metadata.creationTimestamp)),
      reason: purposeOfPermit(spec),
      gates: gates.map((v) => ({
        gate: v.gate,
        verdict: v.verdict,
        ...given('policy', v.policy),
        text: verdictNote({ seen: v.seen ?? '', ...given('limit', v.limit), ...given('policy', v.policy) }),
      })),
      approvals: gates.some((v) => v.gate === 'Approval')
        ? requestsOf({ ...permit, kind: 'OperationPermit' }).map(({ digest }) => ({ digest, text }))
        : [],
    }
  })
}

const windowRows = (cluster: ClusterState, now: number): readonly WindowRow[] =>
  cluster.list('policies').flatMap(({ metadata: { name = '' }, spec }) => {
    if (spec.windows === undefined || spec.windows.length === 0) return []
    const { isOpen, nextAt } = openingOf(spec.windows, now)
    const text = spec.windows.map(windowText).join(' or ')
    return [{ id: `${name}/window`, row: 'Window', policy: name, isOpen, ...given('changesAt', nextAt), text }]
  })
