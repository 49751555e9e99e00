// What a host of control planes and a process that runs some of them say to each other, over the channel between the two.
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { EngineStart } from '../engine.ts'

/** `id` is of one start: a control plane that is started again has another. */
export type ToProcess =
  | { readonly kind: 'Start'; readonly id: number; readonly wanted: Omit<EngineStart, 'signal'> }
  | { readonly kind: 'Stop'; readonly id: number }
  | { readonly kind: 'Replace'; readonly id: number; readonly credentials: Credentials }

export type FromProcess =
  /** The event loop turns. */
  | { readonly kind: 'Beat' }
  | { readonly kind: 'Started'; readonly id: number; readonly url: string; readonly credentials: Credentials }
  /** It could not be started. */
  | { readonly kind: 'Failed'; readonly id: number; readonly why: string }
  | { readonly kind: 'Replaced'; readonly id: number; readonly why?: string }
  /** It stopped as asked; with `why`, by itself. */
  | { readonly kind: 'Ended'; readonly id: number; readonly why?: string }

/** How often a process says that its event loop turns. */
export const HEARTBEAT_MS = 1_000
