// Follows one FleetSource: fetch, render, apply what belongs on the hub, and make a Release for each track whose objects changed.
// On any failure the last applied state stays in force, and the status reports the failure.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { release, type Release, type ReleaseInput } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { requeueAfter, done, type Outcome } from '#runtime/outcome.ts'
import { lookAtCluster, type LookReport } from '../cluster/look.ts'
import { revertedCommit } from '../git/revision.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import { refText } from '#delivery/object-ref.ts'
import { chainOf, releaseName, releasesToForget, sameDigests } from '../release/chain.ts'
import { pruneText } from '../release/cluster-phase.ts'
import { type RetiredTrack, retiredTracks } from '../release/retired-tracks.ts'
import { isInFleet, splitByTrack, targetDigest, withEmptied } from '../release/tracks.ts'
import { isWeakCage } from '../render/cage.ts'
import { refuseImpossible } from '../render/problems.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { standingProblem, withinScope } from '../sources/scope.ts'
import { actingUser, approvedDigests, clusterConfig, keyOf, keyParts, pausedBy, type HubParts } from './parts.ts'
import type { Fetched } from './renders.ts'

/** The target that is the hub itself: it has no stages, since everything else rests on it. */
export const HUB = 'hub'

type Condition = Omit<WantedCondition, 'observedGeneration'>
/** A message may quote a commit or a server: other programs print it, too. */
const condition =
  (status: 'True' | 'False') =>
  (type: string, reason: string, message: string): Condition => ({
    type,
    status,
    reason,
    message: printableLine(message),
  })
const good = condition('True')
const bad = condition('False')

/** What one pass found, for the status. */
interface Pass {
  readonly source: FleetSource
  readonly conditions: Condition[]
  fetched?: Fetched
  rendered?: {
    readonly tracks: ReadonlyMap<string, Targets>
    readonly problems: readonly string[]
    /** The combined declarations of all tracks for the hub. */
    readonly hub?: RenderedTarget
  }
  stopped?: true
  /** By track, deletions on the hub that the guard blocks. */
  readonly prunes: Map<string, HeldPrune>
}

/** How often the hub is compared with its commit, for changes by other clients. */
const LOOK_AGAIN_MS = 60_000
/** Even a failure that only a commit can fix needs polling, since a commit causes no event. */
const AT_LEAST_MS = 1_000

export async function reconcileSource(
  parts: HubParts,
  key: string,
  { signal, log }: ReconcileContext,
): Promise<Outcome> {
  const source = parts.sources.get(keyParts(key))
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) return done
  const { clock } = parts.context
  const pass: Pass = { source, conditions: [], prunes: new Map() }
  const paused = pausedBy(parts, source, clock.now())
  if (paused !== undefined) pass.conditions.push(good('Paused', 'HoldPause', paused))
  else {
    pass.conditions.push(bad('Paused', 'AsDeclared', 'not paused'))
    checkStanding(parts, pass)
    if (pass.stopped !== true) await fetch(parts, pass)
    await render(parts, pass)
    await declare(parts, pass, signal)
  }
  await report(parts, pass, signal)
  const trouble = troubleIn(pass.conditions)
  const told = source.status?.conditions?.find((c) => c.type === trouble?.type)?.message
  if (trouble !== undefined && told !== trouble.message)
    log.warn('source is out of sync', { reason: trouble.reason, detail: trouble.message })
  return requeueAfter(Math.max(AT_LEAST_MS, parseDuration(source.spec.interval)))
}

/** Of two sources that could overwrite each other only one is followed. */
function checkStanding(parts: HubParts, pass: Pass): void {
  const problem = standingProblem(pass.source, parts.sources.list())
  if (problem === undefined) return
  pass.conditions.push(bad('Rendered', 'InvalidSpec', numbered(problem)))
  pass.stopped = true
}

async function fetch(parts: HubParts, pass: Pass): Promise<void> {
  const { mode } = pass.source.spec.verify ?? { mode: 'None' }
  if (mode !== 'None') {
    // Unknown blocks: an unchecked signature counts as none.
    const text = `signature verification (mode ${mode}) is not supported yet; set verify.mode to None to follow unsigned commits`
    pass.conditions.push(bad('Fetched', 'UnverifiedCommit', text))
    pass.stopped = true
    return
  }
  try {
    pass.fetched = await parts.renders.fetch(pass.source)
    pass.conditions.push(good('Fetched', 'UpToDate', `at commit ${pass.fetched.commit.slice(0, 12)}`))
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    pass.conditions.push(bad('Fetched', 'FetchError', messageOf(error)))
    pass.stopped = true
  }
}

