// Decides which repairs start now, and why every other fault gets none: mass faults, holds, hold-down, ladder, cooldown, limits, one job per node.
import type { Reason } from '#api/catalogue.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SUPERSEDED_BY } from '#nodes/faults/superseded.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { findCondition } from '#kube/conditions.ts'
import { type ActiveRule, type ControllerRevision, type RuleReading, remedierOf } from '#nodes/faults/active-rule.ts'
import { endsIn } from '#permits/holds/in-force.ts'
import { type HoldQuestion, holdOver, named, holdTarget } from '#permits/holds/reach.ts'
import { isMass } from '#nodes/faults/mass.ts'
import type { Notice } from '#runtime/reconcile-with.ts'
import type { Fault, RemedyAction, RemedyPlan, RuleVerdict, WantedJob } from './actions.ts'
import { History, finishedAt, isOpen, isWaiting, lastJob, ruleOf } from './repairs/history.ts'
import { type JobIdentity, incidentId, isInShare, jobName } from './repairs/incident.ts'
import { type LadderStep, ladderStep, reachable } from './repairs/ladder.ts'
import { limitHit } from './repairs/limits.ts'
import type { NodeSeen, RuleCounts, Seen } from './seen.ts'
import { TICK_MS } from './verdicts/rule-needs.ts'

/** A limit that waits for other repairs is checked again when they end. This is the fallback. */
const REQUEUE_MS = 60_000

export function plan(seen: Seen, now: number): RemedyPlan {
  const rules = inOrder(seen.rules)
  const scene: Scene = {
    seen,
    now,
    history: new History(seen.jobs, now),
    planned: new Map(),
    waits: [],
    actions: [],
    rules: new Map(),
  }
  for (const reading of rules) scene.rules.set(ruleName(reading), ruleScene(scene, reading))
  const ranks: Ranks = new Map(
    rules.flatMap(({ active }, rank) => (active === undefined ? [] : [[active.name, { rank, active }] as const])),
  )
  const firstFault = new Map(seen.nodes.map((n) => [n, Math.min(...n.matches.values())]))
  for (const node of seen.nodes.toSorted(byFirstFault(firstFault))) planNode(scene, node, ranks)
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

const ruleName = ({ remedier }: RuleReading): string => remedier.metadata.name ?? ''

/** Higher priority first, then by name. Never depends on the order of a cache. */
const inOrder = (rules: readonly RuleReading[]): readonly RuleReading[] =>
  rules.toSorted(
    (a, b) => (b.active?.spec.priority ?? 0) - (a.active?.spec.priority ?? 0) || (ruleName(a) < ruleName(b) ? -1 : 1),
  )

/** If a limit lets only some through, the node that has waited longest goes first. */
const byFirstFault =
  (first: ReadonlyMap<NodeSeen, number>) =>
  (a: NodeSeen, b: NodeSeen): number =>
    (first.get(a) ?? 0) - (first.get(b) ?? 0) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.uid < b.uid ? -1 : 1)

interface Scene {
  readonly seen: Seen
  readonly now: number
  readonly history: History
  /** Jobs that this plan creates, by rule. */
  readonly planned: Map<string, number>
  readonly waits: number[]
  readonly actions: RemedyAction[]
  readonly rules: Map<string, RuleScene>
}

interface RuleScene {
  readonly counts: RuleCounts
  readonly faults: Fault[]
  readonly inhibited: RuleVerdict['inhibited']
  readonly paused: { readonly hold: string; readonly text: string } | undefined
}

const NO_NODES: RuleCounts = { selected: 0, silent: 0, joining: 0, bad: 0 }

function ruleScene({ seen, now }: Scene, reading: RuleReading): RuleScene {
  const { active, remedier } = reading
  const counts = (active && seen.counts.get(active.name)) ?? NO_NODES
  const hold = holdOver(seen.holds, stopping([holdTarget('NodeRemedier', remedier)], now))
  return {
    counts,
    faults: [],
    inhibited: inhibition(counts),
    paused: hold === undefined ? undefined : { hold: hold.metadata.name ?? '', text: holdText(hold) },
  }
}

const holdText = ({ metadata, spec }: OperationalHold): string => `hold ${metadata.name}: ${spec.reason}`

