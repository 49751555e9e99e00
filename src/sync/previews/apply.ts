// Applies what a branch declares for the template to the branch's own cluster only. The credentials come from that cluster's own authority, so no other
// server accepts them. Everything else that the branch declares is listed but not used.
import { commitText, type CommitTitle } from '#api/protocol/commit-title.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { refText } from '#delivery/object-ref.ts'
import { placedText, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import { applyToCluster } from '../cluster/apply.ts'
import { rest } from '../hub/connections.ts'
import type { HubShared } from '../hub/shared.ts'
import { refuseImpossible } from '../render/problems.ts'
import { withinScope } from '../sources/scope.ts'
import type { PreviewStatus } from './plan.ts'
import { defined } from '#lib/defined.ts'

interface BranchToApply {
  /** The source with the branch as its ref. */
  readonly source: FleetSource
  /** The commit that the source itself follows, rendered for the comparison. */
  readonly followed: Targets | undefined
  readonly template: string
  readonly commit: string
  readonly title: CommitTitle
  readonly cluster: Cluster
}

type Applied = Pick<PreviewStatus, 'phase' | 'message' | 'ignored'>

const TRACK = 'preview'
const NOTHING: RenderedTarget = { objects: [], rejected: [] }
const MAX_IGNORED = 5

export async function applyBranch(
  { context: { clock }, renders, connections, locks }: HubShared,
  { source, followed, template, commit, title, cluster }: BranchToApply,
  signal: AbortSignal,
): Promise<Applied> {
  const rendered = await renders.render(source, commit)
  refuseImpossible(commitText(commit, title), rendered)
  const target = withinScope(rendered.targets, source).get(template) ?? NOTHING
  const ignored = elsewhere(rendered.targets, followed, template)
  const named = ignored.length === 0 ? {} : { ignored }
  const { phase, waitingFor } = cluster.status ?? {}
  if (phase !== 'Ready')
    return { phase: 'Creating', message: waitingFor?.seen ?? `its cluster is ${phase ?? 'being made'}`, ...named }
  const { name = '' } = cluster.metadata
  const connection = await connections.to(cluster, undefined, signal)
  const { writes } = source.spec
  const { answer } = await locks.run(`${name}/${namespacedName(source)}/${TRACK}`, () =>
    applyToCluster(connection, {
      target,
      owner: { source: namespacedName(source), track: TRACK, target: 'Member', cluster: name },
      mark: { commit, release: undefined, appliedAt: timestamp(clock.now()) },
      // Nothing in the cluster outlives its branch, so deletions need no approval.
      config: {
        commit,
        prune: { enabled: true, guard: '100%' },
        drift: 'Correct',
        ...defined({ writes }),
      },
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
      signal,
    }),
  )
  rest(connection)
  if (answer.kind === 'Unreachable') return { phase: 'Applying', message: answer.message, ...named }
  const [refused] = target.rejected
  const trouble =
    refused !== undefined
      ? `${placedText(refused)}: ${refused.problem}`
      : (answer.failures[0] ?? (answer.isApplied ? undefined : 'its objects are being applied'))
  if (trouble !== undefined) return { phase: 'Applying', message: trouble, ...named }
  const [sick] = answer.failing
  return sick === undefined
    ? { phase: 'Ready', message: `commit ${commitText(commit, title)} is applied`, ...named }
    : { phase: 'Applying', message: `${sick.object}: ${sick.message}`, ...named }
}

/** A branch usually contains everything in the followed commit: report only what it adds or changes. */
function elsewhere(all: Targets, followed: Targets | undefined, template: string): readonly string[] {
  const news: string[] = []
  for (const [target, { objects, rejected }] of all) {
    if (target === template) continue
    const before = new Map(followed?.get(target)?.objects.map((o) => [refText(o.ref), o.digest]))
    const bad = new Set(followed?.get(target)?.rejected.map((r) => refText(r.ref)))
    for (const { ref, digest } of objects)
      if (before.get(refText(ref)) !== digest) news.push(`${target}: ${refText(ref)}`)
    for (const { ref } of rejected) if (!bad.has(refText(ref))) news.push(`${target}: ${refText(ref)}`)
  }
  return news.slice(0, MAX_IGNORED)
}
