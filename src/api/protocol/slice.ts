// A slice: at most 100 machines of one step under one permit. A step's slices switch in parallel. Inspection and soak belong to the step, so its slices leave
// Inspecting together.
import { PHASES } from '../phases.ts'
import { defineTable, nextIn, rowsFrom, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const sliceTable = defineTable({
  name: 'slice',
  field: 'MachineComponentSet.status.slices[].phase',
  writer: 'kubenode-componentset',
  states: PHASES.Slice,
  initial: 'Planned',
  terminal: ['Passed', 'Failed', 'Aborted'],
  preconditions: {
    stepOpen: 'every slice of the earlier steps has passed',
    windowOpen: 'a window of the rollout is open, or it has none',
    notHeld: 'no hold pauses or freezes the set or its machines',
    withinUnavailable: 'with this slice, at most maxUnavailable machines are unavailable',
    permitGrantedNow: 'the permit of the slice is Granted',
    permitEnded: 'the permit is Denied, Expired or Revoked, or was deleted',
    noMachineSwitching: 'no machine of the slice has an order or is switching',
    machinesReported: 'every machine of the slice reported the result of its attempt, or is skipped',
    failuresWithin: 'at most maxFailures machines failed',
    failuresAbove: 'more machines failed than maxFailures allows',
    deadlinePassed: 'no progress within the progress deadline',
    stepSettled: 'every slice of the step is past Switching',
    inspectionsHold: 'every inspection of the step passes',
    inspectionFailed: 'an inspection did not pass within its timeout',
    soakOver: 'the soak time since the inspections passed is over',
    givenUp: 'the revision is superseded, blocked or aborted',
  },
  rows: [
    {
      from: 'Planned',
      event: 'ask',
      to: 'AwaitingPermit',
      when: ['stepOpen', 'windowOpen', 'notHeld', 'withinUnavailable'],
    },
    { from: 'AwaitingPermit', event: 'begin', to: 'Switching', when: ['permitGrantedNow'] },
    { from: 'AwaitingPermit', event: 'replan', to: 'Planned', when: ['permitEnded'] },
    // Nothing was switched under it, so it proves nothing and is not a step of the ladder.
    { from: 'AwaitingPermit', event: 'withdraw', to: 'Aborted', when: ['machinesReported', 'noMachineSwitching'] },
    { from: 'Switching', event: 'replan', to: 'Planned', when: ['permitEnded', 'noMachineSwitching'] },
    {
      from: 'Switching',
      event: 'settle',
      to: 'Inspecting',
      when: ['machinesReported', 'failuresWithin', 'noMachineSwitching'],
    },
    { from: 'Switching', event: 'fail', to: 'Failed', when: ['failuresAbove', 'noMachineSwitching'] },
    { from: 'Switching', event: 'stall', to: 'Failed', when: ['deadlinePassed', 'noMachineSwitching'] },
    { from: 'Inspecting', event: 'soak', to: 'Soaking', when: ['stepSettled', 'inspectionsHold'] },
    { from: 'Soaking', event: 'pass', to: 'Passed', when: ['soakOver', 'inspectionsHold'] },
    ...rowsFrom(['Inspecting', 'Soaking'], { event: 'fail', to: 'Failed', when: ['inspectionFailed'] }),
  ],
  fromOpen: [{ event: 'abort', to: 'Aborted', when: ['givenUp', 'noMachineSwitching'] }],
})

export type SlicePhase = StateOf<typeof sliceTable>
export type SliceEvent = EventOf<typeof sliceTable>
export type SliceFacts = FactsOf<typeof sliceTable>

export const nextSlicePhase = nextIn(sliceTable)