/** Nodes that never sent a heartbeat did not fall silent. But just as little is known about them, so nothing is repaired then either. */
function inhibition({ silent, joining, bad, selected: total }: RuleCounts): RuleVerdict['inhibited'] {
  if (isMass(silent, total) && !isMass(silent - joining, total))
    return { reason: 'NotYetObserved', message: `${joining} of ${total} nodes are joining and have not reported yet` }
  if (isMass(silent, total))
    return { reason: 'ZoneOutage', message: `${silent} of ${total} nodes are silent: taken for a network problem` }
  if (isMass(bad, total))
    return {
      reason: 'CohortBlamed',
      message: `the rule is true for ${bad} of ${total} nodes at once: a cause outside the nodes is likely`,
    }
  return undefined
}

type Ranks = ReadonlyMap<string, { readonly rank: number; readonly active: ActiveRule }>

/** The highest rule that wants to act gets the node, and lower ones wait for it. One open job per node. */
function planNode(scene: Scene, node: NodeSeen, ranks: Ranks): void {
  const open = scene.history.ofNode(node.uid).find((j) => isOpen(j) && !j.spec.dryRun)
  let owner: string | undefined
  // Of fifty rules, one or two are true for a node.
  const matching = [...node.matches].flatMap(([name, since]) => {
    const ranked = ranks.get(name)
    return ranked === undefined ? [] : [{ ...ranked, since }]
  })
  for (const { active, since } of matching.toSorted((a, b) => a.rank - b.rank)) {
    const decision = decide({ scene, node, active, since, open, owner })
    scene.rules.get(active.name)?.faults.push({ node: node.name, since, ...decision.fault })
    if (decision.claims) owner ??= active.name
  }
}

interface Decision {
  readonly fault: Pick<Fault, 'job' | 'waitingFor' | 'reason'>
  /** Whether the rule acts on the node or wants to, so that lower rules must wait. */
  readonly claims: boolean
}

interface Case {
  readonly scene: Scene
  readonly node: NodeSeen
  readonly active: ActiveRule
  readonly since: number
  readonly open: RemedyOperationJob | undefined
  readonly owner: string | undefined
}

const passes = (reason: Reason, waitingFor: string, by?: string): Decision => ({
  fault: { reason, waitingFor, ...defined({ by }) },
  claims: false,
})

function decide(given: Case): Decision {
  const { scene, node, active, since, open } = given
  const { spec, name } = active
  if (open !== undefined && ruleOf(open) === name) return { fault: { job: open.metadata.name ?? '' }, claims: true }
  const dryRun = spec.mode === 'DryRun'
  const ofNode = scene.history.ofNode(node.uid).filter((j) => ruleOf(j) === name && j.spec.dryRun === dryRun)
  const last = lastJob(ofNode)
  const step =
    askedAgain(given, last) ??
    ladderStep({ rule: name, nodeUid: node.uid, spec, since, last, ...defined({ noRescue: node.noRescue }) })
  const paused = scene.rules.get(name)?.paused
  // A rule in mode Shadow reports what it would do, so that users can judge it before they enable it.
  if (spec.mode === 'Shadow') return passes('ShadowOnly', `no action (mode Shadow); would ${wouldDo(step, given)}`)
  if (node.isObserved === true)
    return passes('ObservedOnly', `no action (the machine is observed only); would ${wouldDo(step, given)}`)
  if (!isInShare(node.uid, name, spec.share))
    return passes('ShadowOnly', `no action: the node is not in the ${spec.share}% that the rule acts on`)
  if (paused !== undefined) return passes('HoldPause', `${paused.text}; it would ${wouldDo(step, given)}`, paused.hold)
  if (step.kind === 'Over') return passes(step.reason, step.message)
  const blocked = heldBack(given)
  if (blocked !== undefined) return blocked
  if (step.kind === 'Open') return { fault: { job: step.job }, claims: !dryRun }
  const ofHost = scene.history.ofHost(node).filter((j) => ruleOf(j) === name && j.spec.dryRun === dryRun)
  return waitsForTurn(given, step, ofHost) ?? opens(given, step)
}

