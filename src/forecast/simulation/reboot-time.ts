// How much longer a switch takes because the version reboots its machine. Pure.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { componentObjectName } from '#lib/names.ts'

/** A virtual machine boots within a minute, a large host takes up to ten. */
export const ASSUMED_REBOOT_MS = 300_000

/** Recorded durations include the reboot only if the version before had one too. */
export function rebootMs(
  definitions: ReadonlyMap<string, MachineComponent>,
  machine: Machine | undefined,
  component: string,
): number {
  const reboots = (version: string | undefined) =>
    version !== undefined && definitions.get(componentObjectName(component, version))?.spec.disruption === 'Reboot'
  const to = machine?.spec.components?.find((c) => c.name === component)?.version
  const from = machine?.status?.components?.find((c) => c.name === component)?.version
  return reboots(to) && !reboots(from) ? ASSUMED_REBOOT_MS : 0
}
