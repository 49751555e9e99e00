// What the Machine orders for one component of this node: an assignment, with the attempt and the permitted switch of what is to run.
import { type Removal, type Run, removalOf, runOf } from '#api/protocol/assignment.ts'
import type { Attempt, OnRemoval } from './record.ts'
import { defined } from '#lib/defined.ts'

/** The agent may switch to this attempt under the permit. */
interface SwitchOrder {
  readonly attempt: number
  readonly permit: string
}

/** One entry of the Machine's order, as it is kept on disk. */
export interface OrderedAttempt extends Attempt {
  readonly switch?: SwitchOrder
  readonly onRemoval?: OnRemoval
}

export interface RunOrder extends Run {
  readonly attempt: number
  readonly switch?: SwitchOrder
  readonly onRemoval?: OnRemoval
}

/** Unread until the Machine was read once, now or before a restart: until then nothing is removed. */
export type ComponentOrder = RunOrder | Removal | { readonly kind: 'Unread' }

export const UNREAD: ComponentOrder = { kind: 'Unread' }

/** Removal when the Machine no longer lists the component. */
export function orderFor(component: string, entry: OrderedAttempt | undefined): ComponentOrder {
  if (entry === undefined) return removalOf(component)
  const { version, config, attempt, onRemoval } = entry
  return {
    ...runOf(component, version, config),
    attempt,
    ...defined({ switch: entry.switch, onRemoval }),
  }
}

/** The journal names the component once, and leaves out a configuration that is none. */
export const attemptOf = ({ version, config, attempt }: RunOrder): Attempt => ({
  version,
  attempt,
  ...defined({ config }),
})
