// The smallest things that every topic of the console is made of. Types only.

/** Milliseconds since 1970. The page formats times, so that an unchanged row is never sent again because time passed. */
export type Stamp = number

/** What lifts a wait: a command that can be copied, or a state that has to come. */
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
