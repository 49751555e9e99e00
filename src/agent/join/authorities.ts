// Which authorities the agent uses to verify its API server. While a cluster replaces its authority, the agent switches to the published list, but only
// after it could verify the server with it, and reports what it trusts: the old authority stays until all agents have followed. Once the new authority
// signs certificates, the agent requests one from it; the old authority also stays until then.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { authorityPrints, MOST_AUTHORITIES } from '#identity/authority-prints.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'

const configMaps = coreKind('ConfigMap')
/** Every cluster publishes its authorities under this name in every namespace. */
const PUBLISHED = { namespace: SYSTEM_NAMESPACE, name: 'kube-root-ca.crt' }
const KEY = 'ca.crt'

/** A rotation waits for the slowest agent; 10,000 agents cost an API server six small reads a second. */
const EVERY_MS = 30 * 60_000
/** A host that restarts every 15 minutes must be able to follow too. */
const FIRST_MS = 60_000
const JITTER = 0.5
/** Some clusters always sign agents with a different authority than the server's: they must not renew forever. */
const MOST_EARLY_RENEWALS = 4

export interface AuthoritiesDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly client: Pick<KubeClient, 'get'>
  /** PEM of the authorities that the agent trusts now. */
  readonly trusted: string
  /** Reads something from the server, verified with only these authorities. */
  readonly tryOut: (authorities: string) => Promise<void>
  /** The trusted authority that signed the agent's certificate; undefined when there is none, or when the agent uses a token. */
  readonly signer: () => string | undefined
  /** Renews without waiting for two thirds of the certificate's lifetime. */
  readonly renewEarly: () => void
  /** The authorities work: save them for the next start. */
  readonly keep: (authorities: string) => Promise<void>
}

/** Returns after a new list was saved: the agent restarts with it. */
export async function followAuthorities(deps: AuthoritiesDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps
  let failed: string | undefined
  let afterMs = FIRST_MS
  let early = 0
  while (!signal.aborted) {
    await clock.sleep(random.jitter(afterMs, JITTER), signal)
    afterMs = EVERY_MS
    const published = await publishedAuthorities(deps, signal).catch(() => undefined)
    if (published === undefined) continue
    if (isSame(published, deps.trusted)) {
      if (early < MOST_EARLY_RENEWALS && (await isSignerReplaced(deps))) {
        early++
        log.info('the API server has a certificate of another authority than ours: renewing')
        deps.renewEarly()
      }
      continue
    }
    try {
      await deps.tryOut(published)
    } catch (error) {
      // For example, the address may have a certificate of another authority: keep the authorities that work.
      if (failed !== published)
        log.warn('cannot verify the API server with the published authorities', { error: messageOf(error) })
      failed = published
      continue
    }
    await deps.keep(published)
    log.info('authorities of the cluster changed, restarting', { authorities: certificatesIn(published).length })
    return
  }
}

/** Whether the server shows that a different authority signs certificates now. An unreachable server shows nothing. */
async function isSignerReplaced({ trusted, signer, tryOut }: AuthoritiesDeps): Promise<boolean> {
  const ours = signer()
  const others = certificatesIn(trusted).filter((pem) => authorityPrints(pem)[0] !== ours)
  if (ours === undefined || others.length === 0) return false
  return tryOut(others.join('')).then(
    () => true,
    () => false,
  )
}

async function publishedAuthorities({ client }: AuthoritiesDeps, signal: AbortSignal): Promise<string | undefined> {
  const data = (await client.get(configMaps, PUBLISHED, { signal }))?.['data']
  const text = isObject(data) ? data[KEY] : undefined
  if (typeof text !== 'string') return undefined
  const all = certificatesIn(text)
  return all.length === 0 || all.length > MOST_AUTHORITIES ? undefined : all.join('')
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [authorityPrints(a), authorityPrints(b)]
  return left.length === right.length && left.every((print) => right.includes(print))
}
