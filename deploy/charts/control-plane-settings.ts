// Settings of the control planes of Clusters on a hub: of each flavor that the hub serves, where it keeps them and what it runs.
import { bool, fallback, freeform, int, list, obj, optional, setOf, str, type Out } from '#api/build.ts'
import { LEAST_EVERY_MS } from '#api/cluster-mistakes.ts'
import { PARTS } from '#api/constructs/control-plane/settings.ts'
import type { Finding } from '#api/extras.ts'
import { duration, objectName, quantity } from '#api/fields.ts'
import { parseVersionFile } from '#controlplanes/kubernetes/version-file.ts'
import { durationMs, formatDuration } from '#lib/duration.ts'
import { cidr, MAX_LIST } from './setting-fields.ts'

const MAX_VERSION = 64
const MAX_ROWS = 200
const MAX_RANGES = 100
const MAX_IMAGES_BYTES = 4_096

const version = (doc: string) => str(doc, { min: 1, max: MAX_VERSION })

const row = obj('One version of Kubernetes, with every image by digest.', {
  version: version('Version of Kubernetes, such as 1.36.2.'),
  etcd: version('Version of etcd, such as 3.6.6.'),
  emulatesFrom: int('Oldest minor whose behavior the programs can keep.', { min: 0, max: 1_000 }),
  images: freeform(`Image of each part by digest: ${PARTS.join(', ')}.`, { maxBytes: MAX_IMAGES_BYTES }),
})

const kubernetes = obj('Flavor kubernetes: the programs of Kubernetes as workloads of the hub.', {
  versions: list('Versions that the hub runs. A Cluster with another one waits.', row, { min: 1, max: MAX_ROWS }),
  hubNetworks: optional(
    list(
      'Ranges of the pods, Services and nodes of the hub, which API servers of control planes must not call; read from its Nodes when left out.',
      cidr('A range of addresses.'),
      { max: MAX_RANGES },
    ),
  ),
  openNetworks: fallback(
    list('Ranges within them that stay open, such as a webhook on the hub.', cidr('A range of addresses.'), {
      max: MAX_RANGES,
    }),
    [],
  ),
  storageClass: optional(
    objectName('Storage class of new control planes whose Cluster names none; the default of the hub when left out.'),
  ),
  resources: optional(
    obj('What each part of a new control plane requests whose Cluster declares no resources.', {
      cpu: optional(quantity('Processors.')),
      memory: optional(quantity('Memory.')),
    }),
  ),
  snapshots: optional(
    obj('Schedule of snapshots of Clusters that declare none and have no time to live.', {
      every: fallback(duration('Time from one to the next, at least 5m.'), '6h'),
      keep: fallback(int('How many are kept.', { min: 1, max: 7 }), 4),
    }),
  ),
})

const planes = obj(
  'Control planes of Clusters on the hub, of the flavors that are listed: `claim` for embedded, `kubernetes` for kubernetes. Clusters of another flavor wait.',
  {
    claim: optional(
      objectName('Flavor embedded: PersistentVolumeClaim (ReadWriteOnce) in kubenode-system with their data and keys.'),
    ),
    kubernetes: optional(kubernetes),
    most: fallback(
      int('How many of flavor embedded there are at most; each takes a port from 20000 on, and some 20 MiB.', {
        min: 1,
        max: 200,
      }),
      50,
    ),
    perProcess: fallback(
      int(
        'How many share a process; one that is stuck is ended with those beside it. Each process takes some 70 MiB.',
        {
          min: 1,
          max: 200,
        },
      ),
      50,
    ),
    tenantsApart: fallback(bool('No process serves control planes of Clusters of two namespaces.'), false),
    address: optional(
      str(
        'Name by which clients reach their ports; that of the Service kubenode-control-planes, which pods of the hub reach, when left out.',
        {
          min: 1,
          max: 253,
          pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
          expects: 'a host name or an IPv4 address',
        },
      ),
    ),
    from: fallback(
      setOf('Addresses that may reach them; everybody when empty.', cidr('A range of addresses.'), {
        max: MAX_LIST,
      }),
      [],
    ),
  },
)

export const controlPlanes = optional(planes)
export type ControlPlanes = Out<typeof planes>

/** Flavors that an installation with these settings serves. */
export const flavorsOf = (of: ControlPlanes | undefined): readonly string[] => [
  ...(of?.claim === undefined ? [] : ['embedded']),
  ...(of?.kubernetes === undefined ? [] : ['kubernetes']),
]

/** What role `cluster` reads, and what the policy for images reads. */
export function versionFileText(of: ControlPlanes['kubernetes']): string | undefined {
  if (of === undefined) return undefined
  const { storageClass, resources, snapshots, ...rest } = of
  const defaults = {
    ...(storageClass !== undefined && { storageClass }),
    ...(resources !== undefined && { resources }),
    ...(snapshots !== undefined && { snapshots }),
  }
  return `${JSON.stringify({ ...rest, ...(Object.keys(defaults).length > 0 && { defaults }) }, null, 2)}\n`
}

/** Rules between fields. */
export function controlPlaneProblems(of: ControlPlanes | undefined): readonly Finding[] {
  if (of === undefined) return []
  const found: Finding[] = []
  const add = (pointer: string, message: string): void => void found.push({ pointer, message })
  if (flavorsOf(of).length === 0)
    add('/controlPlanes', 'needs claim (flavor embedded), kubernetes (flavor kubernetes), or both')
  const text = versionFileText(of.kubernetes)
  const read = text === undefined ? undefined : parseVersionFile(text)
  if (read !== undefined && 'problems' in read)
    for (const problem of read.problems) add('/controlPlanes/kubernetes', problem)
  const every = of.kubernetes?.snapshots?.every
  if (every !== undefined && !((durationMs(every) ?? 0) >= LEAST_EVERY_MS))
    add('/controlPlanes/kubernetes/snapshots/every', `must be at least ${formatDuration(LEAST_EVERY_MS)}`)
  return found
}
