import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type ComponentConfig, componentConfig, renderedConfig } from '#api/kinds/component-config.ts'
import { componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import {
  CONFIG_GRACE_MS,
  ConfigSweep,
  MOST_A_SWEEP,
  type Referrers,
  SWEEP_EVERY_MS,
  planSweep,
} from './config-sweep.ts'
import { newRevision } from './revisions.ts'

const valuesOf = (n: number) => ({ port: n })
const configOf = (n: number): ComponentConfig => {
  const { object = '', digest = '', values = {} } = renderedConfig({ name: 'beacon', values: valuesOf(n) }) ?? {}
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'ComponentConfig',
    metadata: { name: object, uid: `uid-${n}` },
    spec: { component: 'beacon', digest, values },
  }
}
const nameOf = (n: number) => configOf(n).metadata.name ?? ''
const nobody: Referrers = { machines: [], sets: [], revisions: [], canaries: [] }
const declared = (n: number) => {
  const set = componentSet({})
  return { ...set, spec: { ...set.spec, components: [{ name: 'beacon', version: '1.0.0', values: valuesOf(n) }] } }
}
const told = workingMachine('m', { versions: { beacon: '1.0.0' } })
const machine = {
  ...told,
  spec: { ...told.spec, components: (told.spec.components ?? []).map((c) => ({ ...c, config: nameOf(1) })) },
}
const slice = { component: 'beacon', step: 0, number: 0, phase: 'Switching' as const, config: nameOf(1), machines: [] }
const canary = {
  apiVersion: API_GROUP_VERSION,
  kind: 'ComponentCanary' as const,
  metadata: { name: 'c' },
  spec: { components: [{ name: 'beacon', version: '1.0.0', values: valuesOf(1) }] },
}
const longAgo = new Map([1, 2].map((n) => [`uid-${n}`, 0]))

describe('a configuration', () => {
  test.each<readonly [string, Partial<Referrers>]>([
    ['a machine has', { machines: [machine] }],
    ['a set declares', { sets: [declared(1)] }],
    ['a kept revision names', { revisions: [newRevision(declared(1), [])] }],
    ['a slice leads to', { sets: [{ ...componentSet({}), status: { slices: [slice] } }] }],
    ['a canary tries', { canaries: [canary as never] }],
  ])('that %s stays, and the one that nothing names goes', (_, referrers) => {
    const input = { ...nobody, ...referrers, configs: [configOf(1), configOf(2)], since: longAgo, now: CONFIG_GRACE_MS }
    expect(planSweep(input).remove.map((c) => c.metadata.name)).toEqual([nameOf(2)])
  })

  test('that was just released stays for the grace period, which restarts when an object names it in between', () => {
    const configs = [configOf(1)]
    const first = planSweep({ ...nobody, configs, since: new Map(), now: 5 })
    expect(first.remove).toEqual([])
    const named = planSweep({ ...nobody, machines: [machine], configs, since: first.since, now: CONFIG_GRACE_MS })
    const again = planSweep({ ...nobody, configs, since: named.since, now: CONFIG_GRACE_MS + 6 })
    expect(again.remove).toEqual([])
    expect(planSweep({ ...nobody, configs, since: again.since, now: 2 * CONFIG_GRACE_MS + 6 }).remove).toHaveLength(1)
  })

  test('is one of a few that go at once', () => {
    const configs = Array.from({ length: 300 }, (_, n) => configOf(n))
    const since = new Map(configs.map((c) => [c.metadata.uid ?? '', 0]))
    expect(planSweep({ ...nobody, configs, since, now: CONFIG_GRACE_MS }).remove).toHaveLength(MOST_A_SWEEP)
  })
})

async function swept(isFresh: boolean): Promise<number> {
  const clock = new VirtualClock()
  const fake = new FakeKube({
    clock,
    random: seededRandom(1),
    kinds: [{ type: componentConfig, schema: componentConfig.schema, status: false }],
  })
  fake.plant(componentConfig, { ...configOf(1), metadata: { name: nameOf(1) } })
  const sweep = new ConfigSweep({
    client: fake.client({ actor: 'controllers' }),
    clock,
    log: silentLogger,
    read: () => {
      if (!isFresh) throw new Error('the caches are old')
      return { ...nobody, configs: fake.all(componentConfig) as readonly ComponentConfig[] }
    },
  })
  sweep.start()
  await clock.advance(CONFIG_GRACE_MS + 2 * SWEEP_EVERY_MS)
  const { length } = fake.all(componentConfig)
  const stopping = sweep.stop()
  await clock.advance(1)
  await stopping
  return length
}

test('the sweep removes what nothing names once its grace is over, and nothing on old caches', async () => {
  expect([await swept(true), await swept(false)]).toEqual([0, 1])
})
