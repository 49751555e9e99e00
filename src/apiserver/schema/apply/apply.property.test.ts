// What holds for every sequence of applies and updates.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { ManagedFieldsEntry } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'
import { type ApplyResult, applyServerSide } from './apply-server-side.ts'
import { compareObjects } from './compare.ts'
import {
  type FieldSet,
  difference,
  eachPath,
  fieldSetOfPaths,
  hasPath,
  includes,
  intersection,
  isEmptySet,
  sameSet,
} from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import { removeFields } from './remove.ts'
import { trackUpdate } from './track-update.ts'
import { objectSchema } from './typing.ts'
import { trackedOnly } from './untracked.ts'

type Json = Record<string, unknown>

const STRING: Schema = { type: 'string' }
const ITEM: Schema = {
  type: 'object',
  properties: { name: STRING, protocol: { type: 'string', default: 'TCP' }, a: STRING, b: STRING },
}
const SPEC: Schema = {
  type: 'object',
  properties: {
    a: STRING,
    b: STRING,
    free: { type: 'object', additionalProperties: STRING },
    whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: STRING },
    list: { type: 'array', items: STRING },
    set: { type: 'array', items: STRING, 'x-kubernetes-list-type': 'set' },
    items: {
      type: 'array',
      items: ITEM,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'protocol'],
    },
    open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}
const SCHEMA: Schema = { type: 'object', properties: { metadata: { type: 'object' }, spec: SPEC, status: SPEC } }
const TYPED = objectSchema(SCHEMA)

const value = fc.constantFrom('1', '2')
const names = (own: string) => fc.constantFrom(`${own}1`, `${own}2`, `${own}3`)
const freeMap = (own: string) => fc.dictionary(names(own), value, { maxKeys: 2, noNullPrototype: true })

/** Configurations of one manager: with other letters, two of them name no field in common. */
function specs(own: 'a' | 'b') {
  const item = fc
    .record({
      name: names(own),
      protocol: fc.constantFrom('TCP', 'UDP', undefined),
      [own]: fc.option(value, { nil: undefined }),
    })
    .map((record) => Object.fromEntries(Object.entries(record).filter(([, v]) => v !== undefined)))
  const keyOf = (i: Json): string => `${String(i['name'])}/${String(i['protocol'] ?? 'TCP')}`
  const fields: Record<string, fc.Arbitrary<unknown>> = {
    [own]: value,
    free: freeMap(own),
    [own === 'a' ? 'whole' : 'list']: own === 'a' ? freeMap(own) : fc.array(value, { maxLength: 3 }),
    set: fc.uniqueArray(names(own), { maxLength: 3 }),
    items: fc.uniqueArray(item, { maxLength: 3, selector: keyOf }),
    open: fc.record(
      { [`${own}0`]: fc.oneof(value, freeMap(own), fc.array(value, { maxLength: 2 })) },
      { requiredKeys: [] },
    ),
  }
  return fc.record(fields, { requiredKeys: [] })
}

/** May hold empty maps and lists: an empty map is owned as such, an empty associative list has no owner. */
const looseConfigs = (own: 'a' | 'b') =>
  fc
    .record({ labels: freeMap(own), spec: specs(own), status: specs(own) }, { requiredKeys: [] })
    .map(({ labels, ...parts }) => configOf({ ...parts, metadata: labels === undefined ? {} : { labels } }))

/** Only values with content, so that every field has an owner. */
const configs = (own: 'a' | 'b') => looseConfigs(own).map((config) => configOf(withoutHollow(config) as Json))

