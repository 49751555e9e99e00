// What was failing in a cluster before a Release began there, and which Release caused it: a Release is judged by new failures. Pure. Invariant:
// failures caused by a Release that never passed its stage count against every later one with the same content.
import {
  MAX_CHANGED,
  MAX_FAILURES,
  MAX_SUSPECTS,
  type Baseline,
  type BlamedFailure,
  type KnownFailure,
  type ReleaseChange,
} from '#api/kinds/inventory.ts'
import { API_GROUP } from '#api/kind.ts'
import { shortWord } from '#api/nouns.ts'
import { timestamp } from '#lib/clock.ts'
import type { OutsideWait, SetWait } from '#delivery/failures.ts'
import { defined } from '#lib/defined.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** By `refText`: the start of the digest of each declared object. */
export type Content = ReadonlyMap<string, string | undefined>

export interface BaselineInput {
  readonly release: string
  readonly now: number
  /** The baseline stored in the cluster: from this Release or an earlier one. */
  readonly known: Baseline | undefined
  /** Current failures, before anything of this Release is applied. */
  readonly failing: readonly KnownFailure[]
  /** The objects before this Release, and the ones it applies. */
  readonly before: Content
  readonly after: Content
  /** The previous objects have passed their stage in this cluster. */
  readonly hasPassed: boolean
  /** No Release has reached this cluster before, as far as the hub knows. */
  readonly isFirst: boolean
  /** This Release declares exactly what passed last, and no content of a stopped Release. */
  readonly isReturn: boolean
  /** This Release has already been applied, fully or partly. */
  readonly hasBegun: boolean
}

export function nextBaseline(input: BaselineInput): Baseline {
  const { release, known, failing, before, after, hasPassed, isFirst, isReturn, hasBegun } = input
  if (known?.release === release) return known
  // This Release may have caused current failures.
  if (hasBegun) return of(input, [], [], true)
  if (hasPassed || (isFirst && before.size === 0)) return of(input, failing, [], false)
  if (isReturn)
    return of(
      input,
      failing.flatMap((f) => leftByReturn(f, input)),
      [],
      false,
    )
  // Applied content never passed, and earlier failures are unknown.
  if (known === undefined || known.incomplete === true) return of(input, [], [], true)
  const old: KnownFailure[] = []
  const blamed: BlamedFailure[] = []
  for (const failure of failing) {
    const by = known.blamed.find((b) => isSameFailure(failure, b))?.release ?? known.release
    if (isOld(failure, known)) old.push(failure)
    else {
      // It fails in another way, which hides the earlier failure: that one reappears after the change is withdrawn.
      old.push(...known.failing.filter((k) => isSameFailure(failure, k)))
      const change = changeOf(known, by)
      if (isCarried(failure, change, after)) blamed.push({ ...failure, release: by })
      else if (!isMachineInProgress(failure) && !isUntried(failure, change, after)) old.push(failure)
    }
  }
  return of(input, old, blamed, false)
}

/** What a withdrawn change was doing has not failed before: it would be excused if a later Release declared it again. */
function leftByReturn(failure: KnownFailure, { known, before, after }: BaselineInput): readonly KnownFailure[] {
  // A machine whose change was withdrawn halfway is neither healthy nor failed.
  if (isMachineInProgress(failure)) return []
  const { object } = failure
  if (isPartial(failure) || before.get(object) === after.get(object)) return [failure]
  return known?.failing.filter((k) => isSameFailure(failure, k)) ?? []
}

/** An object that was changed by the Release before, and still shows the content that this one declares: it never passed. */
const isUntried = (failure: KnownFailure, change: ReleaseChange | undefined, after: Content): boolean =>
  !isPartial(failure) &&
  change?.objects.some((c) => c.object === failure.object) === true &&
  sameDigest(failure.digest, after.get(failure.object))

const changeOf = ({ changes }: Baseline, release: string): ReleaseChange | undefined =>
  changes.find((c) => c.release === release)

function of(
  { release, now, known, before, after }: BaselineInput,
  failing: readonly KnownFailure[],
  blamed: readonly BlamedFailure[],
  isIncomplete: boolean,
): Baseline {
  const kept = blamed.slice(0, MAX_FAILURES)
  const suspects = new Set(kept.map((b) => b.release))
  const earlier = (known?.changes ?? []).filter((c) => suspects.has(c.release) && c.release !== release)
  return {
    release,
    takenAt: timestamp(now),
    ...(isIncomplete ? { incomplete: true } : {}),
    failing: failing.slice(0, MAX_FAILURES).map(knownFields),
    blamed: kept.map((b) => ({ ...knownFields(b), release: b.release })),
    changes: [...earlier, changeBetween(release, before, after)].slice(-MAX_SUSPECTS),
  }
}

