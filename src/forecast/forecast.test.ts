import { holdOn } from '#test/support/fleets/holds.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { timestamp } from '#lib/clock.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import {
  START,
  component,
  componentSet,
  readyNode,
  silenced,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { newRecord } from '#controllers/machineset/template/taken.ts'
import { durationsOf } from '#explain/durations.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import { type Forecast, forecast } from './forecast.ts'
import { INVENTORY_FORM, type Inventory } from './inventory.ts'
import { expectedObjects } from './objects.ts'
import { outlookOf } from './plan/outlook.ts'
import { outlookLines } from './plan/text.ts'
import { predict } from './predict.ts'
import { ASSUMED_REBOOT_MS } from './simulation/reboot-time.ts'

const SET = componentSet({ beacon: '1.0.0' }, { soak: '10m' })
const NEXT = componentSet({ beacon: '1.1.0' }, { soak: '10m' })

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'AsDeclared',
  message: '',
  lastTransitionTime: '2026-01-05T00:00:00Z',
} as const

const fleetOf = (count: number): readonly Machine[] =>
  Array.from({ length: count }, (_, i) => {
    const name = `m-${String(i).padStart(3, '0')}`
    const made = workingMachine(name, { versions: { beacon: '1.0.0' }, zone: `z-${i % 3}`, rack: `r-${i % 5}` })
    return { ...made, status: { ...made.status, conditions: [...(made.status?.conditions ?? []), READY] } }
  })

const inventory = (machines: readonly Machine[], more: Partial<Inventory> = {}): Inventory => ({
  form: INVENTORY_FORM,
  cluster: 'prod',
  takenAt: new Date(START).toISOString(),
  machines,
  nodes: machines.map((m) => readyNode(m.metadata.name ?? '')),
  machineSets: [],
  sets: [{ ...SET, status: { durations: [{ component: 'beacon', seconds: [60, 90, 120] }] } }],
  components: [component('beacon', '1.0.0'), component('beacon', '1.1.0')],
  revisions: [],
  permits: [],
  holds: [],
  approvals: [],
  policies: [],
  fullBudgets: [],
  ...more,
})

const declared = (...objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.map((o) => applyDefaults(machineComponentSet.schema, o) as KubeObject)

async function forecastOf(from: Inventory, after: readonly KubeObject[] = [NEXT]) {
  const { objects, changedSets } = expectedObjects(from, declared(SET), declared(...after))
  const durationOf = durationsOf(from.sets, 0.5)
  return forecast({
    objects,
    now: START,
    switchMs: (set, c) => durationOf(set, c).ms,
    sets: new Set(changedSets),
  })
}

const policy = (spec: Partial<DefenderPolicy['spec']>): DefenderPolicy => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'DefenderPolicy',
  metadata: { name: 'careful' },
  spec: { mode: 'Enforce', ...spec },
})

