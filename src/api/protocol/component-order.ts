// The order for one component of a machine, as its spec has it, and the parts of it that others name: what runs, which attempt, what it is to become.
// The one reader and writer of the forms in which objects have them.
import { defined } from '#lib/defined.ts'
import type { Slice } from '../kinds/machine-component-set.ts'
import type { ComponentOrder } from '../kinds/machine.ts'
import type { OperationPermit } from '../kinds/operation-permit.ts'

/** What runs, of a component that the context names. */
export type Version = Pick<ComponentOrder, 'version' | 'config'>

/** One try of a version, of a component that the context names. */
export type Attempt = Pick<ComponentOrder, 'version' | 'config' | 'attempt'>

/** A component at a version. */
export type ComponentVersion = Pick<ComponentOrder, 'name' | 'version' | 'config'>

/** It has no version, in objects as here. */
interface Removal {
  readonly name: string
  readonly version?: undefined
  readonly config?: undefined
}

/** What a component is to become. Every order is one; a machine that has no order is at a removal. */
export type ComponentTarget = ComponentVersion | Removal

export const isSameVersion = (a: Version, b: Version): boolean => a.version === b.version && a.config === b.config

export const isSameAttempt = (a: Attempt, b: Attempt): boolean => isSameVersion(a, b) && a.attempt === b.attempt

export const isSameTarget = (a: ComponentTarget | undefined, b: ComponentTarget | undefined): boolean =>
  a !== undefined && b !== undefined && a.name === b.name && a.version === b.version && a.config === b.config

/** Whether a machine with this order for the component, or with none, has been given the target. */
export const isOrderFor = (order: Version | undefined, target: ComponentTarget): boolean =>
  target.version === undefined ? order === undefined : order !== undefined && isSameVersion(order, target)

/** The `component` of a permit. */
type PermitComponent = NonNullable<OperationPermit['spec']['component']>

/** An empty version is none: earlier programs wrote it so. What is removed has no configuration. */
export const readPermitTarget = ({ name, version = '', config }: PermitComponent): ComponentTarget =>
  version === '' ? { name } : { name, version, ...defined({ config }) }

/** The part of a slice, in the status of a set, that says what it goes to. */
export type SliceTarget = Pick<Slice, 'component' | 'version' | 'config'>

export const readSliceTarget = ({ component: name, version, config }: SliceTarget): ComponentTarget =>
  readPermitTarget({ name, ...defined({ version, config }) })

export const writeSliceTarget = ({ name: component, version, config }: ComponentTarget): SliceTarget => ({
  component,
  ...defined({ version, config }),
})

/** Whether a permit for a component covers a target. One without a configuration, as canaries request it, covers each configuration of its version. */
export function coversTarget(permitted: PermitComponent, target: ComponentTarget): boolean {
  const granted = readPermitTarget(permitted)
  if (granted.version === undefined || granted.config !== undefined) return isSameTarget(granted, target)
  return granted.name === target.name && granted.version === target.version
}
