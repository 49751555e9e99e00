// The kind of machine on which a new version must be tried once: the declared class, and the processor, system, kernel and accelerators that the Node
// reports.
import type { Machine } from '#api/kinds/machine.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { Node } from '../objects.ts'

/** Limited like a label value. */
const MOST_CHARS = 63

/** Extended resources are named by their vendor: `nvidia.com/gpu`. */
const ACCELERATOR = /^([a-z0-9-]+)\.[^/]*\/[a-z0-9.-]*(gpu|fpga|npu|tpu)$/

export function hardwareClass({ spec }: Machine, node: Node | undefined): string {
  if (node?.status?.nodeInfo === undefined && node?.status?.capacity === undefined) return spec.class ?? ''
  const parts = [spec.class, ...partsOf(node)].filter((part) => part !== undefined && part !== '')
  return withoutEnd(parts.join('.').slice(0, MOST_CHARS), /[^A-Za-z0-9]/)
}

function partsOf({ status }: Node): readonly (string | undefined)[] {
  const { architecture, osImage, kernelVersion } = status?.nodeInfo ?? {}
  return [word(architecture), system(osImage), kernel(kernelVersion), accelerators(status?.capacity)]
}

const word = (text: string | undefined): string | undefined => text?.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

/** `Debian GNU/Linux 13 (trixie)` becomes debian-13. */
function system(image: string | undefined): string | undefined {
  if (image === undefined) return undefined
  const [name = ''] = image.split(/\s/, 1)
  return word([name, /\d+/.exec(image)?.[0]].filter(Boolean).join('-'))
}

/** Kernel patch levels are ignored: otherwise every reboot could create a class. */
const kernel = (version: string | undefined): string | undefined => version && /^\d+\.\d+/.exec(version)?.[0]

function accelerators(capacity: Readonly<Record<string, string>> | undefined): string | undefined {
  const found = Object.entries(capacity ?? {}).flatMap(([resource, amount]) => {
    const match = ACCELERATOR.exec(resource)
    return match === null || amount === '0' ? [] : [`${match[1]}-${match[2]}`]
  })
  return found.length === 0 ? undefined : [...new Set(found)].toSorted().join('.')
}
