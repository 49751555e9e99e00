// What clients of an API server did and saw, and whether one server that keeps what it acknowledges could have answered so. Pure:
// the checker knows no server, only the history. Time is any number that grows; a revision gives the one order of all changes.

/** The data of one version of one key; undefined: the key was deleted. */
export type Data = Readonly<Record<string, string>> | undefined

export type Intent =
  | { readonly kind: 'create' | 'put'; readonly data: NonNullable<Data> }
  /** Written over the version that the client had read. */
  | { readonly kind: 'swap'; readonly data: NonNullable<Data>; readonly base: number }
  | { readonly kind: 'patch'; readonly data: NonNullable<Data> }
  | { readonly kind: 'delete' }

export interface Write {
  readonly is: 'write'
  readonly key: string
  readonly intent: Intent
  readonly began: number
  readonly ended: number
  /** Revision and data of the answer. A deletion has no revision. Unknown: the connection broke; refused: nothing was written. */
  readonly outcome: { readonly revision: number; readonly data: Data } | 'deleted' | 'refused' | 'unknown'
}

interface Read {
  readonly is: 'read'
  readonly key: string
  readonly began: number
  readonly ended: number
  readonly found: { readonly revision: number; readonly data: Data } | undefined
}

interface Listing {
  readonly is: 'list'
  readonly began: number
  readonly ended: number
  readonly revision: number
  readonly items: readonly { readonly key: string; readonly revision: number; readonly data: Data }[]
}

export interface Seen {
  readonly at: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly key: string
  readonly revision: number
  readonly data: Data
}

/** One connection: everything after `from` must come, in order, once. */
interface Watching {
  readonly is: 'watch'
  readonly from: number
  readonly events: readonly Seen[]
}

export type Entry = Write | Read | Listing | Watching

interface Version {
  readonly key: string
  readonly revision: number
  readonly data: Data
}

export function violations(history: readonly Entry[]): readonly string[] {
  const problems: string[] = []
  const truth = versionsOf(history, problems)
  addUnseenDeletions(history, truth)
  addUnseenWrites(history, truth)
  const byKey = Map.groupBy(
    [...truth.values()].toSorted((a, b) => a.revision - b.revision),
    (v) => v.key,
  )
  for (const e of history) {
    switch (e.is) {
      case 'watch':
        problems.push(...watchProblems(e, truth, byKey))
        break
      case 'list':
        problems.push(...listProblems(e, byKey))
        break
      case 'write':
        problems.push(...writeProblems(e, byKey))
        break
      case 'read':
        break
    }
  }
  problems.push(...timeProblems(history, byKey, unshownAfter(history, truth)))
  return problems
}

/** Whether a revision was shown to some client, or had to be. */
function shown(history: readonly Entry[], truth: ReadonlyMap<number, Version>): (revision: number) => boolean {
  const watches = history.filter((e) => e.is === 'watch')
  return (revision) =>
    truth.has(revision) || watches.some((w) => w.from < revision && revision <= (w.events.at(-1)?.revision ?? 0))
}

/** The first later revision that no client had to be shown; undefined when all revisions up to the last are known. */
function unshownAfter(
  history: readonly Entry[],
  truth: ReadonlyMap<number, Version>,
): (revision: number) => number | undefined {
  const isShown = shown(history, truth)
  const last = Math.max(0, ...truth.keys(), ...history.map((e) => (e.is === 'list' ? e.revision : 0)))
  return (after) => {
    for (let revision = after + 1; revision <= last; revision++) if (!isShown(revision)) return revision
    return undefined
  }
}

