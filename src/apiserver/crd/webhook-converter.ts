// Asks the conversion webhook of a definition for objects in another version, a bounded number at once.
import { randomUUID } from 'node:crypto'
import type { KubeObject } from '#api/schema/object.ts'
import { WebhookCaller, type MayCall, type ResolveService } from '../admission/webhook-call.ts'
import { targetOf, type WebhookTarget } from '../admission/webhook-config.ts'
import { internal } from '../status/refusal.ts'
import { convertedObjects, conversionBody, type ConversionReviewVersion } from './conversion-review.ts'
import { fields, specOf, texts } from './definition.ts'

/** In one review: keeps the answer below its size limit even with large objects. */
const MOST_AT_ONCE = 100
/** As on a real server: a list waits no longer for one. */
const TIMEOUT_SECONDS = 30

export interface ConversionWebhook {
  readonly target: WebhookTarget
  readonly version: ConversionReviewVersion
}

/** Undefined: the definition converts by writing another version into the object, nothing more. */
export function conversionWebhookOf(definition: KubeObject): ConversionWebhook | undefined {
  const conversion = fields(specOf(definition)['conversion'])
  if (conversion['strategy'] !== 'Webhook') return undefined
  const webhook = fields(conversion['webhook'])
  const known = texts(webhook['conversionReviewVersions']).find((v) => v === 'v1' || v === 'v1beta1')
  return { target: targetOf(fields(webhook['clientConfig'])), version: known === 'v1beta1' ? 'v1beta1' : 'v1' }
}

/** Objects of one kind, in the version that was asked for; a webhook that fails is a refusal. */
export type Convert = (
  webhook: ConversionWebhook,
  desired: string,
  objects: readonly KubeObject[],
) => Promise<readonly KubeObject[]>

export class WebhookConverter {
  readonly #caller: WebhookCaller

  constructor(resolve: ResolveService, mayCall?: MayCall) {
    this.#caller = new WebhookCaller(resolve, mayCall)
  }

  readonly convert: Convert = async (webhook, desired, objects) => {
    const out: KubeObject[] = []
    for (let i = 0; i < objects.length; i += MOST_AT_ONCE)
      out.push(...(await this.#review(webhook, desired, objects.slice(i, i + MOST_AT_ONCE))))
    return out
  }

  close(): void {
    this.#caller.close()
  }

  async #review(
    { target, version }: ConversionWebhook,
    desired: string,
    objects: readonly KubeObject[],
  ): Promise<readonly KubeObject[]> {
    const call = { uid: randomUUID(), version, desired, objects }
    const outcome = await this.#caller.call({ target, body: conversionBody(call), timeoutSeconds: TIMEOUT_SECONDS })
    const conversions = outcome.ok
      ? convertedObjects(outcome.text, call)
      : { ok: false as const, error: `failed: ${outcome.error}` }
    if (conversions.ok) return conversions.objects
    const [first] = objects
    throw internal(`conversion webhook for ${first?.apiVersion ?? ''}, Kind=${first?.kind ?? ''} ${conversions.error}`)
  }
}
