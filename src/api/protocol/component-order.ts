// A machine's order for one component, and the parts that other objects refer to: running version, attempt, target. The only reader and writer of their stored
// forms.
import { defined } from '#lib/defined.ts'
import type { Slice } from '../kinds/machine-component-set.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '../kinds/machine.ts'
import type { OperationPermit } from '../kinds/operation-permit.ts'

/** The running version of a component known from the context. */
export type Version = Pick<ComponentOrder, 'version' | 'config'>

/** One attempt of a version, for a component known from the context. */
export type Attempt = Pick<ComponentOrder, 'version' | 'config' | 'attempt'>

/** A component at a version. */
export type ComponentVersion = Pick<ComponentOrder, 'name' | 'version' | 'config'>

/** A removal has no version, in objects as well as here. */
interface Removal {
  readonly name: string
  readonly version?: undefined
  readonly config?: undefined
}

/** A component's target. Every order is one; a machine without an order is at a removal. */
export type ComponentTarget = ComponentVersion | Removal

export const isSameVersion = (a: Version, b: Version): boolean => a.version === b.version && a.config === b.config

export const isSameAttempt = (a: Attempt, b: Attempt): boolean => isSameVersion(a, b) && a.attempt === b.attempt

export const isSameTarget = (a: ComponentTarget | undefined, b: ComponentTarget | undefined): boolean =>
  a !== undefined && b !== undefined && a.name === b.name && a.version === b.version && a.config === b.config

/** Whether a machine with this order for the component, or none, has received the target. */
export const isOrderFor = (order: Version | undefined, target: ComponentTarget): boolean =>
  target.version === undefined ? order === undefined : order !== undefined && isSameVersion(order, target)

/** States of a component that was tried and does not work. */
export const BROKEN: ReadonlySet<string> = new Set<ComponentStatus['state']>(['Degraded', 'RolledBack', 'Failed'])
/** States in which the agent is done with an attempt. Degraded means it was Healthy just before. */
const ENDED: ReadonlySet<string> = new Set([...BROKEN, 'Healthy' satisfies ComponentStatus['state']])

/** The agent reported the result of exactly this attempt. A report of another attempt, or of none, proves nothing about it. */
export const isAttemptOver = (
  order: Pick<ComponentOrder, 'version' | 'attempt'>,
  report: Pick<ComponentStatus, 'desired' | 'attempt' | 'state'> | undefined,
): boolean =>
  report !== undefined &&
  report.desired === order.version &&
  report.attempt === order.attempt &&
  ENDED.has(report.state)

/**
 * The machine has an order to switch, and its result is not reported. Afterwards the order stays in the spec until the next write of it: a write of its
 * own would say nothing that the report does not say.
 */
export const isSwitchOpen = (
  order: Pick<ComponentOrder, 'version' | 'attempt' | 'switch'>,
  report: Pick<ComponentStatus, 'desired' | 'attempt' | 'state'> | undefined,
): boolean => order.switch !== undefined && !isAttemptOver(order, report)

/** Of a machine, whatever else is known of it. */
interface Ordered {
  readonly spec: Pick<Machine['spec'], 'components'>
  readonly status?: Pick<NonNullable<Machine['status']>, 'components'> | undefined
}

/** The components of a machine with an open switch order. */
export const openSwitches = ({ spec, status }: Ordered): readonly ComponentOrder[] =>
  (spec.components ?? []).filter((order) =>
    isSwitchOpen(
      order,
      status?.components?.find((r) => r.name === order.name),
    ),
  )

export const hasOpenSwitch = (machine: Ordered): boolean => openSwitches(machine).length > 0

/** The `component` of a permit. */
type PermitComponent = NonNullable<OperationPermit['spec']['component']>

/** An empty version counts as none: earlier programs wrote it that way. A removed component has no configuration. */
export const readPermitTarget = ({ name, version = '', config }: PermitComponent): ComponentTarget =>
  version === '' ? { name } : { name, version, ...defined({ config }) }

/** The target part of a slice in a set's status. */
export type SliceTarget = Pick<Slice, 'component' | 'version' | 'config'>

export const readSliceTarget = ({ component: name, version, config }: SliceTarget): ComponentTarget =>
  readPermitTarget({ name, ...defined({ version, config }) })

export const writeSliceTarget = ({ name: component, version, config }: ComponentTarget): SliceTarget => ({
  component,
  ...defined({ version, config }),
})

/** Whether a component permit covers a target. One without a configuration, as canaries request it, covers every configuration of its version. */
export function coversTarget(permitted: PermitComponent, target: ComponentTarget): boolean {
  const granted = readPermitTarget(permitted)
  if (granted.version === undefined || granted.config !== undefined) return isSameTarget(granted, target)
  return granted.name === target.name && granted.version === target.version
}
