// Planted bugs of the Defender, one small change each. They stay in the suite: invariants that stop finding one of them are broken.
import { decide } from '#defender/plan.ts'
import { slotMs } from '#defender/rates.ts'
import { type Swap, compareAndSwap } from '#runtime/compare-and-swap.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { DefenderParts } from './world.ts'

export interface Mutant {
  readonly name: string
  /** Part of the message of the invariant that finds it. */
  readonly shows: RegExp
  /** Faults under which it must be found; none means that it shows without any. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  /** A seed that shows it: tried first in the quick run. */
  readonly shownBy: number
  readonly parts: () => DefenderParts
}

export const mutants: readonly Mutant[] = [
  {
    name: 'lets one more through than the budget says',
    shows: /at most so many slots/,
    faults: [],
    within: 1,
    shownBy: 1,
    parts: () => ({
      decide: (snapshot, before, options) => {
        const policies = snapshot.policies.map((p) => {
          const budgets = (p.spec.budgets ?? []).map((b) => ({ ...b, max: Number(b.max) + 1 }))
          return { ...p, spec: { ...p.spec, budgets } }
        })
        return decide({ ...snapshot, policies }, before, options)
      },
    }),
  },
  {
    name: 'tells the permit before the ledger is swapped',
    shows: /no permit says more than the ledger/,
    faults: [],
    within: 3,
    shownBy: 1,
    parts: () => ({
      swap: async (client, type, key, mutate, options) => {
        const current = await client.get(type, key)
        const mutation = mutate(current)
        void compareAndSwap(client, type, key, mutate, options).catch(() => undefined)
        if (mutation.kind !== 'Write') return { kind: 'Lost', reason: 'nothing', mayHaveApplied: false }
        return { kind: 'Swapped', object: mutation.object, wrote: true }
      },
    }),
  },
  {
    name: 'writes the ledger over whatever is there',
    shows: /at most so many|no permit says more than the ledger/,
    // Two that decide at once, as they do here all the time, are enough.
    faults: [],
    within: 230,
    shownBy: 131,
    parts: () => ({
      swap: async (client, type, key, mutate, options) => {
        const current = await client.get(type, key)
        const mutation = mutate(current)
        const kept: Swap<never> = { kind: 'Lost', reason: 'nothing', mayHaveApplied: false }
        if (mutation.kind === 'Keep' && current !== undefined) return { kind: 'Swapped', object: current, wrote: false }
        if (mutation.kind !== 'Write' || current === undefined)
          return compareAndSwap(client, type, key, mutate, options)
        const value = { spec: mutation.object['spec'] } as never
        return client.patch(type, key, { type: 'merge', value }).then(
          (object) => ({ kind: 'Swapped', object, wrote: true }),
          () => kept,
        )
      },
    }),
  },
  {
    name: 'counts the window by the wall clock, and nothing that lies in its future',
    shows: /grants within a minute/,
    faults: ['WallJump'],
    within: 30,
    shownBy: 3,
    parts: () => ({
      decide: (snapshot, before, options) => {
        const now = snapshot.wall
        const rates = before?.rates?.filter((r) => r.slot * slotMs(r.window) <= now)
        return decide(snapshot, before && { ...before, rates: rates ?? [] }, { ...options, now })
      },
    }),
  },
  {
    name: 'believes everybody who says that it is a recovery',
    shows: /grants in any minute|nothing new while the breaker is open/,
    faults: [],
    within: 1,
    shownBy: 1,
    parts: () => ({
      decide: (snapshot, before, options) =>
        decide({ ...snapshot, isRecovery: (p) => p.spec.recovery }, before, options),
    }),
  },
  {
    name: 'takes a target for quiet as soon as the lease is over',
    shows: /are down/,
    faults: [],
    within: 40,
    shownBy: 13,
    parts: () => ({
      decide: (snapshot, before, options) => decide({ ...snapshot, isIdle: () => true }, before, options),
    }),
  },
  {
    name: 'takes a target for quiet on the word of a cache, without a look at the server',
    shows: /are down|grants within a minute/,
    faults: ['Stale'],
    within: 230,
    shownBy: 14,
    parts: () => ({
      decide: (snapshot, before, options) => {
        const isQuiet: typeof snapshot.isIdle = (grant) => {
          const found = snapshot.fleet.find({ ...grant, uid: grant.target })
          return found.kind === 'Found' && found.unit.health === 'Healthy'
        }
        return decide({ ...snapshot, unknown: undefined, isIdle: isQuiet }, before, options)
      },
    }),
  },
  {
    name: 'frees the slots of a permit that is deleted, or that its cache does not show yet',
    shows: /no permit says more than the ledger|are down|at most so many/,
    faults: ['Missed'],
    within: 80,
    shownBy: 10,
    parts: () => ({
      decide: (snapshot, before, options) => {
        const known = new Set(snapshot.permits.map((p) => p.metadata.uid))
        const grants = before?.grants?.filter((g) => known.has(g.permitUid))
        return decide(snapshot, before && { ...before, grants: grants ?? [] }, options)
      },
    }),
  },
]
