// The oldest system that an agent supports, and its error on an older one.
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'

export interface System {
  /** As `uname -r`. */
  readonly kernel: string
  /** Undefined with another C library, or none. */
  readonly glibc: string | undefined
}

/** RHEL 8 and its derivatives; Node.js is not built for older systems. */
export const FLOOR = { kernel: [4, 18], glibc: [2, 28] } as const

export const pairOf = (text: string): readonly [number, number] | undefined => {
  const found = /^(\d+)\.(\d+)/.exec(text)
  return found === null ? undefined : [Number(found[1]), Number(found[2])]
}

const isBelow = (seen: readonly [number, number], floor: readonly [number, number]): boolean =>
  seen[0] < floor[0] || (seen[0] === floor[0] && seen[1] < floor[1])

interface BelowFloor {
  readonly what: string
  readonly seen: string
  readonly floor: string
}

export function floorProblem({ kernel, glibc }: System): BelowFloor | undefined {
  for (const [what, seen, floor] of [
    ['Linux', kernel, FLOOR.kernel],
    ['glibc', glibc, FLOOR.glibc],
  ] as const) {
    const version = seen === undefined ? undefined : pairOf(seen)
    if (version !== undefined && isBelow(version, floor)) return { what, seen: seen ?? '', floor: floor.join('.') }
  }
  return undefined
}

export function refuseBelowFloor(system: System): void {
  const below = floorProblem(system)
  if (below !== undefined) throw new KubeNodeError(agentErrors.KN8004({ ...below }))
}
