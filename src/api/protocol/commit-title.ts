// How a commit is called for people: the short hash, its subject and its author, cleaned and bounded. The last two come from the author.
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import { MAX_AUTHOR, MAX_SUBJECT } from '../commit-limits.ts'
import type { Release } from '../kinds/release.ts'

export interface CommitTitle {
  readonly subject?: string
  readonly author?: string
}

const cleaned = (text: string, most: number): string =>
  shortened(printableLine(text.replaceAll(/\s+/g, ' ').trim()), most)

/** From a message, and an author without the address. */
export function commitTitle(message: string, author: string): CommitTitle {
  const subject = cleaned(message.trimStart().split('\n', 1)[0] ?? '', MAX_SUBJECT)
  const name = cleaned(author.split('<', 1)[0] ?? '', MAX_AUTHOR)
  return { ...(subject !== '' && { subject }), ...(name !== '' && { author: name }) }
}

/** Within a sentence: the message of a condition has 200 characters. Records keep more. */
export const SHOWN_SUBJECT = 72
export const SHOWN_AUTHOR = 30

const SHORT = 12

/** For a command to type, a column of its own, and where nothing but the hash may be known; people read commitText. */
export const shortCommit = (commit: string): string => commit.slice(0, SHORT)

/** `3f1c9e0a7b5d "beacon 1.1.0" by Ada`; the hash alone where nothing else is known. */
export const commitText = (commit: string, { subject, author }: CommitTitle): string =>
  [
    shortCommit(commit),
    ...(subject === undefined ? [] : [`"${cleaned(subject, SHOWN_SUBJECT)}"`]),
    ...(author === undefined ? [] : [`by ${cleaned(author, SHOWN_AUTHOR)}`]),
  ].join(' ')

/** Of a commit that one of these Releases carries out. */
export const titledCommit = (commit: string, releases: readonly Pick<Release, 'spec'>[]): string =>
  commitText(commit, releases.find(({ spec }) => spec.commit === commit && spec.subject !== undefined)?.spec ?? {})

/** What a FleetSource says of the newest commit that it may follow. One that was refused has no title: nothing of it is read. */
export const newestCommitText = ({
  commit = '',
  subject,
  author,
}: CommitTitle & { readonly commit?: string }): string => commitText(commit, defined({ subject, author }))
