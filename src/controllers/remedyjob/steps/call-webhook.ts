// Reports a repair to another system, at an address that the operator allowed. A token goes nowhere else and is never recorded.
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'
import { post } from '#runtime/outbound/post.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { StepResult } from '../actions.ts'
import type { Operation } from '#api/protocol/operations.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { type JobStep, type Seen } from '../seen.ts'
import { shortened } from '#lib/shortened.ts'

const secretType = coreKind('Secret')
const DEFAULT_KEY = 'token'
/** Length of an answer in the status. */
const SHOWN_CHARS = 300
/** One reconcile of a job may take thirty seconds at most. */
const MOST_MS = 25_000

export async function callWebhook(
  { client, outbound = { places: [] } }: { readonly client: KubeClient; readonly outbound?: OutboundPlaces },
  { url, secretRef, headers, timeout }: NonNullable<Operation['webhook']>,
  step: JobStep,
  { job }: Seen,
  signal: AbortSignal,
): Promise<StepResult> {
  const found = secretRef === undefined ? { token: undefined } : await tokenOf(client, secretRef, signal)
  if ('why' in found) return failed(`Secret ${SYSTEM_NAMESPACE}/${secretRef?.name} ${found.why}`)
  const { token } = found
  const { node, machine, remedierRef, incident, rung, attempt, commit } = job.spec
  const answer = await post(
    { places: outbound },
    {
      url,
      body: {
        job: nameOf(job),
        uid: uidOf(job),
        node,
        machine,
        rule: remedierRef.name,
        incident,
        rung,
        attempt,
        commit,
      },
      idempotencyKey: `${uidOf(job)}/${step.index}`,
      timeoutMs: Math.min(parseDuration(timeout), MOST_MS),
      signal,
      ...defined({ headers, token }),
    },
  )
  if (answer.kind === 'Refused') return failed(`not called: ${answer.why}`)
  if (answer.kind === 'Failed') return failed(shortened(`no response: ${answer.why}`, SHOWN_CHARS))
  const answerText = `HTTP ${answer.status}: ${answer.text.replace(/[^\P{C}\t ]/gu, ' ').slice(0, SHOWN_CHARS)}`
  return answer.status >= 200 && answer.status < 300 ? { outcome: 'Succeeded', output: answerText } : failed(answerText)
}

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })

async function tokenOf(
  client: KubeClient,
  { name, key = DEFAULT_KEY }: { readonly name: string; readonly key?: string | undefined },
  signal: AbortSignal,
): Promise<{ readonly token: string } | { readonly why: string }> {
  const secret = await client.get(secretType, { name, namespace: SYSTEM_NAMESPACE }, { signal })
  // A rule's author must not be able to send a Secret that its owner never meant for webhooks.
  if (secret !== undefined && secret.metadata.labels?.[LABELS.forWebhooks] !== 'true')
    return { why: `is not labeled ${LABELS.forWebhooks}=true, which allows its use in repair webhooks` }
  const data: unknown = secret?.['data']
  const value = isObject(data) && Object.hasOwn(data, key) ? data[key] : undefined
  const text = typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8').trim() : ''
  return text === '' ? { why: `has no key ${key}` } : { token: text }
}