const same = (a: Data, b: Data): boolean => textOf(a) === textOf(b)
const textOf = (d: Data): string =>
  d === undefined ? 'gone' : JSON.stringify(Object.entries(d).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** All versions that clients saw, by revision; it is a problem if two clients saw different data at one revision. */
function versionsOf(history: readonly Entry[], problems: string[]): Map<number, Version> {
  const truth = new Map<number, Version>()
  const add = (v: Version) => {
    const known = truth.get(v.revision)
    if (known === undefined) truth.set(v.revision, v)
    else if (known.key !== v.key || !same(known.data, v.data))
      problems.push(
        `revision ${v.revision} is ${v.key} ${textOf(v.data)} to one and ${known.key} ${textOf(known.data)} to another`,
      )
  }
  for (const e of history) {
    if (e.is === 'write' && typeof e.outcome === 'object') add({ key: e.key, ...e.outcome })
    if (e.is === 'read' && e.found !== undefined) add({ key: e.key, ...e.found })
    if (e.is === 'list') for (const item of e.items) add(item)
    if (e.is === 'watch')
      for (const { type, key, revision, data } of e.events)
        if (type !== 'BOOKMARK') add({ key, revision, data: type === 'DELETED' ? undefined : data })
  }
  return truth
}

/**
 * A deletion right before a crash may not have been seen by any client. It counts as true if a client requested it, something shows that the key did not exist,
 * and there is a revision that no watch had to show.
 */
function addUnseenDeletions(history: readonly Entry[], truth: Map<number, Version>): void {
  const asked = Map.groupBy(
    history
      .filter((e) => e.is === 'write')
      .filter((w) => w.intent.kind === 'delete' && (w.outcome === 'unknown' || w.outcome === 'deleted')),
    (w) => w.key,
  )
  const isShown = shown(history, truth)
  const keys = [...asked.keys()]
  const absences = history
    .flatMap((e): readonly { readonly key: string; readonly by: number; readonly at: number }[] => {
      if (e.is === 'list')
        return keys
          .filter((key) => !e.items.some((i) => i.key === key))
          .map((key) => ({ key, by: e.revision, at: e.ended }))
      if (e.is === 'write' && e.intent.kind === 'create' && typeof e.outcome === 'object')
        return [{ key: e.key, by: e.outcome.revision - 1, at: e.ended }]
      return []
    })
    .toSorted((a, b) => a.by - b.by)
  for (const { key, by, at } of absences) {
    const before = versionAt(
      [...truth.values()].filter((v) => v.key === key).toSorted((a, b) => a.revision - b.revision),
      by,
    )
    if (before?.data === undefined || !asked.get(key)?.some((w) => w.began < at)) continue
    // who still lists it later than it was written saw it before it went
    const listed = history.flatMap((e) =>
      e.is === 'list' && e.items.some((i) => i.key === key && i.revision === before.revision) ? [e.revision] : [],
    )
    for (let revision = Math.max(before.revision, ...listed) + 1; revision <= by; revision++) {
      if (isShown(revision)) continue
      truth.set(revision, { key, revision, data: undefined })
      break
    }
  }
}

/**
 * Nor may a write whose reply was lost right before a crash: only a patch over it, acknowledged later, shows that it was there. It counts as true if it explains that
 * answer, and there is a revision that no watch had to show.
 */
function addUnseenWrites(history: readonly Entry[], truth: Map<number, Version>): void {
  const isShown = shown(history, truth)
  const writes = history.filter((e) => e.is === 'write')
  for (const { key, intent, outcome, ended } of writes) {
    if (intent.kind !== 'patch' || typeof outcome !== 'object') continue
    const own = [...truth.values()].filter((v) => v.key === key).toSorted((a, b) => a.revision - b.revision)
    const before = versionAt(own, outcome.revision - 1)
    if (before === undefined || same(outcome.data, { ...before.data, ...intent.data })) continue
    const lost = writes
      .filter((w) => w.key === key && w.outcome === 'unknown' && w.began < ended)
      .map((w) => dataAfter(w.intent, before.data))
      .find((data) => data !== undefined && same(outcome.data, { ...data, ...intent.data }))
    if (lost === undefined) continue
    for (let revision = before.revision + 1; revision < outcome.revision; revision++) {
      if (isShown(revision)) continue
      truth.set(revision, { key, revision, data: lost })
      break
    }
  }
}

const dataAfter = (intent: Intent, before: Data): Data => {
  if (intent.kind === 'delete') return undefined
  return intent.kind === 'patch' ? { ...before, ...intent.data } : intent.data
}

/** The last version at or before a revision. */
function versionAt(versions: readonly Version[], revision: number): Version | undefined {
  let found: Version | undefined
  for (const v of versions) if (v.revision <= revision) found = v
  return found
}

function watchProblems(
  { from, events }: Watching,
  truth: ReadonlyMap<number, Version>,
  byKey: ReadonlyMap<string, readonly Version[]>,
): readonly string[] {
  const problems: string[] = []
  let last = from
  const had = new Set<number>()
  for (const { type, revision, key } of events) {
    const isOrdered = type === 'BOOKMARK' ? revision >= last : revision > last
    if (!isOrdered) problems.push(`a watch from ${from} showed ${type} ${key} at ${revision} after ${last}`)
    last = Math.max(last, revision)
    if (type === 'BOOKMARK') continue
    had.add(revision)
    const before = versionAt(byKey.get(key) ?? [], revision - 1)
    const expected = before?.data === undefined ? 'ADDED' : 'MODIFIED'
    // what was before the first version that any client saw is not known
    if (type !== 'DELETED' && before !== undefined && type !== expected)
      problems.push(`a watch from ${from} showed ${type} ${key} at ${revision}, it was ${expected}`)
  }
  for (const { revision, key } of truth.values())
    if (revision > from && revision <= last && !had.has(revision))
      problems.push(`a watch from ${from} to ${last} missed ${key} at ${revision}`)
  return problems
}

function listProblems({ revision, items }: Listing, byKey: ReadonlyMap<string, readonly Version[]>): readonly string[] {
  const listed = new Map(items.map((i) => [i.key, i]))
  const problems = items
    .filter((i) => i.revision > revision)
    .map((i) => `a list at ${revision} holds ${i.key} of ${i.revision}`)
  for (const [key, versions] of byKey) {
    const there = versionAt(versions, revision)
    const item = listed.get(key)
    const wanted = there?.data === undefined ? undefined : there.revision
    if (there !== undefined && item?.revision !== wanted)
      problems.push(
        `a list at ${revision} holds ${key} at ${item?.revision ?? 'no revision'}, it was at ${wanted ?? 'no revision'}`,
      )
  }
  return problems
}

function writeProblems(
  { key, intent, outcome }: Write,
  byKey: ReadonlyMap<string, readonly Version[]>,
): readonly string[] {
  if (typeof outcome !== 'object') return []
  const versions = byKey.get(key) ?? []
  const before = versionAt(versions, outcome.revision - 1)
  const named = `${intent.kind} of ${key} at ${outcome.revision}`
  if (intent.kind === 'swap' && before !== undefined && before.revision > intent.base)
    return [`${named} was over ${intent.base}, but ${before.revision} came between`]
  if (intent.kind === 'create' && before?.data !== undefined)
    return [`${named}, but it was there since ${before.revision}`]
  if (intent.kind === 'delete') return []
  const expected = intent.kind === 'patch' ? { ...before?.data, ...intent.data } : intent.data
  if (intent.kind === 'patch' && before === undefined) return []
  return same(outcome.data, expected) ? [] : [`${named} was answered ${textOf(outcome.data)}, not ${textOf(expected)}`]
}

type Moment =
  | { readonly at: number; readonly is: 'known'; readonly key: string; readonly revision: number }
  | { readonly at: number; readonly is: 'begin'; readonly entry: Write | Read | Listing }
  | { readonly at: number; readonly is: 'end'; readonly entry: Write | Read | Listing }

/** A call must not return less than what was known to any client when the call began. */
function timeProblems(
  history: readonly Entry[],
  byKey: ReadonlyMap<string, readonly Version[]>,
  unshown: (after: number) => number | undefined,
): readonly string[] {
  const moments: Moment[] = history.flatMap((e): readonly Moment[] =>
    e.is === 'watch'
      ? e.events.map((s) => ({ at: s.at, is: 'known', key: s.type === 'BOOKMARK' ? '' : s.key, revision: s.revision }))
      : [
          { at: e.began, is: 'begin', entry: e },
          { at: e.ended, is: 'end', entry: e },
        ],
  )
  // a call that ends in the moment in which another begins is not before it
  moments.sort((a, b) => a.at - b.at || Number(a.is !== 'begin') - Number(b.is !== 'begin'))
  const problems: string[] = []
  const floors = new Map<string, number>()
  const atBegin = new Map<Write | Read | Listing, { readonly all: number; readonly key: number }>()
  let floor = 0
  const know = (key: string, revision: number) => {
    floor = Math.max(floor, revision)
    floors.set(key, Math.max(floors.get(key) ?? 0, revision))
  }
  for (const m of moments) {
    if (m.is === 'known') know(m.key, m.revision)
    else if (m.is === 'begin')
      atBegin.set(m.entry, { all: floor, key: m.entry.is === 'list' ? 0 : (floors.get(m.entry.key) ?? 0) })
    else {
      const before = atBegin.get(m.entry) ?? { all: 0, key: 0 }
      const { revisions, problem } = endOf(m.entry, before, byKey, unshown)
      if (problem !== undefined) problems.push(problem)
      for (const [key, revision] of revisions) know(key, revision)
    }
  }
  return problems
}

interface Ended {
  /** What is known from now on. */
  readonly revisions: readonly (readonly [key: string, revision: number])[]
  readonly problem?: string
}

function endOf(
  entry: Write | Read | Listing,
  floor: { readonly all: number; readonly key: number },
  byKey: ReadonlyMap<string, readonly Version[]>,
  unshown: (after: number) => number | undefined,
): Ended {
  if (entry.is === 'list')
    return {
      revisions: [['', entry.revision], ...entry.items.map((i) => [i.key, i.revision] as const)],
      ...(entry.revision < floor.all
        ? { problem: `a list at ${entry.revision} began when ${floor.all} was known` }
        : {}),
    }
  const gone = (byKey.get(entry.key) ?? []).filter((v) => v.data === undefined && v.revision >= floor.key)
  if (entry.is === 'read') {
    if (entry.found === undefined) {
      const never = floor.key === 0
      return gone.length > 0 || never
        ? { revisions: [] }
        : { revisions: [], problem: `${entry.key} was not found when ${floor.key} was known, and no deletion is later` }
    }
    const { revision } = entry.found
    return {
      revisions: [[entry.key, revision]],
      ...(revision < floor.key ? { problem: `${entry.key} was read at ${revision} when ${floor.key} was known` } : {}),
    }
  }
  if (entry.outcome === 'deleted') {
    const [seen] = gone.filter((v) => v.revision > floor.key)
    // A deletion right before a crash may never have been shown, with another one after it.
    const first = Math.min(seen?.revision ?? Infinity, unshown(floor.key) ?? Infinity)
    if (first === Infinity)
      return {
        revisions: [],
        problem: `the deletion of ${entry.key} after ${floor.key} was acknowledged, and nobody saw it`,
      }
    return { revisions: [[entry.key, first]] }
  }
  if (typeof entry.outcome !== 'object') return { revisions: [] }
  const { revision } = entry.outcome
  return {
    revisions: [[entry.key, revision]],
    ...(revision <= floor.all
      ? { problem: `${entry.intent.kind} of ${entry.key} was given ${revision} when ${floor.all} was known` }
      : {}),
  }
}
