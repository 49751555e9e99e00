// The ground of one decision: members, holds, revisions, what each component goes to, and what closes the rollout for the moment.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { componentObjectName } from '#lib/names.ts'
import { timestamp } from '#lib/clock.ts'
import { type Survey, surveyOf } from './candidates.ts'
import { holdOf, holdsOn } from './holds.ts'
import { type Rival, readMembers, readOne, rivalFor, rivalsOf } from './members.ts'
import { type Outage, outageOf } from './outage.ts'
import { type Problem, problemOf } from './problems.ts'
import type { Reading } from './reading.ts'
import { type ControllerRevision, newRevision, revisionNameOf } from './revisions.ts'
import type { Rules } from './rules.ts'
import type { Blocked, Seen, Wave } from './seen.ts'
import { type Revisions, type Track, bindingBlocks, tracksOf } from './tracks.ts'
import type { Wait } from './waiting.ts'
import { type Opening, openingOf } from './windows.ts'

export interface Context {
  readonly seen: Seen
  readonly now: number
  readonly rules: Rules
  readonly members: readonly Reading[]
  readonly readingOf: (name: string) => Reading | undefined
  readonly isMember: (name: string) => boolean
  readonly indexOf: ReadonlyMap<string, number>
  readonly holds: readonly OperationalHold[]
  readonly pause: OperationalHold | undefined
  readonly revisions: Revisions
  /** The declared revision is not recorded yet. */
  readonly isNewRevision: boolean
  readonly blocks: readonly Blocked[]
  readonly tracks: readonly Track[]
  readonly rivals: ReadonlyMap<string, readonly Rival[]>
  readonly problem: Problem | undefined
  readonly outage: Outage | undefined
  readonly opening: Opening
  /** Machines that have worked once: budgets and shares are of them. */
  readonly counting: number
  readonly limit: number
  readonly reserved: ReadonlySet<string>
  readonly retryBefore: number | undefined
  readonly specOf: (component: string, version: string | undefined) => MachineComponentSpec | undefined
}

export function contextOf(seen: Seen, now: number, rules: Rules): Context {
  const { set } = seen
  const holds = holdsOn(seen.holds, set, now)
  const retry = holdOf(holds, 'Retry')
  const pin = holdOf(holds, 'Pin')
  const { revisions, isNewRevision, isPinLost } = revisionsOf(seen, pin)
  const indexOf = indexesOf(seen, revisions)
  const members = readMembers(set, seen.machines, seen.nodes, indexOf, seen.memo)
  const byName = new Map(members.map((m) => [m.name, m]))
  const binding = bindingBlocks(seen, revisions, retry)
  const blocks = withAbort(binding, revisions, holdOf(holds, 'Abort'), retry, now)
  const counting = members.reduce((n, m) => n + (m.health === 'Joining' || m.health === 'Leaving' ? 0 : 1), 0)
  const strangers = strangersOf(seen, byName, indexOf)
  return {
    seen,
    now,
    rules,
    members,
    readingOf: (name) => byName.get(name) ?? strangers.get(name),
    isMember: (name) => byName.has(name),
    indexOf,
    holds,
    pause: holdOf(holds, 'Pause', 'Freeze'),
    revisions,
    isNewRevision,
    blocks,
    tracks: tracksOf(seen, revisions, blocks, indexOf),
    rivals: rivalsOf(set, seen.sets),
    problem: isPinLost
      ? {
          reason: 'ReferenceMissing',
          message: `hold ${pin?.metadata.name} pins to ${pin?.spec.to}, which is no revision of this set`,
        }
      : problemOf(seen, revisions.update.data?.components ?? []),
    outage: outageOf(members),
    opening: openingOf(set.spec.rollout.windows, now),
    counting,
    limit: rules.budgetOf(set.spec.rollout.maxUnavailable, counting),
    reserved: reservedBy(seen),
    retryBefore: retry && Date.parse(retry.metadata.creationTimestamp ?? ''),
    specOf: (component, version = '') => seen.components.get(componentObjectName(component, version))?.spec,
  }
}

const nameOf = (o: ControllerRevision): string => o.metadata.name ?? ''

function revisionsOf({ set, revisions: all }: Seen, pin: OperationalHold | undefined) {
  const declaredName = revisionNameOf(set.metadata.name ?? '', set.spec.components)
  const known = all.find((r) => nameOf(r) === declaredName)
  const declared = known ?? newRevision(set, all)
  const pinned = pin && all.find((r) => nameOf(r) === pin.spec.to)
  const current = all.find((r) => nameOf(r) === set.status?.revisions?.current)
  const revisions: Revisions = {
    update: pinned ?? declared,
    current,
    all: known === undefined ? [...all, declared] : all,
  }
  return { revisions, isNewRevision: known === undefined, isPinLost: pin !== undefined && pinned === undefined }
}

