// What a simulation answers about a small fleet, with the production plans, verdicts and Defender: each scenario has one that must hold and one that must not.
import { describe, expect, test } from 'vitest'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Scenario } from '#api/scenario.ts'
import {
  START,
  component,
  componentSet,
  condition,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { policyOf, remedierOf } from '#test/support/worlds/past-lines.ts'
import { INVENTORY_FORM, type Inventory } from '../inventory.ts'
import { expectedObjects } from '../objects.ts'
import { builtIn } from './built-ins.ts'
import { Hosts } from './hosts.ts'
import { type SimulationResult, simulate } from './simulate.ts'
import { World } from './world.ts'

const HOUR = 3_600_000
const SET = componentSet({ beacon: '1.0.0' })
const NEXT = componentSet({ beacon: '1.1.0' })

/** Thirty machines in three zones. */
const machines: readonly Machine[] = Array.from({ length: 30 }, (_, i) => {
  const name = `m-${String(i).padStart(2, '0')}`
  const made = workingMachine(name, { versions: { beacon: '1.0.0' }, zone: `z${i % 3}`, rack: `r${i % 5}` })
  const conditions = [...(made.status?.conditions ?? []), condition('Ready', 'True')]
  return { ...made, status: { ...made.status, conditions } }
})

const inventory: Inventory = {
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
}

interface Asked extends Partial<Scenario> {
  readonly before?: KubeObject
  readonly after?: KubeObject
  readonly rules?: readonly NodeRemedier[]
  readonly policies?: readonly DefenderPolicy[]
  readonly seeds?: number
  readonly of?: Inventory
  readonly mostMs?: number
}

function simulated({
  before = SET,
  after = NEXT,
  rules = [],
  policies = [],
  seeds = 2,
  of = inventory,
  mostMs = 48 * HOUR,
  ...scenario
}: Asked) {
  const declared = (o: KubeObject) => applyDefaults(machineComponentSet.schema, o) as KubeObject
  const { objects, changedSets } = expectedObjects({ ...of, policies }, [declared(before)], [declared(after)])
  return simulate({
    name: 'test',
    objects,
    changedSets,
    rules,
    scenario: { description: 'a test', ...scenario },
    seeds,
    begin: START,
    mostMs,
  })
}

const unmet = ({ unmet: all }: SimulationResult) => all.map((u) => u.expectation)

test('a rollout that nothing disturbs completes, and never takes out more than its set allows', async () => {
  const expectations = [
    'complete == 1',
    'own.share <= 10%',
    'own.share > 0',
    'all.machines <= 3',
    'failed.switches == 0',
  ]
  const result = await simulated({ expect: expectations })
  expect(unmet(result)).toEqual([])
  expect(result).toMatchObject({ complete: 2, machines: 30, stuck: [] })
  expect(result.figures['minutes']?.p50).toBeGreaterThan(5)
})

test('a bad version stops after the machines of its first step', async () => {
  const result = await simulated({
    badVersions: [{ component: 'beacon' }],
    expect: ['complete == 1', 'failed.switches <= 1'],
  })
  expect(unmet(result)).toEqual(['complete == 1'])
  expect(result.figures['failed.switches']).toMatchObject({ least: 1, most: 1 })
  expect(result.figures['blocked']).toMatchObject({ least: 1, most: 1 })
})

describe('a set that is blocked by one component', () => {
  const two = (beacon: string, scribe: string) => componentSet({ beacon, scribe }, { progressDeadline: '30m' })
  const of: Inventory = {
    ...inventory,
    sets: [two('1.0.0', '1.0.0')],
    machines: machines.slice(0, 10).map((m) => {
      const made = workingMachine(m.metadata.name ?? '', { versions: { beacon: '1.0.0', scribe: '1.0.0' } })
      return {
        ...m,
        spec: { ...m.spec, ...made.spec },
        status: { ...m.status, components: made.status?.components ?? [] },
      }
    }),
    components: ['beacon', 'scribe'].flatMap((c) => [component(c, '1.0.0'), component(c, '1.1.0')]),
  }
  const asked: Asked = { of, before: two('1.0.0', '1.0.0'), after: two('1.1.0', '1.1.0'), seeds: 1 }

  test('rolls the other one out to the end, and says why it does not finish', async () => {
    const result = await simulated({ ...asked, badVersions: [{ component: 'beacon' }], expect: ['blocked == 0'] })
    expect(result.stuck).toEqual([
      expect.stringMatching(/^base: RevisionFailed, beacon: step 1 of \d+: 1 machine failed/),
    ])
    const timeline = result.unmet[0]?.run.timeline.map((t) => t.what).filter((t) => t.includes('Blocked')) ?? []
    expect(timeline).toEqual([expect.stringMatching(/^set base is Blocked: beacon: step 1 of \d+: 1 machine failed/)])
    const end = result.unmet[0]?.run.ms ?? 0
    // Ten machines, one after the other, each for about a minute.
    expect(end).toBeGreaterThan(10 * 60_000)
  })
})

test('without the API nothing moves for as long as it is away', async () => {
  const [quiet, away] = [await simulated({}), await simulated({ apiOutages: [{ at: '2m', for: '2h' }] })]
  const minutes = (r: SimulationResult) => r.figures['minutes']?.p50 ?? 0
  expect(minutes(away) - minutes(quiet)).toBeGreaterThan(90)
  expect(away.complete).toBe(2)
})

test('a lost zone is out as a whole, and its nodes are not repaired as if each had a fault', async () => {
  const down = remedierOf('silent', 'Ready', {
    when: { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'Unknown' }] },
    ladder: [{ operations: [{ reboot: {} }], timeout: '20m', verify: { stableFor: '1m' } }],
  })
  const result = await simulated({
    outages: [{ at: '1m', pick: { zone: 'z1' }, for: '1h' }],
    rules: [down],
    expect: ['all.zone == 1', 'repairs == 0', 'own.share <= 10%', 'complete == 1'],
  })
  expect(unmet(result)).toEqual([])
})

