// How often a forecast reboots its machines: components that switch on a machine at the same time share one reboot. Pure.
import type { ForecastSlice } from './forecast.ts'

type Rebooting = Pick<ForecastSlice, 'component' | 'version' | 'machines' | 'reboots' | 'begun' | 'done'>

/** Shared ones begin with one permit decision each, in the same moment or soon after. */
const overlaps = (a: Rebooting, b: Rebooting): boolean =>
  (a.begun ?? Infinity) < (b.done ?? Infinity) && (b.begun ?? Infinity) < (a.done ?? Infinity)

/** By name and version. */
export const rebootsWith = (own: Rebooting, machine: string, slices: readonly Rebooting[]): readonly string[] => [
  ...new Set(
    slices
      .filter((s) => s.reboots && s.component !== own.component && s.machines.includes(machine) && overlaps(s, own))
      .map(({ component, version }) => `${component} ${version ?? ''}`.trim()),
  ),
]

export function rebootCount(slices: readonly Rebooting[]): number {
  const byMachine = new Map<string, Rebooting[]>()
  for (const slice of slices)
    if (slice.reboots) for (const name of slice.machines) byMachine.set(name, [...(byMachine.get(name) ?? []), slice])
  return [...byMachine.values()].reduce((n, of) => n + separate(of), 0)
}

/** Slices that do not overlap any of the earlier ones. */
const separate = (slices: readonly Rebooting[]): number =>
  slices.filter(
    (s, i) => !slices.slice(0, i).some((earlier) => earlier.component !== s.component && overlaps(earlier, s)),
  ).length
