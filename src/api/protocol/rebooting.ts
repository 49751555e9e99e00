// A machine that is rebooting for a component, as its agent reported before stopping. Silence is expected until the agent reports again.
import type { Machine } from '../kinds/machine.ts'

export interface Rebooting {
  readonly component: string
  /** As reported, by the host's clock. */
  readonly since: string
}

export function rebooting({ status }: Pick<Machine, 'status'>): Rebooting | undefined {
  for (const { name, rebootingSince } of status?.components ?? [])
    if (rebootingSince !== undefined) return { component: name, since: rebootingSince }
  return undefined
}
