// The artifacts role: serves on every replica and reloads its certificate at run time. There is no leader: replicas share only the Secret.
import { stat, readFile } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { SEALED_TOKEN_FIELD, sealedTokenKey } from '#identity/sealed-token.ts'
import { artifactsErrors } from './artifacts-errors.ts'
import { ownPair, type Held } from './own-authority.ts'
import { ArtifactServer, type ServingPair } from './server.ts'
import { createPrivateKey, X509Certificate } from 'node:crypto'

/** Such as a mounted Secret's, which may change at run time. */
interface PairFiles {
  readonly cert: string
  readonly key: string
}

/** Throws if the two do not match, as between two writes. */
async function pairIn(files: PairFiles): Promise<ServingPair> {
  const read = (file: string) =>
    readFile(file, 'utf8').catch((error: unknown) => {
      throw wrong(file, messageOf(error))
    })
  const pair = { cert: await read(files.cert), key: await read(files.key) }
  const [certificate, key] = [
    of(files.cert, () => new X509Certificate(pair.cert)),
    of(files.key, () => createPrivateKey(pair.key)),
  ]
  if (!certificate.checkPrivateKey(key)) throw wrong(files.key, `it is not the key of ${files.cert}`)
  return pair
}

const wrong = (file: string, why: string): KubeNodeError =>
  new KubeNodeError(artifactsErrors.KN1329_artifacts({ file, why }), { retry: 'later' })

function of<T>(file: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw wrong(file, messageOf(error))
  }
}

export interface ArtifactsConfig {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** Given files, or names for a certificate that the server's own authority signs. */
  readonly certificate: PairFiles | { readonly hosts: readonly string[] }
}

export interface ArtifactsOptions extends ArtifactsConfig {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
}

/** A mounted Secret follows within two minutes; the server's own certificate is renewed a month before it expires. */
const FOLLOW_MS = 60_000

const configMapType = coreKind('ConfigMap')

const sealedToken = async (client: KubeClient, uid: string): Promise<string | undefined> =>
  (await client.get(configMapType, sealedTokenKey(uid)))?.data?.[SEALED_TOKEN_FIELD]

export class ArtifactsPart implements Part {
  readonly name = 'artifact-server'
  readonly #options: ArtifactsOptions
  readonly #reloads: RepeatedCheck
  #server: ArtifactServer | undefined
  #pair: ServingPair | undefined
  #held: Held | undefined
  /** Undefined while not listening. */
  port: number | undefined

  constructor(options: ArtifactsOptions) {
    this.#options = options
    this.#reloads = new RepeatedCheck(options.clock)
  }

  async start(): Promise<void> {
    const { folder, host, port, log, client } = this.#options
    const why = await stat(folder).then(
      (s) => (s.isDirectory() ? undefined : 'it is no folder'),
      (error: unknown) => messageOf(error),
    )
    if (why !== undefined) throw new KubeNodeError(artifactsErrors.KN14003({ folder, why }), { retry: 'later' })
    this.#pair = await this.#newestPair()
    this.#server = new ArtifactServer({
      ...this.#options,
      pair: this.#pair,
      agentToken: (uid) => sealedToken(client, uid),
    })
    this.port = await this.#server.start().catch((cause: unknown) => {
      throw new KubeNodeError(artifactsErrors.KN1206_artifacts({ host, port, why: messageOf(cause) }), { cause })
    })
    log.info('serving artifacts', { port: this.port })
    this.#reloads.start(
      () => FOLLOW_MS,
      () => this.reload(),
    )
  }

  async stop(): Promise<void> {
    await this.#reloads.stop()
    await this.#server?.stop()
  }

  async #newestPair(): Promise<ServingPair> {
    const { certificate, client, clock } = this.#options
    if (!('hosts' in certificate)) return pairIn(certificate)
    this.#held = await ownPair(client, { hosts: certificate.hosts, now: clock.now(), inUse: this.#held })
    return this.#held
  }

  /** The current certificate stays in use until there is a valid one. */
  async reload(): Promise<void> {
    const { log } = this.#options
    try {
      const pair = await this.#newestPair()
      if (pair.cert === this.#pair?.cert && pair.key === this.#pair.key) return
      this.#server?.renew(pair)
      this.#pair = pair
      log.info('artifacts are served with a new certificate')
    } catch (error) {
      log.error('cannot renew the certificate for artifacts', { error: messageOf(error) })
    }
  }
}
