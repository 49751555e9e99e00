// Hands commits to isomorphic-git after they were read within bounds: it gets the bytes of one object, and no way to any other file.
import { deflateSync } from 'node:zlib'
import git from 'isomorphic-git'
import type { GitObject } from './object-store.ts'

const OBJECT_ID = /^[0-9a-f]{40}$/

type ParsedCommit = Awaited<ReturnType<typeof git.readCommit>>['commit']

const missing = (): never => {
  throw Object.assign(new Error('there is no such file'), { code: 'ENOENT' })
}

export async function parseCommit(oid: string, { type, content }: GitObject): Promise<ParsedCommit> {
  const path = `/objects/${oid.slice(0, 2)}/${oid.slice(2)}`
  const loose = () => deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]), { level: 0 })
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
  return commit
}

/** Of a commit, in seconds: its author writes any number, and beyond this one no date can be shown. */
const LATEST_SECONDS = 8.64e12
export const datedWithin = (seconds: number): number => Math.min(Math.max(seconds, -LATEST_SECONDS), LATEST_SECONDS)

/** What an annotated tag names. */
export const tagTarget = ({ content }: GitObject): string | undefined =>
  /^object ([0-9a-f]{40})\n/.exec(content.toString('latin1', 0, 64))?.[1]