describe('the forecast of a rollout', () => {
  test('brings all machines to the version, in the steps of the set, and takes as long as steps and soak take', async () => {
    const { slices, ms, stuck } = await forecastOf(inventory(fleetOf(40)))
    expect(stuck).toEqual([])
    expect(new Set(slices.flatMap((s) => s.machines)).size).toBe(40)
    const steps = Map.groupBy(slices, (s) => s.step)
    expect([...steps.values()].map((of) => of.reduce((n, s) => n + s.machines.length, 0))).toEqual([1, 5, 10, 24])
    // Four machines at a time: 1, 2, 3 and 6 turns of a minute and a half, and a soak after each step; a step's last machine may switch with the next step.
    expect(Math.abs(ms / 60_000 - (4 * 10 + 12 * 1.5))).toBeLessThan(4)
  })

  test('a kernel is one reboot a machine, and the plan says from which kernel to which', async () => {
    const os = { kernel: '6.1.0-28-amd64', bootArguments: ['hugepages=4'] }
    const next = component('beacon', '1.1.0', { type: 'OS', install: undefined, disruption: 'Reboot', os })
    const kernelOf = (m: Machine, i: number) =>
      i === 0 ? m : { ...m, status: { ...m.status, platform: { kernel: '6.1.0-27-amd64' } } }
    const from = inventory(fleetOf(4).map(kernelOf), { components: [component('beacon', '1.0.0'), next] })
    const prediction = await predict({ inventory: from, before: declared(SET), after: declared(NEXT) })
    expect(prediction.reboots).toBe(4)
    const lines = outlookLines(outlookOf([prediction], { pipelines: [], clusters: [] }, []), [])
    expect(lines.map((l) => l.text).filter((t) => t.includes('Linux'))).toEqual([
      'prod: Linux 6.1.0-27-amd64 → 6.1.0-28-amd64 with hugepages=4 on 3 machines, one reboot each; a kernel that does not come up is followed by the one before',
      'prod: Linux unknown → 6.1.0-28-amd64 with hugepages=4 on 1 machine, one reboot each; a kernel that does not come up is followed by the one before',
    ])
  })

  test('a whole image is named in the plan, and who will refuse it', async () => {
    const image = `registry.example.com/os/node@sha256:${'ab'.repeat(32)}`
    const os = { kernel: '6.12.0-55.el10', images: [{ arch: 'amd64', image }] }
    const next = component('beacon', '1.1.0', { type: 'OS', install: undefined, disruption: 'Reboot', os })
    const from = inventory(fleetOf(4), { components: [component('beacon', '1.0.0'), next] })
    const prediction = await predict({ inventory: from, before: declared(SET), after: declared(NEXT) })
    const lines = outlookLines(outlookOf([prediction], { pipelines: [], clusters: [] }, []), [])
    expect(lines.map((l) => l.text).filter((t) => t.includes('Linux'))).toEqual([
      'prod: Linux unknown → 6.12.0-55.el10 in image node@abababababab on 4 machines, one reboot each; an image that does not come up is followed by the one before, and hosts whose GRUB does not count boots refuse it',
    ])
  })

  test('a kernel and a driver in one commit share the reboot of each machine, and the plan says so', async () => {
    const os = { kernel: '6.1.0-28-amd64' }
    const kernel = component('kernel', '28', { type: 'OS', install: undefined, disruption: 'Reboot', os })
    const driver = component('beacon', '1.1.0', { disruption: 'Reboot' })
    const next = componentSet({ beacon: '1.1.0', kernel: '28' })
    const from = inventory(fleetOf(4), { components: [component('beacon', '1.0.0'), driver, kernel] })
    const prediction = await predict({ inventory: from, before: declared(SET), after: declared(next) })
    expect(prediction.reboots).toBe(4)
    const lines = outlookLines(outlookOf([prediction], { pipelines: [], clusters: [] }, []), [])
    expect(lines.map((l) => l.text).filter((t) => t.includes('Linux'))).toEqual([
      'prod: Linux unknown → 6.1.0-28-amd64 on 4 machines, one reboot each, shared with beacon 1.1.0; a kernel that does not come up is followed by the one before',
    ])
  })

  test('a version that reboots its machines counts them, and takes the time of a boot more', async () => {
    const reboot = (version: string) => component('beacon', version, { disruption: 'Reboot' })
    const run = (...components: readonly MachineComponent[]) => forecastOf(inventory(fleetOf(1), { components }))
    const plain = await run(component('beacon', '1.0.0'), component('beacon', '1.1.0'))
    const first = await run(component('beacon', '1.0.0'), reboot('1.1.0'))
    // The recorded durations are those of reboots.
    const again = await run(reboot('1.0.0'), reboot('1.1.0'))
    expect([plain, first, again].map(({ slices }) => slices.map((s) => [s.reboots, s.drains]))).toEqual([
      [[false, false]],
      [[true, true]],
      [[true, true]],
    ])
    const took = ({ slices }: Forecast) => (slices[0]?.done ?? 0) - (slices[0]?.begun ?? 0)
    expect(took(first) - took(again)).toBe(ASSUMED_REBOOT_MS)
  })

  test('a commit that changes nothing that is rolled out has none', async () => {
    const { slices, ms } = await forecastOf(inventory(fleetOf(5)), [componentSet({ beacon: '1.0.0' }, { soak: '1h' })])
    expect([slices, ms]).toEqual([[], 0])
  })

  test('other values of the same version are switches that take their time', async () => {
    const valued = {
      ...NEXT,
      spec: { ...NEXT.spec, components: [{ name: 'beacon', version: '1.0.0', values: { level: 'debug' } }] },
    }
    const { slices, mostUnavailable, stuck, ms } = await forecastOf(inventory(fleetOf(3)), [valued])
    expect(stuck).toEqual([])
    expect(new Set(slices.flatMap((s) => s.machines)).size).toBe(3)
    expect(mostUnavailable).toBe(1)
    // A minute and a half per machine, plus the soaks of the steps.
    expect(ms).toBeGreaterThan(3 * 90_000)
    for (const { begun = 0, done = 0 } of slices) expect(done - begun).toBeGreaterThanOrEqual(90_000)
  })

  test('where only the switches take time, they and not a soak of a second are what it waits for most', async () => {
    const { brakes } = await forecastOf(inventory(fleetOf(3)), [componentSet({ beacon: '1.1.0' }, { soak: '1s' })])
    expect(brakes[0]).toMatchObject({ what: 'switches of beacon', isWork: true })
    expect(brakes.find((b) => b.what.startsWith('soak'))?.ms ?? 0).toBeLessThan(60_000)
  })

  test("the Defender's budgets hold it up as they will, and say by which limit", async () => {
    const policies = [policy({ budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }] })]
    const from = inventory(fleetOf(40))
    const [free, bound] = [await forecastOf(from), await forecastOf({ ...from, policies })]
    expect(bound.mostUnavailable).toBe(1)
    expect(bound.ms).toBeGreaterThan(free.ms)
    expect(bound.brakes.map((b) => b.what).join('\n')).toContain('careful')
  })

  test('the floor of the shipped policy lets a fleet of one to four finish, one machine at a time', async () => {
    for (const size of [1, 2, 3, 4]) {
      const { ms, stuck, mostUnavailable } = await forecastOf(
        inventory(fleetOf(size), { policies: [policy({ healthFloor: '80%' })] }),
      )
      expect([size, stuck, mostUnavailable]).toEqual([size, [], 1])
      expect(ms).toBeLessThan(size * 3_600_000)
    }
  })

  test('a floor that leaves no room for the only machine of a pool stops the set, with what to change', async () => {
    const { stuck } = await forecastOf(inventory(fleetOf(1), { policies: [policy({ healthFloor: 1 })] }))
    expect(stuck).toMatchObject([
      {
        set: 'base',
        wait: {
          predicate: 'HealthFloor',
          seen: expect.stringContaining(
            '0 of 1 would remain healthy; no room even where all are healthy: lower healthFloor 1 of policy careful, or add machines',
          ),
        },
      },
    ])
  })

  test('a hold is named with its reason: as what binds while it ends in time, and as what stops the set otherwise', async () => {
    const held = (until: string) =>
      forecastOf({
        ...inventory(fleetOf(5)),
        holds: [holdOn('MachineComponentSet', 'base', { reason: 'incident 42', until })],
      })
    const soon = await held(timestamp(START + 2 * 3_600_000))
    expect(soon.brakes[0]).toMatchObject({ what: 'hold h: incident 42 (set base)', isHold: true })
    expect([soon.stuck, soon.ms > 2 * 3_600_000]).toEqual([[], true])
    const late = await held('2030-01-01T00:00:00Z')
    expect(late.slices).toEqual([])
    expect(late.stuck).toMatchObject([{ set: 'base', wait: { predicate: 'HoldPause', seen: 'hold h: incident 42' } }])
  })

  test('machines that are silent are skipped, and the rest goes on', async () => {
    const machines = fleetOf(20).map((m, i) => (i === 7 ? silenced(m, START - 3_600_000) : m))
    const { slices, skipped } = await forecastOf(inventory(machines))
    expect(slices.flatMap((s) => s.machines)).not.toContain('m-007')
    expect(skipped.map((s) => s.machine)).toEqual(['m-007'])
  })

  test('a component that the cluster does not have stops the set, with the reason', async () => {
    const { stuck, slices } = await forecastOf(inventory(fleetOf(5), { components: [component('beacon', '1.0.0')] }))
    expect(slices).toEqual([])
    expect(stuck.map((s) => s.set)).toEqual(['base'])
  })

  test('it waits for windows, and goes on in them', async () => {
    const windows = [{ cron: '0 20 * * *', duration: '8h', timeZone: 'UTC' }]
    const { ms, brakes, stuck } = await forecastOf(inventory(fleetOf(5)), [
      componentSet({ beacon: '1.1.0' }, { soak: '1m', windows }),
    ])
    expect(stuck).toEqual([])
    // From ten in the morning until eight in the evening.
    expect(ms).toBeGreaterThan(10 * 3_600_000)
    expect(brakes[0]?.what).toBe('window of base')
  })
})

