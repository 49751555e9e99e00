// The pipeline of a Release as it was before its commit: a failing commit must not choose what happens next, and no commit may drop the gates that it has to pass.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { API_GROUP } from '#api/kind.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { releasePipeline, type ReleasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, type KubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { chainOf, releasesIn } from '../release/chain.ts'
import { mayHaveTouched } from '../release/history.ts'
import { HUB, splitByTrack } from '../release/tracks.ts'
import { withinScope } from '../sources/scope.ts'
import { revertPolicyOf, type RevertPolicy } from '../revert/policy.ts'
import { syncErrors } from '../sync-errors.ts'
import { renderReason, type RenderReason } from './render-reason.ts'
import type { Renders } from './renders.ts'

/** A pipeline before the Release's commit, and as the commit declares it. */
interface PipelinesOf {
  readonly before: ReleasePipelineSpec | undefined
  readonly own: ReleasePipelineSpec | undefined
}

interface Sources {
  readonly renders: Pick<Renders, 'render'>
  readonly releases: Pick<SharedInformer<Release>, 'list' | 'get'>
  readonly pipelines: Pick<SharedInformer<ReleasePipeline>, 'get'>
}

/** The pipeline that a Release goes through, or why it is unknown. */
export type InForce = { readonly spec: ReleasePipelineSpec } | Unread

interface Unread {
  readonly problem: string
  readonly reason: RenderReason
}

/** Reads earlier commits by rendering them; caches the result for an open Release until it ends. */
export class PipelinesBefore {
  readonly #from: Sources
  /** By uid of an open Release. */
  readonly #known = new Map<string, PipelinesOf>()

  constructor(from: Sources) {
    this.#from = from
  }

  /** Call when the Release has ended. */
  forget(uid: string): void {
    this.#known.delete(uid)
  }

