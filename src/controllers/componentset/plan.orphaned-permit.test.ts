// Permits without a slice in the status: the set's controller stopped between the request and its status write.
import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { fleet, until } from '#test/support/fleets/rollout-story.ts'
import { defined } from '#lib/defined.ts'

const withConfig = (machine: Machine, config: string): Machine => {
  const components = machine.spec.components?.map((c) => ({ ...c, config }))
  return { ...machine, spec: { ...machine.spec, ...defined({ components }) } }
}

test.each([
  ['without a configuration', undefined],
  ['with a configuration', 'beacon-0123456789ab'],
])('a machine that switched under one %s succeeded, and was not merely released', (_, config) => {
  const model = fleet(4)
  model.declare({ beacon: '1.1.0' }, { steps: [1] })
  const results = () => [...model.permits.values()].flatMap((p) => Object.values(p.spec.results ?? {}))
  until(model, () => results().includes('Succeeded'))
  const [permit] = model.permits.values()
  if (permit === undefined) throw new Error('nothing was asked for')
  // Not the name that the set would use now.
  const name = 'orphan'
  const metadata = { ...permit.metadata, name }
  const { results: _results, ...spec } = permit.spec
  const component = { name: 'beacon', version: '1.1.0', ...defined({ config }) }
  model.permits = new Map([[name, { ...permit, metadata, spec: { ...spec, component }, status: { phase: 'Granted' } }]])
  if (config !== undefined)
    for (const [m, machine] of model.machines) model.machines.set(m, withConfig(machine, config))
  model.set = { ...model.set, status: { ...model.set.status, slices: [] } }
  model.planTurn()
  expect(Object.values(model.permits.get(name)?.spec.results ?? {})).toEqual(['Succeeded'])
})