/** A user requests the ladder from its start: after it was exhausted or aborted, or because the wait is too long. One hold starts it once. */
function askedAgain({ scene, node, active }: Case, last: RemedyOperationJob | undefined): LadderStep | undefined {
  const { holds, rules } = scene.seen
  const remedier = rules.find((r) => ruleName(r) === active.name)?.remedier
  const hold = holdOver(holds, {
    effects: ['Retry'],
    targets: [...(remedier === undefined ? [] : [holdTarget('NodeRemedier', remedier)]), ...targetsOfNode(node)],
    cluster: { name: undefined },
    now: scene.now,
  })
  if (hold === undefined || last === undefined || isOpen(last)) return undefined
  const asked = Date.parse(hold.metadata.creationTimestamp ?? '')
  if (!(asked > finishedAt(last))) return undefined
  const incident = incidentId(node.uid, active.name, asked)
  const { rung, skipped } = reachable(active.spec.ladder, 0, node.noRescue)
  if (rung === undefined) return undefined
  return {
    kind: 'Try',
    incident,
    rung,
    attempt: 1,
    skipped,
    why: `requested by hold ${hold.metadata.name}`,
    notBefore: asked,
    isAsked: true,
  }
}

function wouldDo(step: LadderStep, { scene, active: { spec }, since }: Case): string {
  if (step.kind !== 'Try') return 'do nothing more'
  const holdDown = parseDuration(spec.for)
  const names = (spec.ladder[step.rung]?.operations ?? []).map((o) => Object.keys(o)[0] ?? '').join(', ')
  const wait = Math.max(holdDown - (scene.now - since), step.notBefore - scene.now)
  return `start rung ${step.rung} (${names}) ${wait > 0 ? `in ${formatDuration(wait)}` : 'now'}`
}

const waits = ({ scene }: Case, reason: Reason, waitingFor: string, afterMs?: number, by?: string): Decision => {
  if (afterMs !== undefined) scene.waits.push(afterMs)
  return { fault: { reason, waitingFor, ...defined({ by }) }, claims: true }
}

/** Blocks beyond this rule and node: a mass fault, a silenced rack, a hold. */
function heldBack(given: Case): Decision | undefined {
  const { scene, node, active } = given
  const inhibited = scene.rules.get(active.name)?.inhibited
  if (inhibited !== undefined) return waits(given, inhibited.reason, inhibited.message)
  const { silence } = node
  if (silence !== undefined)
    return waits(
      given,
      'ZoneOutage',
      `${silence.silent} of ${silence.total} nodes of ${silence.group} are silent: taken for a network problem`,
      REQUEUE_MS,
    )
  const known = node.machine === undefined ? undefined : scene.seen.maintained.get(node.machine)
  if (known !== undefined) return waits(given, 'MaintenanceUnderWay', `the cause is known: ${known}`, REQUEUE_MS)
  const hold = holdOver(scene.seen.holds, stopping(targetsOfNode(node), scene.now))
  return hold && waits(given, 'HoldPause', holdText(hold), endsIn(hold, scene.now), hold.metadata.name)
}

type Try = Extract<LadderStep, { kind: 'Try' }>

function waitsForTurn(given: Case, step: Try, ofHost: readonly RemedyOperationJob[]): Decision | undefined {
  const { scene, active, since, open, owner } = given
  const { history, now, planned } = scene
  const { spec, name } = active
  const dryRun = spec.mode === 'DryRun'
  const held = now - since
  const holdDown = parseDuration(spec.for)
  if (held < holdDown) return waits(given, 'WaitingForOther', `the rule must be true for ${spec.for}`, holdDown - held)
  if (!dryRun && owner !== undefined)
    return waits(given, 'WaitingForOther', `rule ${owner} acts on this node first`, undefined, owner)
  if (step.notBefore > now)
    return waits(
      given,
      'Cooldown',
      `cooling down until ${new Date(step.notBefore).toISOString().slice(0, 19)}Z`,
      step.notBefore - now,
    )
  const hit = limitHit({
    // A user who requests a repair knows how often the node was repaired.
    limits: step.isAsked === true ? { ...spec.limits, perNodePerDay: Infinity } : spec.limits,
    ofRule: history.ofRule(name, dryRun),
    ofNode: ofHost,
    nodes: scene.rules.get(name)?.counts.selected ?? 0,
    planned: planned.get(name) ?? 0,
    now,
  })
  if (hit !== undefined) return waits(given, hit.reason, hit.message, hit.afterMs ?? REQUEUE_MS)
  if (dryRun || open === undefined) return undefined
  // A lower rule's repair is superseded if it has not started. Otherwise it may finish.
  if (isWaiting(open) && open.metadata.annotations?.[SUPERSEDED_BY] === undefined)
    scene.actions.push({ kind: 'SupersedeJob', reason: `rule ${name} acts on this node first`, job: open, by: name })
  return waits(given, 'JobRunning', `job ${open.metadata.name} is running on this node`)
}

