// Detects components that crash repeatedly, even if they are healthy in between.
import type { ComponentProblem } from '../component-problems.ts'
import type { Reading } from './reading.ts'

export interface CrashHistory {
  /** When each component crashed, oldest first. */
  readonly crashes: ReadonlyMap<string, readonly number[]>
  /** Components whose process is currently crashed, so that one crash is counted once. */
  readonly down: ReadonlySet<string>
}

export const NO_CRASHES: CrashHistory = { crashes: new Map(), down: new Set() }

const MAX_KEPT = 64

export function followCrashes(
  { crashes, down }: CrashHistory,
  found: ReadonlyMap<string, ComponentProblem | undefined>,
  nowMs: number,
  windowMs: number,
): CrashHistory {
  const next = new Map<string, readonly number[]>()
  const nowDown = new Set<string>()
  for (const [component, problem] of found) {
    const isDown = problem?.reason === 'ComponentCrashed'
    if (isDown) nowDown.add(component)
    const before = crashes.get(component) ?? []
    // Starts of a loop come ever more seldom, so that it looks down all the time: it is not over before the component stays up.
    if (isDown && down.has(component)) {
      next.set(component, before)
      continue
    }
    const recent = before.filter((at) => nowMs - at < windowMs)
    const all = isDown ? [...recent, nowMs].slice(-MAX_KEPT) : recent
    if (all.length > 0) next.set(component, all)
  }
  return { crashes: next, down: nowDown }
}

export function judgeCrashes({ crashes }: CrashHistory, limit: number): Reading {
  const type = 'ComponentCrashLooping'
  const looping = [...crashes].filter(([, times]) => times.length >= limit).map(([component]) => component)
  return looping.length === 0
    ? { type, status: 'False', reason: 'NoCrashLoops', message: 'no component is crash-looping' }
    : {
        type,
        status: 'True',
        reason: 'ComponentCrashLooping',
        message: `crashed at least ${limit} times within the window: ${looping.sort().join(', ')}`,
      }
}
