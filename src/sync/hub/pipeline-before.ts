// The pipeline of a Release as it was before its commit: a commit that fails does not choose what happens then.
import { API_GROUP } from '#api/kind.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { withinScope } from '../sources/scope.ts'
import { revertPolicyOf, type RevertPolicy } from '../revert/policy.ts'
import { HUB } from './source/seen.ts'
import type { HubParts } from './parts.ts'

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
