// Passes commits to isomorphic-git after they were read within limits: it gets the headers of one object. Its patterns take quadratic time in the length
// of a name and in the line breaks of a message. So names are limited, and the message is read here.
import git from 'isomorphic-git'
import { withoutEnds } from '#lib/without-ends.ts'
import { GIT_DIR, objectFiles } from './object-files.ts'
import { hashOf, type GitObject } from './object-store.ts'

const OBJECT_ID = /^[0-9a-f]{40}$/

type ParsedCommit = Awaited<ReturnType<typeof git.readCommit>>['commit']

/** Name, address and time of a person: ten times the longest real one. */
const MAX_PERSON_BYTES = 1_024
const END_OF_HEADERS = '\n\n'

export async function parseCommit({ type, content }: GitObject): Promise<ParsedCommit> {
  const end = content.indexOf(END_OF_HEADERS)
  const headers = end < 0 ? content : content.subarray(0, end)
  requireShortPersons(headers)
  const all = Buffer.concat([headers, Buffer.from(END_OF_HEADERS)])
  const oid = hashOf({ type, content: all })
  const fs = objectFiles({ objectOf: (id) => (id === oid ? { type, content: all } : undefined) })
  const { commit } = await git.readCommit({ fs, gitdir: GIT_DIR, oid, cache: {} })
  // The parser omits anything that it does not find, despite its types.
  const { author, committer, tree, parent }: Partial<ParsedCommit> = commit
  const isDated = Number.isSafeInteger(committer?.timestamp)
  if (author === undefined || !isDated || ![tree, ...(parent ?? [])].every((id) => OBJECT_ID.test(id ?? '')))
    throw new SyntaxError('it has no readable tree, parents, author or committer')
  return { ...commit, message: end < 0 ? '' : messageIn(content.toString('utf8', end + END_OF_HEADERS.length)) }
}

const PERSONS: ReadonlySet<string> = new Set(['author', 'committer'])
const NEWLINE = 0x0a

function requireShortPersons(headers: Buffer): void {
  for (let at = 0; at < headers.length;) {
    const found = headers.indexOf(NEWLINE, at)
    const end = found < 0 ? headers.length : found
    const [name = ''] = headers.toString('latin1', at, Math.min(end, at + 'committer '.length)).split(' ', 1)
    if (PERSONS.has(name) && end - at > MAX_PERSON_BYTES)
      throw new SyntaxError(`its ${name} is longer than ${MAX_PERSON_BYTES} bytes`)
    at = end + 1
  }
}

/** As git shows it: without surrounding blank lines, and with one line break at the end. */
const messageIn = (text: string): string => `${withoutEnds(text.replaceAll('\r', ''), /\n/)}\n`

/** Author time in seconds: an author can write any number, and beyond this one no date can be shown. */
const LATEST_SECONDS = 8.64e12
export const datedWithin = (seconds: number): number => Math.min(Math.max(seconds, -LATEST_SECONDS), LATEST_SECONDS)

/** The object that an annotated tag points to. */
export const tagTarget = ({ content }: GitObject): string | undefined =>
  /^object ([0-9a-f]{40})\n/.exec(content.toString('latin1', 0, 64))?.[1]
