// The order for one component of a machine, as its spec has it, and the parts of it that others name: what runs, which attempt, what it goes to.
import type { ComponentOrder } from '../kinds/machine.ts'

/** What runs, of a component that the context names. */
export type Version = Pick<ComponentOrder, 'version' | 'config'>

/** One try of a version, of a component that the context names. */
export type Attempt = Pick<ComponentOrder, 'version' | 'config' | 'attempt'>

/** A component at a version. */
export type ComponentVersion = Pick<ComponentOrder, 'name' | 'version' | 'config'>

export const isSameVersion = (a: Version, b: Version): boolean => a.version === b.version && a.config === b.config

export const isSameAttempt = (a: Attempt, b: Attempt): boolean => isSameVersion(a, b) && a.attempt === b.attempt
