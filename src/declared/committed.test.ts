import { holdOn } from '#test/support/fleets/holds.ts'
import { describe, expect, test } from 'vitest'
import { machineSet, type MachineSet } from '#api/kinds/machine-set.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { contentOf, keptContent } from '#api/protocol/committed.ts'
import type { Condition, ManagedFieldsEntry } from '#api/schema/object.ts'
import { CommittedContents, type ContentCaches, committedIn, viewOf } from './committed.ts'
import { editAdvice, editSeen, withEdit } from './edited-status.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const LATER = '2026-01-31T20:00:00Z'

type Spec = MachineSet['spec']
const declared: Spec = { ...(machineSet.example.spec as Spec), replicas: 5 }
const content = (spec: object) => {
  const found = contentOf({ kind: 'MachineSet', spec })
  if (found === undefined) throw new Error('no content')
  return found
}
const edited: Spec = { ...declared, deleteOrder: 'Newest' }
const { replicas: _, ...unscaled } = declared

const SCALED: ManagedFieldsEntry = {
  operation: 'Update',
  subresource: 'scale',
  fieldsV1: { 'f:spec': { 'f:replicas': {} } },
}

interface Made {
  readonly kept?: object
  readonly managedFields?: readonly ManagedFieldsEntry[]
  readonly generation?: number
}
const make = (spec: Spec, { kept = declared, managedFields, generation = 1 }: Made = {}): MachineSet => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineSet',
  metadata: {
    name: 'workers',
    uid: 'u',
    generation,
    annotations: { [ANNOTATIONS.committed]: keptContent({ kind: 'MachineSet', spec: kept }) ?? '' },
    ...defined({ managedFields }),
  },
  spec,
})

const allow = (to: string, more: Partial<OperationalHold['spec']> = {}): OperationalHold => ({
  ...holdOn('MachineSet', 'workers', { effect: 'AllowEdit', to, reason: 'git is away', until: LATER, ...more }),
  metadata: { name: 'night' },
})
const editDigestOf = (set: MachineSet) => viewOf(set, [content(declared)], [], NOW).edit?.digest ?? ''
const before = { ...declared, deleteOrder: 'Random' } as const

test.each<[string, MachineSet, Parameters<typeof viewOf>[1], 'acts' | 'declared acts' | 'held' | 'held in silence']>([
  ['what git declares', make(declared), [content(declared)], 'acts'],
  ['an edit', make(edited), [content(declared)], 'declared acts'],
  ['an edit of what no Inventory lists', make(edited), undefined, 'acts'],
  [
    'the content of before while the new one is being applied',
    make(before),
    [content(declared), content(before)],
    'acts',
  ],
  ['an edit without a copy of what git declares', make(edited, { kept: {} }), [content(declared)], 'held'],
  [
    'what sync wrote, which the cached Inventory has not heard of',
    make(before, { kept: before }),
    [content(declared)],
    'held in silence',
  ],
  ['edited replicas', make({ ...declared, replicas: 50 }), [content(declared)], 'declared acts'],
  ['scaled replicas', make({ ...declared, replicas: 50 }, { managedFields: [SCALED] }), [content(declared)], 'acts'],
  ['replicas that git leaves alone', make({ ...declared, replicas: 50 }), [content(unscaled)], 'acts'],
  [
    'an edit under scaled replicas',
    make({ ...edited, replicas: 50 }, { managedFields: [SCALED] }),
    [content(declared)],
    'declared acts',
  ],
])('%s', (_name, set, committed, expected) => {
  const { object, edit, isHeld } = viewOf(set, committed, [], NOW)
  const outcome = isHeld ? (edit === undefined ? 'held in silence' : 'held') : object === set ? 'acts' : 'declared acts'
  expect(outcome).toBe(expected)
  if (outcome === 'declared acts') expect(object.spec.deleteOrder).toBe('Unhealthy')
})

test('the spec that acts in place of an edit keeps replicas that git leaves alone, or that were scaled', () => {
  const loose = viewOf(make({ ...edited, replicas: 50 }, { kept: unscaled }), [content(unscaled)], [], NOW)
  const scaled = viewOf(make({ ...edited, replicas: 50 }, { managedFields: [SCALED] }), [content(declared)], [], NOW)
  const fixed = viewOf(make({ ...edited, replicas: 50 }), [content(declared)], [], NOW)
  expect([loose, scaled, fixed].map((v) => v.object.spec.replicas)).toEqual([50, 50, 5])
})

describe('a hold lets an edit act', () => {
  const set = make(edited)
  const digest = editDigestOf(set)
  test.each<[string, OperationalHold, boolean]>([
    ['until it ends', allow(digest), true],
    ['of this very content only', allow('0123456789abcdef'), false],
    ['of this object only', allow(digest, { target: { kind: 'MachineSet', name: 'other' } }), false],
    ['not after its end', allow(digest, { until: '2026-01-31T11:00:00Z' }), false],
    ['not with another effect', allow(digest, { effect: 'Retry' }), false],
  ])('%s', (_name, hold, acts) => {
    const { object, edit } = viewOf(set, [content(declared)], [hold], NOW)
    expect(object === set).toBe(acts)
    expect(edit?.allowed).toEqual(acts ? { hold: 'night', until: LATER } : undefined)
  })
})

