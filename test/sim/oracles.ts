// What two runs are compared by: the state they end in, and what they made and deleted on the way. Pure.
import { canonicalJson, isObject } from '#lib/json.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { World } from './world.ts'

/** `Child ADDED` → how many. */
export type Counts = Readonly<Record<string, number>>

export function countsOf(commits: readonly Commit[], counted: readonly string[]): Counts {
  const counts: Record<string, number> = {}
  for (const { kind, type, call } of commits) {
    // What the user does is the same in every run.
    if (call === undefined || type === 'MODIFIED' || !counted.includes(kind)) continue
    const what = `${kind} ${type}`
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}

export function countDifference(expected: Counts, seen: Counts, mode: 'Equal' | 'AtMost'): string | undefined {
  const kinds = new Set([...Object.keys(expected), ...Object.keys(seen)])
  const different = [...kinds].filter((k) => {
    const more = (seen[k] ?? 0) - (expected[k] ?? 0)
    return mode === 'Equal' ? more !== 0 : more > 0
  })
  if (different.length === 0) return undefined
  return different.map((k) => `${k}: ${seen[k] ?? 0} instead of ${expected[k] ?? 0}`).join(', ')
}

/** All objects of the kinds, by kind and key, without uids, versions and times: what differs between two runs by nature. */
export function stateOf(world: World, kinds: readonly FakeKind[]): Readonly<Record<string, unknown>> {
  const objects = kinds.flatMap(({ type }) =>
    world.fake
      .all(type)
      .map((o) => [
        `${type.plural}/${o.metadata.namespace ?? ''}/${o.metadata.name}`,
        essence(o, ownersIn(world, kinds)),
      ]),
  )
  return Object.fromEntries(objects)
}

/** Uids of living objects by their names, so that a reference to a dead object differs from one to its successor. */
function ownersIn(world: World, kinds: readonly FakeKind[]): ReadonlyMap<string, string> {
  return new Map(
    kinds.flatMap(({ type }) =>
      world.fake.all(type).map((o) => [o.metadata.uid ?? '', `living ${type.plural}/${o.metadata.name}`]),
    ),
  )
}

function essence(object: KubeObject, living: ReadonlyMap<string, string>): unknown {
  const { labels, annotations, finalizers, deletionTimestamp, ownerReferences } = object.metadata
  const owners = ownerReferences?.map((o) => living.get(o.uid) ?? `dead ${o.kind}/${o.name}`)
  const { metadata: _, ...rest } = object
  return withoutTimes({ labels, annotations, finalizers, isDeleting: deletionTimestamp !== undefined, owners, ...rest })
}

const TIME = /(Time|Timestamp|At|Since)$/

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes)
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(
    ([name, v]) => v !== undefined && !(TIME.test(name) && typeof v === 'string'),
  )
  return Object.fromEntries(kept.map(([name, v]) => [name, withoutTimes(v)]))
}

/** The first few places where two states differ. */
export function stateDifference(expected: unknown, seen: unknown): string | undefined {
  const different = [...placesOf(expected, seen, '')]
  return different.length === 0 ? undefined : different.slice(0, 4).join('; ')
}

function* placesOf(expected: unknown, seen: unknown, path: string): Generator<string> {
  if (canonicalJson(expected) === canonicalJson(seen)) return
  if (!isObject(expected) || !isObject(seen)) {
    yield `${path || 'state'}: ${show(seen)} instead of ${show(expected)}`
    return
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(seen)]))
    yield* placesOf(expected[key], seen[key], `${path}.${key}`)
}

const show = (value: unknown): string => (value === undefined ? 'nothing' : canonicalJson(value).slice(0, 200))
