// The pipeline of a Release as it was before its commit: a commit that fails does not choose what happens then.
import { API_GROUP } from '#api/kind.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { releasePipeline, type ReleasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { applyDefaults } from '#schema/default.ts'
import { withinScope } from '../sources/scope.ts'
import { revertPolicyOf, type RevertPolicy } from '../revert/policy.ts'
import { syncErrors } from '../sync-errors.ts'
import { HUB } from './source/seen.ts'
import type { HubParts, PipelinesOf } from './parts.ts'

/** Undefined: it did not exist, or cannot be known. */
export async function revertPolicyBefore(
  parts: HubParts,
  source: FleetSource,
  { spec, metadata }: Release,
): Promise<RevertPolicy | undefined> {
  if (spec.after === undefined) return undefined
  const id = { namespace: metadata.namespace ?? '', name: spec.pipeline }
  try {
    const before = await declaredAt(parts, source, spec.after, id)
    if (before !== undefined) return revertPolicyOf(before)
    // One that the commit brings was not there before.
    if ((await declaredAt(parts, source, spec.commit, id)) !== undefined) return undefined
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return undefined
  }
  const live = parts.pipelines.get(id)
  return live === undefined ? undefined : revertPolicyOf(live.spec)
}

/** The pipeline that a Release goes through, or why it cannot be known. */
export type InForce = { readonly spec: ReleasePipelineSpec } | { readonly problem: string }

/**
 * Stages and gates are those from before the commit as long as what is on the hub is its own: a commit cannot drop the gates that it has to pass. What another commit
 * or a user has changed since counts.
 */
export async function pipelineInForce(
  parts: HubParts,
  source: FleetSource,
  release: Release,
  live: ReleasePipeline,
): Promise<InForce> {
  const { uid = '' } = release.metadata
  const known = parts.pipelinesBefore.get(uid)
  const read = known ?? (await readPipelines(parts, source, release))
  if ('problem' in read) return read
  parts.pipelinesBefore.set(uid, read)
  const { before, own } = read
  const isOwn = own !== undefined && canonicalJson(own) === canonicalJson(live.spec)
  return { spec: before !== undefined && isOwn ? before : live.spec }
}

async function readPipelines(
  parts: HubParts,
  source: FleetSource,
  { spec, metadata }: Release,
): Promise<PipelinesOf | { readonly problem: string }> {
  const { namespace = '' } = metadata
  const id = { namespace, name: spec.pipeline }
  const previous = spec.previous === undefined ? undefined : parts.releases.get({ namespace, name: spec.previous })
  const earlier = [spec.after, previous?.spec.commit].filter((commit) => commit !== undefined)
  let problem = ''
  if (earlier.length === 0) return { before: undefined, own: undefined }
  // A commit that was followed and could not be rendered changed nothing: the one of the Release before counts.
  for (const commit of new Set(earlier))
    try {
      const before = await declaredAt(parts, source, commit, id)
      const own = await declaredAt(parts, source, spec.commit, id)
      return { before: before && withDefaults(before), own: own && withDefaults(own) }
    } catch (error) {
      if (!isKubeNodeError(error)) throw error
      problem = numbered(
        syncErrors.KN7307({ pipeline: spec.pipeline, commit: commit.slice(0, 12), why: messageOf(error) }),
      )
    }
  return { problem: printableLine(problem) }
}

const withDefaults = (spec: object): ReleasePipelineSpec =>
  (applyDefaults(releasePipeline.schema, { spec }) as { readonly spec: ReleasePipelineSpec }).spec

type DeclaredSpec = Partial<Pick<ReleasePipelineSpec, 'onFailure' | 'revert'>>

async function declaredAt(
  { renders }: HubParts,
  source: FleetSource,
  commit: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<DeclaredSpec | undefined> {
  const { targets } = await renders.render(source, commit)
  const { objects = [] } = withinScope(targets, source).get(HUB) ?? {}
  const found = objects.find(
    ({ ref }) =>
      ref.group === API_GROUP && ref.kind === releasePipeline.kind && ref.name === name && ref.namespace === namespace,
  )
  const spec = found?.object.spec
  // Every rendered object was validated as its kind.
  return isObject(spec) ? spec : undefined
}
