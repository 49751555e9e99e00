// How an agent with a rejected certificate requests to rejoin: at an endpoint that only queues, with a request signed by a new key and a proof by the old one.
import { authorityPrint, makeProof } from '#identity/door/proof.ts'
import type { DoorReply } from '#identity/door/door.ts'
import { DOOR_PATH } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { isText } from '#lib/fields.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { removeDurably } from '../files/durable.ts'
import { keyFile } from '../node-dir.ts'
import { machineUidIn, type Identity, type IdentityDeps, type Pair } from './identity.ts'
import { privateKeyOf } from './join.ts'
import { checked, requestPem } from './request.ts'

export type DoorOutcome =
  | { readonly kind: 'Certificate'; readonly pair: Pair }
  /** A user decides. */
  | { readonly kind: 'Waiting'; readonly retryMs: number }
  | { readonly kind: 'Refused'; readonly why: string }
  /** This API server has no such endpoint; kube-apiservers never do. */
  | { readonly kind: 'NoDoor' }

export interface DoorDeps extends IdentityDeps {
  /** A client without an identity, because the server accepts none. */
  readonly client: Pick<KubeClient, 'raw'>
  readonly signal: AbortSignal
}

export async function requestAtDoor(deps: DoorDeps, identity: Identity, old: Pair): Promise<DoorOutcome> {
  const { machine, node, ca } = identity
  const uid = machineUidIn(old.certificate) ?? identity.uid
  if (uid === undefined) return { kind: 'Refused', why: 'the certificate names no uid of its Machine' }
  const open = await ask(deps, 'GET')
  if (open?.state === 'Busy') return { kind: 'Waiting', retryMs: open.retryAfterSeconds * 1_000 }
  if (open?.state !== 'Open') return { kind: 'NoDoor' }
  // Kept until it is answered: after a restart the same key finds its place in the queue.
  const key = await privateKeyOf(deps)
  const request = await requestPem(key, { machine, node, uid })
  const proof = makeProof(old.key, { machine, uid, server: authorityPrint(ca), nonce: open.nonce }, request)
  const reply = await ask(deps, 'POST', { request, proof })
  switch (reply?.state) {
    case 'Approved':
      return { kind: 'Certificate', pair: { key, certificate: checked(reply.certificate, key, machine) } }
    case 'Waiting':
    case 'Busy':
      return { kind: 'Waiting', retryMs: reply.retryAfterSeconds * 1_000 }
    case 'Denied':
      // That key will never be approved.
      await removeDurably(deps.files, keyFile(deps.dir))
      return { kind: 'Refused', why: reply.message }
    case 'Refused':
      return { kind: 'Refused', why: reply.message }
    case 'Open':
    case undefined:
    default:
      return { kind: 'NoDoor' }
  }
}

/** Undefined for anything that is not an answer of this endpoint. */
async function ask(
  { client, signal }: DoorDeps,
  method: 'GET' | 'POST',
  body?: unknown,
): Promise<DoorReply | undefined> {
  try {
    const { text } = await client.raw({ method, path: DOOR_PATH, signal, ...defined({ body }) })
    return replyIn(text)
  } catch (e) {
    // The server rejects anonymous requests.
    if (isApiError(e)) return undefined
    throw e
  }
}

/** Longer than any real answer; for a waiting agent, a day is as good as never. */
const MOST_RETRY_SECONDS = 86_400
const isRetry = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value <= MOST_RETRY_SECONDS

function replyIn(text: string): DoorReply | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { state, nonce, certificate, message, retryAfterSeconds } = value
  if (state === 'Open' && isText(nonce)) return { state, nonce }
  if (state === 'Approved' && isText(certificate)) return { state, certificate }
  if (state === 'Waiting' && isRetry(retryAfterSeconds)) return { state, retryAfterSeconds }
  if (state === 'Busy' && isRetry(retryAfterSeconds)) return { state, retryAfterSeconds, message: String(message) }
  if ((state === 'Denied' || state === 'Refused') && isText(message)) return { state, message: message.slice(0, 300) }
  return undefined
}
