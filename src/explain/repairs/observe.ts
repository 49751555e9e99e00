// Reads everything that decides about one node's repairs, and runs the controller's own plan on it: no decision is implemented twice.
import { listAll } from '#kube/list-all.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Fault } from '#controllers/remedy/actions.ts'
import { plan } from '#controllers/remedy/plan.ts'
import { VerdictBook } from '#controllers/remedy/verdicts/verdict-book.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { findCondition } from '#kube/conditions.ts'
import { nodeType } from '#nodes/objects.ts'
import { RuleBook, controllerRevisionType, remedierOf } from '#nodes/faults/active-rule.ts'
import { maintainedBy } from '#nodes/faults/maintenance.ts'
import { type NodeView, type Standing, nodeView } from '#nodes/faults/node-view.ts'
import { Peers } from '#nodes/faults/peers.ts'
import { repairsFact } from '#nodes/faults/repairs.ts'
import { explainTerm } from '#policy/explanation.ts'
import type { Facts } from '#policy/reading.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { unknownBecause } from '#policy/unknown-because.ts'
import type { Reader } from '../partial-reader.ts'

export interface RuleSeen {
  readonly remedier: NodeRemedier
  /** Undefined: the rule is not true for the node. */
  readonly fault: Fault | undefined
  readonly isSelected: boolean
  /** The condition that keeps the rule from being true or false for the node. */
  readonly unknownBecause?: string | undefined
  /** Why no version of the rule is evaluated. */
  readonly broken: string | undefined
}

export interface RepairsSeen {
  readonly node: string
  readonly machine: string | undefined
  /** Component → the set that it came from. */
  readonly setRefs: ReadonlyMap<string, string>
  readonly standing: Standing
  readonly rules: readonly RuleSeen[]
  readonly job: RemedyOperationJob | undefined
  readonly permit: OperationPermit | undefined
  readonly holds: readonly OperationalHold[]
  readonly policies: readonly DefenderPolicy[]
  /** The agent's report about the file on the node that forbids every disruption. */
  readonly frozen: string | undefined
  /** The agent's folder, which contains that file. */
  readonly agentFolder: string | undefined
  /** Refused for good to the node's last repair, which ended because of it. */
  readonly denied: OperationPermit | undefined
  readonly now: number
}

/** Everything that decides about repairs, and the controller's current plan for it. */
async function readRepairs(client: Reader, now: number) {
  const [nodes, machines, remediers, revisions, jobs, holds, policies, maintenance] = await Promise.all([
    listAll(client, nodeType),
    listAll(client, machineType),
    listAll(client, nodeRemedier),
    listAll(client, controllerRevisionType, { namespace: SYSTEM_NAMESPACE }),
    listAll(client, remedyOperationJob),
    listAll(client, operationalHold),
    listAll(client, defenderPolicy),
    listAll(client, maintenanceEvent),
  ])
  const byNode = new Map(machines.map((m) => [m.status?.nodeRef?.uid, m]))
  const views = new Map(nodes.map((n) => [n.metadata.name ?? '', nodeView(n, byNode.get(n.metadata.uid))]))
  const book = new RuleBook()
  const readings = remediers.map((r) =>
    book.read(
      r,
      revisions.filter((v) => remedierOf(v) === r.metadata.name),
    ),
  )
  const jobsOf = Map.groupBy(jobs, (j) => j.spec.node.uid)
  const verdicts = new VerdictBook(systemClock)
  const question = {
    active: readings.flatMap((r) => r.active ?? []),
    remediers,
    repairsOf: (uid: string, at: number) => repairsFact(jobsOf.get(uid) ?? [], at),
  }
  await verdicts.update(views, question, now)
  const seen = {
    rules: readings,
    revisions,
    nodes: verdicts.bad(),
    counts: verdicts.counts(),
    jobs,
    holds,
    maintained: maintainedBy(maintenance),
    isTimed: false,
  }
  const planWith = (hold: OperationalHold) => plan({ ...seen, holds: [...holds, hold] }, now)
  return { nodes, machines, byNode, views, jobs, jobsOf, holds, policies, question, planned: plan(seen, now), planWith }
}

/** What a user's repair request would do. `MassFault`: nothing, because so many nodes have the fault at once that they are not repaired one by one. */
type RequestOutlook =
  | { readonly kind: 'Acts' }
  | { readonly kind: 'Nothing' }
  | { readonly kind: 'MassFault'; readonly rule: string; readonly why: string }