describe('a storm of faults that a reboot ends', () => {
  const rule = (maxInFlight: number) =>
    remedierOf('stuck', 'Stuck', {
      ladder: [{ operations: [{ cordon: {} }, { reboot: {} }], timeout: '20m', verify: { stableFor: '1m' } }],
      limits: { perNodePerDay: 5, perHour: 100, perDay: 100, maxInFlight },
    })
  const storm: Partial<Scenario> = {
    faults: [{ at: '1m', over: '2m', pick: { count: '20%' }, condition: 'Stuck', clearedBy: ['reboot'] }],
  }

  test('is repaired one by one when the rule says so', async () => {
    const result = await simulated({
      ...storm,
      after: SET,
      rules: [rule(1)],
      expect: ['faults == 6', 'faults.open == 0', 'repairs.reboots == 6', 'own.machines == 1'],
    })
    expect(unmet(result)).toEqual([])
    expect(result.notes).toEqual([])
    expect(result.waits.map((w) => w.what)).toContain('repairs: rule stuck: InFlightLimit')
    const notes = (await simulated({ ...storm, after: SET, rules: [], seeds: 1 })).notes
    expect(notes).toEqual(['no rule of the commit reads Stuck, so none repairs it'])
  })

  test('meets the budget of the Defender, whatever the rule allows', async () => {
    const policies = [policyOf('budget', { budgets: [{ max: 2, of: 'unavailable' }], healthFloor: 0 })]
    const result = await simulated({
      ...storm,
      after: SET,
      rules: [rule(6)],
      policies,
      expect: ['own.machines <= 2', 'faults.open == 0'],
    })
    expect(unmet(result)).toEqual([])
    const free = await simulated({ ...storm, after: SET, rules: [rule(6)], expect: ['own.machines <= 2'] })
    expect(free.unmet[0]).toMatchObject({ expectation: 'own.machines <= 2', seed: 0, failed: 2 })
    const timeline = free.unmet[0]?.run.timeline.map((t) => t.what) ?? []
    expect(timeline.filter((t) => t.startsWith('Stuck begins on m-'))).toHaveLength(6)
    expect(timeline.some((t) => /^repair of m-\d+ by stuck, rung 0 starts$/.test(t))).toBe(true)
  })
})

test('work on hosts uses up the budget of a rollout', async () => {
  const policies = [policyOf('budget', { budgets: [{ max: 3, of: 'unavailable' }], healthFloor: 0 })]
  const result = await simulated({
    policies,
    hostWork: [{ at: '1m', pick: { names: ['m-01', 'm-02', 'm-03'] }, for: '3h' }],
    expect: ['minutes > 180', 'all.machines <= 3'],
  })
  expect(unmet(result)).toEqual([])
})

