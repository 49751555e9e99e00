// A scenario that names what is not there breaks nothing, so that everything it expects holds: each such part is named.
import { expect, test } from 'vitest'
import type { Scenario } from '#api/scenario.ts'
import { componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { scenarioOf } from './scenario-problems.ts'
import { unrepairedIn, untestedIn } from './untested.ts'

const machines = ['a', 'b'].map((z) => workingMachine(`m-${z}`, { zone: `zone-${z}` }))
const sets = [componentSet({ beacon: '1.1.0', scribe: '1.0.0' })]
const untested = (scenario: Partial<Scenario>) => untestedIn({ description: 'a test', ...scenario }, { machines, sets })

test.each<readonly [string, Partial<Scenario>, readonly string[]]>([
  ['what is there', { outages: [{ pick: { zone: 'zone-a' }, for: '1h' }], badVersions: [{ component: 'beacon' }] }, []],
  ['all machines', { faults: [{ condition: 'Stuck' }] }, []],
  [
    'another zone',
    { outages: [{ pick: { zone: 'zone-c' }, for: '1h' }] },
    ['outages 0: picks no machine; there is no zone zone-c (did you mean zone-a?)'],
  ],
  [
    'a rack, where there is none',
    { hostWork: [{ pick: { rack: 'r1' }, for: '1h' }] },
    ['hostWork 0: picks no machine; no machine has a rack'],
  ],
  [
    'another machine',
    { spotReclaims: [{ pick: { names: ['nope'] } }] },
    ['spotReclaims 0: picks no machine; there is no nope (known: m-a, m-b)'],
  ],
  [
    'a machine that is there and one that is not',
    { faults: [{ condition: 'Stuck', pick: { names: ['m-a', 'm-c'] } }] },
    ['faults 0: there is no m-c (did you mean m-a?)'],
  ],
  [
    'a machine of another zone',
    { faults: [{ condition: 'Stuck' }, { pick: { names: ['m-a'], zone: 'zone-b' }, condition: 'Stuck' }] },
    ['faults 1: picks no machine; no machine meets all of it'],
  ],
  [
    'another component',
    { badVersions: [{ component: 'becon' }] },
    ['badVersions 0: the commit brings no becon (did you mean beacon?)'],
  ],
])('%s', (_, scenario, expected) => {
  expect(untested(scenario)).toEqual(expected)
})

test.each([
  [{ badVersions: [{ component: 'beacon', share: 0 }] }, 'badVersions 0: share is 0, so that no version is bad'],
  [{ faults: [{ condition: 'Stuck', pick: { count: '0%' } }] }, /count is "0%", not a number or a share/],
  [{ until: '0s' }, 'until is "0s", not longer than 0s'],
  [{ outages: [{ pick: {}, for: '0m' }] }, 'outages 0: for is "0m", not longer than 0s'],
])('%j, which does nothing, is refused', (scenario, problem) => {
  expect(scenarioOf({ description: 'a test', ...scenario })).toEqual({
    problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
  })
})

test('a fault that no rule reads is named, with the condition that was meant', () => {
  const scenario = { description: 'a test', faults: [{ condition: 'KernelDedlock' }, { condition: 'Ready' }] }
  expect(unrepairedIn(scenario, new Set(['KernelDeadlock', 'Ready']))).toEqual([
    'no rule of the commit reads KernelDedlock, so none repairs it (did you mean KernelDeadlock?)',
  ])
  expect(unrepairedIn(scenario, undefined)).toEqual([])
})
