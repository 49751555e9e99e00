// The context of one decision: members, holds, revisions, the target of each component, and what currently blocks the rollout.
import { declaredTarget } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { activeMachines } from '#api/protocol/part.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { revisionNameOf } from '#api/protocol/set-revision.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { parseDuration } from '#lib/duration.ts'
import { without } from '#lib/without.ts'
import { matchesSelector } from '#kube/selector.ts'
import { hasEnded } from '#permits/permits.ts'
import { blocksSeen } from './revisions/blocks.ts'
import { type Concern, MARKS, type Survey, surveyorOf } from './members/candidates.ts'
import { type SpecOf, compatibilityOf, specsIn } from '#nodes/placement/compatibility.ts'
import { platformCheck } from '#nodes/placement/node-needs.ts'
import { holdOf } from '#permits/holds/in-force.ts'
import { holdOver, holdsOver, holdTarget, holdTargetsOfMachine } from '#permits/holds/reach.ts'
import {
  type CompetingSet,
  declarersOf,
  ReadingMemo,
  readMembers,
  readOne,
  competingSetFor,
  competingSetsOf,
} from './members/members.ts'
import { stepCount, stepName } from './slices/ladder.ts'
import { type Outage, outageOf } from './members/outage.ts'
import type { Problem } from '#nodes/placement/problem.ts'
import { problemOf } from './revisions/problems.ts'
import { isDown, isNoLoss, type Reading } from './members/reading.ts'
import type { Bases } from './members/settled.ts'
import { type Refusals, recentlyRefused } from './members/refused.ts'
import { type ComponentTarget, isSameTarget } from '#api/protocol/component-order.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { newRevision, renumbered, targetIn } from './revisions/revisions.ts'
import type { Rules } from './slices/rules.ts'
import type { Blocked, Seen, Slice, SliceDecision } from './seen.ts'
import { type Revisions, type Track, bindingBlocks, droppedComponents, tracksOf } from './revisions/tracks.ts'
import { type Wait, fit } from './reporting/wait.ts'
import { markedRevisions } from './revisions/way-back.ts'
import { type Opening, openingOf, windowOpens } from '#permits/windows.ts'

export interface Context {
  readonly seen: Seen
  readonly now: number
  readonly rules: Rules
  readonly members: readonly Reading[]
  readonly readingOf: (name: string) => Reading | undefined
  readonly isMember: (name: string) => boolean
  /** Among the members. */
  readonly placeOf: (name: string) => number | undefined
  readonly indexOf: ReadonlyMap<string, number>
  readonly holds: readonly OperationalHold[]
  readonly pause: OperationalHold | undefined
  readonly revisions: Revisions
  /** The declared revision is not recorded yet. */
  readonly isNewRevision: boolean
  readonly blocks: readonly Blocked[]
  readonly tracks: readonly Track[]
  readonly competing: ReadonlyMap<string, readonly CompetingSet[]>
  readonly problem: Problem | undefined
  readonly outage: Outage | undefined
  readonly opening: Opening
  /** Machines that have worked at least once. Budgets and percentages are based on these. */
  readonly counting: number
  /** Members that are unavailable without a slice of the set. */
  readonly down: number
  readonly limit: number
  readonly reserved: ReadonlySet<string>
  readonly refusals: Refusals
  readonly retryBefore: number | undefined
  /** What surveys keep until the next plan. */
  readonly bases: Bases
  readonly specOf: SpecOf
  /** Why a machine stays as it is: a hold, or a file on its node. */
  readonly heldBy: (reading: Reading) => string | undefined
  readonly nameOfStep: (slice: SliceDecision) => string
  /** Another set decides about this component on the machine. */
  readonly isOthers: (component: string, reading: Reading) => boolean
}

