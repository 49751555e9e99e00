// The steps that a component can take, and what a plan of it is: one step, or a wait.
import type { Reason } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import type { Attempt } from '#api/protocol/component-order.ts'
import type { OnRemoval, SharedWith, Slot } from './record.ts'

export type ComponentAction =
  | { readonly kind: 'Stage'; readonly target: Attempt; readonly reason: string }
  | {
      readonly kind: 'ReadPermit'
      readonly permit: string
      /** The permit must list Reboot as well. */
      readonly forReboot?: boolean
      readonly reason: string
    }
  | { readonly kind: 'ShareReboot'; readonly with: readonly SharedWith[]; readonly reason: string }
  | { readonly kind: 'Reboot'; readonly reason: string }
  | { readonly kind: 'ReadNode'; readonly reason: string }
  | { readonly kind: 'Switch'; readonly to: Slot; readonly permit: string | undefined; readonly reason: string }
  | { readonly kind: 'ContinueSwitch'; readonly reason: string }
  | { readonly kind: 'UseInPlace'; readonly reason: string }
  | { readonly kind: 'GiveUp'; readonly because: Reason; readonly reason: string }
  | { readonly kind: 'Commit'; readonly reason: string }
  | { readonly kind: 'StartAgain'; readonly how: string; readonly reason: string }
  | {
      readonly kind: 'RollBack'
      readonly because: Reason
      readonly reason: string
      /** Why the machine does not reboot into the old version. */
      readonly pending?: string
    }
  | { readonly kind: 'Start'; readonly reason: string }
  | { readonly kind: 'Restart'; readonly reason: string }
  | { readonly kind: 'Reinstall'; readonly reason: string }
  | { readonly kind: 'Degrade'; readonly because: Reason; readonly reason: string }
  | { readonly kind: 'Recover'; readonly reason: string }
  | { readonly kind: 'NoteRemoval'; readonly onRemoval: OnRemoval | undefined; readonly reason: string }
  | { readonly kind: 'Remove'; readonly reason: string }

export interface ComponentPlan {
  readonly action: ComponentAction | undefined
  /** What the component waits for, as text for users. */
  readonly waiting?: string
  /** The reason as one word, if there is one. */
  readonly because?: Reason
  readonly requeueAfterMs?: number
}

export const act = (action: ComponentAction): ComponentPlan => ({ action })
export const wait = (waiting: string, requeueAfterMs?: number): ComponentPlan => ({
  action: undefined,
  waiting,
  ...defined({ requeueAfterMs }),
})
