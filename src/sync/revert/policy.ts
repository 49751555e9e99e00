// What a pipeline and a Release's status define about reverts. Pure.
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
  /** Title of that commit. */
  readonly title: CommitTitle
  readonly revertCommit: string
  /** The commit that reverted it, with its title. */
  readonly revertedBy: string
}

/** sync reverted it, and no user let it continue: none of it is applied any more. */
export const isReverted = ({ revertCommit, revert }: ReleaseStatus): boolean =>
  revertCommit !== undefined && revert?.overruledAt === undefined