test('the same seed gives the same bytes, in whatever order the inventory lists the fleet', async () => {
  const asked: Asked = {
    faults: [{ pick: { count: 5 }, over: '1h', condition: 'Stuck', clearsAfter: '10m' }],
    badVersions: [{ component: 'beacon', share: 0.1 }],
    expect: ['faults == 0'],
  }
  const reversed = { ...inventory, machines: machines.toReversed(), nodes: inventory.nodes.toReversed() }
  const [first, again, other] = [
    await simulated(asked),
    await simulated(asked),
    await simulated({ ...asked, of: reversed }),
  ]
  expect(JSON.stringify(again)).toBe(JSON.stringify(first))
  expect(other).toEqual(first)
  expect(first.unmet).toHaveLength(1)
})

describe('hosts that a provider reclaims', () => {
  const reclaimed = { at: '5m', pick: { names: ['m-03', 'm-04'] } }

  test('go after their notice, are no fault of their nodes, and are replaced', async () => {
    const silent = remedierOf('silent', 'Ready', {
      when: { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'Unknown' }] },
      ladder: [{ operations: [{ reboot: {} }], timeout: '20m', verify: { stableFor: '1m' } }],
    })
    const result = await simulated({
      after: SET,
      rules: [silent],
      spotReclaims: [{ ...reclaimed, notice: '3m', replacedAfter: '10m' }],
      expect: ['reclaimed == 2', 'repairs == 0', 'all.machines == 2', 'hosts.waited == 0', 'all.machines == 0'],
    })
    expect(unmet(result)).toEqual(['all.machines == 0'])
    const timeline = result.unmet[0]?.run.timeline.filter((t) => t.what.includes('m-03')) ?? []
    expect(timeline.map((t) => [t.at / 60_000, t.what])).toEqual([
      [5, 'the provider reclaims the host of m-03 in 3m'],
      [8, 'the host of m-03 stops'],
      [18, 'a new host serves as m-03'],
    ])
  })

  test('use up the budget from the notice on', async () => {
    const policies = [policyOf('budget', { budgets: [{ max: 2, of: 'unavailable' }], healthFloor: 0 })]
    const asked: Asked = { policies, spotReclaims: [{ ...reclaimed, at: '0m', replacedAfter: '3h' }] }
    const result = await simulated({ ...asked, expect: ['minutes > 180', 'all.machines <= 2', 'complete == 1'] })
    expect(unmet(result)).toEqual([])
  })

  test('are reclaimed once, and ordered once, when two notices name one machine', async () => {
    const one = { pick: { names: ['m-03'] }, notice: '3m' }
    const result = await simulated({
      after: SET,
      spotReclaims: [
        { ...one, at: '5m' },
        { ...one, at: '6m' },
      ],
      providerLimits: [{ for: '5h', perHour: 6 }],
      expect: ['reclaimed == 1', 'hosts.waited == 0', 'reclaimed == 0'],
    })
    expect(unmet(result)).toEqual(['reclaimed == 0'])
    expect(result.unmet[0]?.run.timeline.map((t) => [t.at / 60_000, t.what])).toEqual([
      [5, 'the provider reclaims the host of m-03 in 3m'],
      [8, 'the host of m-03 stops'],
      [13, 'a new host serves as m-03'],
    ])
  })

  test('leave their faults behind', async () => {
    const result = await simulated({
      after: SET,
      faults: [{ at: '1m', pick: { names: ['m-03', 'm-05'] }, condition: 'Stuck' }],
      spotReclaims: [reclaimed],
      expect: ['faults == 2', 'faults.open == 1'],
    })
    expect(unmet(result)).toEqual([])
  })

  test('stay away until the last reason is over', () => {
    const world = new World(expectedObjects(inventory, [], []).objects, START, { ms: () => 60_000 })
    const hosts = new Hosts(world, () => undefined)
    const isAway = () => [world.stalled.has('m-03'), hosts.unavailable.has('m-03')]
    hosts.reach(['m-03'], false, START)
    hosts.reach(['m-03'], false, START + 1)
    hosts.turn(START + HOUR)
    hosts.reach(['m-03'], true, START + HOUR)
    expect(isAway()).toEqual([true, true])
    hosts.reach(['m-03'], true, START + 2 * HOUR)
    expect(isAway()).toEqual([false, false])
  })

  test('wait for a provider that throttles, one after the other', async () => {
    const all = { after: SET, spotReclaims: [{ at: '5m', pick: { count: 6 } }] } satisfies Asked
    const [free, limited] = [
      await simulated(all),
      await simulated({
        ...all,
        providerLimits: [{ for: '5h', perHour: 6 }],
        // Ten minutes for each one before it.
        expect: ['reclaimed == 6', 'hosts.waited == 150'],
      }),
    ]
    expect(unmet(limited)).toEqual([])
    expect(free.figures['hosts.waited']?.most).toBe(0)
  })

  test('wait no longer than the simulation lasts', async () => {
    const result = await simulated({
      after: SET,
      spotReclaims: [{ pick: { count: 2 }, notice: '0s' }],
      providerLimits: [{ for: '200h', perHour: 0 }],
      mostMs: 2 * HOUR,
    })
    expect(result.figures['hosts.waited']).toMatchObject({ least: 240, most: 240 })
  })
})

