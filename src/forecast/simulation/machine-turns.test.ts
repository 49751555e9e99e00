// Which machines of a simulated cluster get a turn: those about which something changed, and those that could not act before.
import { expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { START, component, componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { Agents } from './agents.ts'
import { MachineTurns } from './machine-turns.ts'

const NAMES = ['m-0', 'm-1', 'm-2']
const set = componentSet({ beacon: '1.1.0' })
const sliceOf = (machines: readonly string[]) =>
  ({ component: 'beacon', version: '1.1.0', step: 0, number: 0, phase: 'AwaitingPermit', machines }) as const

function world(slices: readonly object[]) {
  const components = [component('beacon', '1.0.0'), component('beacon', '1.1.0')]
  const byName = new Map(components.map((c) => [c.metadata.name ?? '', c]))
  const turns = new MachineTurns(new Agents({ ms: () => 60_000 }), byName)
  const machines = new Map(NAMES.map((name) => [name, workingMachine(name, { versions: { beacon: '1.0.0' } })]))
  const stalled = new Set<string>()
  const status = { observedGeneration: 1, slices } as unknown as NonNullable<MachineComponentSet['status']>
  const now = { ...set, status }
  const sets = new Map([['base', now]])
  const take = () => {
    const changed = turns.turn({ machines, stalled, sets, revisions: [], open: new Map(), now: START })
    for (const [name, machine] of changed) {
      machines.set(name, machine)
      turns.machineChanged(name)
    }
    return changed.map(([name]) => name)
  }
  return { turns, stalled, now, take }
}

test('machines of a new slice get the order and stage it, each once', () => {
  const { turns, now, take } = world([sliceOf(['m-1', 'm-0'])])
  turns.setChanged(set, now)
  expect([take(), take(), take()]).toEqual([['m-0', 'm-1'], [], []])
})

test('a machine that no slice names gets no order, whatever changes about it', () => {
  const { turns, take } = world([sliceOf(['m-0'])])
  turns.machineChanged('m-2')
  expect(take()).toEqual([])
})

test('a machine that stopped gets its order when it is back', () => {
  const { turns, now, stalled, take } = world([sliceOf(['m-0', 'm-1'])])
  stalled.add('m-0')
  turns.setChanged(set, now)
  expect([take(), take()]).toEqual([['m-1'], []])
  stalled.clear()
  expect(take()).toEqual(['m-0'])
})

test('a slice that did not change is no reason for a turn', () => {
  const { turns, now, take } = world([sliceOf(['m-0'])])
  turns.setChanged(set, now)
  take()
  take()
  turns.setChanged(now, { ...now, status: { ...now.status, slices: [...(now.status.slices ?? [])] } })
  expect(take()).toEqual([])
})
