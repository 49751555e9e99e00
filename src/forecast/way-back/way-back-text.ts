// The text of a set's way back: only the command on standard output, everything else on standard error. Pure.
import { assertNever, isKubeNodeError, messageOf } from '#lib/errors.ts'
import { type SetChange, changeText } from '#explain/rollout/commit.ts'
import type { PreparedWayBack } from './prepare-way-back.ts'
import { revertCommand } from './revert-search.ts'

interface Output {
  readonly out: string
  readonly err: string
}

/** A user who goes back in a hurry may be in any folder: to make a repository of it, as the error advises elsewhere, is no help. */
export const whyNotSearched = (error: unknown, folder: string): string =>
  isKubeNodeError(error) && error.code === 'KN1209' ? `${folder} is not the repository of a fleet` : messageOf(error)

export function wayBackLines(
  change: SetChange,
  revision: number,
  found: PreparedWayBack | { readonly error: string },
): Output {
  const what = `set/${change.set}: ${change.changes.join(', ')}\n`
  const byHand = changeText(change)
  if ('error' in found)
    return {
      out: byHand,
      err: `${what}cannot look for commits to revert: ${found.error}; write the components above, or run this in the repository of the fleet (--repo)\n`,
    }
  const { way, clusters } = found
  const where = clusters.join(', ')
  switch (way.kind) {
    case 'Reverts':
      return {
        out: `${revertCommand(way.commits)}\n`,
        err: `${what}tried in a copy: renders exactly revision ${revision} of set/${change.set} in ${where}\n`,
      }
    case 'Patch':
      return {
        out: way.text,
        err: `${what}no series of reverts gives revision ${revision}; this patch does, in ${where}. Apply it with: git apply --index\n`,
      }
    case 'Declared':
      return {
        out: '',
        err: `${what}the newest commit declares revision ${revision} already in ${where}; nothing to revert\n`,
      }
    case 'None':
      return {
        out: byHand,
        err:
          clusters.length === 0
            ? `${what}the newest commit declares set/${change.set} differently from this server; name the cluster with --cluster, or write the components above\n`
            : `${what}no way back to revision ${revision} in the last ${way.searched} commits; write the components above\n`,
      }
    default:
      return assertNever(way)
  }
}
