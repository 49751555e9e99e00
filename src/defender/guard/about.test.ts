import { describe, expect, test } from 'vitest'
import { approval, type Approval } from '#api/kinds/approval.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type Pruning, pruningDigest } from '#api/protocol/pruning.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { aboutDeletion } from './about.ts'
import type { Deletion } from './deletion.ts'

const NOW = Date.parse('2026-01-05T00:00:00Z')

type Caches = Parameters<typeof aboutDeletion>[1]
interface World {
  readonly machines?: readonly object[]
  readonly nodes?: readonly object[]
  readonly approvals?: readonly object[]
}
const cache = (objects: readonly object[] = []) => {
  const all = objects as readonly KubeObject[]
  return { list: () => all, get: ({ name }: { name: string }) => all.find((o) => o.metadata.name === name) }
}
const caches = ({ machines, nodes, approvals }: World) =>
  ({ machines: cache(machines), nodes: cache(nodes), approvals: cache(approvals) }) as unknown as Caches

const deletion = (more: Partial<Deletion>): Deletion => ({
  group: 'kubenode.io',
  kind: 'Machine',
  name: 'm-1',
  namespace: '',
  uid: 'm-uid',
  user: 'kubenode:sync',
  isEnding: false,
  isDryRun: false,
  ...more,
})
const about = (more: Partial<Deletion>, world: World, prunings: readonly Pruning[] = []) =>
  aboutDeletion(deletion(more), caches(world), { prunings, wall: NOW })

describe('S25 a prune that was approved', () => {
  const targets = ['Machine.kubenode.io/m-1 m-uid', 'Machine.kubenode.io/m-2 m-2-uid']
  const pruning = { digest: pruningDigest(targets), targets }
  const approved = (spec: Partial<Approval['spec']> = {}): World => ({
    approvals: [{ ...approval.example, spec: { digest: pruning.digest, by: 'ada', ...spec } }],
  })
  test('passes for each object of its list', () => {
    expect(about({}, approved(), [pruning]).follows).toBe(true)
    expect(about({ uid: 'm-2-uid', name: 'm-2' }, approved(), [pruning]).follows).toBe(true)
  })
  test.each([
    ['that is not approved', {}, [pruning], {}],
    ['whose approval has ended', approved({ until: '2026-01-04T00:00:00Z' }), [pruning], {}],
    ['of other objects', approved(), [pruning], { uid: 'm-3-uid' }],
    ['that is not running', approved(), [], {}],
    [
      'with an object added to its list',
      approved(),
      [{ ...pruning, targets: [...targets, 'Machine.kubenode.io/m-3 m-3-uid'] }],
      { uid: 'm-3-uid' },
    ],
  ] as const)('lets nothing pass %s', (_, world, prunings, more) => {
    expect(about(more, world, prunings).follows).toBe(false)
  })
})

describe('S25 what the Defender knows of an object that the controllers delete', () => {
  const user = 'kubenode:controllers'
  const ready = { type: 'Ready', status: 'True' }
  const node = { metadata: { name: 'n-1', uid: 'n-uid' }, status: { conditions: [ready] } }
  const machine = (more: object = {}, status: object = {}) => ({
    metadata: { name: 'm-1', uid: 'm-uid', ...more },
    spec: {},
    status: { phase: 'Ready', nodeRef: { name: 'n-1', uid: 'n-uid' }, conditions: [], ...status } as Machine['status'],
  })
  const ofNode = { group: '', kind: 'Node', name: 'n-1', uid: 'n-uid', user }

  test('the Node of a Machine that is being deleted follows it; permits for the Machine cover its Node', () => {
    const ending = { machines: [machine({ deletionTimestamp: '2026-01-04T00:00:00Z' })], nodes: [node] }
    expect(about(ofNode, ending)).toMatchObject({ follows: true, grantedAs: ['n-uid', 'm-uid'] })
    expect(about(ofNode, { machines: [machine()], nodes: [node] }).follows).toBe(false)
  })
  test('a machine that never served costs nothing, one that serves does, and so does everything for other users', () => {
    const young = { machines: [{ metadata: { name: 'm-1', uid: 'm-uid' }, spec: {}, status: { phase: 'Pending' } }] }
    expect(about({ user }, young).costsNothing).toBe(true)
    expect(about({}, young).costsNothing).toBe(false)
    expect(about({ user }, { machines: [machine()], nodes: [node] }).costsNothing).toBe(false)
  })
  test('another object of the same name is not taken for it', () => {
    const other = { machines: [{ metadata: { name: 'm-1', uid: 'other' }, spec: {}, status: { phase: 'Pending' } }] }
    expect(about({ user }, other)).toEqual({ grantedAs: ['m-uid'], follows: false, costsNothing: false })
  })
})
