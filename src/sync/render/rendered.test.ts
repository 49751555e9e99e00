// A cage's output is used only after checks: names must fit a path and a line, and nothing may belong to programs.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { createValidator } from '#api/validate.ts'
import { placedText } from '#delivery/desired.ts'
import { NO_PLACES, placesOf } from './places.ts'
import { problemsIn, problemText, refuseImpossible } from './problems.ts'
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
    'FleetBrake',
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
        expect.stringContaining('KN3090: status is set by programs'),
      ])
    },
  )

  test.each([
    ['finalizers', { finalizers: ['example.org/never'] }, 'KN3090'],
    ['ownerReferences', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }] }, 'KN3090'],
    ['managedFields', { managedFields: [{ manager: 'kubenode-sync' }] }, 'KN3090'],
    ['a uid', { uid: 'x' }, 'KN3090'],
    ['a resourceVersion', { resourceVersion: '1' }, 'KN3090'],
    ['the mark of another source', { annotations: { 'kubenode.io/source': 'fleet/other' } }, 'KN3090'],
    ['a forged commit', { annotations: { 'kubenode.io/commit': 'f'.repeat(40) } }, 'KN3090'],
    ['namespace of renders', { namespace: 'kubenode-render' }, 'KN3090'],
  ])('a commit declares no %s', (_, metadata, code) => {
    expect(check(named(metadata))?.rejected.map(({ problem }) => problem)).toEqual([expect.stringContaining(code)])
  })

  test('what generators leave empty says nothing', () => {
    const empty = { ...named({ creationTimestamp: null, finalizers: [], ownerReferences: [] }), status: {} }
    expect(check(empty)?.rejected).toEqual([])
  })

  test('a refused object names the line that made it', () => {
    const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'forged' }, spec: {} }
    const places = placesOf({ 'fleet/main.ts': '' }, new Map([[object, 'fleet/main.ts:7']]))
    const [rejected] = checkRendered({ test: [object] }, validator, places).get('test')?.rejected ?? []
    expect(rejected?.place).toBe('fleet/main.ts:7')
    expect(placedText(rejected!)).toBe('Inventory.kubenode.io/forged (fleet/main.ts:7)')
  })

  test('two objects of one name name both lines', () => {
    const [one, two] = [named({ name: 'a' }), named({ name: 'a' })]
    const made = new Map([
      [one, 'fleet/main.ts:7'],
      [two, 'fleet/b.ts:9'],
    ])
    const places = placesOf({ 'fleet/main.ts': '', 'fleet/b.ts': '' }, made)
    expect(() => checkRendered({ test: [one, two] }, validator, places)).toThrow(
      /declared twice for test, at fleet\/main\.ts:7 and fleet\/b\.ts:9/,
    )
  })

  test.each([
    'fleet/other.ts:7',
    'fleet/main.ts',
    'fleet/main.ts:0',
    'fleet/main.ts:7: and more',
    '/etc/passwd:1',
    `${'x'.repeat(5_000)}:1`,
    7,
    undefined,
    {},
  ])('a place that is no line of the commit is not repeated: %j', (said) => {
    const object = {}
    const { madeAt, placeOf } = placesOf({ 'fleet/main.ts': 'one' }, new Map([[object, said]]))
    expect(madeAt(object)).toBeUndefined()
    expect(placeOf(object, ['one'])).toBe('fleet/main.ts:1')
  })

  test('the line with the words of a problem is named beside the line that made the object, unless it is the same', () => {
    const object = {}
    const { placeOf } = placesOf(
      { 'fleet/a.ts': 'x\nbeacon', 'fleet/b.json': '9.9.9' },
      new Map([[object, 'fleet/a.ts:2']]),
    )
    expect(placeOf(object, ['9.9.9'])).toBe('fleet/a.ts:2, see fleet/b.json:1')
    expect(placeOf(object, ['beacon'])).toBe('fleet/a.ts:2')
    expect(placeOf(object, [])).toBe('fleet/a.ts:2')
    expect(placeOf({}, ['beacon'])).toBe('fleet/a.ts:2')
  })
})

describe('a commit of more than anybody reads', () => {
  const many = (count: number, make: (i: number) => object) => Array.from({ length: count }, (_, i) => make(i))
  const set = (i: number, version: string) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: `set-${i}` },
    spec: { selector: { matchLabels: { a: 'b' } }, components: [{ name: 'beacon', version }] },
  })
  const component = (version: string) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponent',
    metadata: { name: `beacon.${version}` },
    spec: {
      component: 'beacon',
      version,
      type: 'DaemonSet',
      daemonSet: { namespace: 'shop', name: 'beacon' },
    },
  })

  test('reports some problems, the certain ones first, and how many more there are', () => {
    const doubtful = many(300, (i) => ({
      ...set(i, '1.0.0'),
      spec: { ...set(i, '1.0.0').spec, selector: { matchLabels: { none: `${i}` } } },
    }))
    const machine = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineSet',
      metadata: { name: 'workers' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } },
      },
    }
    const objects = [component('1.0.0'), machine, ...doubtful, set(1_000, '2.0.0')]
    const targets = checkRendered({ test: objects }, validator)
    expect(targets.get('test')?.rejected).toEqual([])
    const found = problemsIn(targets, {}, NO_PLACES)
    expect([found.problems.length, found.moreProblems]).toEqual([200, 101])
    expect(found.problems[0]).toMatchObject({ object: 'MachineComponentSet.kubenode.io/set-1000', isCertain: true })
    expect(() => refuseImpossible('c', found)).toThrow(/version 2\.0\.0/)
    expect(() => refuseImpossible('c', found)).not.toThrow(/more\)/)
    const wrong = many(300, (i) => set(i, '2.0.0'))
    const certain = problemsIn(checkRendered({ test: [component('1.0.0'), ...wrong] }, validator), {}, NO_PLACES)
    expect(() => refuseImpossible('c', certain)).toThrow(/\(and 299 more\)/)
  })

  test('names some of the clusters and some of the versions', () => {
    const versions = many(30, (i) => component(`1.0.${i}`))
    const clusters = Object.fromEntries(
      many(30, (i) => ({ i })).map((_, i) => [`c-${i}`, [...versions, set(1, '9.9.9')]]),
    )
    const [problem] = problemsIn(checkRendered(clusters, validator), {}, NO_PLACES).problems
    expect(problem?.message).toMatch(/1\.0\.9 and 20 more/)
    expect(problem?.clusters).toHaveLength(30)
    expect(problemText(problem!)).toMatch(/ and 20 more, \/spec/)
  })

  test('is refused where a cluster gets more objects than we hold, and an object where it is larger than servers take', () => {
    const small = (i: number) => config({ metadata: { name: `c-${i}`, namespace: 'default' } })
    expect(() => check(...many(20_001, small))).toThrow(/KN7107.*the target test has 20001 objects \(limit 20000\)/)
    const large = check(config({ data: { a: 'x'.repeat(1_500_000) } }), small(1))
    expect(large?.objects.map((o) => o.ref.name)).toEqual(['c-1'])
    expect(large?.rejected[0]?.problem).toMatch(/limit 1400000/)
  })
})
