// Keeps one valid join token for each machine that no host has joined yet. The token is in kube-system; a copy for hand-over is in KubeNode's
// namespace.
import { randomBytes } from 'node:crypto'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { handOverKey, tokenExpiresAt } from '#identity/join-token.ts'
import { type Secret, secretType } from '#nodes/objects.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import { readmissionOf } from '#identity/readmitted.ts'
import type { Controller, ReconcileContext } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { requireFresh } from '#runtime/informers.ts'
import { type Outcome, done, requeueAfter, retry } from '#runtime/outcome.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import type { ControllerContext } from '../../module.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { keepJoinAccount, removeExactly, withdrawJoinAccount } from '../accounts/join-accounts.ts'
import { awaitsAnswer, isSettled, mayHaveToken, needsToken } from './needs-token.ts'
import { TOKEN_TRIES, handOverOf, isTokenOf, tokenFor, tokenId, tokenKey, tokenSecret } from './token.ts'
import { defined } from '#lib/defined.ts'

const SECRET_BYTES = 16
/** A token with less time left than this is not handed to a host. */
const LEAST_LEFT_MS = 1_000
/** If the clock is set forward, a token expires long before its timer fires, while its host waits for the next one. */
const RECHECK_MS = 60_000
/** Whole fleets join at once, and each token is two short writes. */
const WORKERS = 8
const fieldManager = FIELD_MANAGERS.approver

interface TokenTools {
  readonly client: KubeClient
  readonly clock: Clock
  /** Cryptographically secure. */
  readonly randomBytes: (count: number) => Uint8Array
  /** Lifetime of certificates. Hosts receive it with their token. */
  readonly lifeSeconds?: number
  /** The identity for agents that join. Default: a certificate. */
  readonly identity?: AgentIdentity
}

export function createTokenKeeper(
  context: Omit<ControllerContext, 'config'> & Pick<TokenTools, 'lifeSeconds' | 'identity'>,
): Controller {
  const { client, informers, clock, lifeSeconds, identity } = context
  const machines = informers.of(machineType)
  const tools: TokenTools = {
    client,
    clock,
    randomBytes,
    ...defined({ lifeSeconds, identity }),
  }
  /** Tokens of this term. Leftovers of an earlier term are looked up once for each joined machine. */
  const made = new Map<string, Machine>()
  /** The machine as it was when its token was handed over. */
  const settled = new Map<string, Machine>()
  /** By machine: the uid that is known to have no leftovers. */
  const clean = new Map<string, string>()
  const controller = controllerIn(context, {
    name: 'join-token',
    workers: WORKERS,
    allKeys: () => machines.list().map((m) => m.metadata.name ?? ''),
    reconcile: async (name, { signal }: ReconcileContext): Promise<Outcome> => {
      requireFresh([machines])
      settled.delete(name)
      const machine = machines.get(name)
      const before = made.get(name)
      const answerMs = await answerWithinMs(tools, machine, signal)
      if (answerMs > 0) return requeueAfter(answerMs)
      if (
        before !== undefined &&
        (before.metadata.uid !== machine?.metadata.uid || !needsToken(machine, clock.now()))
      ) {
        await withdraw(tools, before, signal)
        made.delete(name)
        clean.set(name, before.metadata.uid ?? '')
      }
      if (machine === undefined) return done
      if (!needsToken(machine, clock.now())) {
        const { uid = '' } = machine.metadata
        if (mayHaveToken(machine) && clean.get(name) !== uid) await withdraw(tools, machine, signal)
        clean.set(name, uid)
        return done
      }
      made.set(name, machine)
      const kept = await keepToken(tools, machine, signal)
      if (kept.kind === 'NoName') return done
      if (kept.kind !== 'Applied') return kept.kind === 'Stale' ? done : retry(kept.error)
      settled.set(name, machine)
      const leftMs = tokenExpiresAt(kept.object) - clock.now()
      return requeueAfter(Math.min(RECHECK_MS, Math.max(LEAST_LEFT_MS, leftMs)))
    },
  })
  machines.onChange((before, now) => {
    const name = (now ?? before)?.metadata.name
    if (name === undefined || isSettled(settled.get(name), now, clock.now())) return
    const isUnknown = now !== undefined && clean.get(name) !== now.metadata.uid
    if (made.has(name) || isUnknown || needsToken(now, clock.now())) controller.enqueue(name)
    if (now === undefined) clean.delete(name)
  })
  return controller
}