describe('replacements of a rule', () => {
  const broken = remedierOf('broken', 'Stuck', {
    ladder: [{ operations: [{ replace: {} }], timeout: '40m', verify: { stableFor: '1m' } }],
    limits: { perNodePerDay: 5, perHour: 100, perDay: 100, maxInFlight: 6 },
  })
  const asked: Asked = {
    after: SET,
    rules: [broken],
    faults: [{ at: '1m', pick: { count: 2 }, condition: 'Stuck', clearedBy: ['replace'] }],
  }

  test('wait for a provider that throttles', async () => {
    const [free, limited] = [
      await simulated(asked),
      await simulated({ ...asked, providerLimits: [{ for: '2h', perHour: 6 }], expect: ['faults.open == 0'] }),
    ]
    expect(unmet(limited)).toEqual([])
    const minutes = (r: SimulationResult) => r.figures['faults.minutes']?.p50 ?? 0
    expect(limited.figures['hosts.waited']?.p50).toBe(10)
    expect(minutes(limited) - minutes(free)).toBeGreaterThanOrEqual(9)
  })

  test('that get no host before their timeout do not help', async () => {
    const result = await simulated({
      ...asked,
      providerLimits: [{ for: '6h', perHour: 0 }],
      expect: ['repairs.escalated > 0'],
    })
    expect(unmet(result)).toEqual([])
  })
})

describe('a reboot by a rescue', () => {
  const rules = [
    remedierOf('dead', 'Ready', {
      when: { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False' }] },
      ladder: [{ operations: [{ rescueReboot: { timeout: '10m' } }], timeout: '20m', verify: { stableFor: '1m' } }],
    }),
  ]
  /** A fleet with a rescue key in which one agent may be silent; its node is the one with the fault. */
  const asked = ({ isSilent, hasKey }: { readonly isSilent: boolean; readonly hasKey: boolean }) => {
    const fleet = machines.map((m): Machine => {
      if (m.metadata.name !== 'm-07') return m
      const ssh = {
        host: '192.0.2.7',
        port: 22,
        user: 'root',
        secretRef: { name: 'join' },
        rescue: { secretRef: { name: 'rescue' } },
      }
      const conditions = [condition('Ready', 'True'), condition('AgentReachable', isSilent ? 'False' : 'True')]
      return {
        ...m,
        spec: { ...m.spec, ...(hasKey && { ssh }) },
        status: { ...m.status, conditions },
      }
    })
    const { description: _, faults = [] } = builtIn('not-ready', expectedObjects(inventory, [], []).objects, [])
    return simulated({
      faults: faults.map((f) => ({ ...f, pick: { names: ['m-07'] } })),
      after: SET,
      rules,
      of: { ...inventory, machines: fleet },
      expect: ['faults.open == 0'],
    })
  }

  test('counts as a reboot, and ends what a reboot ends', async () => {
    const result = await asked({ isSilent: true, hasKey: true })
    expect(unmet(result)).toEqual([])
    expect(result.figures['repairs.reboots']).toMatchObject({ least: 1, most: 1 })
  })

  test('does nothing while the agent answers', async () => {
    const result = await asked({ isSilent: false, hasKey: true })
    expect(result.figures['repairs.reboots']?.least).toBeGreaterThan(0)
    expect(unmet(result)).toEqual(['faults.open == 0'])
  })

  test('is skipped without a key', async () => {
    const result = await asked({ isSilent: true, hasKey: false })
    expect(result.figures['repairs.reboots']).toMatchObject({ least: 0, most: 0 })
    expect(unmet(result)).toEqual(['faults.open == 0'])
  })
})
