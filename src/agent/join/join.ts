// Turns a join bundle into an identity. May be cut off at any moment and begun again: the key is kept from the first step, the token goes last.
import { release } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
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
  readIdentity,
  readPair,
  refuseClone,
  writeIdentity,
  writePair,
  type Identity,
  type IdentityDeps,
  type Pair,
} from './identity.ts'
import { newKey, requestCertificate } from './request.ts'

export interface JoinDeps extends IdentityDeps {
  /** Another one than this, for tests. */
  readonly system?: System
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly connect: (config: ConnectionConfig) => KubeClient & { close(): void }
}

export interface Joined {
  readonly identity: Identity
  readonly pair: Pair
}

export async function joinCluster(deps: JoinDeps): Promise<Joined> {
  refuseBelowFloor(deps.system ?? { kernel: release(), glibc: readGlibc() })
  const host = await hostMark(deps)
  const known = await readIdentity(deps)
  if (known !== undefined) refuseClone(known, host)
  const pair = await readPair(deps)
  if (known !== undefined && pair !== undefined) {
    await forgetToken(deps)
    return { identity: known, pair }
  }
  const bundle = await readBundle(deps)
  const identity = identityOf(bundle, host)
  await writeIdentity(deps, identity)
  // Looked at like any other document, and only by whoever holds the anchor.
  if (bundle.trustDocument !== undefined)
    await writeDurably(deps.files, firstTrustFile(deps.dir), JSON.stringify(bundle.trustDocument))
  const key = await keyOf(deps)
  const certificate = await ask(deps, bundle, key)
  const fresh: Pair = { key, certificate }
  await writePair(deps, fresh)
  await forgetToken(deps)
  deps.log.info('joined', { machine: identity.machine, cluster: identity.cluster })
  return { identity, pair: fresh }
}

const identityOf = ({ token: _token, trustDocument: _document, ...rest }: JoinBundle, host: string): Identity => ({
  format: 1,
  ...rest,
  host,
})

async function readBundle({ files, dir }: JoinDeps): Promise<JoinBundle> {
  const bytes = await files.read(joinFile(dir))
  if (bytes === undefined)
    throw new KubeNodeError(
      'KN8008',
      `cannot join: there is neither an identity nor a join.json in ${dir.path}; run kubenode agent join there`,
    )
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // It may be half written still: whoever writes it renames it into place, so this is a mistake.
    value = undefined
  }
  return parseJoinBundle(value)
}

/** The key of an earlier, unfinished try. */
async function keyOf({ files, dir }: JoinDeps): Promise<string> {
  const before = (await files.read(keyFile(dir)))?.toString('utf8')
  if (before?.includes('PRIVATE KEY') === true) return before
  const key = await newKey()
  await writeDurably(files, keyFile(dir), key, 0o600)
  return key
}

async function ask(deps: JoinDeps, bundle: JoinBundle, key: string): Promise<string> {
  const client = deps.connect({ server: bundle.server, ca: { data: bundle.ca }, token: { data: bundle.token } })
  try {
    return await requestCertificate({ client, clock: deps.clock, signal: deps.signal }, bundle, key)
  } catch (e) {
    if (isUnauthorized(e))
      throw new KubeNodeError(
        'KN8009',
        `cannot join as ${bundle.machine}: the join token is not valid any more; have the machine made again for a new one`,
        { cause: e },
      )
    throw e
  } finally {
    client.close()
  }
}

/** The token is worth nothing after this, and lies nowhere. */
async function forgetToken({ files, dir }: JoinDeps): Promise<void> {
  await removeDurably(files, joinFile(dir))
  await removeDurably(files, keyFile(dir))
}
