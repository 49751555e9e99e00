// The machine that reboots for a component, as its agent reported before it ended. Until the agent reports again, silence is what to expect.
import type { Machine } from '../kinds/machine.ts'

export interface Rebooting {
  readonly component: string
  /** As reported, by the clock of the host. */
  readonly since: string
}

export function rebooting({ status }: Pick<Machine, 'status'>): Rebooting | undefined {
  for (const { name, rebootingSince } of status?.components ?? [])
    if (rebootingSince !== undefined) return { component: name, since: rebootingSince }
  return undefined
}
