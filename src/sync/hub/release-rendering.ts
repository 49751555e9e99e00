// Renders the commit of a Release again, and checks that the result still matches the Release.
import type { Cluster } from '#api/kinds/cluster.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { declaredRefs, splitByTrack, targetFor } from '../release/tracks.ts'
import { clustersIn, withTurns } from '../release/turns.ts'
import { standingProblem, withinScope } from '../sources/scope.ts'
import { syncErrors } from '../sync-errors.ts'
import { renderReason, type RenderReason } from './render-reason.ts'
import type { Work } from './release-work.ts'
import type { HubShared } from './shared.ts'

export interface Rendering {
  readonly targets: Targets
  /** By target: what the source declares in other tracks. */
  readonly elsewhere: (target: string) => ReadonlySet<string>
  /** What the source declares for a target: the hub may be one of the clusters. */
  readonly declaredFor: (target: string) => ReadonlySet<string>
  /** Clusters that the source declares, in any of its tracks. */
  readonly clusters: ReadonlyMap<string, Cluster>
}

/** After a restart the commit is rendered again; the result must equal the Release's content. */
export async function rendering(
  { renders, sources }: Pick<HubShared, 'sources'> & { readonly renders: Pick<HubShared['renders'], 'render'> },
  { release, source }: Pick<Work, 'release' | 'source'>,
): Promise<Rendering | { readonly problem: string; readonly reason: RenderReason }> {
  try {
    const { targets } = await renders.render(source, release.spec.commit)
    const standing = standingProblem(source, sources.list())
    if (standing !== undefined) return { problem: numbered(standing), reason: 'RenderFailed' }
    const { tracks } = splitByTrack(withinScope(targets, source), source.spec.tracks)
    // A track that the source dropped declares nothing; its Release that deletes everything is still carried out.
    const own = withTurns(tracks.get(release.spec.track) ?? new Map<string, RenderedTarget>(), {
      namespace: release.metadata.namespace ?? '',
      had: (name) => release.spec.digests[name] !== undefined,
    })
    const wanted = new Map<string, RenderedTarget>()
    for (const [name, digest] of Object.entries(release.spec.digests)) {
      const target = targetFor(own, name, digest)
      if (target === undefined)
        return {
          reason: 'RenderFailed',
          problem: tracks.has(release.spec.track)
            ? `commit ${commitText(release.spec.commit, release.spec)} now renders different objects for ${name} than when the Release was created`
            : `the source no longer has track ${release.spec.track}`,
        }
      wanted.set(name, target)
    }
    const { namespace = '' } = release.metadata
    const clusters = new Map(
      [...tracks.values()].flatMap((t) => clustersIn(t, namespace).map((c) => [c.metadata.name ?? '', c] as const)),
    )
    const others = [...tracks].filter(([name]) => name !== release.spec.track)
    const elsewhere = (target: string) =>
      new Set(others.flatMap(([, t]) => (t.get(target)?.objects ?? []).map((o) => refText(o.ref))))
    return { targets: wanted, elsewhere, declaredFor: (target) => declaredRefs(tracks, target), clusters }
  } catch (error) {
    // A newer commit ended the render, or the process ends: neither is about this Release.
    if (!isKubeNodeError(error) || error.code === syncErrors.KN3001_newer.code) throw error
    return { problem: printableLine(messageOf(error)), reason: renderReason(error) }
  }
}
