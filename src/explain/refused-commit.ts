// What ends the refusal of a commit that cannot be followed as it is: another commit, and where one revert is all of it, that revert. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { shortCommit } from '#api/protocol/commit-title.ts'
import { revertCommand } from '#runtime/waiting.ts'

/** Reasons for which the content of the commit is wrong. */
const OF_CONTENT: ReadonlySet<string> = new Set(['RenderFailed', 'InvalidSpec', 'ApplyFailed'])

/** The sentence, as statuses phrase it; undefined if another commit does not help, or what broke the fleet is unknown. */
export function endOfRefusal({ commit, rendered, revert }: NonNullable<FleetSource['status']>, reason: string) {
  if (commit === undefined || !OF_CONTENT.has(reason)) return undefined
  if (revert !== undefined) return `a commit corrects it, or takes it back: ${revertCommand(commit, revert)}`
  return rendered === undefined || rendered === commit
    ? undefined
    : `a commit corrects it, or reverts what broke it (git log ${shortCommit(rendered)}..${shortCommit(commit)})`
}
