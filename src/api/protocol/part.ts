// The name of a part of a rollout: a slice of a set, or a batch of a canary. Each is one decision with a parent and a number, and is carried out under permits
// that name both; wherever it is shown, it is called the same.
import type { Slice } from '../kinds/machine-component-set.ts'
import type { OperationPermit } from '../kinds/operation-permit.ts'
import { shortWord } from '../nouns.ts'

/** The number of a slice, as people count. */
export const sliceNumber = ({ step, number }: Pick<Slice, 'step' | 'number'>): string =>
  `step ${step + 1} slice ${number + 1}`

/** The number of a batch of a canary, from 0. */
export const batchNumber = (number: number): string => `batch ${number + 1}`

const partName = (component: string, version = '', part = ''): string =>
  `${component} ${version === '' ? 'leaves' : version} ${part}`

/** Within its set: `beacon 1.1.0 step 2 slice 1`. */
export const sliceName = (slice: Pick<Slice, 'component' | 'version' | 'step' | 'number'>): string =>
  partName(slice.component, slice.version, sliceNumber(slice))

/** What a permit is for: `set/base beacon 1.1.0 step 2 slice 1`. Undefined for one that is for no part of a rollout, or that an earlier program requested. */
export function partOfPermit({ requester, component }: Partial<OperationPermit['spec']>): string | undefined {
  const { kind, name, part } = requester ?? {}
  if (kind === undefined || name === undefined || part === undefined || component === undefined) return undefined
  return `${shortWord(`${kind.toLowerCase()}/${name}`)} ${partName(component.name, component.version, part)}`
}