/** After that, the token expires on its own. It works only with the key on record. */
async function answerWithinMs({ client, clock }: TokenTools, machine: Machine | undefined, signal: AbortSignal) {
  const now = clock.now()
  if (machine === undefined || needsToken(machine, now) || !awaitsAnswer(machine, now)) return 0
  const copy = await client.get(secretType, handOverKey(machine.metadata.uid ?? ''), { signal })
  return copy === undefined ? 0 : Math.max(0, tokenExpiresAt(copy) - now)
}

type Kept = WriteOutcome<Secret> | { readonly kind: 'NoName' }

/**
 * Returns the machine's current token if it is still valid, or creates a new one. The hand-over copy is written last, so it always refers to a real
 * token.
 */
async function keepToken(tools: TokenTools, machine: Machine, signal: AbortSignal): Promise<Kept> {
  const { client, clock, randomBytes: bytes } = tools
  if (tools.identity === 'serviceAccount') return keepJoinAccount(tools, machine, signal)
  for (let attempt = 0; attempt < TOKEN_TRIES; attempt++) {
    const id = tokenId(machine.metadata.uid ?? '', attempt)
    const read = await outcomeOf(() => client.get(secretType, tokenKey(id), { signal }))
    if (read.kind !== 'Applied') return read
    const found = read.object
    if (found !== undefined && !isTokenOf(found, machine)) continue
    if (found !== undefined && tokenExpiresAt(found) - clock.now() > LEAST_LEFT_MS)
      return handOver(tools, machine, found, signal)
    // Remove the copy first: a leftover copy of an older token would look like the new one.
    for (const key of [handOverKey(machine.metadata.uid ?? ''), ...(found === undefined ? [] : [tokenKey(id)])])
      await remove(tools, key, signal)
    // Another key replaces the one on record only at a person's request.
    const replaces = readmissionOf(machine, clock.now())?.token === true ? recordedKey(machine) : undefined
    const token = tokenFor(machine, id, tokenSecret(bytes(SECRET_BYTES)), clock.now(), replaces)
    const created = await outcomeOf(() => client.create(secretType, token, { fieldManager, signal }))
    return created.kind === 'Applied' ? handOver(tools, machine, created.object, signal) : created
  }
  return { kind: 'NoName' }
}

async function handOver(
  { client, lifeSeconds }: TokenTools,
  machine: Machine,
  token: Secret,
  signal: AbortSignal,
): Promise<WriteOutcome<Secret>> {
  const copy = handOverOf(token, machine, lifeSeconds)
  const created = await outcomeOf(() => client.create(secretType, copy, { fieldManager, signal }))
  return created.kind === 'Applied' || created.kind === 'Exists' ? { kind: 'Applied', object: token } : created
}

/** Once its agent has joined, no other host may use a leftover token. */
async function withdraw(tools: TokenTools, machine: Machine, signal: AbortSignal): Promise<void> {
  const uid = machine.metadata.uid ?? ''
  if (tools.identity === 'serviceAccount') return withdrawJoinAccount(tools, uid, signal)
  for (let attempt = 0; attempt < TOKEN_TRIES; attempt++) {
    const found = await tools.client.get(secretType, tokenKey(tokenId(uid, attempt)), { signal })
    if (found === undefined) break
    if (isTokenOf(found, machine)) await remove(tools, tokenKey(tokenId(uid, attempt)), signal)
  }
  // Last: if this term stops early, the next term finds this Secret and finishes.
  await remove(tools, handOverKey(uid), signal)
}

const remove = ({ client }: TokenTools, key: ObjectKey, signal: AbortSignal): Promise<void> =>
  removeExactly(client, secretType, key, signal)
