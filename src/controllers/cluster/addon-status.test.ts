// What becomes of the addons of a control plane: applied before it is Ready, named when one fails, and applied again when it may have others.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { AddonsResult } from '#controlplanes/addons.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import type { ClusterAction } from './actions.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const NOW = Date.UTC(2030, 0, 1)
const plane = runningPlane('fleet.one')
const seenOf = (status: object | undefined, more: Partial<Seen> = {}): Seen => ({
  ...QUIET,
  addons: '2.0.0+b',
  cluster: {
    metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster] },
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' },
    status,
  } as unknown as Cluster,
  plane,
  host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
  kubeconfig: undefined,
  ...more,
})
const entry = (version: string, healthy = 'True') => ({ name: 'kubenode', version, healthy })
const kinds = (seen: Seen) => plan(seen, NOW).actions.map((a) => a.kind)
const after = (seen: Seen, ...done: readonly (readonly [ClusterAction, unknown])[]) => {
  const results = done.map(([action, object]) => ({ action, outcome: { kind: 'Applied', object } }))
  return statusOf(seen, plan(seen, NOW), results as unknown as readonly ActionResult<ClusterAction>[], NOW)
}
const apply: ClusterAction = { kind: 'ApplyAddons', reason: 'they are missing' }

describe('a control plane that runs', () => {
  test('gets its addons before sync can reach it', () => {
    const seen = seenOf({ phase: 'Creating' })
    expect(plan(seen, NOW)).toMatchObject({ phase: 'Addons', actions: [apply], requeueAfter: 0 })
    expect(kinds(seenOf({ addons: [entry('2.0.0+b')] }))).toEqual(['WriteKubeconfig'])
  })

  test('and that is Ready stays so while it gets those of another release', () => {
    const seen = seenOf({ phase: 'Ready', addons: [entry('1.0.0+a')] })
    expect(plan(seen, NOW)).toMatchObject({
      phase: 'Ready',
      actions: [{ kind: 'ApplyAddons', reason: 'they are 1.0.0+a' }],
    })
  })

  test('and whose addons failed is tried again after a while, and never written as fast as it can be', () => {
    const seen = seenOf({ phase: 'Addons', addons: [entry('2.0.0+b', 'False')] })
    expect(plan(seen, NOW)).toMatchObject({ actions: [{ kind: 'ApplyAddons' }], requeueAfter: 2_000 })
  })
})

describe('the status', () => {
  const failed: AddonsResult = { kind: 'AddonFailed', version: '2.0.0+b', object: 'ClusterRole x', message: 'no' }

  test('names the object that failed, and the phase stays', () => {
    expect(after(seenOf({ phase: 'Creating' }), [apply, failed])).toMatchObject({
      phase: 'Addons',
      addons: [{ ...entry('2.0.0+b', 'False'), message: 'ClusterRole x: no' }],
      waitingFor: { predicate: 'AddonFailed', seen: 'ClusterRole x: no' },
    })
  })

  test('has what was applied, beside what others have in it', () => {
    const seen = seenOf({ addons: [entry('1.0.0+a'), { name: 'coredns', version: '1', healthy: 'True' }] })
    const status = after(seen, [apply, { kind: 'Applied', version: '2.0.0+b' }])
    expect(status.addons).toEqual([{ name: 'coredns', version: '1', healthy: 'True' }, entry('2.0.0+b')])
    expect(status.waitingFor).toBeUndefined()
  })

  test('forgets them when the control plane is made again, or goes back to a snapshot', () => {
    const known = { addons: [entry('2.0.0+b')] }
    const put = { kind: 'Put', reason: 'it does not exist', request: {} } as unknown as ClusterAction
    const made = { kind: 'Plane', plane }
    expect(after(seenOf(known, { plane: undefined }), [put, made]).addons).toBeUndefined()
    expect(after(seenOf(known), [put, made]).addons).toEqual(known.addons)
    const restore: ClusterAction = { kind: 'Restore', reason: 'asked', snapshot: 's', token: 's/1' }
    expect(after(seenOf(known), [restore, undefined]).addons).toBeUndefined()
  })
})
