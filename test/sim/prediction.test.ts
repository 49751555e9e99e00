// How well a plan's minutes hold: fifty rollouts of different fleets, predicted from recorded durations and then run with durations of their own, some with nodes
// that break on the way. Prediction and run share the world, so this measures durations, budgets and disturbance, and says nothing about real hosts.
import { expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { durationsOf } from '#explain/durations.ts'
import { quantile } from '#lib/quantile.ts'
import { seededRandom } from '#lib/random.ts'
import {
  START,
  component,
  componentSet,
  condition,
  readyNode,
  workingMachine,
} from '#test/support/fleets/rollout-fleet.ts'
import { forecast } from '#forecast/forecast.ts'
import { INVENTORY_FORM, type Inventory } from '#forecast/inventory.ts'
import { expectedObjects } from '#forecast/objects.ts'
import { runOnce } from '#forecast/simulation/run-once.ts'

const ROLLOUTS = 50
const MOST_MEDIAN_ERROR = 0.25
const DAY_MS = 86_400_000

/** Recorded are the last ten switches; those to come are as long as any of thirty. */
function fleetOf(seed: number) {
  const random = seededRandom(seed + 1)
  const count = 10 + random.below(30)
  const typical = 30 + random.below(240)
  const switches = Array.from({ length: 30 }, () => Math.round(typical * (0.5 + random.next() ** 2 * 2)))
  const machines = Array.from({ length: count }, (_, n) => {
    const made = workingMachine(`m-${n}`, { versions: { beacon: '1.0.0' }, zone: `z${n % 3}`, rack: `r${n % 5}` })
    const conditions = [...(made.status?.conditions ?? []), condition('Ready', 'True')]
    return { ...made, status: { ...made.status, conditions } }
  })
  const rollout = { maxUnavailable: `${10 + random.below(20)}%`, soak: `${1 + random.below(5)}m` } as const
  const inventoryWith = (seconds: readonly number[]): Inventory => ({
    form: INVENTORY_FORM,
    cluster: 'prod',
    takenAt: new Date(START).toISOString(),
    machines,
    nodes: machines.map((m) => readyNode(m.metadata.name ?? '')),
    machineSets: [],
    sets: [
      {
        ...componentSet({ beacon: '1.0.0' }, rollout),
        status: { durations: [{ component: 'beacon', seconds: [...seconds] }] },
      },
    ],
    components: [component('beacon', '1.0.0'), component('beacon', '1.1.0')],
    revisions: [],
    permits: [],
    holds: [],
    approvals: [],
    policies: [],
    fullBudgets: [],
  })
  const declared = (version: string) =>
    applyDefaults(machineComponentSet.schema, componentSet({ beacon: version }, rollout)) as KubeObject
  const expected = (seconds: readonly number[]) =>
    expectedObjects(inventoryWith(seconds), [declared('1.0.0')], [declared('1.1.0')])
  return { recorded: expected(switches.slice(0, 10)), real: expected(switches), isDisturbed: seed % 5 === 0 }
}

test('the median error of fifty predictions is at most a quarter', { timeout: 240_000 }, async () => {
  const errors: number[] = []
  for (let seed = 0; seed < ROLLOUTS; seed++) {
    const { recorded, real, isDisturbed } = fleetOf(seed)
    const durationOf = durationsOf(recorded.objects.sets, 0.5)
    const predicted = await forecast({
      objects: recorded.objects,
      now: START,
      switchMs: (set, name) => durationOf(set, name).ms,
      sets: new Set(recorded.changedSets),
    })
    const scenario = {
      description: 'as it comes',
      ...(isDisturbed && { faults: [{ pick: { count: 1 }, over: '10m', condition: 'Ready', clearsAfter: '15m' }] }),
    }
    const run = await runOnce({
      objects: real.objects,
      changedSets: real.changedSets,
      rules: [],
      scenario,
      seed,
      begin: START,
      mostMs: 2 * DAY_MS,
    })
    const took = run.completeMs ?? 2 * DAY_MS
    errors.push(Math.abs(predicted.ms - took) / took)
  }
  const [median, p90] = [quantile(errors, 0.5) ?? 1, quantile(errors, 0.9) ?? 1]
  process.stdout.write(
    `median error of ${errors.length} predictions: ${percent(median)}, 90th percentile ${percent(p90)}\n`,
  )
  expect(errors).toHaveLength(ROLLOUTS)
  expect(median).toBeLessThanOrEqual(MOST_MEDIAN_ERROR)
})

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
