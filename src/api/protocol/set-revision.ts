// Reads and writes the kept revisions of a MachineComponentSet: ControllerRevisions whose data holds the declared components.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { SecretPlace } from '../kinds/component-config.ts'
import type { MachineComponentSetSpec } from '../kinds/machine-component-set.ts'

/** With `sealed`, what its secret values were when they were read: other values are another revision. */
export type RevisedComponent = MachineComponentSetSpec['components'][number] & {
  readonly sealed?: readonly SecretPlace[]
}

export interface SetRevision {
  readonly name: string
  /** Later revisions have larger numbers; 0 where the record has none. */
  readonly number: number
  readonly components: readonly RevisedComponent[]
}

/** Undefined for a record that cannot be read whole. A part of it would be another revision: components that it lacks would be removed from machines. */
export function readSetRevision(record: KubeObject | undefined): SetRevision | undefined {
  const data = record?.['data']
  const components: unknown = isObject(data) ? data['components'] : undefined
  if (record === undefined || !Array.isArray(components) || !components.every(isComponent)) return undefined
  const number = record['revision']
  return { name: record.metadata.name ?? '', number: typeof number === 'number' ? number : 0, components }
}

/** What goes into the record: `readSetRevision` reads the same back. */
export const writeSetRevision = (
  number: number,
  components: readonly RevisedComponent[],
): { readonly revision: number; readonly data: { readonly components: readonly RevisedComponent[] } } => ({
  revision: number,
  data: { components },
})

const isPlaces = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((p) => isObject(p) && typeof p['path'] === 'string'))

function isComponent(value: unknown): value is RevisedComponent {
  if (!isObject(value)) return false
  const { name, version, values, secretRefs, sealed } = value
  const isNamed = typeof name === 'string' && name !== '' && typeof version === 'string' && version !== ''
  return isNamed && (values === undefined || isObject(values)) && isPlaces(secretRefs) && isPlaces(sealed)
}
