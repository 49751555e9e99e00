// Builds the message for one target: a signed document, a chat line, or a commit status. Pure. No body contains a credential.
import { createHmac } from 'node:crypto'
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { type Facts, FACTS, type News, type NotifyEvent } from './news.ts'

export type Target = NonNullable<FleetSourceSpec['notify']>[number]

export interface Message {
  readonly url: string
  readonly body: object
  readonly headers: Readonly<Record<string, string>>
  readonly token?: string
}

/** Values of the target's Secret, by key. */
export type Keys = Readonly<Record<string, string>>

interface About {
  readonly news: News
  /** namespace/name of the source. */
  readonly source: string
  readonly release?: Release | undefined
  readonly at: string
}

const MIN_HMAC_CHARS = 16
/** GitHub rejects longer ones, and requests without a User-Agent. */
const MAX_DESCRIPTION = 140
const USER_AGENT = { 'user-agent': 'kubenode' } as const

const USUAL = '{{source}}: commit {{commit}}{{called}} {{event}}{{in}}: {{message}}. {{next}}'

/** The message, or why it cannot be sent. */
export function messageFor(target: Target, about: About, keys: Keys): Message | string {
  if (target.webhook !== undefined) return webhookMessage(target, target.webhook, about, keys)
  if (target.slack !== undefined) {
    const { url } = keys
    if (url === undefined) return 'its Secret has no url'
    return { url, body: { text: messageText(target, about.news.facts, escapedForChat) }, headers: USER_AGENT }
  }
  if (target.commitStatus !== undefined) return statusMessage(target, target.commitStatus, about, keys)
  return 'it has no webhook, slack or commitStatus'
}

const PLACEHOLDER = /\{\{\s*([a-z]+)\s*\}\}/g

/** An unknown name stays as written, so that its author notices. */
function messageText(
  { template = USUAL }: Pick<Target, 'template'>,
  facts: Facts,
  escaped: (text: string) => string,
): string {
  const { stage, track } = facts
  const place = stage === '' ? (track === '' ? '' : ` on track ${track}`) : ` in ${stagePart(stage)} of track ${track}`
  const known: ReadonlyMap<string, string> = new Map([
    ...FACTS.map((name) => [name, facts[name]] as const),
    ['in', place],
    ['called', calledOf(facts)],
  ])
  return template.replaceAll(PLACEHOLDER, (whole, name: string) => {
    const value = known.get(name)
    return value === undefined ? whole : escaped(value)
  })
}

/** Follows the hash, starting with a space. */
const calledOf = ({ subject, author }: Facts): string =>
  `${subject === '' ? '' : ` "${subject}"`}${author === '' ? '' : ` by ${author}`}`

const asIs = (text: string): string => text
/** Invisible; breaks a mention. */
const BREAK = '\u200b'
/**
 * Otherwise `<!channel>` in a commit's error would notify everyone in Slack, as would `@channel` in Mattermost and Rocket.Chat. Those also show
 * `[text](address)` as a link and fetch `![text](address)`. An email address keeps its sign, so that commands can be copied.
 */
const escapedForChat = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('](', `]${BREAK}(`)
    .replaceAll(/(?<!\w)@/g, `@${BREAK}`)

function webhookMessage(
  target: Target,
  webhook: NonNullable<Target['webhook']>,
  { news, source, release, at }: About,
  keys: Keys,
): Message | string {
  const url = webhook.url ?? keys['url']
  const key = keys['hmac-key']
  if (url === undefined) return 'neither it nor its Secret has a url'
  if (key === undefined || key.length < MIN_HMAC_CHARS)
    return `its Secret has no hmac-key of at least ${MIN_HMAC_CHARS} characters`
  const { spec, status } = release ?? {}
  const body = {
    at,
    event: news.event,
    text: messageText(target, news.facts, asIs),
    source,
    commit: news.commit,
    ...(news.facts.subject !== '' && { subject: news.facts.subject }),
    ...(news.facts.author !== '' && { author: news.facts.author }),
    message: news.facts.message,
    next: news.facts.next,
    ...(release !== undefined && {
      release: namespacedName(release),
      track: spec?.track,
      phase: status?.phase,
      ...defined({ revertOf: spec?.revertOf, revertCommit: status?.revertCommit }),
      stages: (status?.stages ?? []).map(({ name, phase, healthy = 0, failed = 0, total = 0 }) => ({
        name,
        phase,
        healthy,
        failed,
        total,
      })),
    }),
  }
  const signature = createHmac('sha256', key).update(JSON.stringify(body)).digest('hex')
  return { url, body, headers: { ...USER_AGENT, 'x-kubenode-signature-256': `sha256=${signature}` } }
}

const DEFAULT_API = { GitHub: 'https://api.github.com', GitLab: 'https://gitlab.com/api/v4' } as const

function statusMessage(
  target: Target,
  { forge, api = DEFAULT_API[forge], project }: NonNullable<Target['commitStatus']>,
  { news, source }: About,
  keys: Keys,
): Message | string {
  const { token } = keys
  if (token === undefined) return 'its Secret has no token'
  const base = withoutEnd(api, /\//)
  const context = ['kubenode', source.split('/').at(-1), news.facts.track].filter(Boolean).join('/')
  const description = cut(
    target.template === undefined ? usualStatus(news) : messageText(target, news.facts, asIs),
    MAX_DESCRIPTION,
  )
  switch (forge) {
    case 'GitHub':
      return {
        url: `${base}/repos/${project}/statuses/${news.commit}`,
        body: { state: STATES[news.event][0], context, description },
        headers: { ...USER_AGENT, accept: 'application/vnd.github+json' },
        token,
      }
    case 'GitLab':
      return {
        url: `${base}/projects/${encodeURIComponent(project)}/statuses/${news.commit}`,
        body: { state: STATES[news.event][1], name: context, description },
        headers: USER_AGENT,
        token,
      }
    default:
      return assertNever(forge)
  }
}

const usualStatus = ({ event, facts: { stage, message } }: News): string =>
  `${event}${stage === '' ? '' : ` (${stage})`}: ${message}`

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)

/** State names of GitHub and GitLab. A superseded commit is neither good nor bad. */
const STATES: Readonly<Record<NotifyEvent, readonly [string, string]>> = {
  Started: ['pending', 'running'],
  StageSucceeded: ['pending', 'running'],
  Waiting: ['pending', 'running'],
  Paused: ['pending', 'running'],
  Failed: ['failure', 'failed'],
  Reverted: ['failure', 'failed'],
  Succeeded: ['success', 'success'],
  Superseded: ['error', 'canceled'],
  Refused: ['failure', 'failed'],
}

/** GitLab's answer when a commit already has this state. */
export const isSameState = (status: number, text: string): boolean =>
  status === 400 && text.includes('Cannot transition status')
