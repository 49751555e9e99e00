// Decides what a process node needs right now: nothing, a start of its agent, or a reboot. Pure; the provider carries it out. It is part of the provider's
// loop: a process per node would cost another runtime each, could be killed itself, and would need its own supervision. While no controllers run, a crashed
// agent stays down, like a host whose provider is unavailable.

import type { NodeRecord } from './record.ts'

export interface KeptNode {
  readonly state: NodeRecord['state']
  readonly isAgentAlive: boolean
  readonly rebootRequested: boolean
  readonly crashes: Crashes
}

/** The agent's recent crashes, by the monotonic clock. */
export interface Crashes {
  readonly inARow: number
  /** When the agent was last started; undefined if this process never started it. */
  readonly startedAt?: number
}

export type Need =
  | { readonly kind: 'Nothing' }
  | { readonly kind: 'Start'; readonly crashes: Crashes }
  | { readonly kind: 'Wait'; readonly forMs: number }
  | { readonly kind: 'Reboot' }
  | { readonly kind: 'FinishStop' }
  | { readonly kind: 'FinishDelete' }

/** Like systemd: at once at first, then with growing delays up to half a minute. */
const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 30_000
/** An agent that lived this long is no longer crash-looping. */
const WELL_AFTER_MS = 60_000

export function needOf(node: KeptNode, now: number): Need {
  if (node.state === 'Deleting') return { kind: 'FinishDelete' }
  if (node.state === 'Stopping') return { kind: 'FinishStop' }
  // Off means off, whatever was requested before.
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
