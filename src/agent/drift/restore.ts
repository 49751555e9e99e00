// Restores one file or link of a component in one rename, and keeps the modified version for users to inspect.
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { renewOriginal } from '../components/kept.ts'
import { isProgram, layoutOf } from '../components/layout.ts'
import { MANIFEST, describe, isAsDescribed, keptFile, type ManifestFile } from '../components/manifest.ts'
import { unpack, type SlotSink } from '../components/slot.ts'
import { artifactFor, type Platform } from '../components/artifact.ts'
import type { TarFileSink } from '#artifacts/oci/component-tar.ts'
import { digestOf } from '../files/digest.ts'
import { PARTIAL, makeFolderDurably, relink, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { artifactFile, currentLink, foreignFolder, onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import type { Finding, InUse } from './inspect.ts'
import { agentErrors } from '../agent-errors.ts'

export interface RestoreDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly platform: Platform
}

/** Limit per component; the oldest is deleted. */
const MAX_FOREIGN = 5
const MAX_FOREIGN_BYTES = 2 ** 20

export async function restoreLink(
  deps: RestoreDeps,
  { component }: InUse,
  finding: Finding & { kind: 'Link' },
): Promise<void> {
  const { files, dir } = deps
  const path = onNode(dir, finding.link.path)
  if ((await files.readLink(path)) === undefined) {
    // If a package was upgraded, handing the node back must restore the upgraded file, not the one from before.
    const isNewOriginal = isProgram(finding.link) && (await renewOriginal(deps, component, finding.link.path))
    if (!isNewOriginal) await keepForeign(deps, component, path)
  }
  const stat = await files.stat(path)
  // A link is replaced by rename. A folder in its place must be removed first, and the agent may only remove an empty one.
  if (stat?.kind === 'Directory')
    throw new KubeNodeError(agentErrors.KN8023_folder({ path: finding.link.path, component }))
  await relink(files, path, join(currentLink(dir, component), finding.link.inSlot))
}

export const restoreCurrent = ({ files, dir }: RestoreDeps, { component, slot }: InUse): Promise<void> =>
  relink(files, currentLink(dir, component), slotFolder(dir, component, slot))

/** Returns the new metadata. */
export async function restoreFile(deps: RestoreDeps, inUse: InUse, file: ManifestFile): Promise<ManifestFile> {
  const { files, dir } = deps
  const { component, slot } = inUse
  const folder = slotFolder(dir, component, slot)
  const path = join(folder, file.path)
  await keepForeign(deps, component, path)
  await files.remove(`${path}${PARTIAL}`)
  await makeFolderDurably(files, dirname(path))
  const sha256 = await writeOriginal(deps, inUse, file, `${path}${PARTIAL}`)
  if (sha256 !== file.sha256) {
    await files.remove(`${path}${PARTIAL}`)
    throw new KubeNodeError(agentErrors.KN8045({ path: file.path, component }))
  }
  await files.rename(`${path}${PARTIAL}`, path)
  await files.syncFolder(dirname(path))
  const placed = await describe(files, folder, file)
  // Another program may have replaced the file at the same moment: record only verified content, and check anything else again.
  const isOurs = (await digestOf(files, path)) === file.sha256
  return placed !== undefined && isOurs && isAsDescribed(placed, await files.stat(path)) ? placed : file
}

/** Copies a rendered file from its second copy, or reads the artifact again. */
async function writeOriginal(
  { files, dir, platform }: RestoreDeps,
  { component, slot, spec }: InUse,
  file: ManifestFile,
  to: string,
): Promise<string | undefined> {
  const kept = await files.read(join(slotFolder(dir, component, slot), keptFile(file.path)))
  if (kept !== undefined) {
    const sink = await fileSink(files, to, file.mode)
    await sink.write(kept)
    await sink.end()
    return sink.digest()
  }
  const artifact = artifactFor(spec, platform)
  if (artifact === undefined || (await files.stat(artifactFile(dir, artifact.sha256))) === undefined) return undefined
  let written: FileSink | undefined
  const only: SlotSink = {
    folder: async () => undefined,
    file: async (path) => {
      if (path !== file.path) return NOWHERE
      await files.remove(to)
      written = await fileSink(files, to, file.mode)
      return written
    },
  }
  await unpack(files, only, layoutOf(spec), artifactFile(dir, artifact.sha256))
  return written?.digest()
}

const NOWHERE: TarFileSink = { write: async () => undefined, end: async () => undefined }

interface FileSink extends TarFileSink {
  digest(): string
}

async function fileSink(files: Files, path: string, mode: number): Promise<FileSink> {
  const writer = await files.create(path, mode)
  const hash = createHash('sha256')
  let digest = ''
  return {
    write: async (chunk) => {
      hash.update(chunk)
      await writer.write(chunk)
    },
    end: async () => {
      await writer.sync()
      await writer.close()
      digest = hash.digest('hex')
    },
    digest: () => digest,
  }
}

/** Keeps only what fits a readable text; a program is identified by its digest. */
export async function keepForeign({ files, dir }: RestoreDeps, component: string, path: string): Promise<void> {
  const stat = await files.stat(path)
  if (stat?.kind !== 'File' || stat.size > MAX_FOREIGN_BYTES) return
  const content = await files.read(path)
  if (content === undefined) return
  const folder = foreignFolder(dir, component)
  const names = await files.list(folder)
  const last = names.reduce((n, name) => Math.max(n, Number.parseInt(name, 10) || 0), 0)
  await writeDurably(files, join(folder, `${String(last + 1).padStart(6, '0')}-${basename(path)}`), content, 0o600)
  for (const name of names.slice(0, Math.max(0, names.length + 1 - MAX_FOREIGN))) await files.remove(join(folder, name))
}

export async function rememberFiles({ files, dir }: RestoreDeps, { component, slot, manifest }: InUse): Promise<void> {
  await writeDurably(files, join(slotFolder(dir, component, slot), MANIFEST), JSON.stringify(manifest))
}