describe('work on hosts', () => {
  const HOUR = 3_600_000
  const at = (ms: number) => timestamp(START + ms)
  const work = (n: number, spec: object = {}, status: object = {}) =>
    ({
      metadata: { name: `reboot-${n}` },
      spec: {
        machine: `m-00${n}`,
        source: 'cloud',
        eventId: `e-${n}`,
        kind: 'Reboot',
        state: 'Scheduled',
        unplanned: false,
        dataLoss: false,
        notBefore: at(HOUR),
        notAfter: at(2 * HOUR),
        ...spec,
      },
      status: { phase: 'Announced', ...status },
    }) as unknown as MaintenanceEvent
  const policies = [policy({ budgets: [{ max: 1, of: 'unavailable', per: 'cluster' }] })]
  const predicted = (maintenance: readonly MaintenanceEvent[]) =>
    predict({
      inventory: inventory(fleetOf(4), { policies, maintenance }),
      before: declared(SET),
      after: declared(NEXT),
    })

  test('that is booked while a rollout runs is in its prediction, and its places in the budgets are taken', async () => {
    const [free, bound] = [await predicted([]), await predicted([work(0)])]
    expect(free.booked).toEqual([])
    expect(bound.booked).toEqual([
      {
        machine: 'm-000',
        event: 'reboot-0',
        kind: 'Reboot',
        source: 'cloud',
        by: 'cloud',
        from: at(0),
        until: at(2 * HOUR),
      },
    ])
    // The budget's only slot is free again once the maintenance is over.
    expect(bound.p50).toBeGreaterThan(2 * HOUR)
    expect(bound.p50).toBeGreaterThan(free.p50)
    expect(bound.stuck).toEqual([])
  })

  test.each([
    ['is over', work(0, {}, { phase: 'Done' })],
    ['is a notice for people', work(0, { kind: 'Notice' })],
    ['begins long after the rollout', work(0, { notBefore: at(90 * HOUR), notAfter: at(91 * HOUR) })],
  ])('that %s is not', async (_, event) => {
    const [free, other] = [await predicted([]), await predicted([event])]
    expect([other.booked, other.p50]).toEqual([[], free.p50])
  })
})

