// The agent's session with its cluster: its identity, a client that uses it, and the renewal of its certificate.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig, Identity as ConnectionIdentity } from '#kube/http/connection.ts'
import {
  isTokenPair,
  lifeOf,
  readIdentity,
  uidOf,
  writeCredential,
  writeIdentity,
  type Credential,
  type Identity,
  type IdentityDeps,
  type Life,
  type TokenPair,
} from './join/identity.ts'
import { followAuthorities } from './join/authorities.ts'
import { joinAgain, joinCluster } from './join/join.ts'
import { renew } from './join/renew.ts'
import { sealingKey } from './join/sealing-key.ts'
import type { SealingKey } from '#api/sealed.ts'
import type { Condition } from '#api/schema/object.ts'
import { fetchSealedToken, tokenServer } from './join/token-server.ts'
import { EarlyRenewal, keepRenewing } from './join/rotation.ts'
import { tokenCondition, type HeldToken } from './join/token-age.ts'
import { isMachineThere } from './node/own-machine.ts'
import { apiProxy } from './join/host-proxy.ts'
import { readServerVersion } from './server-version.ts'

export interface SessionDeps extends IdentityDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  readonly signal: AbortSignal
}

export interface Session {
  readonly identity: Identity
  /** The agent contacts no server. */
  readonly isAlone?: true
  readonly client: HttpKubeClient
  readonly sealing: SealingKey
  /** Start and end of the agent's certificate, and who signed it. */
  readonly certificateLife: () => (Life & { readonly authority?: string }) | undefined
  /** Prints of the authorities used to verify the server. */
  readonly authorities: readonly string[]
  /** Resolves after the cluster's authorities changed and are saved for the next start. */
  readonly followAuthorities: () => Promise<void>
  /** Set when the agent's token is not replaced in time. */
  readonly tokenCondition: () => Condition | undefined
  /** UID of the Machine that the agent's certificate is for. */
  readonly machineUid: () => string | undefined
  /** Reads the Machine from the server. */
  readonly isMachineThere: () => Promise<boolean>
  readonly serverVersion: () => Promise<string | undefined>
  /** Renews the certificate until the signal aborts. */
  readonly keep: (onRenewed?: () => void) => Promise<void>
}

/** How long a connection uses its key pair before it reads it again. */
const PAIR_GOOD_FOR_MS = 60_000
/** Reading it from memory is cheap, so it is read before each of the rarer requests. */
const TOKEN_GOOD_FOR_MS = 1_000

/** Two, so that one hanging connection does not block the other requests. */
const AT_ONCE = 2
/** An answer takes a few milliseconds; a slower server is overloaded or unreachable. */
const PATIENCE_MS = 1_000

export async function openSession(deps: SessionDeps): Promise<Session> {
  const { clock, random, log, signal, files, dir } = deps
  const options = {
    clock,
    random,
    userAgent: `${FIELD_MANAGERS.agent}/${deps.version}`,
    atOnce: AT_ONCE,
    patienceMs: PATIENCE_MS,
  }
  const join = { ...deps, connect: (c: ConnectionConfig) => new HttpKubeClient(c, options) }
  const { identity, pair: first } = await joinCluster(join)
  let pair: Credential = first
  const heldNow = ({ token }: TokenPair): HeldToken => ({ token, sinceMs: clock.monotonic(), receivedAt: clock.now() })
  let held: HeldToken | undefined
  let authority: string | undefined
  const take = (next: Credential): void => {
    pair = next
    authority = isTokenPair(next) ? undefined : signerPrint(next.certificate, identity.ca)
    if (!isTokenPair(next)) held = undefined
    else if (held?.token !== next.token) held = heldNow(next)
  }
  take(first)
  const servers = tokenServer(identity, options)
  signal.addEventListener('abort', () => servers?.close(), { once: true })
  const currentIdentity = async (isRefused: boolean): Promise<ConnectionIdentity> => {
    if (!isTokenPair(pair))
      return { clientCertificate: { cert: pair.certificate, key: pair.key }, goodForMs: PAIR_GOOD_FOR_MS }
    if (isRefused) {
      const found = await fetchSealedToken(servers, pair, signal)
      if (found !== undefined && found.token !== pair.token) {
        await writeCredential({ files, dir }, found)
        take(found)
        log.info('token replaced', { after: 'the API server refused the one before' })
      }
    }
    return { token: pair.token, goodForMs: TOKEN_GOOD_FOR_MS }
  }
  const proxy = apiProxy(identity)
  const connection = { server: identity.server, ca: { data: identity.ca }, ...defined({ proxy }) }
  const client = new HttpKubeClient({ ...connection, identity: currentIdentity }, options)
  const anonymous = new HttpKubeClient(connection, options)
  signal.addEventListener('abort', () => anonymous.close(), { once: true })
  const early = new EarlyRenewal()
  const following = {
    clock,
    random,
    log,
    client,
    trusted: identity.ca,
    tryOut: async (data: string) => {
      const other = new HttpKubeClient({ ...connection, ca: { data }, identity: currentIdentity }, options)
      await other.get(machineType, { name: identity.machine }, { signal }).finally(() => other.close())
    },
    signer: () => authority,
    renewEarly: () => early.ask(),
    // The host may have joined again meanwhile.
    keep: async (ca: string) =>
      writeIdentity({ files, dir }, { ...((await readIdentity({ files, dir })) ?? identity), ca }),
  }
  const byBundle = async () => (await joinAgain(join, identity))?.pair
  const renewing = { files, dir, clock, signal, identity, client, anonymous, byBundle, pair: () => pair }
  return {
    identity,
    client,
    machineUid: () => uidOf(pair),
    isMachineThere: () => isMachineThere(client, identity.machine, uidOf(pair)),
    sealing: await sealingKey({ files, dir }),
    certificateLife: () => {
      const life = isTokenPair(pair) ? undefined : lifeOf(pair.certificate)
      return life && { ...life, ...defined({ authority }) }
    },
    authorities: authorityPrints(identity.ca),
    followAuthorities: () => followAuthorities(following, signal),
    tokenCondition: () => held && tokenCondition(held, clock.monotonic()),
    serverVersion: () => readServerVersion({ server: identity.server, ca: identity.ca, pair: () => pair, proxy }),
    // The sleep throws when the signal aborts.
    keep: (onRenewed = () => undefined) => {
      const renewed = (next: Credential): void => {
        take(next)
        onRenewed()
      }
      // The reported state of a token also changes with its age.
      const tools = { clock, random, log, early, renew: () => renew(renewing).finally(onRenewed), onRenewed: renewed }
      return keepRenewing(tools, first, signal).catch(() => undefined)
    },
  }
}
