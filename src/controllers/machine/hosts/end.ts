// Ends a host at its provider.
import type { Clearance } from '#permits/under-permit.ts'
import type { Provider } from '#providers/port.ts'

export const endHost = (
  _clearance: Clearance,
  provider: Provider,
  providerID: string,
  signal: AbortSignal,
): ReturnType<Provider['delete']> => provider.delete(providerID, signal)
