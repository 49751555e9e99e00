import { coreKind } from '#kube/core-kinds.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FaultPort } from '#test/doubles/kube/faults.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { CLEARANCE } from '#test/support/permits/clearance.ts'
import { describe, expect, test } from 'vitest'
import { drainPass, drainPlan } from './drain.ts'
import { podType } from './objects.ts'

const BUDGET = coreKind('PodDisruptionBudget')

const pod = (
  name: string,
  metadata: object = {},
  extra: { readonly node?: string; readonly phase?: string; readonly grace?: number } = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'web' }, ...metadata },
  spec: {
    terminationGracePeriodSeconds: extra.grace ?? 0,
    nodeName: extra.node ?? 'n',
    containers: [{ name: 'c', image: 'i' }],
  },
  status: { phase: extra.phase ?? 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
})
const ofDaemonSet = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
}
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }

function world(pods: readonly ReturnType<typeof pod>[], faults?: FaultPort) {
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), ...defined({ faults }) })
  for (const p of pods) {
    fake.plant(podType, p)
    fake.poke(podType, { namespace: 'default', name: p.metadata.name }, { status: p.status }, 'status')
  }
  const left = () => fake.all(podType).map((p) => p.metadata.name)
  return { fake, left, drain: () => drainPass(CLEARANCE, fake.client({ actor: 'c' }), 'n') }
}

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } }, minAvailable: 2 },
}

describe('a drain', () => {
  test('moves what must move, and leaves mirror, daemon-set, finished and other nodes’ pods', async () => {
    const { drain, left } = world([
      pod('a'),
      pod('static', mirror),
      pod('daemon', ofDaemonSet),
      pod('job', {}, { phase: 'Succeeded' }),
      pod('elsewhere', {}, { node: 'other' }),
    ])
    await drain()
    expect(left()).toEqual(['daemon', 'elsewhere', 'job', 'static'])
    expect(await drain()).toEqual({ kind: 'Drained' })
  })

  test('is stopped by a budget, and names the pod that it keeps', async () => {
    const { fake, drain, left } = world([pod('a'), pod('b'), pod('c')])
    fake.plant(BUDGET, budget)
    expect(await drain()).toMatchObject({ kind: 'Draining', blockedBy: 'default/b' })
    expect(left()).toEqual(['b', 'c'])
    expect(await drain()).toMatchObject({ kind: 'Draining', left: 2, blockedBy: 'default/b' })
  })

  test('waits for pods that were evicted and terminate, without evicting them again', async () => {
    const { fake, drain, left } = world([pod('a', {}, { grace: 30 })])
    expect(await drain()).toEqual({ kind: 'Draining', left: 1, first: 'default/a' })
    const before = fake.callsOf('c').writes
    expect(await drain()).toEqual({ kind: 'Draining', left: 1, first: 'default/a' })
    expect(fake.callsOf('c').writes).toBe(before)
    expect(left()).toEqual(['a'])
  })

  test('a pod that runs is not hidden behind thousands of finished ones', async () => {
    const done = Array.from({ length: 1_000 }, (_, i) => pod(`done-${i}`, {}, { phase: 'Succeeded' }))
    const { drain } = world([...done, pod('web', {}, { grace: 30 })])
    expect(await drain()).toEqual({ kind: 'Draining', left: 1, first: 'default/web' })
  })

  test('an empty node is drained', async () => {
    expect(await world([pod('static', mirror)]).drain()).toEqual({ kind: 'Drained' })
  })

  test.each<[string, FaultPort]>([
    [
      'pods cannot be listed',
      { call: (c) => (c.verb === 'list' ? { kind: 'refuse', when: 'before', code: 503 } : undefined) },
    ],
    [
      'the reply to an eviction is lost',
      { call: (c) => (c.verb === 'evict' ? { kind: 'lose', when: 'after' } : undefined) },
    ],
  ])('is not called done when %s', async (_, faults) => {
    expect((await world([pod('a')], faults).drain()).kind).toBe('Unknown')
  })
})

describe('the options of a drain', () => {
  const names = (pods: readonly { readonly metadata: { readonly name?: string } }[]) => pods.map((p) => p.metadata.name)
  const inNamespace = (name: string, namespace: string) => pod(name, { namespace })
  const withData = (name: string) => {
    const plain = pod(name)
    return { ...plain, spec: { ...plain.spec, volumes: [{ name: 'd', emptyDir: {} }] } }
  }

  test('is done by namespace: evicted, waited for, or left alone', () => {
    const pods = [inNamespace('a', 'web'), inNamespace('b', 'batch'), inNamespace('c', 'infra')]
    const { evict, kept } = drainPlan(pods, { namespaces: { batch: 'Wait', infra: 'Leave' } })
    expect([names(evict), names(kept)]).toEqual([['a'], ['b']])
  })

  test('is done for all other namespaces under *', () => {
    const { evict, kept } = drainPlan([inNamespace('a', 'web'), inNamespace('b', 'batch')], {
      namespaces: { '*': 'Wait', web: 'Evict' },
    })
    expect([names(evict), names(kept)]).toEqual([['a'], ['b']])
  })

  test('keeps pods with data only where that is wished', () => {
    expect(names(drainPlan([withData('a')]).evict)).toEqual(['a'])
    expect(names(drainPlan([withData('a'), pod('b')], { keepsEmptyDir: true }).kept)).toEqual(['a'])
  })

  test('names whom it waits for', async () => {
    const { fake } = world([inNamespace('a', 'default')])
    const pass = await drainPass(CLEARANCE, fake.client({ actor: 'c' }), 'n', undefined, {
      namespaces: { default: 'Wait' },
    })
    expect(pass).toEqual({ kind: 'Draining', left: 1, first: 'default/a', blocked: ['default/a'] })
  })
})
