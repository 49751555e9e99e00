// Turns a join bundle into an identity. Can be interrupted and repeated at any point: the key is kept from the first step, and the token is removed
// last. A new bundle with another token renews whatever cannot renew itself: an expired certificate, or the address or CA of a server that moved.
import { release } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { sha256Hex } from '#lib/sha256.ts'
import type { KubeClient } from '#kube/client.ts'
import { isUnauthorized } from '#kube/errors.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import { refuseBelowFloor, type System } from '../preflight/floor.ts'
import { readGlibc } from '../preflight/read.ts'
import { firstTrustFile, joinFile, keyFile } from '../node-dir.ts'
import { parseJoinBundle, type JoinBundle } from './bundle.ts'
import {
  hostMark,
  readCredential,
  readIdentity,
  refuseClone,
  removeOther,
  writeCredential,
  writeIdentity,
  type Credential,
  type Identity,
  type IdentityDeps,
} from './identity.ts'
import { apiProxy } from './host-proxy.ts'
import { fetchSealedToken, tokenServer } from './token-server.ts'
import { newKey, requestCertificate, requestToken } from './request.ts'
import { agentErrors } from '../agent-errors.ts'

export interface JoinDeps extends IdentityDeps {
  /** Overrides the detected fingerprint, for tests. */
  readonly system?: System
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly connect: (config: ConnectionConfig) => KubeClient & { close(): void }
}

export interface Joined {
  readonly identity: Identity
  readonly pair: Credential
}

export async function joinCluster(deps: JoinDeps): Promise<Joined> {
  refuseBelowFloor(deps.system ?? { kernel: release(), glibc: readGlibc() })
  const host = await hostMark(deps)
  const known = await readIdentity(deps)
  if (known !== undefined) refuseClone(known, host)
  const pair = await readCredential(deps, known?.form)
  if (known !== undefined && pair !== undefined) {
    // Running components must not wait for a server: keep the old identity until the next try.
    const again = await joinAgain(deps, known).catch((error: unknown) => {
      deps.log.warn('cannot join again', { error })
      return undefined
    })
    return again ?? { identity: known, pair }
  }
  const bundle = await readBundle(deps)
  if (bundle === undefined) throw new KubeNodeError(agentErrors.KN8008({ path: deps.dir.path }))
  const identity = identityOf(bundle, host)
  // The host is bound from the first step on.
  await writeIdentity(deps, identity)
  return join(deps, bundle, identity)
}

/** Rejoins with a bundle that was placed after the join; undefined when there is none. */
export async function joinAgain(deps: JoinDeps, known: Identity): Promise<Joined | undefined> {
  const bundle = await readBundle(deps)
  if (bundle === undefined) return undefined
  if (known.joinedWith === sha256Hex(bundle.token)) {
    await forgetToken(deps)
    return undefined
  }
  if (bundle.machine !== known.machine || bundle.cluster !== known.cluster)
    throw new KubeNodeError(
      agentErrors.KN8005_again({
        machine: bundle.machine,
        cluster: bundle.cluster,
        joinedMachine: known.machine,
        joinedCluster: known.cluster,
        state: deps.dir.state,
      }),
    )
  return join(deps, bundle, identityOf(bundle, known.host))
}

async function join(deps: JoinDeps, bundle: JoinBundle, identity: Identity): Promise<Joined> {
  // Verified like any other document, and only together with the anchor.
  if (bundle.trustDocument !== undefined)
    await writeDurably(deps.files, firstTrustFile(deps.dir), JSON.stringify(bundle.trustDocument))
  const key = await privateKeyOf(deps)
  const pair = await ask(deps, bundle, key)
  await writeCredential(deps, pair)
  await writeIdentity(deps, identity)
  await removeOther(deps, pair)
  await forgetToken(deps)
  deps.log.info('joined', { machine: identity.machine, cluster: identity.cluster })
  return { identity, pair }
}

const identityOf = (
  { token, trustDocument: _document, certificateSeconds: _seconds, ...rest }: JoinBundle,
  host: string,
): Identity => ({
  format: 1,
  ...rest,
  host,
  joinedWith: sha256Hex(token),
})

async function readBundle({ files, dir }: JoinDeps): Promise<JoinBundle | undefined> {
  const bytes = await files.read(joinFile(dir))
  if (bytes === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // A writer renames the complete file into place, so an incomplete file cannot appear here: this one is a mistake.
    value = undefined
  }
  return parseJoinBundle(value)
}

/** The key of an earlier, unfinished try. */
export async function privateKeyOf({ files, dir }: IdentityDeps): Promise<string> {
  const before = (await files.read(keyFile(dir)))?.toString('utf8')
  if (before?.includes('PRIVATE KEY') === true) return before
  const key = await newKey()
  await writeDurably(files, keyFile(dir), key, 0o600)
  return key
}

async function ask(deps: JoinDeps, bundle: JoinBundle, key: string): Promise<Credential> {
  const proxy = apiProxy(bundle)
  const place = { server: bundle.server, ca: { data: bundle.ca }, ...defined({ proxy }) }
  const client = deps.connect({ ...place, token: { data: bundle.token } })
  try {
    const onWait = (request: string) =>
      deps.log.info('waiting for the approval of the certificate request', {
        request,
        detail: 'the approver role approves it; to see it, run kubectl get certificatesigningrequests',
      })
    const tools = { client, clock: deps.clock, signal: deps.signal, onWait }
    return bundle.form === 'serviceAccount'
      ? await requestToken(tools, { ...bundle, uid: bundle.uid ?? '' }, key)
      : { key, certificate: await requestCertificate(tools, bundle, key) }
  } catch (e) {
    const token = isUnauthorized(e) ? await tokenFromServers(deps, bundle, key) : undefined
    if (token !== undefined) return token
    if (isUnauthorized(e)) throw new KubeNodeError(agentErrors.KN8003_token({ machine: bundle.machine }), { cause: e })
    throw e
  } finally {
    client.close()
  }
}

const TOKEN_DOOR_TRIES = 10
const TOKEN_DOOR_EVERY_MS = 1_000

/** The join account is deleted after its first use. From then on the answer to this host is also on the artifact servers. */
async function tokenFromServers(
  { clock, signal }: JoinDeps,
  bundle: JoinBundle,
  key: string,
): Promise<Credential | undefined> {
  const door = bundle.form === 'serviceAccount' ? tokenServer(bundle) : undefined
  if (door === undefined) return undefined
  try {
    for (let tries = 0; tries < TOKEN_DOOR_TRIES; tries++) {
      const found = await fetchSealedToken(door, { key, uid: bundle.uid ?? '' }, signal)
      if (found !== undefined) return found
      await clock.sleep(TOKEN_DOOR_EVERY_MS, signal)
    }
    return undefined
  } finally {
    door.close()
  }
}

/** From here on the token is worthless, and no copy of it is left. */
async function forgetToken({ files, dir }: JoinDeps): Promise<void> {
  await removeDurably(files, joinFile(dir))
  await removeDurably(files, keyFile(dir))
}