/** Runs the controller's own plan with the request in force: if it would be accepted and change nothing, it is refused. */
export async function requestOutlook(client: Reader, request: OperationalHold, now: number): Promise<RequestOutlook> {
  const { planWith, jobs, machines } = await readRepairs(client, now)
  const { kind, name = '' } = request.spec.target
  const node = kind === 'Machine' ? machines.find((m) => m.metadata.name === name)?.status?.nodeRef?.name : name
  const isMeant = (rule: string, of: string): boolean => (kind === 'NodeRemedier' ? rule === name : of === node)
  const open = jobs.filter(
    ({ spec, status }) => status?.phase !== 'Done' && isMeant(spec.remedierRef.name, spec.node.name),
  )
  // A request covers failures that ended before it, and stamps have whole seconds.
  const asked = { ...request, metadata: { ...request.metadata, creationTimestamp: timestamp(now + 1_000) } }
  const faults = planWith(asked).verdicts.flatMap(({ reading, faults: of }) => {
    const rule = reading.remedier.metadata.name ?? ''
    return of.filter((f) => isMeant(rule, f.node)).map((f) => ({ rule, ...f }))
  })
  if (open.length === 0 && faults.length === 0) return { kind: 'Nothing' }
  const stuck = open.filter(({ status }) => status?.waitingFor?.predicate === MASS)
  const stuckNames = new Set(stuck.map(({ metadata }) => metadata.name))
  // Another rule may act on the node.
  if (faults.some(({ job }) => job !== undefined && !stuckNames.has(job))) return { kind: 'Acts' }
  const [held] = [
    ...faults.flatMap((f) => (f.reason === MASS ? [{ rule: f.rule, why: f.waitingFor ?? '' }] : [])),
    ...stuck.map(({ spec, status }) => ({ rule: spec.remedierRef.name, why: status?.waitingFor?.seen ?? '' })),
  ]
  return held === undefined ? { kind: 'Acts' } : { kind: 'MassFault', ...held }
}

const MASS = 'CohortBlamed'

/** Undefined: the Node does not exist. */
export async function observeRepairs(client: Reader, name: string, now: number): Promise<RepairsSeen | undefined> {
  const { nodes, byNode, views, jobsOf, holds, policies, question, planned } = await readRepairs(client, now)
  const node = nodes.find((n) => n.metadata.name === name)
  if (node === undefined) return undefined
  const unknown = unknownOf([...views.values()], views.get(name), question.repairsOf, now)
  const own = (jobsOf.get(node.metadata.uid ?? '') ?? []).filter((j) => !j.spec.dryRun)
  const job = own.find((j) => j.status?.phase !== 'Done')
  const permit = job && (await permitOf(client, job))
  return {
    node: name,
    machine: byNode.get(node.metadata.uid)?.metadata.name,
    setRefs: setRefsOf(byNode.get(node.metadata.uid)),
    standing: views.get(name)?.standing ?? { kind: 'Leaving', why: 'the Node was deleted' },
    rules: planned.verdicts.map(({ reading, faults }) => ({
      remedier: reading.remedier,
      fault: faults.find((f) => f.node === name),
      isSelected: reading.active?.selects(node.metadata.labels) ?? false,
      unknownBecause: reading.active?.selects(node.metadata.labels) === true ? unknown(reading.active.rule) : undefined,
      broken: reading.active === undefined ? (reading.problem ?? 'no generation of it was ever valid') : undefined,
    })),
    job,
    permit,
    holds,
    policies,
    frozen: frozenBy(byNode.get(node.metadata.uid)),
    agentFolder: byNode.get(node.metadata.uid)?.status?.agent?.folder,
    denied: job === undefined ? await deniedTo(client, own) : undefined,
    now,
  }
}

/** For a silent node only the silence matters, and the node's report shows it. */
function unknownOf(
  views: readonly NodeView[],
  view: NodeView | undefined,
  repairsOf: (uid: string, at: number) => Facts,
  now: number,
): (rule: CompiledRule) => string | undefined {
  if (view === undefined || view.standing.kind !== 'Readable') return () => undefined
  const peers = new Peers(views)
  const facts = {
    ...view.facts,
    peers: peers.of(view),
    cluster: peers.cluster(),
    repairs: repairsOf(view.uid, now),
  }
  return ({ root }) => unknownBecause(explainTerm(root, facts, now))
}

const permitOf = (client: Reader, job: RemedyOperationJob): Promise<OperationPermit | undefined> =>
  client.get(operationPermit, { name: job.status?.permitRef ?? job.metadata.name ?? '' })

const setRefsOf = (machine: Machine | undefined): ReadonlyMap<string, string> =>
  new Map(
    (machine?.spec.components ?? []).flatMap(({ name, setRef }) => (setRef === undefined ? [] : [[name, setRef]])),
  )

function frozenBy(machine: Machine | undefined): string | undefined {
  const frozen = findCondition(machine?.status?.conditions, 'Frozen')
  return frozen?.status === 'True' ? frozen.message : undefined
}

/** A repair that the Defender denied before its start ends and is retried later: the denial explains more than the wait. */
async function deniedTo(client: Reader, jobs: readonly RemedyOperationJob[]): Promise<OperationPermit | undefined> {
  const endOf = (j: RemedyOperationJob): string => j.status?.finishedAt ?? ''
  const last = jobs.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1)).at(0)
  if (last?.status?.outcome !== 'Transient' || last.status.startedAt !== undefined) return undefined
  const permit = await permitOf(client, last)
  return permit?.status?.verdicts?.some((v) => v.verdict === 'Denied') === true ? permit : undefined
}
