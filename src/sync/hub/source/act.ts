// Carries out one action of the plan of a FleetSource; decides nothing.
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { release, type Release, type ReleaseInput } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'
import { without } from '#lib/without.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { applyToCluster, type ApplyReport } from '../../cluster/apply.ts'
import { HUB } from '../../release/tracks.ts'
import { actingUser } from '../source-writes.ts'
import type { SourceLoop } from './observe.ts'
import { type HubOrder, type SourceAction, hubKey } from './plan.ts'
import type { Seen } from './seen.ts'
import { isHubDone } from './status.ts'

type Done = ActionOutcome<ApplyReport | undefined>

const DONE: Done = { kind: 'Applied', object: undefined }

export async function act(
  loop: SourceLoop,
  action: SourceAction,
  { source }: Seen,
  signal: AbortSignal,
): Promise<Done> {
  if (action.isRetired && !(await isStill(loop.context.client, source, signal)))
    return outdated('the FleetSource changed since it was read')
  switch (action.kind) {
    case 'ApplyToHub':
      return { kind: 'Applied', object: await applyToHub(loop, source, action.order, signal) }
    case 'CreateRelease':
      await create(loop, action.release, signal)
      return DONE
    case 'DeleteReleases':
      await deleteReleases(loop.context.client, action.releases, signal)
      return DONE
    default:
      return assertNever(action)
  }
}

async function isStill(client: KubeClient, source: FleetSource, signal: AbortSignal): Promise<boolean> {
  const { metadata } = (await client.get(fleetSource, keyFrom(namespacedName(source)), { signal })) ?? {}
  return metadata?.uid === source.metadata.uid && metadata?.generation === source.metadata.generation
}

async function applyToHub(
  { context, locks, hub, hubDone, hubPassed }: SourceLoop,
  source: FleetSource,
  ordered: HubOrder,
  signal: AbortSignal,
): Promise<ApplyReport> {
  const { clock } = context
  const { track, commit, stamp, ...order } = without(ordered, 'digest')
  const done = hubKey(source, track)
  const mark = { commit, release: undefined, appliedAt: timestamp(clock.now()) }
  const report = await locks.run(`${HUB}/${done}`, () =>
    applyToCluster(hub.as(actingUser(source)), { ...order, mark, signal }),
  )
  // Objects that differ from their declaration are checked each time.
  if (!isHubDone(report)) hubDone.delete(done)
  else {
    if (hubDone.get(done)?.stamp !== stamp) hubPassed.add(namespacedName(source))
    hubDone.set(done, { stamp, at: clock.monotonic() })
  }
  return report
}

async function create({ context, releases }: SourceLoop, made: ReleaseInput, signal: AbortSignal): Promise<void> {
  try {
    const options = { fieldManager: FIELD_MANAGERS.sync, signal }
    releases.assume(await context.client.create(release, made as Release, options))
  } catch (error) {
    // An earlier create succeeded although its answer was lost: that Release is this one.
    if (!isAlreadyExists(error)) throw error
  }
}

/** A Release that was written or deleted since it was read is left for the next pass: a cleanup must not stop a commit. */
async function deleteReleases(client: KubeClient, old: readonly Release[], signal: AbortSignal): Promise<void> {
  for (const each of old) {
    const outcome = await deleteExactly(client, release, each, { signal })
    if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
  }
}
