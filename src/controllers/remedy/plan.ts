// Decides which repairs are opened now, and why each other fault has none: mass faults, holds, hold-down, ladder, cooldown, limits, one job a node.
import type { Reason } from '#api/catalogue.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { findCondition } from '#kube/conditions.ts'
import { type ActiveRule, type ControllerRevision, type RuleReading, remedierOf } from '#nodeops/rules/active-rule.ts'
import { holdOver } from '#nodeops/rules/holds-over.ts'
import { isMass } from '#nodeops/rules/mass.ts'
import type { Notice, Plan } from '#runtime/reconcile-with.ts'
import { DAY_MS, HOUR_MS, countRepairs, isOpen, lastJob, ruleOf } from './history.ts'
import { type JobIdentity, isInShare, jobName } from './incident.ts'
import { ladderStep } from './ladder.ts'
import { limitHit } from './limits.ts'
import type { NodeSeen, Seen } from './seen.ts'

export interface WantedJob extends JobIdentity {
  readonly name: string
  readonly node: Pick<NodeSeen, 'name' | 'uid' | 'machine'>
  readonly active: ActiveRule
}

export type RemedyAction =
  | {
      readonly kind: 'KeepRevision'
      readonly reason: string
      readonly remedier: NodeRemedier
      readonly active: ActiveRule
    }
  | { readonly kind: 'DropRevision'; readonly reason: string; readonly revision: ControllerRevision }
  | { readonly kind: 'CreateJob'; readonly reason: string; readonly job: WantedJob }

/** One fault of one node under one rule, and what comes of it. */
export interface Fault {
  readonly node: string
  readonly since: number
  readonly job?: string
  readonly waitingFor?: string
  readonly reason?: Reason
}

export interface RuleVerdict {
  readonly reading: RuleReading
  readonly selected: number
  readonly silent: number
  readonly faults: readonly Fault[]
  readonly inFlight: number
  readonly lastHour: number
  readonly lastDay: number
  /** Why nothing at all is done under this rule. */
  readonly inhibited?: { readonly reason: Reason; readonly message: string }
  readonly paused?: string
}

export interface RemedyPlan extends Plan<RemedyAction> {
  readonly verdicts: readonly RuleVerdict[]
}

/** Rules with ages in them turn true without an event. */
const TICK_MS = 5_000
/** A limit that waits for others to finish is looked at again when they do; this is the fallback. */
const LOOK_AGAIN_MS = 60_000

export function plan(seen: Seen, now: number): RemedyPlan {
  const rules = inOrder(seen.rules)
  const scene: Scene = {
    seen,
    now,
    jobs: sortJobs(seen.jobs),
    planned: new Map(),
    waits: [],
    actions: [],
    rules: new Map(),
  }
  for (const reading of rules) scene.rules.set(nameOf(reading), ruleScene(scene, reading))
  for (const node of seen.nodes.toSorted(byFirstFault)) planNode(scene, node, rules)
  const verdicts = rules.map((reading) => verdictOf(scene, reading))
  const keep = rules.flatMap((reading) => revisionActions(reading, seen.revisions))
  const waits = [...scene.waits, ...(seen.isTimed ? [TICK_MS] : [])]
  return {
    actions: [...keep, ...scene.actions],
    notices: verdicts.flatMap(noticesOf),
    ...(waits.length > 0 && { requeueAfter: Math.max(0, Math.min(...waits)) }),
    verdicts,
  }
}

const nameOf = ({ remedier }: RuleReading): string => remedier.metadata.name ?? ''

/** Higher priority first, then by name, never by the order of a cache. */
const inOrder = (rules: readonly RuleReading[]): readonly RuleReading[] =>
  rules.toSorted(
    (a, b) => (b.active?.spec.priority ?? 0) - (a.active?.spec.priority ?? 0) || (nameOf(a) < nameOf(b) ? -1 : 1),
  )

/** Who has waited longest comes first when a limit lets only some through. */
const byFirstFault = (a: NodeSeen, b: NodeSeen): number =>
  firstFault(a) - firstFault(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.uid < b.uid ? -1 : 1)
const firstFault = ({ matches }: NodeSeen): number => Math.min(Number.MAX_SAFE_INTEGER, ...matches.values())

interface Scene {
  readonly seen: Seen
  readonly now: number
  readonly jobs: SortedJobs
  /** Jobs that this plan makes, by rule. */
  readonly planned: Map<string, number>
  readonly waits: number[]
  readonly actions: RemedyAction[]
  readonly rules: Map<string, RuleScene>
}

