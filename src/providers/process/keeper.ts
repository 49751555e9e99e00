// Decides what a process node needs right now: nothing, its agent started, or a reboot. Pure; the provider carries it out.
// It lives in the provider's own loop and not in a process beside each node: that would cost another runtime a node, could itself be killed,
// and would have to be kept too. While no controllers run, a crashed agent stays down, as a host's would whose provider is away.

import type { NodeRecord } from './record.ts'

export interface KeptNode {
  readonly state: NodeRecord['state']
  readonly isAgentAlive: boolean
  readonly rebootRequested: boolean
  readonly crashes: Crashes
}

/** How the agent did lately, by the monotonic clock. */
export interface Crashes {
  readonly inARow: number
  /** When the agent was last started; undefined when we never did. */
  readonly startedAt?: number
}

export type Need =
  | { readonly kind: 'Nothing' }
  | { readonly kind: 'Start'; readonly crashes: Crashes }
  | { readonly kind: 'Wait'; readonly forMs: number }
  | { readonly kind: 'Reboot' }
  | { readonly kind: 'FinishStop' }
  | { readonly kind: 'FinishDelete' }

/** As systemd would: at once at first, then ever slower, up to half a minute. */
const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 30_000
/** An agent that lived this long is no longer crashing. */
const WELL_AFTER_MS = 60_000

export function needOf(node: KeptNode, now: number): Need {
  if (node.state === 'Deleting') return { kind: 'FinishDelete' }
  if (node.state === 'Stopping') return { kind: 'FinishStop' }
  // Off is off, whatever was requested before.
  if (node.state === 'Stopped') return { kind: 'Nothing' }
  if (node.state === 'Rebooting' || node.rebootRequested) return { kind: 'Reboot' }
  if (node.isAgentAlive) return { kind: 'Nothing' }
  const { inARow, startedAt } = node.crashes
  if (startedAt === undefined) return { kind: 'Start', crashes: { inARow: 0, startedAt: now } }
  const lived = now - startedAt
  const crashes = lived >= WELL_AFTER_MS ? 0 : inARow
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** crashes)
  if (lived < delay) return { kind: 'Wait', forMs: delay - lived }
  return { kind: 'Start', crashes: { inARow: crashes + 1, startedAt: now } }
}
