// What a component of a machine should become: one version with one configuration, or removed. The one reader and writer of its form in objects.

/** A component at a version with a configuration. */
export interface ComponentRef {
  readonly component: string
  readonly version: string
  readonly config: string | undefined
}

export type Assignment = ({ readonly kind: 'Run' } & ComponentRef) | Removal

export interface Removal {
  readonly kind: 'Remove'
  readonly component: string
}

export const runOf = (component: string, version: string, config: string | undefined): Assignment => ({
  kind: 'Run',
  component,
  version,
  config,
})

export const removalOf = (component: string): Removal => ({ kind: 'Remove', component })

export const isSameAssignment = (a: Assignment | undefined, b: Assignment | undefined): boolean =>
  a !== undefined && b !== undefined && a.component === b.component && isSameGoal(a, b)

const isSameGoal = (a: Assignment, b: Assignment): boolean =>
  a.kind === 'Remove' || b.kind === 'Remove' ? a.kind === b.kind : a.version === b.version && a.config === b.config

/** Whether a machine with this order has the assigned version; undefined: it has no order for the component. */
export const isTold = (
  told: { readonly version: string; readonly config?: string } | undefined,
  assigned: Assignment,
): boolean =>
  assigned.kind === 'Remove'
    ? told === undefined
    : told !== undefined && told.version === assigned.version && told.config === assigned.config

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
        ...(assigned.config !== undefined && { config: assigned.config }),
      }