export function contextOf(seen: Seen, now: number, rules: Rules): Context {
  const { set, memo = new ReadingMemo() } = seen
  const { bases } = memo
  bases.begin(rules, specsIn(seen.components))
  const holds = holdsOnSet(seen, now)
  const retries = holds.filter((h) => h.spec.effect === 'Retry')
  const retry = holdOf(retries, 'Retry')
  const pin = holdOf(holds, 'Pin')
  const { revisions, isNewRevision, isPinLost } = revisionsOf(seen, pin, now)
  const indexOf = indexesOf(seen, revisions)
  const read = readMembers(set, seen.machines, seen.nodes, indexOf, memo)
  const { list: members, positions, counting } = read
  bases.follow(members)
  const binding = bindingBlocks(blocksSeen(seen, revisions.all), revisions, retries)
  const blocks = withAbort(binding, revisions, holdOf(holds, 'Abort'), retry, now)
  const unselected = unselectedOf(seen, positions, indexOf)
  const opening = openingOf(set.spec.rollout.windows, now)
  const competing = competingSetsOf(set, seen.sets)
  const isOthers = (component: string, { machine, orders }: Reading) =>
    competingSetFor(competing.get(component), set, machine, orders[indexOf.get(component) ?? -1]?.setRef) !== undefined
  const tracks = tracksOf(seen, revisions, blocks, indexOf, members, isOthers)
  return {
    seen,
    now,
    rules,
    members,
    readingOf: (name) => members[positions.get(name) ?? -1] ?? unselected.get(name),
    isMember: (name) => positions.has(name),
    placeOf: (name) => positions.get(name),
    indexOf,
    holds,
    pause: holdOf(holds, 'Pause', 'Freeze'),
    revisions,
    isNewRevision,
    blocks,
    tracks,
    competing,
    problem: isPinLost
      ? {
          reason: 'ReferenceMissing',
          message: `hold ${pin?.metadata.name} pins revision ${pin?.spec.to}, which this set does not have`,
        }
      : (windowProblem(opening) ?? problemOf(seen, revisions.update.data?.components ?? [], members)),
    outage: outageOf(members, read.silent),
    down: read.down,
    opening,
    counting,
    limit: rules.budgetOf(set.spec.rollout.maxUnavailable, counting),
    reserved: reservedBy(seen),
    refusals: recentlyRefused(seen, now),
    retryBefore: retry && Date.parse(retry.metadata.creationTimestamp ?? ''),
    bases,
    specOf: bases.specOf,
    heldBy: heldMachines(seen, now),
    nameOfStep: namesOfSteps(set.spec.rollout.steps, tracks, counting),
    isOthers,
  }
}

/** Skips the ladder for a target that was healthy before: it goes in one step. */
function namesOfSteps(
  steps: Seen['set']['spec']['rollout']['steps'],
  tracks: readonly Track[],
  counting: number,
): Context['nameOfStep'] {
  const total = stepCount(steps, counting)
  const proven = new Set(tracks.flatMap((t) => (t.isProven ? [t.component] : [])))
  return ({ component, step }) => stepName(step, proven.has(component) ? 1 : total)
}

function windowProblem({ problem }: Opening): Problem | undefined {
  return problem === undefined
    ? undefined
    : { reason: 'InvalidSpec', message: `${fit(problem, MOST_OF_PROBLEM)}; correct spec.rollout.windows` }
}

/** The description may be long, and the advice after it must fit too. */
const MOST_OF_PROBLEM = 160

/** A hold on the cluster stops its sets, but does not pin, retry or abort them. */
function holdsOnSet({ set, holds }: Seen, now: number): readonly OperationalHold[] {
  const targets = [holdTarget('MachineComponentSet', set)]
  return [
    ...holdsOver(holds, { effects: ['Pause', 'Freeze'], targets, cluster: { name: undefined }, now }),
    ...holdsOver(holds, { effects: ['Pin', 'Retry', 'Abort'], targets, now }),
  ]
}

