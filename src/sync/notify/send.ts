// Sends one piece of news to one target: reads its Secret, checks whether sync may call the address, and posts. The result contains no secret.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { post } from '#runtime/outbound/post.ts'
import { isForbidden } from '#kube/errors.ts'
import { secretOf } from '../git/access.ts'
import { SECRET } from '../hub/connections.ts'
import type { SyncContext } from '../hub/context.ts'
import { isSameState, messageFor, type Keys, type Target } from './messages.ts'
import type { News } from './news.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface Delivery {
  readonly source: FleetSource
  readonly release?: Release
  readonly news: News
  readonly target: Target
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 10_000
const MAX_SECRET_CHARS = 64 * 1024
/** Masking shorter values would hide ordinary words. */
const MIN_HIDDEN_CHARS = 6

/** Undefined when it was sent, otherwise the reason why not. */
export async function send(
  context: Pick<SyncContext, 'client' | 'clock' | 'config'>,
  { source, release, news, target, signal }: Delivery,
): Promise<string | undefined> {
  const { client, clock, config } = context
  const keys = await keysOf(client, source, target, signal)
  if (typeof keys === 'string') return keys
  const at = timestamp(clock.now())
  const message = messageFor(target, { news, source: namespacedName(source), release, at }, keys)
  if (typeof message === 'string') return message
  const owner = release ?? source
  const answer = await post(
    { places: config.outbound ?? { places: [] } },
    {
      ...message,
      ...defined({ ca: keys['ca.crt'] }),
      idempotencyKey: sha256Hex(`${owner.metadata.uid ?? ''} ${target.name} ${news.key}`),
      timeoutMs: TIMEOUT_MS,
      signal,
    },
  )
  if (answer.kind === 'Refused') return hidden(`not sent: ${answer.why}; allow it with --call-allow of sync`, keys)
  if (answer.kind === 'Failed') return hidden(`no response: ${answer.why}`, keys)
  if ((answer.status >= 200 && answer.status < 300) || isSameState(answer.status, answer.text)) return undefined
  return `${URL.parse(message.url)?.host ?? 'the server'} answered HTTP ${answer.status}`
}

async function keysOf(
  client: SyncContext['client'],
  source: FleetSource,
  { webhook, slack, commitStatus }: Target,
  signal: AbortSignal,
): Promise<Keys | string> {
  const ref = webhook?.secretRef ?? slack?.secretRef ?? commitStatus?.secretRef
  const at = secretOf(source, ref ?? { name: '' })
  const of = `Secret ${at.namespace}/${at.name}`
  try {
    const data: unknown = (await client.get(SECRET, at, { signal }))?.['data']
    if (!isObject(data)) return `${of} not found, or empty`
    const texts = Object.entries(data).flatMap(([key, value]) => {
      const text = typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8').trim() : ''
      return text === '' || text.length > MAX_SECRET_CHARS ? [] : [[key, text] as const]
    })
    return Object.fromEntries(texts)
  } catch (error) {
    if (isForbidden(error)) return `sync may not read ${of}: grant it get on that Secret`
    return `${of} cannot be read: ${messageOf(error)}`
  }
}

/** The path of an address, or a connection error, may repeat a key. */
const hidden = (text: string, keys: Keys): string =>
  Object.values(keys)
    .filter((value) => value.length >= MIN_HIDDEN_CHARS)
    .reduce((t, value) => t.replaceAll(value, '***'), text)
