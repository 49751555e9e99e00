// Randomness as a dependency: a small seeded generator (mulberry32), so that every schedule and jitter can be replayed.

export interface Random {
  /** In [0, 1). */
  next(): number
  /** Whole number in [0, n). */
  below(n: number): number
  /** One element; the list must not be empty. */
  pick<T>(list: readonly T[]): T
  /** `value` ± `fraction`, for timers that must not fire in step. */
  jitter(value: number, fraction?: number): number
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return randomFrom(next)
}

export const systemRandom: Random = randomFrom(Math.random)

function randomFrom(next: () => number): Random {
  return {
    next,
    below: (n) => Math.floor(next() * n),
    pick: (list) => {
      const item = list[Math.floor(next() * list.length)]
      if (item === undefined) throw new Error('pick from an empty list')
      return item
    },
    jitter: (value, fraction = 0.1) => value * (1 + (next() * 2 - 1) * fraction),
  }
}
