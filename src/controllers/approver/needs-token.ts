// Whether there is to be a join token for a machine: until its agent was heard. Pure.
import type { Machine } from '#api/kinds/machine.ts'

/** Whoever makes a status say one of these gets a token that is good for nobody but the key on record. */
const BEFORE_JOINING: ReadonlySet<string> = new Set(['Pending', 'Provisioning', 'Joining', 'Failed'])

export function needsToken(machine: Machine | undefined): boolean {
  if (machine === undefined || machine.metadata.deletionTimestamp !== undefined) return false
  const { spec, status } = machine
  return spec.channel === 'Agent' && spec.provider !== undefined && BEFORE_JOINING.has(status?.phase ?? 'Pending')
}
