// A commit's display name: short hash, subject and author, sanitized and bounded. The author controls the last two.
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

/** From a commit message, and an author without the email address. */
export function commitTitle(message: string, author: string): CommitTitle {
  const subject = cleaned(message.trimStart().split('\n', 1)[0] ?? '', MAX_SUBJECT)
  const name = cleaned(author.split('<', 1)[0] ?? '', MAX_AUTHOR)
  return { ...(subject !== '' && { subject }), ...(name !== '' && { author: name }) }
}

/** Within a sentence: a condition's message has 200 characters. Records keep more. */
export const SHOWN_SUBJECT = 72
export const SHOWN_AUTHOR = 30

const SHORT = 12

/** For commands, separate columns, and places where only the hash may be known; people read commitText. */
export const shortCommit = (commit: string): string => commit.slice(0, SHORT)

/** `3f1c9e0a7b5d "beacon 1.1.0" by Ada`; just the hash if nothing else is known. */
export const commitText = (commit: string, { subject, author }: CommitTitle): string =>
  [
    shortCommit(commit),
    ...(subject === undefined ? [] : [`"${cleaned(subject, SHOWN_SUBJECT)}"`]),
    ...(author === undefined ? [] : [`by ${cleaned(author, SHOWN_AUTHOR)}`]),
  ].join(' ')

/** For a commit that one of these Releases carries out. */
export const titledCommit = (commit: string, releases: readonly Pick<Release, 'spec'>[]): string =>
  commitText(commit, releases.find(({ spec }) => spec.commit === commit && spec.subject !== undefined)?.spec ?? {})

/** A FleetSource's newest commit that may be followed. A refused one has no title, because nothing of it is read. */
export const newestCommitText = ({
  commit = '',
  subject,
  author,
}: CommitTitle & { readonly commit?: string }): string => commitText(commit, defined({ subject, author }))