interface RuleScene {
  readonly selected: readonly NodeSeen[]
  readonly faults: Fault[]
  readonly inhibited: RuleVerdict['inhibited']
  readonly paused: string | undefined
}

interface SortedJobs {
  readonly byNode: ReadonlyMap<string, readonly RemedyOperationJob[]>
  readonly byRule: ReadonlyMap<string, readonly RemedyOperationJob[]>
}

const sortJobs = (jobs: readonly RemedyOperationJob[]): SortedJobs => ({
  byNode: Map.groupBy(jobs, (j) => j.spec.node.uid),
  byRule: Map.groupBy(jobs, (j) => `${ruleOf(j)}\n${j.spec.dryRun}`),
})

function ruleScene({ seen, now }: Scene, reading: RuleReading): RuleScene {
  const { active, remedier } = reading
  const selected = active === undefined ? [] : seen.nodes.filter((n) => active.selects(n.labels))
  const silent = selected.filter((n) => n.standing.kind === 'Silent').length
  const bad = selected.filter((n) => n.matches.has(nameOf(reading))).length
  const hold = holdOver(seen.holds, ['Pause', 'Freeze'], [['NodeRemedier', remedier]], now)
  return {
    selected,
    faults: [],
    inhibited: inhibition(silent, bad, selected.length),
    paused: hold === undefined ? undefined : `hold ${hold.metadata.name}: ${hold.spec.reason}`,
  }
}

function inhibition(silent: number, bad: number, total: number): RuleVerdict['inhibited'] {
  if (isMass(silent, total))
    return { reason: 'ZoneOutage', message: `${silent} of ${total} nodes are silent: taken for a network problem` }
  if (isMass(bad, total))
    return {
      reason: 'CohortBlamed',
      message: `the rule is true for ${bad} of ${total} nodes at once: the nodes are not to blame`,
    }
  return undefined
}

/** The highest rule that means to act has the node; lower ones wait for it. One open job a node. */
function planNode(scene: Scene, node: NodeSeen, rules: readonly RuleReading[]): void {
  const open = scene.jobs.byNode.get(node.uid)?.find((j) => isOpen(j) && !j.spec.dryRun)
  let owner: string | undefined
  for (const { active } of rules) {
    const since = active === undefined ? undefined : node.matches.get(active.name)
    if (active === undefined || since === undefined) continue
    const decision = decide(scene, node, active, since, { open, owner })
    scene.rules.get(active.name)?.faults.push({ node: node.name, since, ...decision.fault })
    if (decision.claims) owner ??= active.name
  }
}

interface Decision {
  readonly fault: Pick<Fault, 'job' | 'waitingFor' | 'reason'>
  /** Whether the rule acts on the node or means to: then a lower one must wait. */
  readonly claims: boolean
}

interface Others {
  readonly open: RemedyOperationJob | undefined
  readonly owner: string | undefined
}

