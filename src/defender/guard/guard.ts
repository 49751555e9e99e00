// Answers deletion reviews: reads the ledger, decides, and admits a deletion only after counting it. A deletion that cannot be counted is not
// admitted.
import { LEDGER_NAME, defenderLedger, type DefenderLedger } from '#api/kinds/defender-ledger.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Pruning } from '#api/protocol/pruning.ts'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import { Semaphore } from '#lib/semaphore.ts'
import type { KubeClient } from '#kube/client.ts'
import { compareAndSwap, type Mutation } from '#runtime/compare-and-swap.ts'
import { raceWith } from '#runtime/race.ts'
import { staleness, type Caches } from '../caches.ts'
import type { DefenderTime } from '../defender-time.ts'
import { asOfMs, storedLedger } from '../ledger.ts'
import { guardedKind } from './guarded-kinds.ts'
import { aboutDeletion, isFromGit, nothingKnown } from './about.ts'
import type { Deletion } from './deletion.ts'
import { presencesOf } from './presence.ts'
import { type DeletionVerdict, planDeletion } from './plan.ts'

export type AskGuard = (deletion: Deletion) => Promise<DeletionVerdict>

export interface GuardOptions {
  readonly client: KubeClient
  readonly caches: Caches
  readonly clock: Clock
  readonly random: Random
  readonly time: DefenderTime
  readonly identity: string
}

/** The loop and other replicas swap the same ledger concurrently. Attempts are cheap, and the API server waits ten seconds. */
const ATTEMPTS = 24
/** After a timeout, the API server lets a Node be deleted as if there were no Defender. An overloaded Defender refuses before that. */
const ANSWER_WITHIN_MS = 7_000

const OVERLOADED: DeletionVerdict = {
  kind: 'Held',
  why: 'the Defender is overloaded and could not record the deletion in time; try again',
  retryAfterMs: 1_000,
}

export function createGuard(options: GuardOptions): AskGuard {
  // One after another: simultaneous deletions would otherwise conflict on the ledger again and again.
  const oneAtATime = new Semaphore(1, { what: 'deletions' })
  const decide = createDecision(options)
  return async (deletion) => {
    const waiting = new AbortController()
    const decided = oneAtATime.run(() => decide(deletion), waiting.signal)
    const raced = await raceWith(options.clock, ANSWER_WITHIN_MS, decided)
    if (raced.settled) return raced.value
    // A deletion being recorded at this moment may still be admitted: it was counted, and if it did not happen it is uncounted.
    waiting.abort(new Error('the API server no longer waits'))
    return OVERLOADED
  }
}

const createDecision =
  ({ client, caches, clock, random, time, identity }: GuardOptions): AskGuard =>
  async (deletion) => {
    const { group, kind, name, namespace, uid, isEnding, isDryRun } = deletion
    const guarded = guardedKind(group, kind)
    if (guarded === undefined) return { kind: 'Passes', ledger: undefined }
    const isKnown = staleness(caches) === undefined
    const counts: Readonly<Record<string, number>> = isKnown
      ? { Machine: caches.machines.list().length, Node: caches.nodes.list().length }
      : {}
    const prunings = isFromGit(deletion.user) ? await runningPrunes(client) : []
    const about = isKnown ? aboutDeletion(deletion, caches, { prunings, wall: clock.now() }) : nothingKnown(uid)
    const presenceOf = await presencesOf(client, caches, isKnown)
    let verdict: DeletionVerdict | undefined
    const mutate = (current: DefenderLedger | undefined): Mutation<DefenderLedger> => {
      verdict = planDeletion({
        guarded,
        name,
        namespace,
        uid,
        ...about,
        presenceOf,
        isEnding,
        present: counts[kind] ?? 0,
        holds: caches.holds.list(),
        ledger: current?.spec,
        now: time.at(asOfMs(current?.spec)),
        wall: clock.now(),
        // A standby that counts does not become the leader.
        leader: current?.spec.leader ?? identity,
      })
      if (verdict.kind === 'Held') return { kind: 'Refuse', reason: verdict.why }
      if (verdict.ledger === undefined || current === undefined || isDryRun) return { kind: 'Keep' }
      return { kind: 'Write', object: { ...current, spec: storedLedger(verdict.ledger) } }
    }
    const swap = await compareAndSwap(client, defenderLedger, { name: LEDGER_NAME }, mutate, {
      clock,
      random,
      attempts: ATTEMPTS,
      fieldManager: FIELD_MANAGERS.defender,
    })
    if (verdict?.kind === 'Held' || (swap.kind === 'Swapped' && verdict !== undefined)) return verdict
    // There was nothing to count: the object is already being deleted, and no ledger exists yet.
    if (verdict?.kind === 'Passes' && verdict.ledger === undefined) return verdict
    return {
      kind: 'Held',
      why: `the deletion could not be recorded (${'reason' in swap ? swap.reason : 'unknown'}); try again`,
      retryAfterMs: 1_000,
    }
  }

/** Read, not cached: sync starts to delete right after it has written its list. Sources have a few shards each. */
const MOST_SHARDS = 500

async function runningPrunes(client: KubeClient): Promise<readonly Pruning[]> {
  const { items } = await client.list(inventory, { limit: MOST_SHARDS })
  return items.flatMap(({ spec }) => spec.pruning ?? [])
}