const knownFields = ({ object, uid, part, state, reason, digest, count }: KnownFailure): KnownFailure => ({
  object,
  ...defined({ uid, part }),
  state,
  reason,
  ...defined({ digest, count }),
})

function changeBetween(release: string, before: Content, after: Content): ReleaseChange {
  const names = [...new Set([...before.keys(), ...after.keys()])]
    .filter((n) => before.get(n) !== after.get(n))
    .toSorted()
  const objects = names.slice(0, MAX_CHANGED).map((object) => {
    const digest = after.get(object)
    return { object, ...defined({ digest }) }
  })
  const from = contentDigest(before)
  return { release, from, objects, ...(names.length > MAX_CHANGED ? { more: true } : {}) }
}

export const contentDigest = (content: Content): string =>
  sha256Hex(
    [...content]
      .map(([name, digest]) => `${name} ${digest ?? ''}`)
      .toSorted()
      .join('\n'),
  )

const sameDigest = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && (a.startsWith(b) || b.startsWith(a))

/** Kinds that decide what happens to machines; other kinds are suspected only if none of these changed. */
const TOUCHES_MACHINES = /^([A-Za-z]+\.kubenode\.io|DaemonSet\.apps)\//

/** Whether the new Release contains the responsible content: the object itself if it changed, otherwise any possible cause. */
function isCarried(failure: KnownFailure, change: ReleaseChange | undefined, after: Content): boolean {
  // The responsible Release is no longer known: the failure counts until it ends.
  if (change === undefined) return true
  if (contentDigest(after) === change.from) return false
  const own = change.objects.filter((c) => c.object === failure.object)
  const near = change.objects.filter((c) => TOUCHES_MACHINES.test(c.object))
  if (own.length === 0 && change.more === true) return true
  const suspects = own.length > 0 ? own : near.length > 0 ? near : change.objects
  return suspects.some(({ object, digest }) =>
    digest === undefined ? !after.has(object) : sameDigest(digest, after.get(object)),
  )
}

/** A component is identified by itself, whatever reports it; an object by its uid. */
function isSameFailure(failure: KnownFailure, known: KnownFailure): boolean {
  if (failure.part !== undefined || known.part !== undefined)
    return failure.part === known.part && (isMachine(failure) ? failure.uid === known.uid : true)
  return failure.object === known.object && failure.uid === known.uid
}

const MACHINE = 'machine/'
const isMachine = ({ part }: KnownFailure): boolean => part?.startsWith(MACHINE) === true
/** A part of an object, or machines that it lacks; not the object as a whole. */
const isPartial = ({ part, count }: KnownFailure): boolean => typeof part === 'string' || typeof count === 'number'
const isMachineInProgress = (f: KnownFailure): boolean => isMachine(f) && f.state === 'InProgress'

export const machinePart = (name: string): string => `${MACHINE}${name}`

/** Failure reasons of machines. */
export const NOT_READY = 'NotReady'
export const INCONSISTENT = 'Inconsistent'

/** Known before, and not declared again by the Release. Missing machines are compared by number. */
function isOld(failure: KnownFailure, { failing }: Pick<Baseline, 'failing'>): boolean {
  return failing.some((known) => {
    if (!isSameFailure(failure, known)) return false
    // A machine that only had other versions before, and is not Ready now, failed since then.
    if (failure.part !== undefined) return failure.reason !== NOT_READY || known.reason === NOT_READY
    if (failure.count !== undefined) return failure.count <= (known.count ?? 0)
    if (!sameDigest(failure.digest, known.digest)) return false
    return failure.state === 'InProgress' || (known.state === 'Failed' && known.reason === failure.reason)
  })
}

/** Number of machines that the failure adds to the earlier ones; zero for an object that fails as a whole. */
function newMachines(failure: KnownFailure, { failing }: Pick<Baseline, 'failing'>): number {
  const known = failing.filter((k) => isSameFailure(failure, k)).map((k) => k.count ?? 0)
  return Math.max(0, (failure.count ?? 0) - Math.max(0, ...known))
}

const NOTHING: Pick<Baseline, 'failing' | 'blamed'> = { failing: [], blamed: [] }

export interface Named extends KnownFailure {
  readonly message: string
  readonly outside?: OutsideWait
  readonly setWait?: SetWait
}

