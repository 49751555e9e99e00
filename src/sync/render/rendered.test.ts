// What comes out of a cage is believed only after it was checked: names that fit a path and a line, and nothing that belongs to programs.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { createValidator } from '#api/validate.ts'
import { checkRendered } from './rendered.ts'

const validator = createValidator()
const config = (change: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'default' },
  ...change,
})
const check = (...objects: readonly unknown[]) => checkRendered({ test: objects }, validator).get('test')
const named = (metadata: object) => config({ metadata: { name: 'a', namespace: 'default', ...metadata } })

describe('S33 a name that is no name', () => {
  test.each([
    ['an apiVersion that climbs in a path', config({ apiVersion: '../api/v1' })],
    ['an apiVersion with a query', config({ apiVersion: 'v1?x=y' })],
    ['an apiVersion with two slashes', config({ apiVersion: 'apps/v1/x' })],
    ['an apiVersion with a newline', config({ apiVersion: 'v1\n::error::x' })],
    ['a kind with a newline', config({ kind: 'ConfigMap\n+ Secret/default/b' })],
    ['a kind with a slash', config({ kind: 'ConfigMap/../x' })],
    ['an empty kind', config({ kind: '' })],
    ['a name with a newline', named({ name: 'a\n  - MachineSet/x' })],
    ['a name that ends in a newline', named({ name: 'a\n' })],
    ['a name with a slash', named({ name: 'a/status' })],
    ['a name with a percent sign', named({ name: 'a%2fb' })],
    ['a name with a bidi mark', named({ name: 'a\u202eb' })],
    ['a namespace with a slash', named({ namespace: 'default/../kube-system' })],
    ['a namespace with a newline', named({ namespace: 'default\n' })],
    ['a namespace that is an object', named({ namespace: { toString: 'x' } })],
    ['a namespace that is an empty list', named({ namespace: [] })],
    ['labels that are a list', named({ labels: ['a'] })],
    ['a label with a newline', named({ labels: { a: 'b\nc' } })],
    ['an annotation key with a newline', named({ annotations: { 'a\nb': 'c' } })],
    ['an annotation that is a map', named({ annotations: { a: {} } })],
    ['a list instead of an object', []],
  ])('%s refuses the rendering in one line', (_, object) => {
    let message = ''
    try {
      check(config({ metadata: { name: 'good', namespace: 'default' } }), object)
    } catch (error) {
      message = String(error)
    }
    expect(message).toMatch(/KN7107: cannot use the rendered fleet: object 2 of test /)
    // oxlint-disable-next-line no-control-regex
    expect(message).not.toMatch(/[^\u0020-\u007e]/)
  })

  const WORDS = [
    'v1',
    'apps/v1',
    'ConfigMap',
    'default',
    'a',
    '..',
    '/',
    '\n',
    '::error::',
    '\u202e',
    '%2f',
    '',
    '?',
    '\0',
  ]
  const text = fc.oneof(
    fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((w) => w.join('')),
    fc.string({ unit: 'binary', maxLength: 300 }),
  )
  const anything = fc.oneof(text, fc.jsonValue())

  test('never reaches a path or a line, whatever it is', () => {
    fc.assert(
      fc.property(anything, anything, anything, anything, (apiVersion, kind, name, namespace) => {
        let found: ReturnType<typeof check>
        try {
          found = check({ apiVersion, kind, metadata: { name, namespace } })
        } catch (error) {
          expect(String(error)).toContain('KN7107')
          // oxlint-disable-next-line no-control-regex
          expect(String(error)).not.toMatch(/[^\u0020-\u007e]/)
          return
        }
        for (const { ref } of [...(found?.objects ?? []), ...(found?.rejected ?? [])]) {
          const path = `/apis/${ref.group}/namespaces/${ref.namespace}/${ref.kind}/${ref.name}`
          expect(new URL(path, 'https://x').pathname).toBe(path)
          expect(path).toMatch(/^[-A-Za-z0-9_.:+/]*$/)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('S27 what programs own', () => {
  const OWNED = [
    'Inventory',
    'Release',
    'OperationPermit',
    'DefenderLedger',
    'RemedyOperationJob',
    'ComponentConfig',
    'MaintenanceEvent',
    'OperationalHold',
    'Approval',
  ]
  test.each(OWNED)('a commit declares no %s, and its other objects are not affected', (kind) => {
    const example = KINDS.find((k) => k.kind === kind)?.example
    const found = check(example, config())
    expect(found?.objects.map(({ ref }) => ref.name)).toEqual(['a'])
    expect(found?.rejected.map(({ problem }) => problem)).toEqual([expect.stringMatching(/^KN309[01]: kind /)])
  })

  test.each(KINDS.filter(({ kind }) => !OWNED.includes(kind)).map((k) => [k.kind, k] as const))(
    'a commit declares a %s without a status',
    (_, { example: object }) => {
      expect(check(object)?.rejected).toEqual([])
      expect(check({ ...object, status: { phase: 'Ready' } })?.rejected.map(({ problem }) => problem)).toEqual([
        expect.stringContaining('KN3092: status is set by programs'),
      ])
    },
  )

  test.each([
    ['finalizers', { finalizers: ['example.org/never'] }, 'KN3093'],
    ['ownerReferences', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }] }, 'KN3093'],
    ['managedFields', { managedFields: [{ manager: 'kubenode-sync' }] }, 'KN3092'],
    ['a uid', { uid: 'x' }, 'KN3092'],
    ['a resourceVersion', { resourceVersion: '1' }, 'KN3092'],
    ['the mark of another source', { annotations: { 'kubenode.io/source': 'fleet/other' } }, 'KN3092'],
    ['a forged commit', { annotations: { 'kubenode.io/commit': 'f'.repeat(40) } }, 'KN3092'],
  ])('a commit declares no %s', (_, metadata, code) => {
    expect(check(named(metadata))?.rejected.map(({ problem }) => problem)).toEqual([expect.stringContaining(code)])
  })

  test('what generators leave empty says nothing', () => {
    const empty = { ...named({ creationTimestamp: null, finalizers: [], ownerReferences: [] }), status: {} }
    expect(check(empty)?.rejected).toEqual([])
  })

  test('the message names the file', () => {
    const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'forged' }, spec: {} }
    const found = checkRendered({ test: [object] }, validator, (words) => `fleet/main.ts:${words.join('+')}`)
    expect(found.get('test')?.rejected[0]?.problem).toMatch(/\(fleet\/main\.ts:Inventory\+forged\)$/)
  })
})
