// Devices that drivers of dynamic resource allocation publish for a node, with the bus of each one's PCI address. A device without a known place is left out.
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { fieldsOf } from '#lib/fields.ts'
import { pciBus } from '#lib/pci-bus.ts'
import type { KubeClient } from '#kube/client.ts'
import { escapeFieldValue } from '#kube/selector.ts'
import { servedResources } from '#kube/served-resources.ts'

const GROUP = 'resource.k8s.io'
/** Since 1.34, 1.33 and 1.32. */
const SLICE_VERSIONS = ['v1', 'v1beta2', 'v1beta1'] as const
/** A node has one slice for each driver, or a few. */
const MOST_SLICES = 64
const MOST_DEVICES = 512

/** The shared name of Kubernetes, or one of a driver's own. */
const ADDRESS = /(?:^|\/)pcie?(?:BusID|Address)$/i

export interface SlicedDevice {
  readonly driver: string
  readonly pool: string
  readonly device: string
  readonly bus: string
}

/** The first of these versions that serves the kind. Undefined: none does. */
export async function servedKind(
  client: Pick<KubeClient, 'raw'>,
  plural: string,
  versions: readonly string[],
  signal?: AbortSignal,
): Promise<ResourceType | undefined> {
  for (const version of versions) {
    const found = (await servedResources(client, `${GROUP}/${version}`, signal))?.find((r) => r.plural === plural)
    if (found !== undefined) return found
  }
  return undefined
}

export async function devicesOn(
  client: Pick<KubeClient, 'raw' | 'list'>,
  node: string,
  signal?: AbortSignal,
): Promise<readonly SlicedDevice[]> {
  const slices = await servedKind(client, 'resourceslices', SLICE_VERSIONS, signal)
  if (slices === undefined) return []
  const fieldSelector = `spec.nodeName=${escapeFieldValue(node)}`
  const { items } = await client.list(slices, { fieldSelector, limit: MOST_SLICES, ...defined({ signal }) })
  return items.flatMap(devicesIn).slice(0, MOST_DEVICES)
}

/** Of one ResourceSlice. Pure. */
export function devicesIn(slice: KubeObject): readonly SlicedDevice[] {
  const spec = fieldsOf(slice['spec'])
  const { driver, devices } = spec
  const pool = fieldsOf(spec['pool'])['name']
  if (typeof driver !== 'string' || typeof pool !== 'string' || !Array.isArray(devices)) return []
  return (devices as readonly unknown[]).flatMap((found) => {
    const { name: device, attributes, basic } = fieldsOf(found)
    const bus = busIn(attributes ?? fieldsOf(basic)['attributes'])
    return typeof device === 'string' && bus !== undefined ? [{ driver, pool, device, bus }] : []
  })
}

/** Undefined: no attribute is its address, or two differ. */
function busIn(attributes: unknown): string | undefined {
  const buses = Object.entries(fieldsOf(attributes)).flatMap(([name, value]) => {
    const address = fieldsOf(value)['string']
    const bus = ADDRESS.test(name) && typeof address === 'string' ? pciBus(address) : undefined
    return bus ?? []
  })
  return new Set(buses).size === 1 ? buses[0] : undefined
}
