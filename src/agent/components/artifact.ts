// Downloads one artifact to the node: complete and with the expected digest, or not at all.
import { createHash, type Hash } from 'node:crypto'
import { KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { PARTIAL, makeFolderDurably } from '../files/durable.ts'
import { digestOf } from '../files/digest.ts'
import type { FileWriter, Files } from '../files/port.ts'
import { artifactFile, artifactsFolder, type NodeDir } from '../node-dir.ts'
import type { Fetcher } from './fetch.ts'
import { agentErrors } from '../agent-errors.ts'

export type Artifact = NonNullable<MachineComponentSpec['artifacts']>[number]

export interface Platform {
  readonly os: string
  readonly arch: string
}

export function artifactFor(spec: MachineComponentSpec, { os, arch }: Platform): Artifact | undefined {
  const ofOs = (spec.artifacts ?? []).filter((a) => a.os === os)
  return ofOs.find((a) => a.arch === arch) ?? ofOs.find((a) => a.arch === 'any')
}

export interface ArtifactDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly fetcher: Fetcher
}

/** Returns the path of the checked file. A file from an earlier run is hashed again before it is used. */
export async function bringArtifact(deps: ArtifactDeps, artifact: Artifact, signal: AbortSignal): Promise<string> {
  const path = artifactFile(deps.dir, artifact.sha256)
  if (await isWhole(deps.files, path, artifact)) return path
  const failures: unknown[] = []
  for (const place of [artifact.url, ...(artifact.mirrors ?? [])]) {
    try {
      await fetchTo(deps, place, artifact, path, signal)
      return path
    } catch (e) {
      if (signal.aborted) throw e
      failures.push(e)
    }
  }
  // A wrong digest from every source is final; anything temporary is retried.
  throw failures.find((e) => !isKubeNodeError(e) || e.retry !== 'never') ?? failures[0]
}

async function isWhole(files: Files, path: string, { sha256, size }: Artifact): Promise<boolean> {
  const stat = await files.stat(path)
  if (stat?.kind !== 'File' || stat.size !== size) return false
  return (await digestOf(files, path)) === sha256
}

async function fetchTo(
  deps: ArtifactDeps,
  place: string,
  artifact: Artifact,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const { files, dir, fetcher } = deps
  const { sha256, size } = artifact
  const partial = `${path}${PARTIAL}`
  await makeFolderDurably(files, artifactsFolder(dir))
  await files.remove(path)
  const { hash, bytes: from, writer } = await goOn(files, partial, size)
  let got = from
  try {
    for await (const chunk of fetcher.open(place, size, signal, from)) {
      hash.update(chunk)
      got += chunk.length
      await writer.write(chunk)
    }
    await writer.sync()
  } finally {
    await writer.close()
  }
  const digest = hash.digest('hex')
  if (got !== size || digest !== sha256) {
    // A short file can be resumed; a wrong one may be wrong from the first byte.
    if (got >= size) await files.remove(partial)
    // The beginning may come from another place. Otherwise a place with another file would keep every mirror from serving this one.
    if (got >= size && from > 0) return fetchTo(deps, place, artifact, path, signal)
    throw new KubeNodeError(
      agentErrors.KN8012({ place, got, digest: digest.slice(0, 12), size, sha256: sha256.slice(0, 12) }),
      // A dropped connection leaves a short file. If the file is complete, a retry gives the same digest.
      got < size ? { retry: 'later', data: { reason: 'FetchFailed' } } : { retry: 'never' },
    )
  }
  await files.rename(partial, path)
  return files.syncFolder(artifactsFolder(dir))
}

/** Resumes an earlier download. The digest of the whole file shows whether the pieces fit. */
async function goOn(
  files: Files,
  partial: string,
  size: number,
): Promise<{ readonly hash: Hash; readonly bytes: number; readonly writer: FileWriter }> {
  const hash = createHash('sha256')
  const stat = await files.stat(partial)
  if (files.append !== undefined && stat?.kind === 'File' && stat.size > 0 && stat.size < size) {
    for await (const chunk of files.stream(partial)) hash.update(chunk)
    return { hash, bytes: stat.size, writer: await files.append(partial) }
  }
  await files.remove(partial)
  return { hash, bytes: 0, writer: await files.create(partial, 0o600) }
}