export interface Judgement {
  readonly state: 'Current' | 'InProgress' | 'Failed'
  /** Text for users; empty when everything is healthy. */
  readonly message: string
  /** Failures older than the Release. */
  readonly before: number
  /** New failures, including machines within the limit. An object that a user or a rate limit holds has not failed. */
  readonly fresh: number
  /** The wait outside of the release that they all share. */
  readonly outside?: OutsideWait
}

/** Objects that fail as a whole always count; machines and nodes count only beyond `allowed`. Without a baseline everything is new. */
export function judgeFailures(all: readonly Named[], baseline: Baseline | undefined, allowed: number): Judgement {
  const old = baseline ?? NOTHING
  const failures = all.filter((f) => f.state !== 'Faulty')
  const fresh = failures.filter((f) => !isOld(f, old))
  const before = failures.length - fresh.length
  const parts = fresh.filter((f) => f.part !== undefined)
  const lacking = fresh.filter((f) => f.part === undefined && f.count !== undefined)
  const objects = fresh.filter((f) => !isPartial(f))
  // A permanently failed node is one of its set's missing machines.
  const machines = Math.max(
    new Set(parts.map((f) => f.part)).size,
    lacking.reduce((sum, f) => sum + newMachines(f, old), 0),
  )
  const judged = machines > allowed ? [...objects, ...parts, ...lacking] : objects
  const counts = { before, fresh: fresh.filter((f) => f.outside === undefined).length }
  for (const state of ['Failed', 'InProgress'] as const) {
    const found = judged.filter((f) => f.state === state)
    const [first] = found
    if (first === undefined) continue
    const waiting = state === 'InProgress' ? outsideWaitOf(found) : undefined
    const unheld = found.find((f) => f.outside === undefined && f.setWait === undefined)
    const message = messageOf(waiting ?? unheld ?? first, found.length, baseline)
    return { state, message, ...counts, ...defined({ outside: waiting?.outside }) }
  }
  return { state: 'Current', message: '', ...counts }
}

/** A held set excuses itself and everything that waits for it. While machines are not Ready, that may be everything that runs on them. */
function outsideWaitOf(found: readonly Named[]): Named | undefined {
  const isExplained = found.every((f) => f.outside !== undefined || f.setWait !== undefined)
  const isShortOfMachines = found.some((f) => f.setWait === 'Machines')
  return isExplained || isShortOfMachines ? found.find((f) => f.outside !== undefined) : undefined
}

const KEY = /^([A-Za-z]+)(?:\.([a-z0-9.-]+))?\/(.+)$/

/** `set/base`, as commands take it: a key with its API group is for programs. Of other groups, the kind and the name. */
export function spokenObject(object: string): string {
  const [, kind = '', group = '', name = ''] = KEY.exec(object) ?? []
  if (kind === '') return object
  return group === API_GROUP ? shortWord(`${kind.toLowerCase()}/${name}`) : `${kind} ${name}`
}

function messageOf(first: Named, count: number, baseline: Baseline | undefined): string {
  const { object, part, message } = first
  const more = count > 1 ? ` (and ${count - 1} more)` : ''
  const by = baseline?.blamed.find((b) => isSameFailure(first, b))?.release
  const why =
    by !== undefined && first.outside === undefined
      ? // Work in progress, such as a set before its window, is not broken.
        first.state === 'Failed'
        ? `; release ${by} broke it, and its change is still declared`
        : `; not done since release ${by}, whose change is still declared`
      : baseline?.incomplete === true && first.outside === undefined
        ? '; the state before the release is unknown, so every failure counts'
        : ''
  return `${spokenObject(object)}: ${part === undefined ? '' : `${part} `}${message}${more}${why}`
}

/**
 * Machines that were already failing, by uid, for gates that count machines: those that were not Ready, or also those with versions that differ from the
 * declared ones.
 */
export function machinesBefore(baseline: Baseline | undefined, what: 'NotReady' | 'NotReadyOrInconsistent') {
  const failing = (baseline?.failing ?? []).filter(isMachine)
  const counted = what === 'NotReady' ? failing.filter((f) => f.reason === NOT_READY) : failing
  return new Set(counted.flatMap(({ uid }) => uid ?? []))
}

/** Machines and nodes that were already faulty, by name: their repairs are not new. */
export function namesBefore(baseline: Baseline | undefined): ReadonlySet<string> {
  return new Set(
    (baseline?.failing ?? []).flatMap(({ part }) => (part === undefined ? [] : [part.slice(part.indexOf('/') + 1)])),
  )
}