test('an Inventory that says nothing of the content, or two tracks that both say something', () => {
  const shard = (committed?: readonly { digest: string }[]): Inventory => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Inventory',
    metadata: { name: 'x' },
    spec: {
      source: 'a/b',
      track: 't',
      shard: 0,
      shards: 1,
      refs: [
        { group: 'kubenode.io', kind: 'MachineSet', namespace: '', name: 'w', ...defined({ committed }) },
        { group: '', kind: 'MachineSet', namespace: '', name: 'foreign', committed: [{ digest: 'ab' }] },
      ],
    },
  })
  const of = (...all: readonly Inventory[]) => committedIn(all).get('MachineSet/w')
  expect(of(shard())).toBeUndefined()
  expect(of(shard([{ digest: 'a1' }]), shard([{ digest: 'b2' }]))).toEqual([{ digest: 'a1' }, { digest: 'b2' }])
  expect(of(shard([{ digest: 'a1' }]), shard())).toBeUndefined()
  expect(of(shard(), shard([{ digest: 'a1' }]))).toBeUndefined()
  expect(committedIn([shard()]).has('MachineSet/foreign')).toBe(false)
})

/** Caches of one Inventory and some holds, which report changes. */
function world(committed: readonly { digest: string; replicas?: number }[]) {
  const refs = [{ group: 'kubenode.io', kind: 'MachineSet', namespace: '', name: 'workers', committed }]
  const state = { inventories: [{ spec: { refs } }] as unknown[], holds: [] as OperationalHold[] }
  const told: (() => void)[] = []
  const cache = (list: () => readonly unknown[]) => ({ list, onChange: (f: () => void) => void told.push(f) })
  const caches = { inventories: cache(() => state.inventories), holds: cache(() => state.holds) }
  const contents = new CommittedContents(caches as unknown as ContentCaches)
  return { contents, state, change: () => told.forEach((f) => f()) }
}

test('F45 deleting every Inventory sets no edit free: what sync noted on the object still acts', () => {
  const { contents, state, change } = world([content(declared)])
  state.inventories = []
  change()
  const { object, edit, isHeld } = contents.view(make(edited), NOW)
  expect([object.spec.deleteOrder, isHeld, edit?.kind]).toEqual([
    declared.deleteOrder ?? 'Unhealthy',
    false,
    'MachineSet',
  ])
  // Without the note nothing shows that git ever declared it, as when a user works only with kubectl.
  const own = { ...make(edited), metadata: { name: 'workers', uid: 'v', generation: 1 } }
  expect(contents.view(own, NOW)).toEqual({ object: own, isHeld: false })
})

test('a view is the same object until something changes: an edit, a hold, the end of a hold', () => {
  const { contents, state, change } = world([content(declared)])
  const set = make(edited)
  const first = contents.view(set, NOW).object
  expect(first.spec.deleteOrder).toBe('Unhealthy')
  expect(contents.view(set, NOW + 1).object).toBe(first)
  state.holds.push(allow(editDigestOf(set)))
  change()
  expect(contents.view(set, NOW).object).toBe(set)
  expect(contents.view(set, Date.parse(LATER)).object.spec.deleteOrder).toBe('Unhealthy')
  expect(contents.all([make(declared)], NOW)).toHaveLength(1)
})

test('content that no Inventory has ever recorded is an edit after a while, whatever it says of itself', () => {
  const { contents } = world([content(declared)])
  const forged = make(edited, { kept: edited })
  expect(contents.view(forged, NOW)).toMatchObject({ isHeld: true })
  expect(contents.view(forged, NOW).edit).toBeUndefined()
  expect(contents.view(forged, NOW + 11_000)).toMatchObject({ isHeld: true, edit: { name: 'workers' } })
  expect(contents.view({ ...forged }, NOW + 12_000).edit).toBeDefined()
})

test('the status says what was found and names both commands, and forgets it when it is over', () => {
  const { edit } = viewOf(make(edited), [content(declared)], [], NOW)
  if (edit === undefined) throw new Error('no edit')
  const was = '2026-01-30T00:00:00Z'
  const ready: readonly Condition[] = [
    { type: 'Ready', status: 'True', reason: 'AllUpdated', message: 'done', lastTransitionTime: was },
  ]
  const status = withEdit({ conditions: ready }, { conditions: ready }, edit, NOW)
  expect(status.conditions?.map((c) => [c.type, c.status, c.reason])).toEqual([
    ['Ready', 'False', 'UncommittedChange'],
    ['UncommittedChange', 'True', 'UncommittedChange'],
  ])
  expect(status).toMatchObject({
    waitingFor: {
      predicate: 'UncommittedChange',
      seen: `edited: content ${edit.digest} differs from git (${edit.committed}); the edit has no effect`,
      unblock: `kubenode put-back machineset/workers; to allow the edit, run kubenode allow-edit machineset/workers --digest ${edit.digest} --for 8h --reason WHY`,
      since: '2026-01-31T12:00:00Z',
    },
  })
  expect(withEdit({ conditions: ready }, status, edit, NOW + 60_000)).toEqual(status)
  expect(withEdit({ conditions: ready }, status, undefined, NOW).conditions).toEqual(ready)
  const allowed = { ...edit, allowed: { hold: 'night', until: LATER } }
  const calm = withEdit({ conditions: ready }, { conditions: ready }, allowed, NOW)
  expect([calm.conditions?.[0]?.status, calm.conditions?.[1]?.reason]).toEqual(['True', 'HoldAllowEdit'])
  expect([editSeen(allowed).length, editAdvice(edit).length].every((n) => n < 200)).toBe(true)
})
