// A commit as a mail for `git am`, and its lines for a page. Pure; no text from a user or cluster can end the message or start a file.
import { printableLine } from '#lib/printable.ts'
import type { DiffLine } from '../plan.ts'
import { unifiedLines } from '#forecast/plan/unified.ts'
import type { Edit } from './edit.ts'

export interface CommitMessage {
  readonly subject: string
  readonly reason: string
  readonly trailers: readonly string[]
  readonly author: string
  readonly email: string
  /** Milliseconds since 1970. */
  readonly at: number
}

const MOST_SUBJECT = 72

const oneLine = (text: string): string => printableLine(text.replace(/\s+/g, ' ').trim())

export const subjectOf = (text: string): string => oneLine(text).slice(0, MOST_SUBJECT)

/** The reason follows a fixed word: a line such as `---` or `diff --git` would end the message for git. */
export const messageText = ({ subject, reason, trailers }: CommitMessage): string =>
  `${[subject, '', `Reason: ${oneLine(reason)}`, ...(trailers.length === 0 ? [] : ['', ...trailers])].join('\n')}\n`

export function patchText(id: string, words: CommitMessage, edits: readonly Edit[]): string {
  const [, ...body] = messageText(words).split('\n')
  const date = new Date(words.at).toUTCString().replace('GMT', '+0000')
  return [
    `From ${id} Mon Sep 17 00:00:00 2001`,
    `From: ${words.author} <${words.email}>`,
    `Date: ${date}`,
    `Subject: [PATCH] ${words.subject}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=UTF-8',
    'Content-Transfer-Encoding: 8bit',
    ...body,
    '---',
    '',
    ...edits.flatMap(fileLines),
    '-- ',
    'kubenode',
    '',
  ].join('\n')
}

/** In the format of `git apply`. */
export const diffText = (edits: readonly Edit[]): string =>
  edits.length === 0 ? '' : `${edits.flatMap(fileLines).join('\n')}\n`

export const diffLines = (edits: readonly Edit[]): readonly DiffLine[] =>
  edits.flatMap((edit) => fileLines(edit).map((text): DiffLine => ({ tone: toneOf(text), text: printableLine(text) })))

const toneOf = (line: string): DiffLine['tone'] =>
  /^(diff --git|---|\+\+\+|new file)/.test(line)
    ? 'head'
    : line.startsWith('@@')
      ? 'place'
      : line.startsWith('+')
        ? 'added'
        : line.startsWith('-')
          ? 'removed'
          : 'same'

function fileLines({ path, before, after }: Edit): readonly string[] {
  return [
    `diff --git a/${path} b/${path}`,
    ...(before === undefined ? ['new file mode 100644'] : []),
    `--- ${before === undefined ? '/dev/null' : `a/${path}`}`,
    `+++ b/${path}`,
    ...unifiedLines(before ?? '', after),
  ]
}