/** A machine on hold gets no orders, so a slice would wait for it as long as the hold lasts. */
function heldMachines({ holds, machineSets }: Seen, now: number): Context['heldBy'] {
  return ({ machine, node, isFrozen }) => {
    if (isFrozen) return 'frozen by a file on its node'
    if (holds.length === 0) return undefined
    const targets = holdTargetsOfMachine(machine, { node, machineSet: (name) => machineSets?.get(name) })
    const hold = holdOver(holds, { effects: ['Pause', 'Freeze'], targets, now })
    return hold && `hold ${hold.metadata.name}`
  }
}

function revisionsOf({ set, revisions: all, components }: Seen, pin: OperationalHold | undefined, now: number) {
  const declaredName = revisionNameOf(set.metadata.name ?? '', set.spec.components)
  const known = all.find((r) => nameOf(r) === declaredName)
  const pinned = pin && all.find((r) => nameOf(r) === pin.spec.to)
  const wanted = pinned ?? known ?? newRevision(set, all)
  const marked = markedRevisions({ recorded: all, declared: wanted, components, now })
  const withDeclared = known === undefined && pinned !== undefined ? [...marked, newRevision(set, all)] : marked
  const update = renumbered(withDeclared.find((r) => nameOf(r) === nameOf(wanted)) ?? wanted, withDeclared)
  const revisions: Revisions = {
    update,
    current: marked.find((r) => nameOf(r) === set.status?.revisions?.current),
    all: withDeclared.map((r) => (nameOf(r) === nameOf(update) ? update : r)),
  }
  return { revisions, isNewRevision: known === undefined, isPinLost: pin !== undefined && pinned === undefined }
}

function indexesOf({ set }: Seen, revisions: Revisions): ReadonlyMap<string, number> {
  const names = new Set([
    ...(revisions.update.data?.components ?? []).map((c) => c.name),
    ...set.spec.components.map((c) => c.name),
    ...droppedComponents(revisions),
    ...(set.status?.slices ?? []).map((w) => w.component),
  ])
  return new Map([...names].toSorted().map((name, i) => [name, i]))
}

/** Machines of slices, and of permits without a slice, that the selector no longer matches. Without a reading they would count as deleted. */
function unselectedOf(
  { set, machines, nodes, permits }: Seen,
  members: ReadonlyMap<string, unknown>,
  indexOf: ReadonlyMap<string, number>,
): ReadonlyMap<string, Reading> {
  const inSlices = (set.status?.slices ?? []).flatMap((w) => w.machines)
  const inPermits = [...permits.values()].flatMap((p) => (hasEnded(p) ? [] : p.spec.targets.map((t) => t.name)))
  const names = new Set([...inSlices, ...inPermits].filter((m) => !members.has(m)))
  if (names.size === 0) return new Map()
  const left = machines.filter((m) => names.has(m.metadata.name ?? ''))
  return new Map(left.map((m) => [m.metadata.name ?? '', readOne(m, nodes, indexOf)]))
}

/** An Abort hold gives up the current rollout until the spec changes or a later Retry. */
function withAbort(
  blocks: readonly Blocked[],
  { update, current }: Revisions,
  abort: OperationalHold | undefined,
  retry: OperationalHold | undefined,
  now: number,
): readonly Blocked[] {
  if (abort === undefined || nameOf(update) === (current && nameOf(current))) return blocks
  const { creationTimestamp = '' } = abort.metadata
  if (retry !== undefined && Date.parse(retry.metadata.creationTimestamp ?? '') > Date.parse(creationTimestamp))
    return blocks
  const more = (update.data?.components ?? [])
    .filter(({ name }) => !blocks.some((b) => b.component === name))
    .map(({ name }) => ({
      revision: nameOf(update),
      component: name,
      since: timestamp(now),
      reason: `aborted by hold ${abort.metadata.name}`,
    }))
  return [...blocks, ...more]
}

const AT_WORK: ReadonlySet<Slice['phase']> = new Set(['AwaitingPermit', 'Switching'])
export const isAtWork = ({ phase }: Slice): boolean => AT_WORK.has(phase)

