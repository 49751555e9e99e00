// Decides whether a machine needs a join token: until its agent has reported, and while a user lets its host join again. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { readmissionOf, usedReadmissionOf } from '#identity/readmitted.ts'

/** A client that forges one of these phases gets only a token that works with the key on record. */
const BEFORE_JOINING: ReadonlySet<string> = new Set(['Pending', 'Provisioning', 'Joining', 'Failed'])

/** Only machines that join through the agent ever get a token. */
export const mayHaveToken = ({ spec }: Machine): boolean => spec.channel === 'Agent' && spec.provider !== undefined

export function needsToken(machine: Machine | undefined, nowMs: number): boolean {
  if (machine === undefined || machine.metadata.deletionTimestamp !== undefined || !mayHaveToken(machine)) return false
  const { status } = machine
  return BEFORE_JOINING.has(status?.phase ?? 'Pending') || readmissionOf(machine, nowMs)?.token === true
}

/**
 * A host whose key is on record may still be fetching its answer with the original token. This happens on a rejoin, and when the Machine is deleted
 * before its agent has reported. A first join of a Machine that stays is done when the agent reports, which requires the answer.
 */
export function awaitsAnswer(machine: Machine, nowMs: number): boolean {
  if (mayHaveToken(machine) && usedReadmissionOf(machine, nowMs) !== undefined) return true
  const isToGo = machine.metadata.deletionTimestamp !== undefined || machine.spec.channel === 'Observe'
  return isToGo && machine.status?.agent === undefined && recordedKey(machine) !== undefined
}

/** A machine reports several times while its agent joins. None of these reports changes its token. */
export function isSettled(madeFor: Machine | undefined, machine: Machine | undefined, nowMs: number): boolean {
  if (madeFor === undefined || machine === undefined || !needsToken(machine, nowMs)) return false
  return (
    [ANNOTATIONS.readmit, ANNOTATIONS.agentKey].every(
      (name) => madeFor.metadata.annotations?.[name] === machine.metadata.annotations?.[name],
    ) && madeFor.metadata.uid === machine.metadata.uid
  )
}
