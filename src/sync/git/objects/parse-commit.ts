// Hands commits to isomorphic-git after they were read within bounds: it gets the headers of one object, and no way to any other file. Its patterns take the
// square of the length of a name, and of line breaks in a message; so names are short, and the message is read here.
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import git from 'isomorphic-git'
import { withoutEnds } from '#lib/without-ends.ts'
import type { GitObject } from './object-store.ts'

const OBJECT_ID = /^[0-9a-f]{40}$/

type ParsedCommit = Awaited<ReturnType<typeof git.readCommit>>['commit']

const missing = (): never => {
  throw Object.assign(new Error('there is no such file'), { code: 'ENOENT' })
}

/** Name, address and time of a person: ten times the longest real one. */
const MAX_PERSON_BYTES = 1_024
const END_OF_HEADERS = '\n\n'

export async function parseCommit({ type, content }: GitObject): Promise<ParsedCommit> {
  const end = content.indexOf(END_OF_HEADERS)
  const headers = end < 0 ? content : content.subarray(0, end)
  requireShortPersons(headers)
  const all = Buffer.concat([headers, Buffer.from(END_OF_HEADERS)])
  const object = Buffer.concat([Buffer.from(`${type} ${all.length}\0`), all])
  const oid = createHash('sha1').update(object).digest('hex')
  const path = `/objects/${oid.slice(0, 2)}/${oid.slice(2)}`
  const loose = () => deflateSync(object, { level: 0 })
  const readFile = async (name: string) => (name.endsWith(path) ? loose() : missing())
  const none = async () => missing()
  const promises = {
    readFile,
    writeFile: none,
    unlink: none,
    readdir: none,
    mkdir: none,
    rmdir: none,
    stat: none,
    lstat: none,
    readlink: none,
    symlink: none,
  }
  const { commit } = await git.readCommit({ fs: { promises }, gitdir: '/', oid, cache: {} })
  // The parser leaves out what it does not find, whatever its types say.
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

/** As git shows it: without blank lines around it, and with one line break at its end. */
const messageIn = (text: string): string => `${withoutEnds(text.replaceAll('\r', ''), /\n/)}\n`

/** Of a commit, in seconds: its author writes any number, and beyond this one no date can be shown. */
const LATEST_SECONDS = 8.64e12
export const datedWithin = (seconds: number): number => Math.min(Math.max(seconds, -LATEST_SECONDS), LATEST_SECONDS)

/** What an annotated tag names. */
export const tagTarget = ({ content }: GitObject): string | undefined =>
  /^object ([0-9a-f]{40})\n/.exec(content.toString('latin1', 0, 64))?.[1]
