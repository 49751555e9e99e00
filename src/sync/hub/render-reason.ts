// Whether a render that failed speaks about the commit, or only about the place where it should have run.
import type { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

export type RenderReason = 'PlanExceeded' | 'RenderFailed' | 'RenderUnavailable'

/** What another try may mend, no commit does. */
export function renderReason({ code, retry }: Pick<KubeNodeError, 'code' | 'retry'>): RenderReason {
  if (code === syncErrors.KN7060.code) return 'PlanExceeded'
  return retry === 'never' ? 'RenderFailed' : 'RenderUnavailable'
}
