import { expect, test } from 'vitest'
import { aPermit } from '#test/support/fleets/defender-objects.ts'
import type { GateVerdict } from './gate.ts'
import type { PermitDecision } from './plan.ts'
import { PendingVerdicts } from './status-reporter.ts'

const permit = aPermit({ name: 'p', targets: ['m-0'] })
const target = permit.spec.targets[0]?.uid ?? ''
const granted: GateVerdict = { gate: 'Ledger', verdict: 'Granted', reason: 'PermitGranted' }
const waits: GateVerdict = { gate: 'Budget', verdict: 'Waiting', reason: 'BudgetExhausted' }
const ok: GateVerdict = { gate: 'Target', verdict: 'Granted', reason: 'PermitGranted', seen: 'is healthy' }
const decision = (verdict: GateVerdict, gates: readonly GateVerdict[]): PermitDecision => ({
  permit,
  phase: verdict.verdict === 'Granted' ? 'Granted' : 'Requested',
  targets: [{ target, verdict, gates }],
})
const gatesOf = ({ targets }: PermitDecision) => targets.map((t) => t.gates)

test('a grant whose telling was refused keeps what the gates said of it', () => {
  const untold = new PendingVerdicts()
  untold.note(decision(granted, [ok]))
  expect(gatesOf(untold.complete(decision(granted, [])))).toEqual([[ok]])
  // A reconcile without any of them removes nothing.
  untold.note(decision(granted, []))
  expect(gatesOf(untold.complete(decision(granted, [])))).toEqual([[ok]])
  untold.forget(permit.metadata.uid ?? '')
  expect(gatesOf(untold.complete(decision(granted, [])))).toEqual([[]])
})

test('who waits says himself why', () => {
  const untold = new PendingVerdicts()
  untold.note(decision(waits, [waits]))
  expect(gatesOf(untold.complete(decision(granted, [])))).toEqual([[]])
  untold.note(decision(granted, [ok]))
  expect(gatesOf(untold.complete(decision(waits, [waits])))).toEqual([[waits]])
})
