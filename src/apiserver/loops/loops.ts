// The loops of a controller manager that a cluster cannot do without, each of which can be left to a real one.
import type { Logger } from '#lib/log.ts'
import type { ServerParts } from '../handlers/context.ts'

export const LOOPS = ['garbage', 'namespaces', 'pruning', 'certificates', 'nodes', 'budgets'] as const
export type LoopName = (typeof LOOPS)[number]
export type LoopChoice = 'all' | 'none' | readonly LoopName[]

export interface Loop {
  /** Resolves when what is under way is done. */
  stop(): Promise<void>
}

export function startLoops(_parts: ServerParts, _choice: LoopChoice, _log: Logger): Loop {
  return { stop: () => Promise.resolve() }
}