async function render(parts: HubParts, pass: Pass): Promise<void> {
  if (pass.fetched === undefined) return
  try {
    const result = await parts.renders.renderNewest(pass.source, pass.fetched.commit)
    refuseImpossible(pass.fetched.commit, result)
    const { targets: all, cage } = result
    const targets = withinScope(all, pass.source)
    const { tracks, unmatched } = splitByTrack(targets, pass.source.spec.tracks)
    const problems = [
      ...[...targets].flatMap(([target, t]) => t.rejected.map((r) => `${target}: ${refText(r.ref)}: ${r.problem}`)),
      ...unmatched.map((u) => `${u}: no track of the source matches it`),
    ]
    const hub = targets.get(HUB)
    pass.rendered = { tracks, problems, ...(hub !== undefined && { hub }) }
    const weak = isWeakCage(cage) ? '; in a weak cage: no namespaces on this machine' : ''
    const count = [...targets.values()].reduce((n, t) => n + t.objects.length, 0)
    const [first] = problems
    pass.conditions.push(
      first === undefined
        ? good('Rendered', 'AsDeclared', `${count} objects for ${targets.size} targets${weak}`)
        : bad(
            'Rendered',
            'InvalidSpec',
            `${problems.length} of ${count + problems.length} objects are not used: ${first}`,
          ),
    )
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    pass.conditions.push(bad('Rendered', 'RenderFailed', messageOf(error)))
    pass.rendered = { tracks: new Map(), problems: [messageOf(error)] }
    pass.stopped = true
  }
}

async function declare(parts: HubParts, pass: Pass, signal: AbortSignal): Promise<void> {
  const { fetched, rendered, source } = pass
  if (fetched === undefined || rendered === undefined || pass.stopped === true) return
  const applied: Condition[] = []
  for (const { name, pipelineRef } of source.spec.tracks) {
    const targets = rendered.tracks.get(name) ?? new Map<string, never>()
    applied.push(...(await applyHub(parts, pass, name, signal)))
    const failure = await declareRelease(
      parts,
      { source, fetched, track: name, pipeline: pipelineRef.name, targets, hub: rendered.hub },
      signal,
    )
    if (failure !== undefined) applied.push(failure)
  }
  for (const { name, pipeline } of await retired(parts, source, signal)) {
    applied.push(...(await applyHub(parts, pass, name, signal)))
    if (pipeline === undefined) continue
    const targets = new Map<string, never>()
    const failure = await declareRelease(
      parts,
      { source, fetched, track: name, pipeline, targets, hub: rendered.hub },
      signal,
    )
    if (failure !== undefined) applied.push(failure)
  }
  const failed = applied.find((c) => c.type === 'Applied')
  pass.conditions.push(failed ?? good('Applied', 'UpToDate', 'the hub is up to date, and every change has a Release'))
  const blocked = applied.find((c) => c.type === 'PruneBlocked')
  pass.conditions.push(blocked ?? bad('PruneBlocked', 'AsDeclared', 'no deletions pending'))
}

/** Nothing is deleted on the ground of an old reading: a track that was just added would look like one that was removed. */
async function retired(parts: HubParts, source: FleetSource, signal: AbortSignal): Promise<readonly RetiredTrack[]> {
  const { client } = parts.context
  const found = retiredTracks(source, parts.releases.list(), await shardsOnHub(parts, source, signal))
  if (found.length === 0) return found
  const { metadata } = (await client.get(fleetSource, keyParts(keyOf(source)), { signal })) ?? {}
  return metadata?.uid === source.metadata.uid && metadata?.generation === source.metadata.generation ? found : []
}

/** Read when the source changed, and otherwise as often as the hub is compared: a removed track leaves its objects until they are deleted. */
async function shardsOnHub(parts: HubParts, source: FleetSource, signal: AbortSignal): Promise<readonly Inventory[]> {
  const { clock } = parts.context
  const [done, stamp] = [`${keyOf(source)}/`, String(source.metadata.generation ?? 0)]
  const last = parts.hubDone.get(done)
  if (last?.stamp === stamp && clock.monotonic() - last.at < LOOK_AGAIN_MS) return []
  const shards = await listAll(parts.hub.as(actingUser(source)).program, inventory, { signal })
  if (retiredTracks(source, [], shards).length === 0) parts.hubDone.set(done, { stamp, at: clock.monotonic() })
  return shards
}

