// How a commit is called for people: the short hash, its subject and its author, cleaned and bounded. The last two come from the author.
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import { MAX_AUTHOR, MAX_SUBJECT } from '../kinds/release.ts'

export interface CommitTitle {
  readonly subject?: string
  readonly author?: string
}

const cleaned = (text: string, most: number): string =>
  shortened(printableLine(text.replaceAll(/\s+/g, ' ').trim()), most)

/** From a message, and an author without the address. */
export function commitTitle(message: string, author: string): CommitTitle {
  const subject = cleaned(message.trimStart().split('\n', 1)[0] ?? '', MAX_SUBJECT)
  const name = cleaned(author.replace(/<[^>]*>?\s*$/, ''), MAX_AUTHOR)
  return { ...(subject !== '' && { subject }), ...(name !== '' && { author: name }) }
}

/** `3f1c9e0a7b5d "beacon 1.1.0" by Ada`; the hash alone where nothing else is known. */
export const commitText = (commit: string, { subject, author }: CommitTitle): string =>
  [
    commit.slice(0, 12),
    ...(subject === undefined ? [] : [`"${printableLine(subject)}"`]),
    ...(author === undefined ? [] : [`by ${printableLine(author)}`]),
  ].join(' ')
