// Which authorities the agent verifies its API server with. While a cluster replaces its authority, the agent takes the published list, but only after the
// server could be verified with it, and reports what it trusts: the old authority is not removed before all agents follow. Once the new one signs, the agent
// asks for a certificate of it: the old one is not removed before that, either.
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
/** A host that restarts every quarter of an hour must follow, too. */
const FIRST_MS = 60_000
const JITTER = 0.5
/** A cluster that signs agents with another authority than its server, always, must not renew for ever. */
const MOST_EARLY_RENEWALS = 4

export interface AuthoritiesDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly client: Pick<KubeClient, 'get'>
  /** PEM of what the agent trusts now. */
  readonly trusted: string
  /** Reads something from the server, verified with these alone. */
  readonly tryOut: (authorities: string) => Promise<void>
  /** Of those, the one that signed our certificate; undefined when there is none, or a token instead. */
  readonly signer: () => string | undefined
  /** Does not wait for two thirds of the certificate's life. */
  readonly renewEarly: () => void
  /** They work: kept for the next start. */
  readonly keep: (authorities: string) => Promise<void>
}

/** Ends once another list was kept: the agent restarts with it. */
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
      // As behind an address with a certificate of another authority: the agent stays with what works.
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

/** Whether the server shows that another authority than ours signs now. One that cannot be reached shows nothing. */
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
