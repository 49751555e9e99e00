// What all replicas of the Defender share to serve the webhook: its certificate and its secret paths, in one Secret. Only the leader changes them.
import { WEBHOOK_SECRET } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import {
  bundleOf,
  certificateData,
  certificateIn,
  type CertificateState,
  rotated,
} from '#runtime/tls/serving-certificate.ts'
import { KnownSince } from '#runtime/tls/known-since.ts'
import { readSecret, writeSecret } from '#runtime/tls/shared-secret.ts'
import { defenderErrors } from '../defender-errors.ts'
import { WEBHOOK_COMMON_NAME, WEBHOOK_SECRET_KEY } from './certificate.ts'
import { newToken, pathData, type PathState, pathsIn, rotatedPaths, tokenToName } from './secret-paths.ts'

export interface WebhookKeys {
  readonly certificate: CertificateState
  readonly paths: PathState
}

function keysIn(data: Readonly<Record<string, string>>): WebhookKeys | undefined {
  const [certificate, paths] = [certificateIn(data), pathsIn(data)]
  return certificate === undefined || paths === undefined ? undefined : { certificate, paths }
}

/** Either may be missing: there is no Secret yet, or it is damaged. */
interface FoundKeys {
  readonly certificate: CertificateState | undefined
  readonly paths: PathState | undefined
}

/** Undefined until a leader has created them. */
export const readKeys = async (client: KubeClient): Promise<WebhookKeys | undefined> =>
  keysIn((await readSecret(client, WEBHOOK_SECRET_KEY)).data)

export interface KeeperOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly hosts: readonly string[]
}

const ATTEMPTS = 3

/** Maintains the Secret, one step of a change at a time, as the registration follows. */
export class KeyKeeper {
  readonly #options: KeeperOptions
  readonly #inSecret: KnownSince
  readonly #registered: KnownSince
  #named: string | undefined

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#inSecret = new KnownSince(options.clock)
    this.#registered = new KnownSince(options.clock)
  }

  /** Reads the Secret and writes due changes. Of two concurrent writes the first wins. */
  async reload(): Promise<WebhookKeys> {
    const { client } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = await readSecret(client, WEBHOOK_SECRET_KEY)
      const before = { certificate: certificateIn(found.data), paths: pathsIn(found.data) }
      this.#observe(before)
      const keys = this.#planned(before)
      const isSame = keys.certificate === before.certificate && keys.paths === before.paths
      const data = { ...certificateData(keys.certificate), ...pathData(keys.paths) }
      if (isSame || (await writeSecret(client, WEBHOOK_SECRET_KEY, found, data))) {
        this.#observe(keys)
        return keys
      }
    }
    throw new KubeNodeError(defenderErrors.KN3001_webhookSecret({ webhookSecret: WEBHOOK_SECRET }), { retry: 'later' })
  }

  /** What the registration should contain. */
  wanted({ certificate, paths }: WebhookKeys): { readonly bundle: string; readonly token: string } {
    return { bundle: bundleOf(certificate), token: tokenToName(paths, (t) => this.#inSecret.ms(t)) }
  }

  /** The registration contains it. */
  registered({ certificate }: WebhookKeys, token: string): void {
    this.#named = token
    this.#registered.observe(authoritiesOf(certificate))
  }

  #planned(before: FoundKeys): WebhookKeys {
    const { clock, hosts } = this.#options
    const now = clock.now()
    return {
      certificate: rotated(before.certificate, {
        commonName: WEBHOOK_COMMON_NAME,
        hosts,
        now,
        trustedMs: (ca) => this.#registered.ms(ca),
        keptMs: (ca) => this.#inSecret.ms(ca),
      }),
      paths: rotatedPaths(before.paths, {
        now,
        newToken,
        named: this.#named,
        knownMs: (t) => this.#inSecret.ms(`previous ${t}`),
      }),
    }
  }

  #observe({ certificate, paths }: FoundKeys): void {
    this.#inSecret.observe([
      ...(certificate?.previousCa === undefined ? [] : [certificate.previousCa]),
      ...(paths?.next === undefined ? [] : [paths.next]),
      // A key of its own: the time counts from when the path became the previous one, not from its creation.
      ...(paths?.previous === undefined ? [] : [`previous ${paths.previous}`]),
    ])
  }
}

const authoritiesOf = ({ current, next, previousCa }: CertificateState): readonly string[] =>
  [current.ca, next?.ca, previousCa].filter((ca) => ca !== undefined)
