// One attempt to get the next certificate: with a new bundle, with the current identity, or, if the server rejects that, at the rejoin endpoint.
import type { Clock } from '#lib/clock.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { lifeSecondsOf } from '#identity/certificate-life.ts'
import { agentErrors } from '../agent-errors.ts'
import { removeDurably } from '../files/durable.ts'
import { keyFile } from '../node-dir.ts'
import { requestAtDoor } from './door.ts'
import {
  isTokenPair,
  lifeOf,
  writeCredential,
  writePair,
  type Credential,
  type Identity,
  type IdentityDeps,
  type Pair,
  type TokenPair,
} from './identity.ts'
import { fetchToken, newKey, requestCertificate } from './request.ts'

export type Renewal =
  | { readonly kind: 'Renewed'; readonly pair: Credential }
  /** Not a failure: the agent waits for a user's approval and asks again then. */
  | { readonly kind: 'Waiting'; readonly retryMs: number; readonly why: KubeNodeError }

export interface RenewDeps extends IdentityDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly identity: Identity
  readonly pair: () => Credential
  /** Client with the current identity. */
  readonly client: KubeClient
  /** Anonymous client. */
  readonly anonymous: Pick<KubeClient, 'raw'>
  /** Rejoins with a bundle that was placed after the join. */
  readonly byBundle: () => Promise<Credential | undefined>
}

/** Throws when the attempt failed. */
export async function renew(deps: RenewDeps): Promise<Renewal> {
  const joined = await deps.byBundle()
  if (joined !== undefined) return { kind: 'Renewed', pair: joined }
  const now = deps.pair()
  if (isTokenPair(now)) return { kind: 'Renewed', pair: await nextToken(deps, now) }
  try {
    return { kind: 'Renewed', pair: await renewWithIdentity(deps) }
  } catch (e) {
    // Expired or revoked: with a wrong clock, this host cannot know which.
    if (!isUnauthorized(e)) throw e
    return renewAtDoor(deps, now, e)
  }
}

async function renewWithIdentity({ clock, signal, identity, client, files, dir }: RenewDeps): Promise<Pair> {
  const key = await newKey()
  // Renews for the current Machine. For another Machine with the same name, a user decides.
  const now = await client.get(machineType, { name: identity.machine }, { signal })
  const uid = now?.metadata.uid ?? identity.uid
  const wanted = {
    machine: identity.machine,
    node: identity.node,
    ...defined({ uid }),
    ...(now !== undefined && { certificateSeconds: lifeSecondsOf(now) }),
  }
  const next: Pair = { key, certificate: await requestCertificate({ client, clock, signal }, wanted, key) }
  await writePair({ files, dir }, next)
  return next
}

/** The approver replaces the token. It is fetched here with the current token, or, if that is rejected, by the connection itself. */
async function nextToken(
  { client, files, dir, signal, pair, identity }: RenewDeps,
  old: TokenPair,
): Promise<Credential> {
  const next = await fetchToken(client, old, signal)
  if (next === undefined) throw new KubeNodeError(agentErrors.KN8008_noToken({ machine: identity.machine }))
  // The connection may have fetched the same token meanwhile.
  if (next.token === old.token) return pair()
  await writeCredential({ files, dir }, next)
  return next
}

async function renewAtDoor(deps: RenewDeps, old: Pair, cause: unknown): Promise<Renewal> {
  const { files, dir, identity, anonymous, signal } = deps
  const { machine } = identity
  const to = lifeOf(old.certificate)?.to
  const until = to === undefined ? 'unknown' : timestamp(to)
  const found = await requestAtDoor({ files, dir, client: anonymous, signal }, identity, old)
  switch (found.kind) {
    case 'Certificate':
      await writePair({ files, dir }, found.pair)
      await removeDurably(files, keyFile(dir))
      return { kind: 'Renewed', pair: found.pair }
    case 'Waiting':
      return {
        kind: 'Waiting',
        retryMs: found.retryMs,
        why: new KubeNodeError(agentErrors.KN8061({ machine, until })),
      }
    case 'Refused':
      throw new KubeNodeError(agentErrors.KN8008_refused({ machine, until, why: found.why }), { cause })
    case 'NoDoor':
      throw new KubeNodeError(
        agentErrors.KN8008_refused({ machine, until, why: 'this API server has no door for expired certificates' }),
        { cause },
      )
    default:
      return found satisfies never
  }
}
