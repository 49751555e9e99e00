// A machine that is rebooting for a component, as its agent reported before stopping. Silence is expected until the agent reports again.
import type { Machine } from '../kinds/machine.ts'

/**
 * A host with much memory and many disks takes ten minutes to boot, including firmware, plus minutes to stop its units. An agent whose boot
 * begins after this time reverts to the version before.
 */
export const RETURNS_WITHIN_MS = 900_000

/**
 * After this time without a heartbeat the provider restarts the host, once. Later than the limit above by more than a machine may have been silent
 * before it rebooted: the boot after a restart always begins too late for the version that hung.
 */
export const POWER_CYCLE_AFTER_MS = RETURNS_WITHIN_MS + 60_000

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
