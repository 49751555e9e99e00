// Untrusted text in Markdown: names and messages come from git, so commit authors choose them. Pure.
import { type CommitTitle, SHOWN_AUTHOR, SHOWN_SUBJECT, shortCommit } from '#api/protocol/commit-title.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import type { RichText } from './rich-text.ts'

/** Part of a line. */
export const shownPart = (text: string): string => printableLine(text).replaceAll('\t', ' ')

/** A forge resolves people (`@`), issues (`#`) and requests (`!`) after decoding HTML: a zero-width space goes behind each. */
const REFERENCES = '@#!'

export function escaped(text: string): string {
  return shownPart(text)
    .replaceAll(/[\\`*_{}[\]<>()#+!|~&@$]/g, (c) => `&#${c.charCodeAt(0)};${REFERENCES.includes(c) ? '&#8203;' : ''}`)
    .replaceAll(/\b(https?|ftp|mailto|www)(?=[:.])/gi, '$1&#8203;')
}

/** Object names are shorter, even with kind, group and namespace. */
const MOST_NAME_CHARS = 400

/** As code, with backquotes removed. */
export const code = (text: string): string =>
  `\`${text.trim() === '' ? '(no name)' : shownPart(shortened(text, MOST_NAME_CHARS)).replaceAll('`', "'").replaceAll('|', '\\|')}\``

/** Limit of an untrusted text. */
const MOST_TEXT_CHARS = 400

/** Names become code; untrusted text stays plain text. */
export const inMarkdown = (words: RichText): string =>
  words
    .map((part) => {
      if (typeof part === 'string') return part
      return 'name' in part ? code(part.name) : escaped(shortened(part.text, MOST_TEXT_CHARS))
    })
    .join('')

/** A commit with its title as text; only the hash is code. */
export const titled = (commit: string, { subject, author }: CommitTitle = {}): string =>
  [
    code(shortCommit(commit)),
    ...(subject === undefined ? [] : [`"${escaped(shortened(subject, SHOWN_SUBJECT))}"`]),
    ...(author === undefined ? [] : [`by ${escaped(shortened(author, SHOWN_AUTHOR))}`]),
  ].join(' ')

export const firstOf = (lines: readonly string[], most: number, mark = '✖'): readonly string[] =>
  lines.length <= most ? lines : [...lines.slice(0, most), `- ${mark} and ${lines.length - most} more`]
