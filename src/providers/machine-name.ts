// Valid machine names where a name becomes a file or folder, a name inside a provider's id, and the machine that already has a name.
import type { CreateResult } from './port.ts'

const MACHINE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
/** A file name holds at most 255 bytes. */
const LONGEST_MACHINE = 253

/** Only such names become folders: no slash, no leading dot. */
export const isMachineName = (name: string): boolean => name.length <= LONGEST_MACHINE && MACHINE.test(name)

/** Undefined for other providers' ids, and for names that these machines cannot have. */
export function machineIn(scheme: string, providerID: string): string | undefined {
  const machine = providerID.slice(scheme.length)
  return providerID.startsWith(scheme) && isMachineName(machine) ? machine : undefined
}

interface Known {
  readonly machineUid: string
  readonly state?: string
}

const refused = (reason: string): Refusal => ({ kind: 'Refused', reason })
type Refusal = Extract<CreateResult, { readonly kind: 'Refused' }>

/** Checked before anything is searched under the name. */
export const badName = (machine: string): Refusal | undefined =>
  isMachineName(machine) ? undefined : refused(`${JSON.stringify(machine)} cannot be the name of a machine`)

/** Refuses if a different host has the name; `place` identifies it. */
export function takenName(known: Known | undefined, machineUid: string, place: string): Refusal | undefined {
  if (known === undefined) return undefined
  if (known.machineUid !== machineUid)
    return refused(`${place} belongs to another machine of this name; it has to be deleted first`)
  return known.state === 'Deleting' ? refused(`${place} is being deleted`) : undefined
}
