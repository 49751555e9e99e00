// Queries other systems and clusters for the gates of a Release, in the background. Uses a Secret only if its owner marked it for gates, and sends a
// token only to places that the operator allowed; neither is ever shown.
import type { Release } from '#api/kinds/release.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { LABELS, syncSecretsNamespace } from '#api/names.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { BackgroundReads, type Taken, type WantedRead } from '#runtime/background-reads.ts'
import {
  createChecks,
  type CheckResult,
  type ExternalChecks,
  type PageCheck,
} from '#runtime/outbound/external-checks.ts'
import { judgeUrl } from '#runtime/outbound/places.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { type ReadingNeeds, surveyOf } from '../cluster/readings.ts'
import { unreachableReason } from '../cluster/unreachable.ts'
import { type ClusterReadings, isOfClusters, readingNeeds, type Gate } from '../release/gates.ts'
import { clustersToSurvey, checksFor, type Survey } from '../release/stage-gates.ts'
import { SECRET } from './connections.ts'
import type { SyncContext } from './context.ts'

type HttpGate = NonNullable<Gate['http']>
type SecretRef = NonNullable<HttpGate['tokenSecretRef']>

/** Room for PEM of a few authorities. */
const MAX_SECRET_CHARS = 64 * 1024
const DEFAULT_KEYS = { token: 'token', ca: 'ca.crt' } as const

export type ConnectTo = (cluster: string, signal: AbortSignal) => Promise<ClusterConnection>

export class GateReads {
  readonly #context: SyncContext
  readonly #tools: ExternalChecks
  readonly #checks: BackgroundReads<CheckResult>
  readonly #surveys: BackgroundReads<Survey>

