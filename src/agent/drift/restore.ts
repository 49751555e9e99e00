// Puts one thing of a component back as it was installed, in one rename, and keeps what was there instead for people to look at.
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { layoutOf } from '../components/layout.ts'
import { MANIFEST, describe, isAsDescribed, keptFile, type ManifestFile } from '../components/manifest.ts'
import { unpack, type SlotSink } from '../components/slot.ts'
import { artifactFor, type Platform } from '../components/artifact.ts'
import type { TarFileSink } from '../components/tar.ts'
import { digestOf } from '../files/digest.ts'
import { PARTIAL, makeFolderDurably, relink, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { artifactFile, currentLink, foreignFolder, onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import type { Finding, InUse } from './look.ts'
import { agentErrors } from '../agent-errors.ts'

export interface RestoreDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly platform: Platform
}

/** Of one component; the oldest goes. */
const MAX_FOREIGN = 5
const MAX_FOREIGN_BYTES = 2 ** 20

export async function restoreLink(
  deps: RestoreDeps,
  { component }: InUse,
  finding: Finding & { kind: 'Link' },
): Promise<void> {
  const { files, dir } = deps
  const path = onNode(dir, finding.link.path)
  if ((await files.readLink(path)) === undefined) await keepForeign(deps, component, path)
  const stat = await files.stat(path)
  // A link is renamed over; a folder in its place has to go first, and only an empty one is anybody's to remove.
  if (stat?.kind === 'Directory') throw new KubeNodeError(agentErrors.KN8044({ path: finding.link.path, component }))
  await relink(files, path, join(currentLink(dir, component), finding.link.inSlot))
}

/** Answers what the file system says of it now. */
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
  // Somebody may have exchanged it in the same moment: only what is read as ours is remembered as ours, anything else is looked at again.
  const isOurs = (await digestOf(files, path)) === file.sha256
  return placed !== undefined && isOurs && isAsDescribed(placed, await files.stat(path)) ? placed : file
}

/** From the second copy of a rendered file, or once more out of the artifact. */
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

/** Never larger than a text that a person would read; programs are known by their digest. */
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
