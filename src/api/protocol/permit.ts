// The permit, and the slot of each target. Phases end the permission; slots end the counting. They are separate because a permission may end (a lease expires)
// while its target is still unavailable, and budgets must keep counting it.
import { PHASES } from '../phases.ts'
import { defineTable, nextIn, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const permitTable = defineTable({
  name: 'permit',
  field: 'OperationPermit.status.phase',
  writer: 'kubenode-defender',
  states: PHASES.Permit,
  initial: 'Requested',
  terminal: ['Denied', 'Released', 'Expired', 'Revoked'],
  preconditions: {
    gatesPass: 'every gate of every policy permits at least one target',
    ledgerSwapped: 'the grant is in the ledger: the compare-and-swap succeeded',
    refusedForGood: 'a gate denies it, and waiting does not help',
    allResultsIn: 'every granted target has a result, or nothing was granted and the requester withdrew',
    leaseExpired: 'renewTime, or the grant, is older than leaseSeconds on the clock of the Defender',
    revocationWanted: 'a hold or the breaker revokes the permit',
  },
  rows: [
    { from: 'Requested', event: 'grant', to: 'Granted', when: ['gatesPass', 'ledgerSwapped'] },
    { from: 'Requested', event: 'deny', to: 'Denied', when: ['refusedForGood'] },
    { from: 'Requested', event: 'release', to: 'Released', when: ['allResultsIn'] },
    { from: 'Granted', event: 'release', to: 'Released', when: ['allResultsIn'] },
    { from: 'Granted', event: 'expire', to: 'Expired', when: ['leaseExpired'] },
    { from: 'Granted', event: 'revoke', to: 'Revoked', when: ['revocationWanted'] },
  ],
})

export type PermitPhase = StateOf<typeof permitTable>

export const nextPermitPhase = nextIn(permitTable)

export const slotTable = defineTable({
  name: 'slot',
  field: 'DefenderLedger.spec.grants[].state',
  writer: 'kubenode-defender',
  states: PHASES.Slot,
  initial: 'Waiting',
  terminal: ['Freed'],
  preconditions: {
    gatesPass: 'every gate permits this target',
    ledgerSwapped: 'the grant is in the ledger: the compare-and-swap succeeded',
    resultIn:
      'the requester wrote a result for this target while the permit was Granted: it has no order, and will not get one under this permit',
    permitEnded: 'the permit is Expired or Revoked, or was deleted, without a result',
    targetIdle:
      'the target is healthy, has no order that disrupts it, and its agent has reported since the order was removed',
    targetDeleted: 'the target was deleted, or has a different UID',
    withdrawn: 'the requester withdrew before anything was granted',
  },
  rows: [
    { from: 'Waiting', event: 'grant', to: 'Held', when: ['gatesPass', 'ledgerSwapped'] },
    { from: 'Waiting', event: 'withdraw', to: 'Freed', when: ['withdrawn'] },
    { from: 'Held', event: 'result', to: 'Freed', when: ['resultIn'] },
    { from: 'Held', event: 'orphan', to: 'Orphaned', when: ['permitEnded'] },
    { from: 'Held', event: 'forget', to: 'Freed', when: ['targetDeleted'] },
    { from: 'Orphaned', event: 'settle', to: 'Freed', when: ['targetIdle'] },
    { from: 'Orphaned', event: 'forget', to: 'Freed', when: ['targetDeleted'] },
  ],
})

export type SlotState = StateOf<typeof slotTable>
export type SlotEvent = EventOf<typeof slotTable>
export type SlotFacts = FactsOf<typeof slotTable>

export const nextSlotState = nextIn(slotTable)

/** Budgets count a target while its slot is in one of these states. */
export const countsInBudgets = (state: SlotState): boolean => state === 'Held' || state === 'Orphaned'
