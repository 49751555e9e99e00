// Copies of files and trees that are complete or absent, with mode and owner.
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { digestOf } from '../files/digest.ts'
import { orRemoved, PARTIAL } from '../files/durable.ts'
import type { Files, Owner } from '../files/port.ts'

export interface CopyAs {
  readonly mode: number
  readonly owner?: Owner | undefined
  /** The digest of the content; any other content is rejected. */
  readonly sha256?: string
}

/** Replaces a file or a link in one rename. */
export async function copyFile(files: Files, from: string, to: string, as: CopyAs): Promise<string> {
  const partial = `${to}${PARTIAL}`
  await files.remove(partial)
  const sha256 = await orRemoved(files, partial, async () => {
    const found = await writeCopy(files, from, partial, as)
    if (as.sha256 !== undefined && as.sha256 !== found) throw new KubeNodeError(agentErrors.KN8037_copy({ path: to }))
    await files.rename(partial, to)
    return found
  })
  await files.syncFolder(dirname(to))
  return sha256
}

/**
 * Like `copyFile`, but keeps times and extended attributes, and copies a link as a link. Returns false, and copies nothing, where the medium does not
 * support it.
 */
export async function copyWhole(files: Files, from: string, to: string, sha256?: string): Promise<boolean> {
  const partial = `${to}${PARTIAL}`
  await files.remove(partial)
  if ((await files.copyWhole?.(from, partial)) !== true) return false
  await orRemoved(files, partial, async () => {
    if (sha256 !== undefined && (await digestOf(files, partial)) !== sha256)
      throw new KubeNodeError(agentErrors.KN8037_copy({ path: to }))
    await files.rename(partial, to)
  })
  await files.syncFolder(dirname(to))
  return true
}

async function writeCopy(files: Files, from: string, to: string, { mode, owner }: CopyAs): Promise<string> {
  const writer = await files.create(to, mode, owner)
  const hash = createHash('sha256')
  try {
    for await (const chunk of files.stream(from)) {
      hash.update(chunk)
      await writer.write(chunk)
    }
    await writer.sync()
  } finally {
    await writer.close()
  }
  return hash.digest('hex')
}

/** Replacing a link with a folder takes two steps. A resumed copy finds neither and starts over. */
export async function copyTree(files: Files, from: string, to: string): Promise<void> {
  const partial = `${to}${PARTIAL}`
  await files.remove(partial)
  await orRemoved(files, partial, () => fillFolder(files, from, partial))
  await files.remove(to)
  await files.rename(partial, to)
  await files.syncFolder(dirname(to))
}

async function fillFolder(files: Files, from: string, to: string): Promise<void> {
  await files.makeFolder(to)
  for (const name of await files.list(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    const stat = await files.stat(source)
    if (stat?.kind === 'Directory') await fillFolder(files, source, target)
    else if (stat?.kind === 'Link') await files.link(target, (await files.readLink(source)) ?? '')
    else if (stat?.kind === 'File') await writeCopy(files, source, target, { mode: stat.mode })
  }
  await files.syncFolder(to)
}