async function applyHub(
  parts: HubParts,
  pass: Pass,
  track: string,
  signal: AbortSignal,
): Promise<readonly Condition[]> {
  const { source, fetched, rendered } = pass
  if (fetched === undefined || rendered === undefined) return []
  const { clock } = parts.context
  const done = `${keyOf(source)}/${track}`
  const stamp = `${fetched.commit} ${source.metadata.generation ?? 0}`
  const last = parts.hubDone.get(done)
  if (last?.stamp === stamp && clock.monotonic() - last.at < LOOK_AGAIN_MS) return []
  const target = rendered.tracks.get(track)?.get(HUB) ?? { objects: [], rejected: [] }
  const others = [...rendered.tracks].filter(([name]) => name !== track)
  const order = {
    target,
    owner: { source: keyOf(source), track },
    mark: { commit: fetched.commit, release: undefined, appliedAt: timestamp(clock.now()) },
    config: clusterConfig(source, fetched.commit),
    elsewhere: new Set(others.flatMap(([, t]) => (t.get(HUB)?.objects ?? []).map((o) => refText(o.ref)))),
    approved: new Set(approvedDigests(parts, clock.now()).keys()),
    needs: { machines: false, repairs: false },
    signal,
  }
  const report = await parts.locks.hold(`${HUB}/${done}`, () => lookAtCluster(parts.hub.as(actingUser(source)), order))
  const held = report.plan?.blocked
  if (held !== undefined) pass.prunes.set(track, held)
  const conditions = hubConditions(report, source.metadata.name ?? '')
  // Objects that differ from their declaration are checked each time.
  if (conditions.length === 0) parts.hubDone.set(done, { stamp, at: clock.monotonic() })
  else parts.hubDone.delete(done)
  return conditions
}

function hubConditions({ look, plan }: LookReport, source: string): readonly Condition[] {
  const out: Condition[] = []
  if (look.kind === 'Unreachable') out.push(bad('Applied', look.because, `hub: ${look.message}`))
  else if (look.failures[0] !== undefined) out.push(bad('Applied', 'ApplyFailed', `hub: ${look.failures[0]}`))
  const blocked = plan?.blocked
  if (blocked !== undefined) {
    const text = `hub: ${pruneText(blocked)}; to allow it: kubenode approve source/${source} (digest ${blocked.digest})`
    out.push(good('PruneBlocked', 'PruneGuard', text))
  }
  return out
}

interface Declaration {
  readonly source: FleetSource
  readonly fetched: Fetched
  readonly track: string
  readonly pipeline: string
  readonly targets: Targets
  readonly hub: RenderedTarget | undefined
}

/** Creates the Release when the objects differ from those of the newest one; creating it twice gives the same one. */
async function declareRelease(parts: HubParts, d: Declaration, signal: AbortSignal): Promise<Condition | undefined> {
  const { source, fetched, track, pipeline, hub } = d
  const { namespace = '', name: sourceName = '' } = source.metadata
  const all = parts.releases.list().filter((r) => r.metadata.namespace === namespace)
  const chain = chainOf(all, { source: sourceName, track })
  const newest = chain.at(-1)
  const isStill = (name: string) =>
    isInFleet(name, { declared: hub, live: parts.clusters.get({ namespace, name }), source: keyOf(source) })
  const targets = withEmptied(d.targets, newest?.spec.digests ?? {}, isStill)
  const entries = [...targets].filter(([target]) => target !== HUB).map(([name, t]) => [name, targetDigest(t)] as const)
  const digests = Object.fromEntries(entries)
  if (newest === undefined ? entries.length === 0 : sameDigests(newest.spec.digests, digests)) {
    await forget(parts, chain, d, signal)
    return undefined
  }
  const known = parts.pipelines.get({ namespace, name: pipeline })
  if (known === undefined)
    return bad('Applied', 'ReferenceMissing', `track ${track}: ReleasePipeline ${namespace}/${pipeline} not found`)
  const names = new Set(all.map((r) => r.metadata.name ?? ''))
  const revertOf = revertedCommit((await fetched.repository.commit(fetched.commit)).message)
  const made: ReleaseInput = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Release',
    metadata: { name: releaseName(track, fetched.commit, (n) => names.has(n)), namespace },
    spec: {
      source: sourceName,
      track,
      pipeline,
      commit: fetched.commit,
      digests,
      changed: Object.entries(digests).filter(([k, v]) => newest?.spec.digests[k] !== v).length,
      ...(revertOf === undefined ? {} : { revertOf }),
      ...(newest?.metadata.name === undefined ? {} : { previous: newest.metadata.name }),
    },
  }
  try {
    const created = await parts.context.client.create(release, made as Release, {
      fieldManager: FIELD_MANAGERS.sync,
      signal,
    })
    parts.releases.assume(created)
  } catch (error) {
    // An earlier create succeeded although its answer was lost: it is the release that this one would be.
    if (!isAlreadyExists(error)) throw error
  }
  return undefined
}

