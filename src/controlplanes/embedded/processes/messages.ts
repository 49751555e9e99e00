// Messages between a control plane host and a process that runs some of its control planes.
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { EngineStart } from '../engine.ts'

/** `id` is per start: a restarted control plane has a new one. */
export type ToProcess =
  | { readonly kind: 'Start'; readonly id: number; readonly wanted: Omit<EngineStart, 'signal'> }
  | { readonly kind: 'Stop'; readonly id: number }
  | { readonly kind: 'Replace'; readonly id: number; readonly credentials: Credentials }

export type FromProcess =
  /** The event loop is alive. */
  | { readonly kind: 'Beat' }
  | { readonly kind: 'Started'; readonly id: number; readonly url: string; readonly credentials: Credentials }
  /** It could not be started. */
  | { readonly kind: 'Failed'; readonly id: number; readonly why: string }
  | { readonly kind: 'Replaced'; readonly id: number; readonly why?: string }
  /** It stopped as requested, or on its own if `why` is set. */
  | { readonly kind: 'Ended'; readonly id: number; readonly why?: string }

/** How often a process sends a heartbeat. */
export const HEARTBEAT_MS = 1_000