const ENDED: ReadonlySet<Slice['phase']> = new Set(['Passed', 'Failed', 'Aborted'])
export const isOpen = ({ phase }: Slice): boolean => !ENDED.has(phase)

/**
 * Machines of pending or switching slices without a result, and machines that a slice left behind with their slots. Each counts against the budget,
 * whatever its state. Permits without a slice are not included: they were requested again, mostly for the same machine.
 */
function reservedBy({ set, permits }: Seen): ReadonlySet<string> {
  const reserved = new Set<string>()
  for (const slice of set.status?.slices ?? []) {
    const permit = permits.get(slice.permit ?? '')
    const { targets = [], results = {} } = permit?.spec ?? {}
    if (isAtWork(slice)) {
      const done = new Set(targets.filter((t) => results[t.uid] !== undefined).map((t) => t.name))
      for (const name of activeMachines(slice)) if (!done.has(name)) reserved.add(name)
    } else if (!hasEnded(permit))
      for (const { uid, name } of targets) if (results[uid] === undefined) reserved.add(name)
  }
  return reserved
}

export function surveysOf(context: Context): readonly Survey[] {
  const { members, revisions, rules, reserved, refusals, competing, retryBefore, specOf, heldBy, seen, now, bases } =
    context
  const concernAt = concerns(context)
  const atWork = new Set((seen.set.status?.slices ?? []).filter(isAtWork).map((w) => w.startedAt ?? ''))
  const overdueBefore = now - parseDuration(seen.set.spec.rollout.progressDeadline)
  const surveyors = context.tracks.map((track) => {
    const others = competing.get(track.component)
    // A set that declares what this set dropped owns it now, whatever the priorities.
    const successors = track.isRemoval ? declarersOf(track.component, seen) : []
    const claimedByOther = track.isRemoval
      ? (machine: Machine) =>
          successors.find((s) => matchesSelector(s.selector, machine.metadata.labels))?.set.metadata.name
      : (machine: Machine, decidedBy: string | undefined) =>
          competingSetFor(others, seen.set, machine, decidedBy)?.set.metadata.name
    const isAlone = track.isRemoval ? successors.length === 0 : others === undefined
    const goal = track.target ?? track.declared
    const isKeyNeeded = needsKey(track.target, revisions)
    const incompatible = compatibilityOf(goal, specOf, bases.mixOf)
    const unfit = unfitOf(goal, specOf)
    return surveyorOf(track, {
      members,
      basis: isAlone ? bases.of(track.component, aboutOf(track, revisions, isKeyNeeded)) : undefined,
      revisions,
      rules,
      incompatible,
      unfit,
      needsKey: isKeyNeeded,
      reserved,
      claimedByOther,
      heldBy,
      concernAt,
      refused: refusals.machines,
      retryBefore,
      atWork,
      now,
      overdueBefore,
    })
  })
  // A few machines at a time: what all components read of them is close together in memory.
  for (let from = 0; from < members.length; from += READ_TOGETHER)
    for (const { add } of surveyors) add(from, Math.min(from + READ_TOGETHER, members.length))
  return surveyors.map((s) => s.survey())
}

const READ_TOGETHER = 64

/** By place among the members. Holds are asked about a machine only where something is to be done, and once a plan. */
function concerns({ members, placeOf, reserved, refusals, heldBy, seen }: Context): (at: number) => Concern {
  const isAnyHindered = seen.holds.length > 0 || refusals.machines.size > 0
  // A file on its node is part of what is found out about a machine.
  const known = Array<Concern | undefined>(members.length).fill(isAnyHindered ? undefined : 'None')
  for (const name of reserved) {
    const at = placeOf(name)
    if (at !== undefined) known[at] = 'Slice'
  }
  const concernOf = (reading: Reading): Concern =>
    refusals.machines.has(reading.uid) || heldBy(reading) !== undefined ? 'Other' : 'None'
  return (at) => (known[at] ??= concernOf(members[at] as Reading))
}

