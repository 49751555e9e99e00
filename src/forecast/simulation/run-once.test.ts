// A run ends when nothing can happen any more, with rules that read ages and earlier repairs as with others: five days of nothing are not worth simulating.
import { App } from 'cdk8s'
import { expect, test } from 'vitest'
import { ClusterChart } from '#api/constructs/constructs.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Fault } from '#api/scenario.ts'
import { START, readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { declareRules } from '../../../fleet/machines/rules.ts'
import { clusters } from '../../../fleet/clusters/clusters.ts'
import { runOnce } from './run-once.ts'

const HOUR = 3_600_000

/** The shipped rules as the first stage has them: all of them act. */
function shippedRules(): readonly NodeRemedier[] {
  const chart = new ClusterChart(new App(), 'test')
  declareRules(chart, { ...clusters[0], stage: 'test' } as Parameters<typeof declareRules>[1])
  return (chart.toJson() as readonly KubeObject[])
    .filter((o) => o.kind === 'NodeRemedier')
    .map((o) => applyDefaults(nodeRemedier.schema, o) as NodeRemedier)
}

const machines = Array.from({ length: 20 }, (_, n) => workingMachine(`m-${n}`, { versions: {} }))
const objects = {
  machines,
  nodes: machines.map((m) => readyNode(m.metadata.name ?? '')),
  machineSets: [],
  sets: [],
  components: [],
  revisions: [],
  permits: [],
  holds: [],
  approvals: [],
  policies: [],
  ledger: undefined,
  cluster: undefined,
  apiServer: undefined,
}

const run = (hours: number, ...faults: readonly Fault[]) =>
  runOnce({
    objects,
    changedSets: [],
    rules: shippedRules(),
    scenario: { description: 'a test', faults },
    seed: 0,
    begin: START,
    mostMs: hours * HOUR,
  })

test('a cluster to which nothing happens rests at once', async () => {
  expect((await run(120)).ms).toBe(0)
})

test('a cluster rests once its fault is repaired', async () => {
  const fault = { at: '1h', pick: { count: 1 }, condition: 'Ready', clearedBy: ['reboot'] } as const
  const { ms, faults, repairs } = await run(120, fault)
  expect({ faults, repairs }).toMatchObject({ faults: { begun: 1, open: 0 }, repairs: { reboots: 1 } })
  expect(ms).toBeGreaterThan(HOUR)
  expect(ms).toBeLessThan(4 * HOUR)
})

test('a node that stays at fault is looked after until the end', async () => {
  expect(await run(3, { pick: { count: 1 }, condition: 'Ready' })).toMatchObject({ ms: 3 * HOUR, faults: { open: 1 } })
})
