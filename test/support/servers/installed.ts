// What KubeNode installs into a cluster, for the many tests that need it: its YAML takes a second to parse, so one test process does that and the others read
// JSON. The copy belongs to these very files: an edit makes a new one.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { StorageBackend } from '#apiserver/storage/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { preparedStorage } from './prepared.ts'
import { type Manifests, manifestsOf } from '#delivery/release-manifests.ts'
import { installManifests } from '#programs/local/install.ts'

const ROOT = join(import.meta.dirname, '../../..')
const DEPLOY = join(ROOT, 'deploy')
const CACHE = join(ROOT, 'node_modules/.cache/kubenode-tests')

let known: Manifests | undefined

export function manifests(): Manifests {
  known ??= kept() ?? parsed()
  return known
}

/** Kinds, roles and policies. */
export const installAll = (client: KubeClient, isHub = true): Promise<void> =>
  installManifests(client, manifests(), systemClock, isHub)

const asHub = (client: KubeClient): Promise<void> => installAll(client)
const asMember = (client: KubeClient): Promise<void> => installAll(client, false)

/** Of a server in memory in which that is installed. */
export const installedStorage = (isHub = true): Promise<StorageBackend> => preparedStorage(isHub ? asHub : asMember)

function file(): string {
  const hash = createHash('sha256')
  for (const folder of ['crds', 'install', 'hub'])
    for (const name of readdirSync(join(DEPLOY, folder)).toSorted()) {
      const { size, mtimeMs } = statSync(join(DEPLOY, folder, name))
      hash.update(`${folder}/${name} ${size} ${mtimeMs}\n`)
    }
  return join(CACHE, `manifests-${hash.digest('hex').slice(0, 16)}.json`)
}

function kept(): Manifests | undefined {
  try {
    return JSON.parse(readFileSync(file(), 'utf8')) as Manifests
  } catch {
    return undefined
  }
}

function parsed(): Manifests {
  const manifests = manifestsOf(DEPLOY)
  const path = file()
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(manifests))
    renameSync(`${path}.${process.pid}`, path)
  } catch {
    // A checkout that this user cannot write to: each process parses for itself.
  }
  return manifests
}
