import { expect, test } from 'vitest'
import { isRecordOf, readSetRevision, type RevisedComponent, revisionNameOf, writeSetRevision } from './set-revision.ts'
import { defined } from '#lib/defined.ts'

const record = (data: unknown, revision: unknown = 3, name = 'base-1') => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name },
  revision,
  ...defined({ data }),
})

const WHOLE: readonly RevisedComponent[] = [
  { name: 'beacon', version: '1.0.0', values: { level: 'debug' }, secretRefs: [{ path: '/key', name: 's' }] } as never,
  { name: 'scribe', version: '2.0.0', sealed: [{ path: '/key', sealedIn: 'x' }] },
]

test('what was written is read back, with the very same components', () => {
  const name = revisionNameOf('base', WHOLE)
  const read = readSetRevision({ ...record(undefined, 7, name), ...writeSetRevision(7, WHOLE) })
  expect(read).toEqual({ name, number: 7, components: WHOLE })
  expect(read?.components).toBe(WHOLE)
})

test('a record without components is a revision without any', () => {
  const name = revisionNameOf('base', [])
  expect(readSetRevision(record({ components: [] }, 3, name))).toEqual({ name, number: 3, components: [] })
})

test.each([
  ['no data', undefined],
  ['data that is a text', 'beacon'],
  ['no components', {}],
  ['components that are no list', { components: { beacon: '1.0.0' } }],
  ['a component that is a text', { components: [...WHOLE, 'beacon'] }],
  ['a component without a name', { components: [...WHOLE, { version: '1.0.0' }] }],
  ['a component without a version', { components: [...WHOLE, { name: 'x' }] }],
  ['a version that is a number', { components: [{ name: 'x', version: 1 }] }],
  ['values that are a list', { components: [{ name: 'x', version: '1', values: [] }] }],
  ['a secret without a place', { components: [{ name: 'x', version: '1', secretRefs: [{}] }] }],
  ['a sealed value without a place', { components: [{ name: 'x', version: '1', sealed: ['x'] }] }],
])('%s: the record is not read at all, since a part of it would remove components from machines', (_, data) => {
  expect(readSetRevision(record(data))).toBeUndefined()
})

test('no record, and a record without a number', () => {
  expect(readSetRevision(undefined)).toBeUndefined()
  expect(readSetRevision(record({ components: [] }, 'third', revisionNameOf('base', [])))?.number).toBe(0)
})

test.each([
  ['of no content', 'base-1'],
  ['of other content', revisionNameOf('base', WHOLE.slice(1))],
  ['of this content, cut', revisionNameOf('base', WHOLE).slice(0, -1)],
])('S25 a record with the name %s was not written by a set', (_, name) => {
  expect(readSetRevision(record({ components: WHOLE }, 3, name))).toBeUndefined()
})

test('the order of components is not part of the name', () => {
  const name = revisionNameOf('base', WHOLE)
  expect(readSetRevision(record({ components: WHOLE.toReversed() }, 3, name))?.components).toHaveLength(2)
})

test('S25 a record is of a set that it names by uid and kind', () => {
  const set = { kind: 'MachineComponentSet', metadata: { name: 'base', uid: 'u' } }
  const owned = (kind: string, uid: string) => {
    const made = record({ components: [] })
    return { ...made, metadata: { ...made.metadata, ownerReferences: [{ apiVersion: 'v', kind, name: 'base', uid }] } }
  }
  expect(isRecordOf(owned('MachineComponentSet', 'u'), set)).toBe(true)
  expect(isRecordOf(owned('MachineComponentSet', 'other'), set)).toBe(false)
  expect(isRecordOf(owned('ConfigMap', 'u'), set)).toBe(false)
  expect(isRecordOf(record({ components: [] }), set)).toBe(false)
})