  /** `wake` is called with the key of a Release that has new readings. */
  constructor(context: SyncContext, wake: (release: string) => void) {
    const { clock, config } = context
    this.#context = context
    this.#tools = createChecks(config.checks ?? {})
    this.#checks = new BackgroundReads({
      clock,
      wake,
      failed: (e) => ({ holds: false, seen: printableLine(messageOf(e)).slice(0, MAX_SEEN) }),
    })
    this.#surveys = new BackgroundReads({ clock, wake, failed: surveyFailed })
  }

  /** What is currently known for the gates of the Release. */
  read(release: Release, key: string, { spec }: Pick<ReleasePipeline, 'spec'>, connect: ConnectTo) {
    const owner = { name: key, uid: release.metadata.uid ?? '' }
    const status = release.status ?? {}
    const namespace = release.metadata.namespace ?? ''
    // After a gate changes its address, the old address's answer no longer counts.
    const asked = checksFor(status, spec).map(({ key, gate }) => ({ key, gate, as: `${key} ${canonicalJson(gate)}` }))
    const checks = asked.map(({ as, gate }): WantedRead<CheckResult> => ({
      key: as,
      take: (signal) => this.#ask(gate, namespace, signal),
    }))
    const gates = spec.stages.flatMap((s) => s.before ?? []).filter(isOfClusters)
    const needs = readingNeeds(gates)
    const surveys = clustersToSurvey(status, spec).map((name): WantedRead<Survey> => ({
      key: name,
      take: async (signal) => ({
        kind: 'Read',
        readings: await surveyIn((own) => connect(name, own), needs, signal),
      }),
    }))
    const valuesOf = (taken: ReadonlyMap<string, Taken<Survey>>) =>
      new Map([...taken].map(([name, { value }]) => [name, value]))
    const answers = this.#checks.read(owner, checks)
    const known = {
      checks: new Map(
        asked.flatMap(({ key, as }) => {
          const answer = answers.get(as)
          return answer === undefined ? [] : [[key, answer] as const]
        }),
      ),
      surveys: valuesOf(this.#surveys.read(owner, surveys)),
    }
    const asking = this.#checks.pending(owner.uid)
    const pending = new Set(asked.flatMap(({ key, as }) => (asking.has(as) ? [key] : [])))
    return { ...known, pending: pending.union(this.#surveys.pending(owner.uid)) }
  }

  forget(uid: string): void {
    this.#checks.forget(uid)
    this.#surveys.forget(uid)
  }

  stop(): void {
    this.#checks.stop()
    this.#surveys.stop()
  }

  async #ask({ http, prometheus }: Gate, namespace: string, signal: AbortSignal): Promise<CheckResult> {
    if (prometheus !== undefined) return this.#tools.query(prometheus, signal)
    if (http === undefined) return { holds: false, seen: 'nothing to ask' }
    const check = await this.#checkOf(http, namespace, signal)
    return typeof check === 'string'
      ? { holds: false, seen: check.slice(0, MAX_SEEN) }
      : this.#tools.page(check, signal)
  }

  /** The check, or why it is not run. */
  async #checkOf(
    { url, expectedStatus, tokenSecretRef, caSecretRef }: HttpGate,
    namespace: string,
    signal: AbortSignal,
  ): Promise<PageCheck | string> {
    const secret = (ref: SecretRef | undefined, key: string) =>
      ref === undefined ? undefined : this.#secretOf(ref, { namespace: syncSecretsNamespace(namespace), key }, signal)
    if (tokenSecretRef !== undefined) {
      const place = judgeUrl(url, this.#context.config.outbound ?? { places: [] })
      if (place.kind === 'Refused') return `the token is not sent: ${place.why}; allow it with --call-allow of sync`
      if (place.url.protocol === 'http:' && !place.place.isLiteral) return 'a token is never sent over http'
    }
    const [token, ca] = await Promise.all([
      secret(tokenSecretRef, DEFAULT_KEYS.token),
      secret(caSecretRef, DEFAULT_KEYS.ca),
    ])
    for (const found of [token, ca]) if (found !== undefined && 'why' in found) return found.why
    return {
      url,
      expectedStatus,
      ...(token !== undefined && 'text' in token && { token: token.text }),
      ...(ca !== undefined && 'text' in ca && { ca: ca.text }),
    }
  }

  async #secretOf(
    { name, key }: SecretRef,
    { namespace, key: usual }: { readonly namespace: string; readonly key: string },
    signal: AbortSignal,
  ): Promise<{ readonly text: string } | { readonly why: string }> {
    const found = await this.#context.client.get(SECRET, { namespace, name }, { signal })
    const of = `Secret ${namespace}/${name}`
    if (found === undefined) return { why: `${of} not found` }
    // The author of a pipeline must not be able to send out a kubeconfig.
    if (found.metadata.labels?.[LABELS.forGates] !== 'true')
      return { why: `${of} is not labeled ${LABELS.forGates}=true, which allows its use in gates` }
    const data: unknown = found['data']
    const wanted = key ?? usual
    const value = isObject(data) && Object.hasOwn(data, wanted) ? data[wanted] : undefined
    const text = typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8').trim() : ''
    if (text === '' || text.length > MAX_SECRET_CHARS) return { why: `${of} has no usable key ${wanted}` }
    return { text }
  }
}

/** The same time for which an answer counts: otherwise a cluster that never stops sending would be read forever. */
const SURVEY_MS = 60_000

async function surveyIn(
  connect: (signal: AbortSignal) => Promise<ClusterConnection>,
  needs: ReadingNeeds,
  signal: AbortSignal,
): Promise<ClusterReadings> {
  const own = AbortSignal.any([signal, AbortSignal.timeout(SURVEY_MS)])
  return surveyOf(await connect(own), needs, own)
}

const MAX_SEEN = 160

/** A cluster that refuses sync does answer: its readings are unknown, but it is not offline. */
function surveyFailed(error: unknown): Survey {
  const message = printableLine(isKubeNodeError(error) || error instanceof Error ? messageOf(error) : String(error))
  return unreachableReason(error) === 'ApiServerDown'
    ? { kind: 'Unreachable', message: message.slice(0, MAX_SEEN) }
    : { kind: 'Read', readings: {} }
}
