// What is one cause to a person: the commit that brought it, else the cause itself. The page groups by it, and the first line of Home counts by it. Pure.
import type { AttentionRow } from './topics.ts'

export const causeKey = ({
  commit,
  cause,
}: Pick<AttentionRow, 'cause'> & { readonly commit?: { readonly commit: string } }): string =>
  commit === undefined ? cause : `commit ${commit.commit}`
