// What a component of a machine should become: one version with one configuration, or removed. The one reader and writer of its form in objects.

/** A component at a version with a configuration. */
import { defined } from '#lib/defined.ts'
interface ComponentRef {
  readonly component: string
  readonly version: string
  readonly config: string | undefined
}

export type Assignment = Run | Removal

export interface Run extends ComponentRef {
  readonly kind: 'Run'
}

export interface Removal {
  readonly kind: 'Remove'
  readonly component: string
}

/** The version and configuration of a component that the context names, as orders, slots and journals have them. */
export interface Version {
  readonly version: string
  readonly config?: string | undefined
}

export const isSameVersion = (a: Version, b: Version): boolean => a.version === b.version && a.config === b.config

export const runOf = (component: string, version: string, config: string | undefined): Run => ({
  kind: 'Run',
  component,
  version,
  config,
})

export const removalOf = (component: string): Removal => ({ kind: 'Remove', component })

export const isSameAssignment = (a: Assignment | undefined, b: Assignment | undefined): boolean =>
  a !== undefined && b !== undefined && a.component === b.component && isSameGoal(a, b)

const isSameGoal = (a: Assignment, b: Assignment): boolean =>
  a.kind === 'Remove' || b.kind === 'Remove' ? a.kind === b.kind : isSameVersion(a, b)

/** Whether a machine with this order has the assigned version; undefined: it has no order for the component. */
export const isTold = (told: Version | undefined, assigned: Assignment): boolean =>
  assigned.kind === 'Remove' ? told === undefined : told !== undefined && isSameVersion(told, assigned)

/** Undefined for a removal. */
export const versionIn = (assigned: Assignment | undefined): string | undefined =>
  assigned?.kind === 'Run' ? assigned.version : undefined

/** As slices in the status of a set write it, and the `component` of a permit: a removal names no version. */
export interface WrittenAssignment {
  readonly component: string
  readonly version?: string
  readonly config?: string
}

/** An empty version is none: earlier programs wrote it so. A removed component has no configuration. */
export const readAssignment = ({ component, version = '', config }: WrittenAssignment): Assignment =>
  version === '' ? removalOf(component) : runOf(component, version, config)

export const writeAssignment = (assigned: Assignment): WrittenAssignment =>
  assigned.kind === 'Remove'
    ? { component: assigned.component }
    : {
        component: assigned.component,
        version: assigned.version,
        ...defined({ config: assigned.config }),
      }

/** The `component` of a permit. */
export interface PermittedComponent {
  readonly name: string
  readonly version?: string
  readonly config?: string
}

export const permittedAssignment = ({ name, ...rest }: PermittedComponent): Assignment =>
  readAssignment({ component: name, ...rest })

/** Whether a permit for a component covers an assignment. One without a configuration, as canaries request it, covers each configuration of its version. */
export function coversAssignment(permitted: PermittedComponent, assigned: Assignment): boolean {
  const granted = permittedAssignment(permitted)
  if (granted.kind === 'Remove' || assigned.kind === 'Remove' || granted.config !== undefined)
    return isSameAssignment(granted, assigned)
  return granted.component === assigned.component && granted.version === assigned.version
}
