// The ladder of an operating system: machines of every kernel that is left, in every zone, are among its first steps.
import { expect, test } from 'vitest'
import { activeMachines } from '#api/protocol/part.ts'
import { component, componentSet, readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { until } from '#test/support/fleets/rollout-story.ts'

const KERNELS = ['5.10.134', '6.1.0', '6.6.12']
const NEXT = '6.12.41'
const definitions = ['12', '13'].map((v) => component('os', v, { type: 'OS', disruption: 'Reboot' }))
const boots = (model: RolloutModel, name: string, kernelVersion: string) => {
  const node = readyNode(name)
  model.nodes.set(name, { ...node, status: { ...node.status, nodeInfo: { kernelVersion } } })
}

test('each step takes its machines from all kernels and zones, although those that have switched run another one', () => {
  const names = Array.from({ length: 45 }, (_, i) => `m-${String(i).padStart(2, '0')}`)
  // Most run the oldest kernel, and each kernel is in each zone.
  const kernelOf = (name: string) => KERNELS[names.indexOf(name) < 33 ? 0 : names.indexOf(name) < 39 ? 1 : 2] ?? ''
  const zoneOf = (name: string) => `z-${names.indexOf(name) % 3}`
  const machines = names.map((n) => workingMachine(n, { versions: { os: '12' }, zone: zoneOf(n) }))
  const model = new RolloutModel({ machines, set: componentSet({ os: '12' }), components: definitions })
  for (const name of names) boots(model, name, kernelOf(name))
  model.settle()
  model.declare({ os: '13' }, { steps: [3, 9, '100%'], maxUnavailable: '20%' })
  const steps: string[][] = []
  const booted = new Set<string>()
  const check = model.onPlan
  model.onPlan = (plan, seen) => {
    check(plan, seen)
    for (const w of plan.status.slices ?? [])
      steps[w.step] = [...new Set([...(steps[w.step] ?? []), ...activeMachines(w)])]
    for (const { metadata, status } of seen.machines)
      if (status?.components?.[0]?.version === '13' && !booted.has(metadata.name ?? '')) {
        booted.add(metadata.name ?? '')
        boots(model, metadata.name ?? '', NEXT)
      }
  }
  until(model, () => (steps[2] ?? []).length >= 9)
  const [first = [], second = [], third = []] = steps
  expect(new Set(first.map(kernelOf))).toEqual(new Set(KERNELS))
  const pairs = (step: readonly string[]) => new Set(step.map((n) => `${kernelOf(n)} ${zoneOf(n)}`)).size
  expect([first.length, second.length]).toEqual([3, 9])
  expect(pairs([...first, ...second])).toBe(9)
  expect(new Set(third.map(kernelOf)).size).toBe(3)
  model.settle()
  expect(model.versions('os')).toEqual({ '13': 45 })
})
