// Carries out the plan of a FleetSource, track by track; decides nothing.
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { release, type Release, type ReleaseInput } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom, namespacedName } from '#api/schema/object-name.ts'
import { timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { applyToCluster, type ApplyReport } from '../../cluster/apply.ts'
import { HUB } from '../../release/tracks.ts'
import { actingUser } from '../keys.ts'
import type { SourceLoop } from './observe.ts'
import { type HubOrder, type ReleasePlan, type SourcePlan, hubKey } from './plan.ts'
import type { Seen } from './seen.ts'
import { type TrackResult, isHubDone } from './status.ts'

export async function act(
  loop: SourceLoop,
  { source }: Seen,
  { tracks }: SourcePlan,
  signal: AbortSignal,
): Promise<readonly TrackResult[]> {
  const results: TrackResult[] = []
  for (const { track, hub, release: planned, isRetired } of tracks) {
    if (isRetired && !(await isStill(loop.context.client, source, signal))) break
    const report = hub && (await applyHub(loop, source, hub, signal))
    await declareRelease(loop, planned, signal)
    results.push({ track, report, release: planned })
  }
  return results
}

/** Nothing is deleted on the ground of an old reading: a track that was just added would look like one that was removed. */
async function isStill(client: KubeClient, source: FleetSource, signal: AbortSignal): Promise<boolean> {
  const { metadata } = (await client.get(fleetSource, keyFrom(namespacedName(source)), { signal })) ?? {}
  return metadata?.uid === source.metadata.uid && metadata?.generation === source.metadata.generation
}

async function applyHub(
  { context, locks, hub, hubDone }: SourceLoop,
  source: FleetSource,
  { track, commit, stamp, ...order }: HubOrder,
  signal: AbortSignal,
): Promise<ApplyReport> {
  const { clock } = context
  const done = hubKey(source, track)
  const mark = { commit, release: undefined, appliedAt: timestamp(clock.now()) }
  const report = await locks.run(`${HUB}/${done}`, () =>
    applyToCluster(hub.as(actingUser(source)), { ...order, mark, signal }),
  )
  // Objects that differ from their declaration are checked each time.
  if (isHubDone(report)) hubDone.set(done, { stamp, at: clock.monotonic() })
  else hubDone.delete(done)
  return report
}

function declareRelease(loop: SourceLoop, planned: ReleasePlan, signal: AbortSignal): Promise<void> {
  switch (planned.kind) {
    case 'Create':
      return create(loop, planned.release, signal)
    case 'Keep':
      return forget(loop, planned.forget, signal)
    case 'NoPipeline':
    case 'None':
      return Promise.resolve()
    default:
      return assertNever(planned)
  }
}

async function create({ context, releases }: SourceLoop, made: ReleaseInput, signal: AbortSignal): Promise<void> {
  try {
    const options = { fieldManager: FIELD_MANAGERS.sync, signal }
    releases.assume(await context.client.create(release, made as Release, options))
  } catch (error) {
    // An earlier create succeeded although its answer was lost: it is the release that this one would be.
    if (!isAlreadyExists(error)) throw error
  }
}

/** A Release that was written or deleted since it was read stays for the next pass: a clean-up must not stop a commit. */
async function forget({ context }: SourceLoop, old: readonly Release[], signal: AbortSignal): Promise<void> {
  for (const each of old) {
    const outcome = await deleteExactly(context.client, release, each, { signal })
    if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
  }
}
