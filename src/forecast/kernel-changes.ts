// Which machines boot another kernel because of a commit: from what they run now to what the version names. Pure.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { componentObjectName } from '#lib/names.ts'
import type { ForecastSlice } from './forecast.ts'
import { rebootsWith } from './reboots.ts'

export interface KernelChange {
  /** Reported by the agents; undefined: not yet. */
  readonly from: string | undefined
  readonly to: string
  readonly bootArguments: readonly string[]
  /** Whole images that hold the kernel, one per architecture, with shortened digests. */
  readonly images: readonly string[]
  /** Components that take effect with the same reboot. */
  readonly sharedWith: readonly string[]
  readonly machines: number
}

interface World {
  readonly components: readonly MachineComponent[]
  readonly machines: readonly Machine[]
}

export function kernelChanges(
  { components, machines }: World,
  slices: readonly ForecastSlice[],
): readonly KernelChange[] {
  const found = new Map<string, KernelChange>()
  for (const slice of slices) {
    const { component, version, machines: names } = slice
    const name = version && componentObjectName(component, version)
    const os = components.find((c) => nameOf(c) === name)?.spec.os
    if (os === undefined) continue
    for (const machine of new Set(names)) {
      const from = machines.find((m) => nameOf(m) === machine)?.status?.platform?.kernel
      const sharedWith = rebootsWith(slice, machine, slices)
      const change = {
        from,
        to: os.kernel,
        bootArguments: os.bootArguments ?? [],
        images: (os.images ?? []).map(shortImage),
        sharedWith,
      }
      const key = JSON.stringify(change)
      found.set(key, { ...change, machines: (found.get(key)?.machines ?? 0) + 1 })
    }
  }
  return [...found.values()].toSorted((a, b) => b.machines - a.machines)
}

const SHORT_DIGEST = 12
const shortImage = ({ image }: { readonly image: string }): string => {
  const [repository = '', digest = ''] = image.split('@sha256:')
  return `${repository.split('/').at(-1) ?? ''}@${digest.slice(0, SHORT_DIGEST)}`
}
