// What a pipeline and the status of a Release say about reverts. Pure.
import type { ReleaseStatus } from '#api/kinds/release.ts'
import type { CommitTitle } from '#api/protocol/commit-title.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'

export type Exemption = NonNullable<NonNullable<ReleasePipelineSpec['revert']>['exempt']>[number]

export interface RevertPolicy {
  readonly onFailure: 'Pause' | 'Revert'
  readonly to: 'Branch' | 'Direct'
  readonly branchPrefix: string
  readonly exempt: ReadonlySet<Exemption>
}

/** A rendered object has no defaults yet. */
export function revertPolicyOf({
  onFailure,
  revert,
}: Partial<Pick<ReleasePipelineSpec, 'onFailure' | 'revert'>>): RevertPolicy {
  return {
    onFailure: onFailure === 'Revert' ? 'Revert' : 'Pause',
    to: revert?.to === 'Direct' ? 'Direct' : 'Branch',
    branchPrefix: revert?.branchPrefix ?? 'revert/',
    exempt: new Set(revert?.exempt ?? []),
  }
}

export interface RevertedBefore {
  readonly commit: string
  /** What that commit is called. */
  readonly title: CommitTitle
  readonly revertCommit: string
  /** The commit that reverted it, as people call it. */
  readonly revertedBy: string
}

/** Reverted by sync, and no person let it continue: nothing of it is applied any more. */
export const isReverted = ({ revertCommit, revert }: ReleaseStatus): boolean =>
  revertCommit !== undefined && revert?.overruledAt === undefined