/** A survey does not read why a version is blocked. */
const aboutOf = (track: Track, { current }: Revisions, isKeyNeeded: boolean): readonly unknown[] => [
  without(track, 'blocked'),
  targetIn(current, track.component),
  isKeyNeeded,
]

function unfitOf(goal: ComponentTarget, specOf: SpecOf): (machine: Machine) => string | undefined {
  const spec = goal.version === undefined ? undefined : specOf(goal.name, goal.version)
  if (spec === undefined) return () => undefined
  const check = platformCheck(spec)
  return ({ status }) => {
    const why = check(status?.platform ?? {})
    return why && `${goal.name} ${goal.version} ${why}`
  }
}

function needsKey(target: ComponentTarget | undefined, { update, current }: Revisions): boolean {
  if (target?.config === undefined) return false
  return [update, current]
    .flatMap((r) => r?.data?.components ?? [])
    .some((c) => c.name === target.name && (c.secretRefs ?? []).length > 0 && isSameTarget(declaredTarget(c), target))
}

/**
 * Machines that are unavailable for any reason, or may become unavailable because of a slice of this set. A slice can also leave a machine in the
 * middle of its switch.
 */
export const downCount = ({ down, reserved, isMember, readingOf }: Context): number =>
  down +
  [...reserved].filter((name) => {
    const reading = readingOf(name)
    if (reading === undefined) return false
    return isMember(name) ? !isNoLoss(reading) && !isDown(reading) : reading.isBusy
  }).length

/** Machines of a slice that ends in this reconcile: no longer candidates, not yet updated. The set does not wait for canary switches. */
export const isAnyUnderWay = ({ members, reserved }: Context, surveys: readonly Survey[]): boolean =>
  reserved.size > 0 &&
  members.some(
    ({ health, name }, i) =>
      health === 'Up' && reserved.has(name) && surveys.some(({ marks }) => marks[i] === MARKS.behind),
  )

/** An example of what uses the budget, besides this set's own switches. */
export function exampleOfDown({ members, reserved }: Context): string | undefined {
  const one = members.find((m) => m.health !== 'Up' && !reserved.has(m.name) && isDown(m))
  return one && `${one.name}: ${one.why}`
}

/** Machines that never sent a heartbeat did not fall silent. But just as little is known about them, so they are left alone too. */
function outageWait({ silent, joining, of, where }: Outage): Wait {
  const among = `of ${counted(of, 'machine')} ${where}`
  if (joining === silent)
    return {
      predicate: 'WaitingForOther',
      seen: `${silent} ${among} still joining: no heartbeat from their agents yet`,
      unblock: 'their agents join; for one machine run kubenode why machine/NAME',
    }
  return {
    predicate: 'ZoneOutage',
    seen: `${silent} ${among} silent${joining === 0 ? '' : `, ${joining} of them still joining`}`,
    unblock: 'a person mends the network or the power there, and the machines report again: kubenode get machines',
  }
}

/** Why no slice may open. A recovery does not wait for a window. */
export function closedFor(context: Context, isRecovery: boolean): Wait | undefined {
  const { problem, pause, outage, opening } = context
  if (problem !== undefined)
    return {
      predicate: problem.reason,
      seen: problem.message,
      unblock: problem.unblock ?? 'a commit corrects the declared components',
    }
  if (pause !== undefined)
    return {
      predicate: pause.spec.effect === 'Freeze' ? 'HoldFreeze' : 'HoldPause',
      seen: `hold ${pause.metadata.name}: ${pause.spec.reason}`,
      unblock: `the hold is deleted or expires at ${pause.spec.until}`,
    }
  if (outage !== undefined) return outageWait(outage)
  if (!opening.isOpen && !isRecovery)
    return {
      predicate: 'WaitingForWindow',
      seen: `no maintenance window of set/${context.seen.set.metadata.name ?? ''} is open`,
      unblock: windowOpens(opening),
    }
  return undefined
}
