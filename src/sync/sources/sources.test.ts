// S27: two sources are distinguished by the objects they may write, by their managers, and by the mark on each object.
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf } from '#delivery/object-ref.ts'
import { isSourceManager, sourceManager } from '#delivery/manager.ts'
import { formerManagers, listingsOf, ownershipOf, takenOver } from '#delivery/ownership.ts'
import { mayWrite } from '#delivery/writes.ts'
import { standingProblem } from './scope.ts'

const WRITES = { kinds: ['ConfigMap', 'Namespace', 'MachineSet.kubenode.io'], namespaces: ['shop'] }
const source = (name: string, created: string, spec: object = {}): FleetSource =>
  ({ metadata: { namespace: 'fleet', name, creationTimestamp: created }, spec }) as FleetSource

describe('S27 a second source', () => {
  const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  const scoped = { writes: WRITES }
  test.each<[string, FleetSource, FleetSource[], string | undefined]>([
    ['alone needs no list', source('a', first), [], undefined],
    ['that came first goes on without a list', source('a', first), [source('b', second)], undefined],
    [
      'that came later is refused when it has no list',
      source('b', second),
      [source('a', first, scoped)],
      'fleet/b has no',
    ],
    ['is refused while the first has no list', source('b', second, scoped), [source('a', first)], 'fleet/a has no'],
    ['is followed when both have one', source('b', second, scoped), [source('a', first, scoped)], undefined],
    ['of the same second: one of the two goes on', source('a', first), [source('b', first)], undefined],
    ['of the same second: the other does not', source('b', first), [source('a', first)], 'beside fleet/a'],
    [
      'replaces none that is there',
      source('b', second, { ...scoped, replaces: ['fleet/a'] }),
      [source('a', first, scoped)],
      'replaces fleet/a',
    ],
    ['replaces one that is gone', source('b', second, { replaces: ['fleet/a'] }), [], undefined],
  ])('%s', (_, own, others, problem) => {
    const found = standingProblem(own, [own, ...others])
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found?.text).toContain(problem)
  })

  test.each([
    ['ConfigMap', '', 'shop', 'a', true],
    ['ConfigMap', '', 'kube-system', 'a', false],
    ['ConfigMap', 'evil.example', 'shop', 'a', false],
    ['Secret', '', 'shop', 'a', false],
    ['MachineSet', 'kubenode.io', '', 'a', true],
    ['MachineSet', '', '', 'a', false],
    ['Namespace', '', '', 'shop', true],
    ['Namespace', '', '', 'kube-system', false],
  ])('with a list writes %s of group "%s" in "%s" named %s: %s', (kind, group, namespace, name, may) => {
    expect(mayWrite(WRITES, { kind, group, namespace, name })).toBe(may)
  })
})

test('S27 managers fit the server, and two sources never share one', () => {
  const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
  const name = fc.stringMatching(/^[a-z]([-a-z0-9.]{0,250}[a-z0-9])?$/)
  const key = fc.tuple(label, name).map((parts) => parts.join('/'))
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(sourceManager(a).length).toBeLessThanOrEqual(128)
      expect(isSourceManager(sourceManager(a))).toBe(true)
      expect(sourceManager(a) === sourceManager(b)).toBe(a === b)
    }),
  )
  expect(sourceManager('kubenode-system/fleet')).toBe('kubenode-sync.kubenode-system.fleet')
  const long = 'x'.repeat(250)
  expect(sourceManager(`a/${long}y`)).not.toBe(sourceManager(`a/${long}z`))
  expect(isSourceManager('kubenode-sync')).toBe(false)
  // A source's name cannot equal another source's manager.
  const cut = sourceManager(`a/${long}`).slice('kubenode-sync.a.'.length)
  expect(sourceManager(`a/${cut.replace('/', '.')}`)).not.toBe(sourceManager(`a/${long}`))
  expect(cut).toMatch(/\/[0-9a-f]{32}$/)
})

const object = (metadata: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'shop', name: 'a', ...metadata },
})
const entry = (manager: string, more: object = {}) => ({ manager, operation: 'Apply' as const, fieldsV1: {}, ...more })
const OLD = { managedFields: [entry('kubenode-sync')] }
const shard = (owner: string) =>
  ({
    spec: { source: owner, refs: [{ group: '', kind: 'ConfigMap', namespace: 'shop', name: 'a' }] },
  }) as unknown as Inventory

test.each<[string, KubeObject, string[], object]>([
  [
    'with a mark belongs to whom it names',
    object({ annotations: { 'kubenode.io/source': 'fleet/b' }, ...OLD }),
    ['fleet/a'],
    { source: 'fleet/b' },
  ],
  [
    'of people has no source, whatever Inventories say',
    object({ managedFields: [entry('kubectl')] }),
    ['fleet/a', 'fleet/b'],
    {},
  ],
  ['of an older release belongs to who lists it', object(OLD), ['fleet/a'], { source: 'fleet/a', isUnmarked: true }],
  [
    'of an older release that another lists is that one’s',
    object(OLD),
    ['fleet/b'],
    { source: 'fleet/b', isUnmarked: true },
  ],
  ['of an older release that none lists has no source', object(OLD), [], { isUnmarked: true }],
  [
    'whose status alone sync wrote has no source',
    object({ managedFields: [entry('kubenode-sync', { subresource: 'status' })] }),
    ['fleet/a'],
    {},
  ],
])('S27 an object %s', (_, live, listed, wanted) => {
  expect(ownershipOf(live, refOf(live), 'fleet/a', listingsOf(listed.map(shard)))).toEqual(wanted)
})

test('S27 fields of a former manager move to the source, once, and those of others stay', () => {
  const former = formerManagers(['fleet/gone'])
  const [own, gone, other] = ['fleet/a', 'fleet/gone', 'fleet/b'].map((s) => entry(sourceManager(s)))
  const status = entry('kubenode-sync', { subresource: 'status' })
  expect(takenOver([entry('kubenode-sync'), status, other!], 'fleet/a', former)).toEqual([own, status, other])
  expect(takenOver([gone!, entry('kubenode-sync')], 'fleet/a', former)).toEqual([own])
  expect(takenOver([own!, gone!], 'fleet/a', former)).toEqual([own])
  expect(takenOver([own!, other!], 'fleet/a', former)).toBeUndefined()
  expect(takenOver([gone!], 'fleet/a', formerManagers([]))).toBeUndefined()
})
