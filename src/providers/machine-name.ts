// The names a machine may have where its name becomes a file or folder, how a name is found in a provider's id, and which machine has a name already.
import type { CreateResult } from './port.ts'

const MACHINE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
/** A file name holds 255 bytes at most. */
const LONGEST_MACHINE = 253

/** Only such names become folders: no slash, no leading dot. */
export const isMachineName = (name: string): boolean => name.length <= LONGEST_MACHINE && MACHINE.test(name)

/** Undefined for ids of other providers, and for names that our machines cannot have. */
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

/** Asked before anything is looked for under the name. */
export const badName = (machine: string): Refusal | undefined =>
  isMachineName(machine) ? undefined : refused(`${JSON.stringify(machine)} cannot be the name of a machine`)

/** Whether another host than the requested one has the name; `place` identifies it. */
export function takenName(known: Known | undefined, machineUid: string, place: string): Refusal | undefined {
  if (known === undefined) return undefined
  if (known.machineUid !== machineUid)
    return refused(`${place} belongs to another machine of this name; it has to be deleted first`)
  return known.state === 'Deleting' ? refused(`${place} is being deleted`) : undefined
}
