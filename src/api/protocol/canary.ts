// A canary: marks machines, watches them, and waits for the commit that promotes the version. Any outcome removes its marks.
import { PHASES } from '../phases.ts'
import { defineTable, nextIn, rowsFrom, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const canaryTable = defineTable({
  name: 'canary',
  field: 'ComponentCanary.status.phase',
  writer: 'kubenode-canary',
  states: PHASES.Canary,
  initial: 'Pending',
  terminal: ['Promoted', 'Lapsed', 'Failed', 'Aborted'],
  preconditions: {
    machinesPicked: 'enough healthy machines match, and they are marked',
    componentsExist: 'every referenced MachineComponent exists and is verified',
    notHeld: 'no hold pauses the canary',
    allHealthy: 'every selected machine is Healthy with every version',
    failuresAbove: 'more machines failed than maxFailures allows',
    someUnhealthy: 'a selected machine is no longer Healthy, and fewer failed than maxFailures allows',
    durationOver: 'they stayed healthy for the whole duration',
    setDeclares: 'the set of each selected machine declares the versions',
    promotionOverdue: 'the versions were not promoted within promoteWithin',
    abortWanted: 'the spec or a hold ends the canary',
  },
  rows: [
    { from: 'Pending', event: 'roll', to: 'Rolling', when: ['machinesPicked', 'componentsExist', 'notHeld'] },
    { from: 'Rolling', event: 'observe', to: 'Observing', when: ['allHealthy'] },
    { from: 'Observing', event: 'unsettle', to: 'Rolling', when: ['someUnhealthy'] },
    { from: 'Observing', event: 'pass', to: 'Passed', when: ['durationOver', 'allHealthy'] },
    ...rowsFrom(['Rolling', 'Observing', 'Passed'], { event: 'fail', to: 'Failed', when: ['failuresAbove'] }),
    ...rowsFrom(['Rolling', 'Observing', 'Passed'], { event: 'promote', to: 'Promoted', when: ['setDeclares'] }),
    { from: 'Passed', event: 'lapse', to: 'Lapsed', when: ['promotionOverdue'] },
  ],
  fromOpen: [{ event: 'abort', to: 'Aborted', when: ['abortWanted'] }],
})

export type CanaryPhase = StateOf<typeof canaryTable>
export type CanaryEvent = EventOf<typeof canaryTable>
export type CanaryFacts = FactsOf<typeof canaryTable>

export const nextCanaryPhase = nextIn(canaryTable)
