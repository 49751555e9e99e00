// The addons of a control plane: applied before it is Ready, named if one fails, and applied again if it may have others.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { AddonsResult } from './built-in.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import type { ClusterAction } from '../actions.ts'
import { plan } from '../plan.ts'
import type { Seen } from '../seen.ts'
import { statusOf } from '../status.ts'

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

describe('addons that a Cluster names', () => {
  const image = `example.test/dns@sha256:${'a'.repeat(64)}`
  const named = (addons: readonly object[], status: object, more: Partial<Seen> = {}): Seen => {
    const seen = seenOf({ addons: [entry('2.0.0+b')], ...status }, more)
    return { ...seen, cluster: { ...seen.cluster, spec: { ...seen.cluster.spec, addons: addons as never } } }
  }
  const coredns = (version = '1.12.1') => ({ name: 'coredns', version, values: { image } })
  const deliver: ClusterAction = { kind: 'DeliverAddons', reason: 'coredns is not applied' }

  test('are applied before sync can reach it, and kept as declared from then on', () => {
    expect(plan(named([coredns()], { phase: 'Addons' }), NOW)).toMatchObject({ phase: 'Addons', actions: [deliver] })
    const applied = [entry('2.0.0+b'), { name: 'coredns', version: '1.12.1', healthy: 'Unknown' }]
    const seen = named([coredns()], { phase: 'Addons', addons: applied })
    expect(kinds(seen)).toEqual(['WriteKubeconfig', 'DeliverAddons'])
  })

  test('block nothing of a cluster that is Ready', () => {
    const seen = named([coredns()], { phase: 'Ready' })
    expect(plan(seen, NOW).phase).toBe('Ready')
    expect(kinds(seen)).toEqual(['WriteKubeconfig', 'DeliverAddons'])
  })

  test('and that it names no longer are removed once', () => {
    const before = [entry('2.0.0+b'), { name: 'coredns', version: '1.12.1', healthy: 'True' }]
    const seen = named([], { phase: 'Ready', addons: before })
    expect(kinds(seen)).toContain('DeliverAddons')
    const status = after(seen, [deliver, []])
    expect(status.addons).toEqual([entry('2.0.0+b')])
    expect(kinds(named([], { phase: 'Ready', addons: status.addons }))).not.toContain('DeliverAddons')
  })

  test('and one that fails is named with its object', () => {
    const result = {
      name: 'coredns',
      version: '1.12.1',
      healthy: 'False',
      object: 'Deployment.apps/kube-system/coredns',
      message: 'no',
    }
    const seen = named([coredns()], { phase: 'Addons' })
    const status = after(seen, [deliver, [result]])
    expect(status).toMatchObject({
      phase: 'Addons',
      waitingFor: { predicate: 'AddonFailed', seen: 'addon coredns 1.12.1: Deployment.apps/kube-system/coredns: no' },
      addons: [
        entry('2.0.0+b'),
        { name: 'coredns', healthy: 'False', message: 'Deployment.apps/kube-system/coredns: no' },
      ],
    })
    expect(plan(named([coredns()], { phase: 'Addons', addons: status.addons }), NOW).requeueAfter).toBe(2_000)
  })

  test('and that are not tested with the version are refused before anything is made, and before an upgrade', () => {
    const host = {
      name: 'embedded',
      capabilities: { isHighlyAvailable: false, minors: ['1.34', '1.35', '1.36'], most: 9 },
    }
    expect(plan(named([coredns('1.11.4')], {}, { plane: undefined, host }), NOW)).toMatchObject({
      actions: [],
      wait: { predicate: 'InvalidSpec', seen: 'addons are not tested with 1.36: coredns 1.11.4 (1.32 to 1.34)' },
    })
    const older = { ...plane, version: '1.34.2' }
    expect(plan(named([coredns('1.11.4')], {}, { plane: older, host }), NOW).wait?.predicate).toBe('UpgradeRefused')
    expect(plan(named([coredns('9.0.0')], {}, { host }), NOW).wait?.predicate).toBe('InvalidSpec')
  })
})

describe('a recipe that is for one minor', () => {
  const addon = { name: 'proxy', version: '1.36.2', recipe: 'b'.repeat(64) }
  const recipe = { digest: addon.recipe, minors: [36, 36] as const, isAfterNodes: true, objects: [] }
  const refusal = (running: string, version: string) => {
    const base = seenOf({ phase: 'Ready' })
    const cluster = { ...base.cluster, spec: { ...base.cluster.spec, version, addons: [addon] } } as Cluster
    const host = { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.35', '1.36'], most: 9 } }
    const recipes = new Map([['proxy', recipe]])
    return plan({ ...base, cluster, host, recipes, plane: { ...plane, version: running } }, NOW).wait
  }

  test('stops an upgrade from the one before, and says which recipe does not', () => {
    expect(refusal('1.35.2', '1.36.0')).toEqual({
      predicate: 'UpgradeRefused',
      seen: 'proxy 1.36.2 is for 1.36 only; the cluster still runs 1.35',
      unblock: 'a commit names a recipe for 1.35-1.36 first, or takes the addon out until the upgrade is done',
    })
    expect(refusal('1.36.0', '1.35.2')).toMatchObject({ seen: expect.stringContaining('the cluster is to run 1.35') })
  })

  test('is refused in a cluster of another one', () => {
    expect(refusal('1.35.2', '1.35.2')).toMatchObject({
      predicate: 'InvalidSpec',
      seen: 'proxy 1.36.2 is for 1.36 only; the cluster is for 1.35',
    })
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
    expect(status.addons).toEqual([entry('2.0.0+b'), { name: 'coredns', version: '1', healthy: 'True' }])
    expect(status.waitingFor).toBeUndefined()
  })

  test('forgets them when the control plane is made again, or goes back to a snapshot', () => {
    const known = { addons: [entry('2.0.0+b')] }
    const put = { kind: 'Put', reason: 'it does not exist', request: {} } as unknown as ClusterAction
    const made = { kind: 'Plane', plane }
    expect(after(seenOf(known, { plane: undefined }), [put, made]).addons).toBeUndefined()
    expect(after(seenOf(known), [put, made]).addons).toEqual(known.addons)
    const restore: ClusterAction = {
      kind: 'Restore',
      by: { permit: 'p' },
      reason: 'asked',
      snapshot: 's',
      token: 's/1',
    }
    expect(after(seenOf(known), [restore, undefined]).addons).toBeUndefined()
  })
})
