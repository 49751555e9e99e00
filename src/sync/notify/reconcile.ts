// Notifies the targets of a FleetSource, and writes git notes. Releases never wait for it. A delivery is recorded after it was sent: after a crash a
// target may get the same news twice, with the same Idempotency-Key.
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { release as releaseKind, type Release } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { done, doneOrAfter, type Outcome } from '#runtime/outcome.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import { writeNote } from '../git/notes.ts'
import { credentialsOf } from '../hub/revert.ts'
import type { HubShared } from '../hub/shared.ts'
import { releasesIn } from '../release/chain.ts'
import { dueTargets, merged, remembered, type DueTarget, type Notified } from './due.ts'
import type { NotifyMetrics } from './metrics.ts'
import type { Target } from './messages.ts'
import type { News } from './news.ts'
import { recordText } from './record.ts'
import { send } from './send.ts'

/** If a release changed while its news was sent, its record is written again with the new status. */
const WRITE_ATTEMPTS = 5
/** When a failed delivery is checked again; dueTargets decides whether it is due. */
const FAILED_MS = 5_000

/** Target names are DNS labels, so none can have this name. */
const NOTE: DueTarget & { readonly isNote: true } = {
  name: 'GitNotes',
  events: ['Succeeded', 'Failed', 'Reverted', 'Superseded'],
  isNote: true,
}
type AnyTarget = Target | typeof NOTE
const isNote = (target: AnyTarget): target is typeof NOTE => 'isNote' in target

export async function notifyOfRelease(
  shared: HubShared,
  metrics: NotifyMetrics,
  key: string,
  context: ReconcileContext,
): Promise<Outcome> {
  const release = shared.releases.get(keyFrom(key))
  if (release === undefined || release.metadata.deletionTimestamp !== undefined) return done
  const source = shared.sources.get({ namespace: release.metadata.namespace, name: release.spec.source })
  if (source === undefined) return done
  const { news, againMs } = shared.context.news.ofRelease(
    release,
    releasesIn(shared.releases.list(), release.metadata.namespace),
    shared.context.clock.now(),
  )
  const endedAt = Date.parse(release.status?.finishedAt ?? '')
  const targets = [...(source.spec.notify ?? []), ...(hasNotes(source) && news?.isLast === true ? [NOTE] : [])]
  const own = { type: releaseKind, cache: shared.releases, object: release, source, release }
  const again =
    news === undefined
      ? undefined
      : await deliver(
          shared,
          metrics,
          { ...own, news, targets, endedAt: Number.isNaN(endedAt) ? undefined : endedAt },
          context,
        )
  return doneOrAfter(soonest(againMs, again))
}

export async function notifyOfSource(
  shared: HubShared,
  metrics: NotifyMetrics,
  key: string,
  context: ReconcileContext,
): Promise<Outcome> {
  const source = shared.sources.get(keyFrom(key))
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) return done
  const { news } = shared.context.news.ofSource(source)
  if (news === undefined) return done
  const own = { type: fleetSource, cache: shared.sources, object: source, source }
  const targets = source.spec.notify ?? []
  return doneOrAfter(await deliver(shared, metrics, { ...own, news, targets, endedAt: undefined }, context))
}

const hasNotes = ({ spec: { push } }: FleetSource): boolean => push?.notes === true

const soonest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((ms) => ms !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

interface Work<T extends Release | FleetSource> {
  readonly type: ResourceType<T>
  readonly cache: Pick<SharedInformer<T>, 'assume'>
  readonly object: T
  readonly source: FleetSource
  readonly release?: Release
  readonly news: News
  readonly targets: readonly AnyTarget[]
  readonly endedAt: number | undefined
}

/** Returns the time until the next attempt, if one is due. */
async function deliver<T extends Release | FleetSource>(
  shared: HubShared,
  metrics: NotifyMetrics,
  work: Work<T>,
  { signal, log }: ReconcileContext,
): Promise<number | undefined> {
  const { clock } = shared.context
  const { object, news, targets, endedAt } = work
  const notified: readonly Notified[] = object.status?.notified ?? []
  const due = dueTargets({ targets, notified, news, endedAt, now: clock.now() })
  const changed = await Promise.all(
    due.targets.map(async (target) => {
      const problem = await oneDelivery(shared, work, target, signal)
      metrics.sent(kindOf(target), problem === undefined)
      if (problem !== undefined)
        log.warn('notification failed', { target: target.name, reason: news.event, detail: problem })
      const before = notified.find((n) => n.name === target.name)
      return remembered(before, { name: target.name, key: news.key, problem, now: clock.now() })
    }),
  )
  if (changed.length > 0) await record(shared, work, changed, signal)
  return soonest(due.againMs, changed.some((n) => n.problem !== undefined) ? FAILED_MS : undefined)
}

function oneDelivery<T extends Release | FleetSource>(
  shared: HubShared,
  { source, release, news }: Work<T>,
  target: AnyTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isNote(target)) return send(shared.context, { source, ...defined({ release }), news, target, signal })
  return note(shared, source, news).then(
    () => undefined,
    (error: unknown) => {
      if (!isKubeNodeError(error)) throw error
      return messageOf(error)
    },
  )
}

const kindOf = (target: AnyTarget): string =>
  isNote(target)
    ? 'note'
    : target.webhook !== undefined
      ? 'webhook'
      : target.slack !== undefined
        ? 'slack'
        : 'commitStatus'

async function note(shared: HubShared, source: FleetSource, { commit }: News): Promise<void> {
  const { cacheDir, gitEnv, gitReach } = shared.context.config
  const { access } = await credentialsOf(shared.context, source)
  const { repository } = await shared.renders.fetch(source)
  const { namespace, name } = source.metadata
  const releases = releasesIn(shared.releases.list(), namespace)
  const own = releases.filter((r) => r.spec.source === name && r.spec.commit === commit)
  const text = recordText(own, { approvals: shared.approvals.list(), releases })
  await writeNote(
    { url: source.spec.url, commit, text, repository, access },
    { cacheDir, ...defined({ env: gitEnv, reach: gitReach }) },
  )
}

async function record<T extends Release | FleetSource>(
  { context: { client } }: HubShared,
  { type, cache, object, source }: Work<T>,
  changed: readonly Notified[],
  signal: AbortSignal,
): Promise<void> {
  const names = new Set([...(source.spec.notify ?? []).map((t) => t.name), NOTE.name])
  const { name = '', namespace = '' } = object.metadata
  let now: T | undefined = object
  for (let attempt = 1; now !== undefined; attempt++) {
    const status = { ...now.status, notified: merged(now.status?.notified ?? [], changed, names) }
    const own = { client, type, fieldManager: FIELD_MANAGERS.sync, cache, signal }
    const outcome = await writeStatus({ ...own, object: now, status })
    if (outcome?.kind !== 'Conflict' || attempt === WRITE_ATTEMPTS) return void writtenOrThrow(outcome)
    const read: T | undefined = await client.get(type, { name, namespace }, { signal })
    now = read?.metadata.uid === object.metadata.uid ? read : undefined
  }
}
