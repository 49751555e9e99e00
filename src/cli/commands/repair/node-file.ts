// One node's break-glass file, created and deleted in the node's own folder without a server.
import { randomUUID } from 'node:crypto'
import { access, rename, rm, stat, writeFile } from 'node:fs/promises'
import { timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { configFile, frozenFile, joinFile, nodeDir, type NodeDir } from '#agent/node-dir.ts'
import { holdErrors } from './hold-errors.ts'

/** Otherwise a mistyped folder would seem to be a frozen node. */
async function nodeFolder(path: string): Promise<NodeDir> {
  const dir = nodeDir(path)
  const marks = [dir.state, joinFile(dir), configFile(dir)]
  const found = await Promise.all(marks.map((mark) => access(mark).then(isThere, isNotThere)))
  if (found.includes(true)) return dir
  throw new KubeNodeError(holdErrors.KN1112_freeze({ path }))
}

const isThere = (): boolean => true
const isNotThere = (): boolean => false

export interface NodeFreeze {
  readonly reason: string
  readonly author: string
}

/** Returns the file's path. A second freeze updates the reason. */
export async function freezeNode(path: string, { reason, author }: NodeFreeze, now: number): Promise<string> {
  const file = frozenFile(await nodeFolder(path))
  const fresh = `${file}.${randomUUID()}`
  try {
    await writeFile(fresh, `${reason.replaceAll(/\s+/g, ' ').trim()} (${author}, ${timestamp(now)})\n`, { flag: 'wx' })
    await rename(fresh, file)
  } finally {
    await rm(fresh, { force: true })
  }
  return file
}

/** Returns the deleted file's path; undefined if there was none. */
export async function thawNode(path: string): Promise<string | undefined> {
  const file = frozenFile(await nodeFolder(path))
  if (!(await stat(file).then(isThere, isNotThere))) return undefined
  await rm(file)
  return file
}