function decide(scene: Scene, node: NodeSeen, active: ActiveRule, since: number, { open, owner }: Others): Decision {
  const { seen, now, jobs, planned } = scene
  const { spec, name } = active
  const rule = scene.rules.get(name)
  const waits = (reason: Reason, waitingFor: string, afterMs?: number): Decision => {
    if (afterMs !== undefined) scene.waits.push(afterMs)
    return { fault: { reason, waitingFor }, claims: true }
  }
  const passes = (reason: Reason, waitingFor: string): Decision => ({ fault: { reason, waitingFor }, claims: false })

  if (open !== undefined && ruleOf(open) === name) return { fault: { job: open.metadata.name ?? '' }, claims: true }
  if (spec.mode === 'Shadow') return passes('ShadowOnly', 'nothing: the rule only counts')
  if (!isInShare(node.uid, name, spec.share))
    return passes('ShadowOnly', `the node is not among the ${spec.share} % that the rule acts on`)
  if (rule?.paused !== undefined) return passes('HoldPause', rule.paused)
  if (rule?.inhibited !== undefined) return waits(rule.inhibited.reason, rule.inhibited.message)
  const hold = holdOver(seen.holds, ['Pause', 'Freeze'], heldThings(node), now)
  if (hold !== undefined)
    return waits('HoldPause', `hold ${hold.metadata.name}: ${hold.spec.reason}`, Date.parse(hold.spec.until) - now)

  const dryRun = spec.mode === 'DryRun'
  const last = lastJob((jobs.byNode.get(node.uid) ?? []).filter((j) => ruleOf(j) === name && j.spec.dryRun === dryRun))
  const step = ladderStep({ rule: name, nodeUid: node.uid, spec, since, last })
  if (step.kind === 'Open') return { fault: { job: step.job }, claims: !dryRun }
  if (step.kind === 'Over') return passes(step.reason, step.message)

  const held = now - since
  const holdDown = parseDuration(spec.for)
  if (held < holdDown) return waits('WaitingForOther', `the rule must hold for ${spec.for}`, holdDown - held)
  if (!dryRun && owner !== undefined) return waits('WaitingForOther', `rule ${owner} acts on this node first`)
  if (!dryRun && open !== undefined) return waits('JobRunning', `job ${open.metadata.name} is at work on this node`)
  if (step.notBefore > now)
    return waits(
      'Cooldown',
      `left alone until ${new Date(step.notBefore).toISOString().slice(0, 19)}Z`,
      step.notBefore - now,
    )
  const ofRule = jobs.byRule.get(`${name}\n${dryRun}`) ?? []
  const hit = limitHit({
    limits: spec.limits,
    ofRule,
    nodeUid: node.uid,
    nodes: rule?.selected.length ?? 0,
    planned: planned.get(name) ?? 0,
    now,
  })
  if (hit !== undefined) return waits(hit.reason, hit.message, hit.afterMs ?? LOOK_AGAIN_MS)

  const { incident, rung, attempt } = step
  const identity: JobIdentity = { rule: name, incident, rung, attempt, dryRun }
  const job: WantedJob = { ...identity, name: jobName(identity), node: pickNode(node), active }
  scene.actions.push({ kind: 'CreateJob', job, reason: `${step.why}, true for ${formatDuration(Math.max(0, held))}` })
  planned.set(name, (planned.get(name) ?? 0) + 1)
  return { fault: { job: job.name }, claims: !dryRun }
}

const pickNode = ({ name, uid, machine }: NodeSeen): WantedJob['node'] => ({ name, uid, machine })

const heldThings = ({ name, machine, labels }: NodeSeen) => {
  const metadata = (n: string) => ({ metadata: { name: n, ...(labels !== undefined && { labels }) } })
  return [
    ['Node', metadata(name)],
    ['Machine', machine === undefined ? undefined : metadata(machine)],
  ] as const
}

function verdictOf({ rules, jobs, now }: Scene, reading: RuleReading): RuleVerdict {
  const scene = rules.get(nameOf(reading))
  const dryRun = reading.active?.spec.mode === 'DryRun'
  const ofRule = jobs.byRule.get(`${nameOf(reading)}\n${dryRun}`) ?? []
  return {
    reading,
    selected: scene?.selected.length ?? 0,
    silent: scene?.selected.filter((n) => n.standing.kind === 'Silent').length ?? 0,
    faults: scene?.faults ?? [],
    inFlight: ofRule.filter(isOpen).length,
    lastHour: countRepairs(ofRule, HOUR_MS, now),
    lastDay: countRepairs(ofRule, DAY_MS, now),
    ...(scene?.inhibited !== undefined && { inhibited: scene.inhibited }),
    ...(scene?.paused !== undefined && { paused: scene.paused }),
  }
}

/** The last good rule is kept before it counts as the active one; what it replaces goes once it is kept. */
function revisionActions(
  { remedier, active, problem }: RuleReading,
  revisions: readonly ControllerRevision[],
): readonly RemedyAction[] {
  if (active === undefined || problem !== undefined) return []
  const own = revisions.filter((r) => remedierOf(r) === remedier.metadata.name)
  if (!own.some((r) => r.metadata.name === active.revision))
    return [{ kind: 'KeepRevision', reason: 'a broken rule must never replace this one', remedier, active }]
  return own
    .filter((r) => r.metadata.name !== active.revision)
    .map((revision) => ({ kind: 'DropRevision', reason: 'a newer good rule is kept', revision }))
}

/** Told once, when it begins: the condition says it from then on. */
function noticesOf({ reading, inhibited }: RuleVerdict): readonly Notice[] {
  const { remedier, problem } = reading
  const has = (type: string, status: string) => findCondition(remedier.status?.conditions, type)?.status === status
  const say = (reason: Reason, message: string): Notice => ({
    reason,
    message: `${nameOf(reading)}: ${message}`,
    severity: 'Warning',
  })
  return [
    ...(problem === undefined || has('RuleActive', 'False') ? [] : [say('RuleInvalid', problem)]),
    ...(inhibited === undefined || has('Inhibited', 'True') ? [] : [say(inhibited.reason, inhibited.message)]),
  ]
}
