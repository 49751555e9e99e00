// Why the newest commit of a source is not followed, and which of its deletions wait for an approval. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { newestCommitText } from '#api/protocol/commit-title.ts'
import type { Condition } from '#api/schema/object.ts'
import { findCondition } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import type { WayOn } from '../finding.ts'
import { endOfRefusal } from '../refused-commit.ts'
import { unblockOf } from '../unblock.ts'
import { commandStep, type FleetFinding, finding, objectIn, wayOfReason } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

/** What may prevent the newest commit from being followed, in sync's order, with the text for each. */
const WAY_OF_A_COMMIT = {
  Fetched: 'cannot be fetched',
  SourceVerified: 'refuses the newest commit',
  Rendered: 'refuses the newest commit',
  Applied: 'does not apply the newest commit',
} as const

/** Only a commit with a valid signature has a title. */
const isRead = (type: keyof typeof WAY_OF_A_COMMIT): boolean => type === 'Rendered' || type === 'Applied'

export interface Refusal {
  readonly how: string
  readonly message: string
  readonly reason: string
  readonly since: string | undefined
}

/** Why the newest commit is not followed. The status holds more of the first error than its condition can. */
export function refusalOf({ status }: Pick<FleetSource, 'status'>): Refusal | undefined {
  const { conditions = [], refused, renderErrors, subject } = status ?? {}
  // A change on the hub that waits for its stage is not refused: its source is Ready.
  if (conditions.some((c) => c.type === 'Ready' && c.status === 'True')) return undefined
  const bad = (Object.keys(WAY_OF_A_COMMIT) as (keyof typeof WAY_OF_A_COMMIT)[])
    .map((type) => findCondition(conditions, type))
    .find((c): c is Condition => c?.status === 'False' && c.reason !== 'Progressing')
  if (bad === undefined && refused === undefined) return undefined
  const type = (bad?.type ?? 'SourceVerified') as keyof typeof WAY_OF_A_COMMIT
  const problem = type === 'SourceVerified' ? refused?.message : type === 'Rendered' ? renderErrors?.[0] : undefined
  const message = problem ?? bad?.message ?? ''
  const how = bad?.reason === 'RenderUnavailable' ? 'cannot render the newest commit' : WAY_OF_A_COMMIT[type]
  const newest = isRead(type) && subject !== undefined ? newestCommitText(status ?? {}) : undefined
  return {
    // Render errors name the commit themselves.
    how: newest === undefined || message.includes(newest) ? how : `${how} ${newest}`,
    message,
    reason: bad?.reason ?? refused?.reason ?? '',
    since: bad?.lastTransitionTime,
  }
}

export const refusalText = (name: string, { how, message }: Refusal): string => `source/${name} ${how}: ${message}`

/** The condition lists what would be deleted; how to allow it is shown separately. */
const heldText = (source: string, count: number, message = ''): string =>
  message === ''
    ? `source/${source}: ${counted(count, 'deletion')} on the hub for approval`
    : `source/${source} waits for an approval: ${message.split('; to allow it', 1)[0] ?? ''}`

/** Who ends the refusal, and what they type first. */
export function wayOfRefusal({ metadata: { name = '' }, status = {} }: FleetSource, { reason }: Refusal): WayOn {
  const word = `source/${name}`
  const sentence = endOfRefusal(status, reason)
  return sentence === undefined
    ? (wayOfReason(reason, word) ?? commandStep(`kubenode why ${word}`))
    : unblockOf(sentence)
}

export const sourceFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  cluster.list('sources').flatMap((source) => {
    const { metadata, status } = source
    const object = objectIn(cluster.name, 'FleetSource', metadata)
    const { refused, prunes = [], conditions } = status ?? {}
    const refusal = refusalOf(source)
    const why = commandStep(`kubenode why source/${object.name}`)
    const approve = commandStep(`kubenode approve source/${object.name} --reason WHY`)
    const ready = findCondition(conditions, 'Ready')
    const isHeld = refusal !== undefined || prunes.length > 0
    const isUnready = ready?.status === 'False' && ready.reason !== 'Progressing' && !isHeld
    return [
      ...(refusal === undefined
        ? []
        : [
            finding(object, {
              weight: 'Act',
              urgency: 'Blocked',
              text: refusalText(object.name, refusal),
              since: refusal.since,
              first: refused?.digest === undefined ? wayOfRefusal(source, refusal) : approve,
            }),
          ]),
      ...prunes.map(({ name, held }) =>
        finding(object, {
          weight: 'Act',
          urgency: 'Waiting',
          part: `prune/${name}`,
          text: heldText(object.name, held.count, findCondition(conditions, 'PruneBlocked')?.message),
          first: approve,
        }),
      ),
      ...(isUnready
        ? [
            finding(object, {
              weight: 'Act',
              urgency: 'Failed',
              text: `source/${object.name} is not Ready: ${ready.reason}: ${ready.message}`,
              since: ready.lastTransitionTime,
              first: why,
            }),
          ]
        : []),
    ]
  })
