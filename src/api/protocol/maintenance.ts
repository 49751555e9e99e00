// A maintenance event: announced, prepared under a permit, left alone while its cause is known, verified. Work that starts before the node is drained counts as
// missed and is reported.
import { PHASES } from '../phases.ts'
import { defineTable, nextIn, rowsFrom, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const maintenanceTable = defineTable({
  name: 'maintenance',
  field: 'MaintenanceEvent.status.phase',
  writer: 'kubenode-hostdoctor',
  states: PHASES.Maintenance,
  initial: 'Announced',
  terminal: ['Done', 'Failed', 'Cancelled'],
  preconditions: {
    takesHostAway: 'it is more than a notice for people, and the machine is managed',
    startReached: 'startAt has come, or less time is left than the lead',
    notBeforePassed: 'notBefore has passed on our clock, and the source has not ended it',
    missRecorded: 'the miss is recorded in the status',
    drained: 'the permit was just read and is Granted, our taint is on the Node, and no pod that has to move is left',
    underWay: 'its source reports that it is under way, or the node fell silent after our answer',
    movedAway: 'its source has not begun it and moved it to a time that leaves more than the lead',
    sourceEnded: 'its source reports that it is over, or, once begun, no longer lists it, or the host booted again',
    sourceCancelled:
      'its source cancelled it, or it is missing in two complete polls and notBefore has not passed, or an earlier event of another source is the same; nothing happened',
    sourceFailed: 'its source reports that it failed',
    wellAgain:
      'the machine is Ready, its Node is Ready and its components are Healthy for the stable time, and the source no longer lists it or the time for verification is over',
    verifyOverdue: 'the machine is not well at the end of the time for verification',
    machineDeleted: 'the Machine was deleted',
  },
  rows: [
    { from: 'Announced', event: 'prepare', to: 'Preparing', when: ['takesHostAway', 'startReached'] },
    { from: 'Preparing', event: 'drained', to: 'Prepared', when: ['drained'] },
    ...rowsFrom(['Announced', 'Preparing'], {
      event: 'miss',
      to: 'Missed',
      when: ['takesHostAway', 'notBeforePassed'],
    }),
    { from: 'Missed', event: 'begin', to: 'InProgress', when: ['missRecorded'] },
    ...rowsFrom(['Announced', 'Preparing', 'Prepared'], { event: 'begin', to: 'InProgress', when: ['underWay'] }),
    ...rowsFrom(['Preparing', 'Prepared', 'InProgress'], { event: 'move', to: 'Announced', when: ['movedAway'] }),
    ...rowsFrom(['Announced', 'Preparing', 'Prepared'], {
      event: 'cancel',
      to: 'Cancelled',
      when: ['sourceCancelled'],
    }),
    ...rowsFrom(['Announced', 'Preparing', 'Prepared', 'InProgress'], {
      event: 'end',
      to: 'Verifying',
      when: ['sourceEnded'],
    }),
    { from: 'Verifying', event: 'succeed', to: 'Done', when: ['wellAgain'] },
    { from: 'Verifying', event: 'overdue', to: 'Failed', when: ['verifyOverdue'] },
    ...rowsFrom(['Announced', 'Preparing', 'Prepared', 'InProgress'], {
      event: 'fail',
      to: 'Failed',
      when: ['sourceFailed'],
    }),
  ],
  fromOpen: [{ event: 'forget', to: 'Cancelled', when: ['machineDeleted'] }],
})

export type MaintenancePhase = StateOf<typeof maintenanceTable>
export type MaintenanceMove = EventOf<typeof maintenanceTable>
export type MaintenanceFacts = FactsOf<typeof maintenanceTable>

export const nextMaintenancePhase = nextIn(maintenanceTable)
