// The file with the programs that a hub deploys into Clusters, read again after each change: an upgrade of the hub replaces it while this program runs.
import { statSync } from 'node:fs'
import type { KubeObject } from '#api/schema/object.ts'
import { parseProgramObjects } from '#controllers/cluster/programs/objects.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { runErrors } from '../run/run-errors.ts'

/** The limit of the ConfigMap that the file comes from. */
const MOST_BYTES = 1024 * 1024

type Read = { readonly objects: readonly KubeObject[] } | { readonly why: string }

/** The function throws while the file is missing or invalid. */
export function inClustersFile(file: string | undefined): () => readonly KubeObject[] {
  let stamp: string | undefined
  let read: Read = { objects: [] }
  return () => {
    if (file === undefined) return []
    const now = stampOf(file)
    if (now === undefined || now !== stamp) read = readFile(file)
    stamp = now
    if ('why' in read) throw new KubeNodeError(runErrors.KN1002_inClusters({ file, why: read.why }))
    return read.objects
  }
}

function stampOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat && `${stat.ino}/${stat.mtimeMs}/${stat.size}`
}

function readFile(file: string): Read {
  try {
    return { objects: parseProgramObjects(readBoundedText(file, MOST_BYTES)) }
  } catch (error) {
    return { why: messageOf(error) }
  }
}