function withoutHollow(input: unknown): unknown {
  if (!isObject(input)) return Array.isArray(input) && input.length === 0 ? undefined : input
  const kept = Object.entries(input)
    .map(([k, v]) => [k, withoutHollow(v)] as const)
    .filter(([, v]) => v !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

function configOf({ metadata, ...parts }: Json): Json {
  return frozen({ apiVersion: 'g/v1', kind: 'K', ...parts, metadata: { name: 'n', ...(metadata as Json) } })
}

/** No write may change its input. */
function frozen<T>(input: T): T {
  if (typeof input === 'object' && input !== null) for (const inner of Object.values(input)) frozen(inner)
  return Object.freeze(input)
}

interface Request {
  readonly live?: Json | undefined
  readonly applied: Json
  readonly manager: string
  readonly force?: boolean
}

const apply = ({ live, applied, manager, force = true }: Request): ApplyResult =>
  applyServerSide({ schema: SCHEMA, apiVersion: 'g/v1', live, applied, manager, force, time: '2026-01-01T00:00:00Z' })

function applied(request: Request): Json {
  const result = apply(request)
  if (result.kind !== 'Applied') throw new Error(`not applied: ${JSON.stringify(result)}`)
  return frozen({ ...result.object, metadata: { ...result.object.metadata, uid: 'u' } })
}

function update(live: Json | undefined, next: Json, manager: string): Json {
  const managedFields = trackUpdate({
    schema: SCHEMA,
    apiVersion: 'g/v1',
    live,
    next,
    manager,
    time: '2026-01-01T00:00:00Z',
  })
  const { managedFields: _, ...metadata } = next['metadata'] as Json
  return frozen({
    ...next,
    metadata: { ...metadata, uid: 'u', ...(managedFields === undefined ? {} : { managedFields }) },
  })
}

const entriesOf = (object: Json): readonly ManagedFieldsEntry[] =>
  ((object['metadata'] as Json)['managedFields'] ?? []) as readonly ManagedFieldsEntry[]

const ownedBy = (object: Json, manager: string): FieldSet =>
  (entriesOf(object).find((e) => e.manager === manager)?.fieldsV1 ?? {}) as FieldSet

/** Owned paths at which the object has nothing. */
function dangling(object: Json): string[] {
  const found: string[] = []
  for (const entry of entriesOf(object))
    eachPath(entry.fieldsV1 as FieldSet, (path) => {
      const without = removeFields(TYPED, object, fieldSetOfPaths([path]))
      if (without === object) found.push(`${entry.manager ?? ''}: ${path.join('/')}`)
    })
  return found
}

/** Lists by content: the order of associative lists is that of who came first. */
function unordered(object: unknown): unknown {
  if (Array.isArray(object))
    return object.map(unordered).toSorted((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1))
  if (!isObject(object)) return object
  const keys = Object.keys(object).filter((k) => k !== 'managedFields')
  return Object.fromEntries(keys.toSorted().map((k) => [k, unordered(object[k])]))
}

const RUNS = { numRuns: 150 }

describe('server-side apply', () => {
  test('applying the same again changes nothing and returns the very object', () => {
    fc.assert(
      fc.property(looseConfigs('a'), looseConfigs('b'), (first, second) => {
        const live = applied({ live: applied({ applied: first, manager: 'a' }), applied: second, manager: 'b' })
        const again = apply({ live, applied: second, manager: 'b', force: false })
        expect(again).toEqual({ kind: 'Applied', object: live, changed: false })
        expect(again.kind === 'Applied' && again.object).toBe(live)
      }),
      RUNS,
    )
  })

  test('an applier owns exactly what it names, and the object then holds it', () => {
    fc.assert(
      fc.property(fc.array(configs('a'), { minLength: 1, maxLength: 4 }), (sequence) => {
        let live: Json | undefined
        for (const [i, config] of sequence.entries()) {
          live = applied({ live, applied: config, manager: `m${i % 2}` })
          const named = trackedOnly(fieldSetOf(TYPED, config))
          expect(sameSet(ownedBy(live, `m${i % 2}`), named)).toBe(true)
          expect(apply({ live, applied: config, manager: 'probe', force: false }).kind).toBe('Applied')
          expect(dangling(live)).toEqual([])
        }
      }),
      RUNS,
    )
  })

  test('a field that no manager applies any longer is removed', () => {
    fc.assert(
      fc.property(configs('a'), configs('a'), (first, second) => {
        const live = applied({ live: applied({ applied: first, manager: 'm' }), applied: second, manager: 'm' })
        const fresh = applied({ applied: second, manager: 'm' })
        const extra = difference(fieldSetOf(TYPED, live), fieldSetOf(TYPED, fresh))
        expect(trackedOnly(extra)).toEqual({})
        expect(sameSet(ownedBy(live, 'm'), ownedBy(fresh, 'm'))).toBe(true)
      }),
      RUNS,
    )
  })

  test('applying nothing removes all that one owned, and the entry', () => {
    fc.assert(
      fc.property(configs('a'), configs('b'), (first, second) => {
        const only = applied({ applied: first, manager: 'a' })
        expect(applied({ live: only, applied: configOf({}), manager: 'a' })).toEqual(
          configOf({ metadata: { uid: 'u' } }),
        )
        const both = applied({ live: only, applied: second, manager: 'b' })
        const left = applied({ live: both, applied: configOf({}), manager: 'a' })
        expect(entriesOf(left).some((e) => e.manager === 'a')).toBe(false)
        expect(sameSet(ownedBy(left, 'b'), ownedBy(both, 'b'))).toBe(true)
        expect(apply({ live: left, applied: second, manager: 'b', force: false })).toMatchObject({ changed: false })
      }),
      RUNS,
    )
  })

  test('managers that name nothing in common never conflict, and their order does not matter', () => {
    fc.assert(
      fc.property(configs('a'), configs('b'), (first, second) => {
        const one = applied({
          live: applied({ applied: first, manager: 'a' }),
          applied: second,
          manager: 'b',
          force: false,
        })
        const other = applied({
          live: applied({ applied: second, manager: 'b' }),
          applied: first,
          manager: 'a',
          force: false,
        })
        expect(unordered(one)).toEqual(unordered(other))
        for (const manager of ['a', 'b']) expect(sameSet(ownedBy(one, manager), ownedBy(other, manager))).toBe(true)
      }),
      RUNS,
    )
  })

  test('without force nothing is taken from others: either it conflicts or all keep what they own', () => {
    fc.assert(
      fc.property(configs('a'), configs('a'), (first, second) => {
        const live = applied({ applied: first, manager: 'a' })
        const result = apply({ live, applied: second, manager: 'b', force: false })
        const differs = compareObjects(TYPED, live, applied({ live, applied: second, manager: 'b' })).changed
        const taken = intersection(ownedBy(live, 'a'), differs)
        expect(result.kind).toBe(isEmptySet(taken) ? 'Applied' : 'Conflict')
        if (result.kind === 'Conflict') {
          expect(fieldSetOfPaths(result.conflicts.map((c) => c.path))).toEqual(taken)
          return
        }
        if (result.kind === 'Applied')
          expect(sameSet(ownedBy(result.object as unknown as Json, 'a'), ownedBy(live, 'a'))).toBe(true)
      }),
      RUNS,
    )
  })
})

describe('other writes', () => {
  test('what a write changed belongs to its writer alone, what it removed to no manager, and all else stays as it was', () => {
    fc.assert(
      fc.property(configs('a'), configs('a'), configs('a'), (first, second, third) => {
        const live = update(applied({ applied: first, manager: 'a' }), second, 'u')
        fc.pre(entriesOf(live).length > 0)
        const next = update(live, third, 'w')
        const { changed, removed } = compareObjects(TYPED, live, next)
        expect(includes(ownedBy(next, 'w'), changed)).toBe(true)
        for (const manager of ['a', 'u']) {
          const expected = difference(difference(ownedBy(live, manager), changed), removed)
          expect(sameSet(ownedBy(next, manager), expected)).toBe(true)
        }
        expect(dangling(next)).toEqual([])
      }),
      RUNS,
    )
  })

  test('a write that changes nothing leaves the entries as they are', () => {
    fc.assert(
      fc.property(configs('a'), (config) => {
        const live = update(undefined, config, 'w')
        const again = trackUpdate({
          schema: SCHEMA,
          apiVersion: 'g/v1',
          live,
          next: structuredClone(live),
          manager: 'w',
          time: '2026-01-02T00:00:00Z',
        })
        expect(jsonEqual(again ?? [], entriesOf(live))).toBe(true)
      }),
      RUNS,
    )
  })

  test('every path of a create that is no container is owned by its creator', () => {
    fc.assert(
      fc.property(configs('a'), (config) => {
        const owned = ownedBy(update(undefined, config, 'w'), 'w')
        eachPath(trackedOnly(fieldSetOf(TYPED, config)), (path) => expect(hasPath(owned, path)).toBe(true))
      }),
      RUNS,
    )
  })
})