function opens({ scene, node, active, since }: Case, { incident, rung, attempt, why, skipped }: Try): Decision {
  const { spec, name } = active
  const dryRun = spec.mode === 'DryRun'
  const identity: JobIdentity = { rule: name, incident, rung, attempt, dryRun }
  const job: WantedJob = {
    ...identity,
    name: jobName(identity),
    node: pickNode(node),
    active,
    ...(skipped !== undefined && skipped.length > 0 && { skipped }),
  }
  const reason = `${why}, true for ${formatDuration(Math.max(0, scene.now - since))}`
  scene.actions.push({ kind: 'CreateJob', job, reason })
  scene.planned.set(name, (scene.planned.get(name) ?? 0) + 1)
  return { fault: { job: job.name }, claims: !dryRun }
}

const pickNode = ({ name, uid, machine, machineUid }: NodeSeen): WantedJob['node'] => ({
  name,
  uid,
  machine,
  machineUid,
})

const stopping = (targets: HoldQuestion['targets'], now: number): HoldQuestion => ({
  effects: ['Pause', 'Freeze'],
  targets,
  cluster: { name: undefined },
  now,
})

const targetsOfNode = ({ name, machine, labels }: NodeSeen): HoldQuestion['targets'] =>
  [named('Node', name), ...(machine === undefined ? [] : [named('Machine', machine)])].map((t) => ({
    ...t,
    labels: labels ?? {},
  }))

function verdictOf({ rules, history }: Scene, reading: RuleReading): RuleVerdict {
  const scene = rules.get(ruleName(reading))
  const { open, lastHour, lastDay } = history.ofRule(ruleName(reading), reading.active?.spec.mode === 'DryRun')
  const { selected, silent } = scene?.counts ?? NO_NODES
  return {
    reading,
    selected,
    silent,
    faults: scene?.faults ?? [],
    inFlight: open,
    lastHour,
    lastDay,
    ...defined({ inhibited: scene?.inhibited }),
    ...(scene?.paused !== undefined && { paused: scene.paused.text }),
  }
}

/** The last good rule is saved before it counts as active. Its predecessor is deleted after that. */
function revisionActions(
  { remedier, active, problem }: RuleReading,
  revisions: readonly ControllerRevision[],
): readonly RemedyAction[] {
  if (active === undefined || problem !== undefined) return []
  const own = revisions.filter((r) => remedierOf(r) === remedier.metadata.name)
  if (!own.some((r) => r.metadata.name === active.revision))
    return [{ kind: 'KeepRevision', reason: 'kept while the newer rule is broken', remedier, active }]
  return own
    .filter((r) => r.metadata.name !== active.revision)
    .map((revision) => ({ kind: 'DropRevision', reason: 'a newer valid rule is kept', revision }))
}

/** Reported once, when it starts. After that the condition shows it. */
function noticesOf({ reading, inhibited }: RuleVerdict): readonly Notice[] {
  const { remedier, problem } = reading
  const has = (type: string, status: string) => findCondition(remedier.status?.conditions, type)?.status === status
  const known = findCondition(remedier.status?.conditions, 'Inhibited')
  const notice = (reason: Reason, message: string): Notice => ({
    reason,
    message: `${ruleName(reading)}: ${message}`,
    severity: 'Warning',
    about: remedier,
  })
  return [
    ...(problem === undefined || has('RuleActive', 'False') ? [] : [notice('RuleInvalid', problem)]),
    ...(inhibited === undefined ||
    inhibited.reason === 'NotYetObserved' ||
    (known?.status === 'True' && known.reason !== 'NotYetObserved')
      ? []
      : [notice(inhibited.reason, inhibited.message)]),
  ]
}
