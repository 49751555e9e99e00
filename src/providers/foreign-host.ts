// Whether what a Machine names as its host is that of another one: to switch, restart or delete it would hit that one. Its tags, or the id, were changed by others.
import type { Host } from './port.ts'

export const foreignHost = (
  found: Pick<Host, 'providerID' | 'machineUid'> | undefined,
  machineUid: string | undefined,
): string | undefined =>
  found === undefined || found.machineUid === machineUid
    ? undefined
    : `the provider shows ${found.providerID} as the host of another Machine; check its tags`