describe('a changed template of a pool', () => {
  const owner = { apiVersion: API_GROUP_VERSION, kind: 'MachineSet', name: 'w', uid: 'pool', controller: true }
  const pool = (labels: Readonly<Record<string, string>>, taints: readonly object[] = []): MachineSet =>
    applyDefaults(machineSet.schema, {
      apiVersion: API_GROUP_VERSION,
      kind: 'MachineSet',
      metadata: { name: 'w', uid: 'pool' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { pool: 'w' } },
        template: { metadata: { labels: { pool: 'w' } }, spec: { provider: { name: 'process' }, labels, taints } },
      },
    }) as MachineSet
  const machines = fleetOf(3).map((m, i): Machine => {
    const annotations = newRecord(pool({ disk: 'ssd' }))
    const labels = { disk: i === 0 ? 'mine' : 'ssd' }
    return { ...m, metadata: { ...m.metadata, annotations, ownerReferences: [owner] }, spec: { ...m.spec, labels } }
  })
  const planned = async (to: MachineSet) => {
    const prediction = await predict({
      inventory: inventory(machines, { machineSets: [pool({ disk: 'ssd' })] }),
      before: [pool({ disk: 'ssd' }), ...declared(SET)],
      after: [to, ...declared(SET)],
    })
    const outlook = outlookOf([prediction], { pipelines: [], clusters: [] }, [])
    return outlookLines(outlook, []).map((l) => l.text)
  }

  test('is in the plan: who takes it, who keeps a value of its own, and whose pods go', async () => {
    const gone = { key: 'gone', value: 'yes', effect: 'NoExecute' }
    expect(await planned(pool({ disk: 'nvme' }, [gone]))).toEqual([
      'no machine is touched by a rollout of components',
      'prod: labels, annotations or taints of 3 machines of pool w change in place: one first, the rest once that one is Ready',
      'prod: a NoExecute taint of pool w evicts pods of 3 machines, one by one, each under a permit',
      'prod: 1 machine of pool w with values that were changed on the Machine, which stay: disk',
    ])
  })

  test('that is the same as before is not', async () => {
    expect(await planned(pool({ disk: 'ssd' }))).toEqual(['no machine is touched by a rollout'])
  })
})

