// The basic types that every console topic uses. Types only.

/** Milliseconds since 1970. The page formats times, so that an unchanged row is never sent again just because time passed. */
export type Stamp = number

/** What ends a wait: a command to copy, or a state that has to be reached. */
export interface Lift {
  readonly text: string
  readonly isCommand: boolean
}

export interface ObjectName {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}