  /** Undefined: the pipeline did not exist, or is unknown. */
  async revertPolicy(source: FleetSource, release: Release): Promise<RevertPolicy | undefined> {
    const { spec, metadata } = release
    if (spec.after === undefined) return undefined
    const id = { namespace: metadata.namespace ?? '', name: spec.pipeline }
    try {
      const [earlier = spec.after] = (await appliedOnHub(this.#from, source, changeOf(release))) ?? []
      const before = await declaredAt(this.#from, source, earlier, id)
      if (before !== undefined) return revertPolicyOf(before.spec)
      // If the commit adds the pipeline, it did not exist before.
      if ((await declaredAt(this.#from, source, spec.commit, id)) !== undefined) return undefined
    } catch (error) {
      if (!isKubeNodeError(error)) throw error
      return undefined
    }
    const live = this.#from.pipelines.get(id)
    return live === undefined ? undefined : revertPolicyOf(live.spec)
  }

  /**
   * As long as the hub has the commit's own pipeline, the stages and gates from before the commit apply: a commit cannot drop the gates that it has to
   * pass. A later change by another commit or a user counts.
   */
  async inForce(source: FleetSource, release: Release, live: ReleasePipeline): Promise<InForce> {
    const { uid = '' } = release.metadata
    const known = this.#known.get(uid)
    const read = known ?? (await readPipelines(this.#from, source, changeOf(release)))
    if ('problem' in read) return read
    this.#known.set(uid, read)
    return { spec: inForceOf(read, live, release.spec.commit) }
  }

  /**
   * Whether the track's objects for the hub wait for a stage, by the pipeline from before the commit. A commit that was followed before the stage existed
   * has already been applied, and a waiting commit keeps waiting.
   */
  async isHubStaged(source: FleetSource, { track, pipeline, commit }: TrackNow): Promise<boolean> {
    const { namespace = '', name = '' } = source.metadata
    const newest = chainOf(releasesIn(this.#from.releases.list(), namespace), { source: name, track }).at(-1)
    const wasStaged = newest?.spec.digests[HUB] !== undefined
    const live = this.#from.pipelines.get({ namespace, name: pipeline })
    if (live === undefined) return wasStaged
    if (!wasStaged && !hasHubStage(live.spec)) return false
    if (newest !== undefined && newest.spec.commit === commit) {
      if (!wasStaged) return false
      const inForce = await this.inForce(source, newest, live)
      return 'problem' in inForce || hasHubStage(inForce.spec)
    }
    const { rendered } = source.status ?? {}
    if (rendered === commit) return wasStaged
    const change = { namespace, source: name, track, pipeline, commit, after: rendered, previous: newest?.spec.commit }
    const read = await readPipelines(this.#from, source, change)
    return 'problem' in read ? wasStaged || hasHubStage(live.spec) : hasHubStage(inForceOf(read, live, commit))
  }
}

/** If the pipeline waits for a hub stage, it is not on the hub yet: then the live one is still the previous pipeline. */
function inForceOf({ before, own }: PipelinesOf, live: ReleasePipeline, commit: string): ReleasePipelineSpec {
  const changedBy = live.metadata.annotations?.[ANNOTATIONS.commit] ?? commit
  const isOwn = changedBy === commit && own !== undefined && isSame(own.stages, live.spec.stages)
  return before !== undefined && isOwn ? before : live.spec
}

type Stages = ReleasePipelineSpec['stages']

/** A server drops a list when an apply removes its last item: an author who declares an empty list must not look like a user who changed the pipeline. */
const isSame = (own: Stages, live: Stages): boolean =>
  canonicalJson(withoutEmpty(own)) === canonicalJson(withoutEmpty(live))

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (!isObject(value)) return value
  const fields = Object.entries(value).map(([key, field]) => [key, withoutEmpty(field)] as const)
  return Object.fromEntries(fields.filter(([, field]) => !isEmpty(field)))
}

const isEmpty = (value: unknown): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)

const hasHubStage = ({ stages }: ReleasePipelineSpec): boolean => stages.some(({ clusters }) => clusters.hub === true)

export interface TrackNow {
  readonly track: string
  readonly pipeline: string
  readonly commit: string
}

/** A commit of a track, with or without a Release. */
interface Change {
  readonly namespace: string
  readonly source: string
  readonly track: string
  readonly pipeline: string
  readonly commit: string
  /** The commit that was followed before. */
  readonly after: string | undefined
  /** The commit of the previous Release. */
  readonly previous: string | undefined
  /** Name of its Release, if there is one yet. */
  readonly release?: string
}

const changeOf = ({ metadata, spec }: Release): Change => ({
  namespace: metadata.namespace ?? '',
  source: spec.source,
  track: spec.track,
  pipeline: spec.pipeline,
  commit: spec.commit,
  after: spec.after,
  previous: undefined,
  ...defined({ release: metadata.name }),
})

function previousCommit({ releases }: Sources, { namespace, release, previous }: Change): string | undefined {
  if (release === undefined) return previous
  const name = releases.get({ namespace, name: release })?.spec.previous
  return name === undefined ? undefined : releases.get({ namespace, name })?.spec.commit
}

async function readPipelines(from: Sources, source: FleetSource, change: Change): Promise<PipelinesOf | Unread> {
  const { namespace, pipeline, commit } = change
  const id = { namespace, name: pipeline }
  let problem: Unread = { problem: '', reason: 'RenderFailed' }
  try {
    const applied = await appliedOnHub(from, source, change)
    const earlier = applied ?? [change.after, previousCommit(from, change)].filter((c) => c !== undefined)
    if (earlier.length === 0) return { before: undefined, own: undefined }
    // A followed commit that could not be rendered changed nothing, so the previous Release's commit counts.
    for (const each of new Set(earlier))
      try {
        const before = await declaredAt(from, source, each, id)
        const own = await declaredAt(from, source, commit, id)
        return { before: before && withDefaults(before.spec), own: own && withDefaults(own.spec) }
      } catch (error) {
        if (!isKubeNodeError(error)) throw error
        problem = problemOf(pipeline, each, error)
      }
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    problem = problemOf(pipeline, commit, error)
  }
  return problem
}

const problemOf = (pipeline: string, commit: string, error: KubeNodeError): Unread => ({
  problem: printableLine(numbered(syncErrors.KN7307({ pipeline, commit: shortCommit(commit), why: messageOf(error) }))),
  reason: renderReason(error),
})

/**
 * If the pipeline itself waits for a hub stage: the last commit whose pipeline got there. A commit that was followed but never passed changed nothing,
 * so the next commit is not bound by it. Undefined: it does not wait.
 */
async function appliedOnHub(
  from: Sources,
  source: FleetSource,
  { namespace, source: name, pipeline, commit, track, release }: Change,
): Promise<readonly string[] | undefined> {
  const all = releasesIn(from.releases.list(), namespace)
  const isStaged = (r: Release) => r.spec.digests[HUB] !== undefined
  // Without any such Release nothing needs to be rendered.
  if (!all.some((r) => r.spec.source === name && isStaged(r))) return undefined
  const declared = await declaredAt(from, source, commit, { namespace, name: pipeline })
  const chain = chainOf(all, { source: name, track: declared?.track ?? track })
  const at = chain.findIndex((r) => r.metadata.name === release)
  const earlier = chain.slice(0, at < 0 ? chain.length : at).filter((r) => r.spec.commit !== commit)
  const last = earlier.at(-1)
  if (last === undefined || !isStaged(last)) return undefined
  const reached = earlier.findLast((r) => !isStaged(r) || hasReachedHub(r))
  return reached === undefined ? [] : [reached.spec.commit]
}

const hasReachedHub = ({ status }: Release): boolean =>
  (status?.clusters ?? []).some((c) => c.name === HUB && mayHaveTouched(c))

const withDefaults = (spec: object): ReleasePipelineSpec =>
  (applyDefaults(releasePipeline.schema, { spec }) as { readonly spec: ReleasePipelineSpec }).spec

type DeclaredSpec = Partial<Pick<ReleasePipelineSpec, 'onFailure' | 'revert'>>

interface DeclaredPipeline {
  readonly spec: DeclaredSpec
  /** The track that contains the pipeline. */
  readonly track: string | undefined
}

async function declaredAt(
  { renders }: Sources,
  source: FleetSource,
  commit: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<DeclaredPipeline | undefined> {
  const { targets } = await renders.render(source, commit)
  const { tracks } = splitByTrack(withinScope(targets, source), source.spec.tracks)
  for (const [track, byTarget] of tracks) {
    const found = byTarget
      .get(HUB)
      ?.objects.find(
        ({ ref }) =>
          ref.group === API_GROUP &&
          ref.kind === releasePipeline.kind &&
          ref.name === name &&
          ref.namespace === namespace,
      )
    const spec = found?.object.spec
    // Every rendered object was validated as its kind.
    if (isObject(spec)) return { spec, track }
  }
  return undefined
}