describe('a set that comes to decide about machines although it does not change itself', () => {
  const NEWER = componentSet({ beacon: '1.1.0' }, {}, { name: 'newer', priority: -1 })
  const planned = async (before: readonly KubeObject[], after: readonly KubeObject[], machines = fleetOf(2)) => {
    const sets = before.filter((o) => o.kind === machineComponentSet.kind) as MachineComponentSet[]
    return predict({ inventory: inventory(machines, { sets }), before: declared(...before), after: declared(...after) })
  }
  const touched = ({ slices }: Awaited<ReturnType<typeof planned>>) =>
    slices.map((s) => [s.set, s.version, s.machines.length])

  test('because the other set is no longer declared', async () => {
    expect(touched(await planned([SET, NEWER], [NEWER]))).toEqual([
      ['newer', '1.1.0', 1],
      ['newer', '1.1.0', 1],
    ])
  })

  test('because the other set drops the component', async () => {
    const other = componentSet({ scribe: '1.0.0' })
    const prediction = await planned([SET, NEWER], [other, NEWER])
    expect(prediction.slices.map((s) => s.set)).toContain('newer')
  })

  test('because its priority is higher now', async () => {
    const higher = componentSet({ beacon: '1.1.0' }, {}, { name: 'newer', priority: 1 })
    expect((await planned([SET, NEWER], [SET, higher])).machines).toEqual(['m-000', 'm-001'])
    expect((await planned([SET, NEWER], [SET, NEWER])).machines).toEqual([])
  })

  test('because git gives a machine other labels', async () => {
    const named = (name: string, tier: string) =>
      componentSet({ beacon: name === 'base' ? '1.0.0' : '1.1.0' }, {}, { name, selector: { matchLabels: { tier } } })
    const [gold, silver] = [named('base', 'gold'), named('silver', 'silver')]
    const host = (tier: string): KubeObject => ({
      apiVersion: API_GROUP_VERSION,
      kind: 'Machine',
      metadata: { name: 'm-000', labels: { tier } },
    })
    const machines = fleetOf(2).map((m) => ({ ...m, metadata: { ...m.metadata, labels: { tier: 'gold', own: 'x' } } }))
    const prediction = await planned([gold, silver, host('gold')], [gold, silver, host('silver')], machines)
    expect(touched(prediction)).toEqual([['silver', '1.1.0', 1]])
    expect(prediction.machines).toEqual(['m-000'])
  })
})

test('another value of a Secret that components read is a rollout', async () => {
  const secretRefs = [{ path: 'registry.password', secret: { name: 'registry', key: 'password' } }]
  const set = { ...SET, spec: { ...SET.spec, components: [{ name: 'beacon', version: '1.0.0', secretRefs }] } }
  const secret = (password: string, name = 'registry'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'kubenode-system' },
    data: { password },
  })
  const keyed = fleetOf(2).map((m) => ({ ...m, status: { ...m.status, agent: { version: '1', publicKey: 'key' } } }))
  const { end } = await forecastOf(inventory(keyed), [set])
  const { machines, sets, revisions } = end
  const from = inventory(machines, { sets, revisions })
  const touched = async (...after: readonly KubeObject[]) => {
    const before = [...declared(set), secret('a'), secret('a', 'other')]
    return (await predict({ inventory: from, before, after: [...declared(set), ...after] })).machines
  }
  expect(await touched(secret('a'), secret('b', 'other'))).toEqual([])
  expect(await touched(secret('b'), secret('a', 'other'))).toEqual(['m-000', 'm-001'])
})