function indexesOf({ set }: Seen, { update }: Revisions): ReadonlyMap<string, number> {
  const names = new Set([
    ...(update.data?.components ?? []).map((c) => c.name),
    ...set.spec.components.map((c) => c.name),
    ...(set.status?.waves ?? []).map((w) => w.component),
  ])
  return new Map([...names].map((name, i) => [name, i]))
}

/** Machines of slices that the selector does not match any more. */
function strangersOf(
  { set, machines, nodes }: Seen,
  members: ReadonlyMap<string, Reading>,
  indexOf: ReadonlyMap<string, number>,
): ReadonlyMap<string, Reading> {
  const names = new Set((set.status?.waves ?? []).flatMap((w) => w.machines).filter((m) => !members.has(m)))
  if (names.size === 0) return new Map()
  const left = machines.filter((m) => names.has(m.metadata.name ?? ''))
  return new Map(left.map((m) => [m.metadata.name ?? '', readOne(m, nodes, indexOf)]))
}

/** An Abort hold gives up what is being rolled out, until the spec changes or a later Retry. */
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
      reason: `hold ${abort.metadata.name} ended it`,
    }))
  return [...blocks, ...more]
}

const AT_WORK: ReadonlySet<Wave['phase']> = new Set(['AwaitingPermit', 'Switching'])
export const isAtWork = ({ phase }: Wave): boolean => AT_WORK.has(phase)

/** Machines of slices that wait or switch and have no result yet: each counts in the budget, whatever it looks like. */
function reservedBy({ set, permits }: Seen): ReadonlySet<string> {
  const reserved = new Set<string>()
  for (const wave of set.status?.waves ?? []) {
    if (!isAtWork(wave)) continue
    const { targets = [], results = {} } = permits.get(wave.permit ?? '')?.spec ?? {}
    const done = new Set(targets.filter((t) => results[t.uid] !== undefined).map((t) => t.name))
    for (const name of wave.machines) if (!done.has(name)) reserved.add(name)
  }
  return reserved
}

export function surveysOf(context: Context): readonly Survey[] {
  const { members, revisions, rules, indexOf, reserved, rivals, retryBefore, specOf, seen, now } = context
  const machineHolds = seen.holds.filter((h) => h.spec.target.kind === 'Machine')
  const heldBy = (machine: Machine) =>
    machineHolds.length === 0
      ? undefined
      : holdOf(holdsOn(machineHolds, machine, now), 'Pause', 'Freeze')?.metadata.name
  return context.tracks.map((track) => {
    const goal = track.target ?? track.declared
    const spec = specOf(track.component, goal.version)
    const requiredIndexes = (spec?.requires ?? []).map((r) => indexOf.get(r.component) ?? -1)
    const others = rivals.get(track.component)
    const claimedByOther = (machine: Machine, decidedBy: string | undefined) =>
      rivalFor(others, seen.set, machine, decidedBy)?.set.metadata.name
    return surveyOf(track, {
      members,
      revisions,
      rules,
      spec,
      requiredIndexes,
      reserved,
      claimedByOther,
      heldBy,
      retryBefore,
    })
  })
}

/** Machines that are down for any reason, or may be because of a slice of ours. */
export const downCount = ({ members, reserved }: Context): number =>
  members.reduce((n, m) => n + (isDown(m, reserved) ? 1 : 0), 0)

function isDown({ health, isBusy, name }: Reading, reserved: ReadonlySet<string>): boolean {
  if (health === 'Joining') return false
  return health !== 'Up' || isBusy || reserved.has(name)
}

/** Why no slice may open at all; a recovery does not wait for a window. */
export function closedFor(context: Context, isRecovery: boolean): Wait | undefined {
  const { problem, pause, outage, opening } = context
  if (problem !== undefined)
    return { predicate: problem.reason, seen: problem.message, unblock: 'the declared components are corrected' }
  if (pause !== undefined)
    return {
      predicate: pause.spec.effect === 'Freeze' ? 'HoldFreeze' : 'HoldPause',
      seen: `hold ${pause.metadata.name}: ${pause.spec.reason}`,
      unblock: `the hold is deleted or ends at ${pause.spec.until}`,
    }
  if (outage !== undefined)
    return {
      predicate: 'ZoneOutage',
      seen: `${outage.silent} of ${outage.of} machines ${outage.where} are silent`,
      unblock: 'they are heard of again; check the network',
    }
  if (!opening.isOpen && !isRecovery)
    return {
      predicate: 'WaitingForWindow',
      seen: 'no window is open',
      unblock:
        opening.nextAt === undefined ? 'none ever opens again; change the windows' : `at ${timestamp(opening.nextAt)}`,
    }
  return undefined
}