async function forget(
  parts: HubParts,
  chain: readonly Release[],
  { source, pipeline }: Declaration,
  signal: AbortSignal,
): Promise<void> {
  const keep = parts.pipelines.get({ namespace: source.metadata.namespace, name: pipeline })?.spec.keep
  // A Release that was written or deleted since it was read stays for the next pass: a clean-up must not stop a commit.
  for (const old of keep === undefined ? [] : releasesToForget(chain, keep)) {
    const outcome = await deleteExactly(parts.context.client, release, old, { signal })
    if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
  }
}

/** Lists in a status are short: the first entries are enough to start with. */
const MAX_ERRORS = 10
const MAX_ERROR_CHARS = 1_024

async function report(parts: HubParts, pass: Pass, signal: AbortSignal): Promise<void> {
  const { context } = parts
  const { source, fetched, rendered } = pass
  const now = context.clock.now()
  const { generation } = source.metadata
  const before = source.status
  const wanted = [...pass.conditions, overall(pass.conditions)].map((c) =>
    generation === undefined ? c : { ...c, observedGeneration: generation },
  )
  const commit = fetched?.commit ?? before?.commit
  const isNew = fetched !== undefined && fetched.commit !== before?.commit
  const errors = rendered === undefined ? before?.renderErrors : rendered.problems.slice(0, MAX_ERRORS)
  const status = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(commit === undefined ? {} : { commit }),
    ...(isNew ? { fetchedAt: timestamp(now) } : before?.fetchedAt === undefined ? {} : { fetchedAt: before.fetchedAt }),
    tracks: tracksOf(parts, pass),
    ...(pass.prunes.size === 0 ? {} : { prunes: [...pass.prunes].map(([track, held]) => ({ name: track, held })) }),
    ...(errors === undefined || errors.length === 0
      ? {}
      : { renderErrors: errors.map((e) => printableLine(e).slice(0, MAX_ERROR_CHARS)) }),
    conditions: setConditions(before?.conditions, wanted, now),
  }
  const own = { client: context.client, type: fleetSource, fieldManager: FIELD_MANAGERS.sync, cache: parts.sources }
  writtenOrThrow(await writeStatus({ ...own, object: source, status, signal }))
}

const MUST_HOLD: ReadonlySet<string> = new Set(['Fetched', 'Rendered', 'Applied'])
const troubleIn = (conditions: readonly Condition[]) =>
  conditions.find((c) => c.status === 'False' && MUST_HOLD.has(c.type))

function overall(conditions: readonly Condition[]): Condition {
  const trouble = troubleIn(conditions)
  if (trouble !== undefined) return bad('Ready', trouble.reason, trouble.message)
  const paused = conditions.find((c) => c.type === 'Paused' && c.status === 'True')
  return paused === undefined
    ? good('Ready', 'UpToDate', 'the newest commit is rendered and has its Releases')
    : bad('Ready', paused.reason, paused.message)
}

function tracksOf({ releases }: HubParts, { source, rendered }: Pass) {
  const { namespace, name: sourceName = '' } = source.metadata
  const all = releases.list().filter((r) => r.metadata.namespace === namespace)
  return source.spec.tracks.map(({ name }) => {
    const chain = chainOf(all, { source: sourceName, track: name })
    const newest = chain.at(-1)
    const last = chain.findLast((r) => r.status?.phase === 'Succeeded')
    const targets = rendered?.tracks.get(name)
    const before = source.status?.tracks?.find((t) => t.name === name)?.objects
    const objects = targets === undefined ? before : [...targets.values()].reduce((n, t) => n + t.objects.length, 0)
    return {
      name,
      ...(newest === undefined ? {} : { commit: newest.spec.commit, release: newest.metadata.name ?? '' }),
      ...(last === undefined ? {} : { appliedCommit: last.spec.commit }),
      ...(objects === undefined ? {} : { objects }),
    }
  })
}
