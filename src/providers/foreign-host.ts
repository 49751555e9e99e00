// Detects that a Machine's host belongs to another Machine, because its tags or id were changed. Switching, restarting or deleting it would hit the other one.
import type { Host } from './port.ts'

export const foreignHost = (
  found: Pick<Host, 'providerID' | 'machineUid'> | undefined,
  machineUid: string | undefined,
): string | undefined =>
  found === undefined || found.machineUid === machineUid
    ? undefined
    : `the provider shows ${found.providerID} as the host of another Machine; check its tags`
