// The file with the programs that a hub deploys into Clusters, read again after each change: an upgrade of the hub replaces it while this program runs.
import { statSync } from 'node:fs'
import { IN_CLUSTER } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { filledIn } from '#controllers/cluster/programs/deploy.ts'
import { parseProgramObjects } from '#controllers/cluster/programs/objects.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { runErrors } from '../run/run-errors.ts'

/** The limit of the ConfigMap that the file comes from. */
const MOST_BYTES = 1024 * 1024

const AUTHORITY_PLACE = Buffer.from(IN_CLUSTER.artifactsAuthority).toString('base64')

type Read = { readonly objects: readonly KubeObject[] } | { readonly why: string }

/**
 * The function throws while the file is missing or invalid. `artifactsAuthority`: of the hub's own artifact servers, PEM in base64, as in a Secret; the installer,
 * who writes the file, does not know it.
 */
export function inClustersFile(file: string | undefined, artifactsAuthority?: string): () => readonly KubeObject[] {
  const values = new Map(artifactsAuthority === undefined ? [] : [[AUTHORITY_PLACE, artifactsAuthority]])
  let stamp: string | undefined
  let read: Read = { objects: [] }
  return () => {
    if (file === undefined) return []
    const now = stampOf(file)
    if (now === undefined || now !== stamp) read = readFile(file, values)
    stamp = now
    if ('why' in read) throw new KubeNodeError(runErrors.KN1002_inClusters({ file, why: read.why }))
    return read.objects
  }
}

function stampOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat && `${stat.ino}/${stat.mtimeMs}/${stat.size}`
}

function readFile(file: string, values: ReadonlyMap<string, string>): Read {
  try {
    const objects = parseProgramObjects(readBoundedText(file, MOST_BYTES))
    return { objects: filledIn(objects, values) as readonly KubeObject[] }
  } catch (error) {
    return { why: messageOf(error) }
  }
}
