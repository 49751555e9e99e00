// The credentials of one control plane of Kubernetes programs: created, renewed and rotated in Secrets of its namespace. A rotation phase ends once all its
// programs run with the previous phase's credentials; phases pause during a version change or a restore.
import { memberHosts, type EtcdPlace } from '#api/constructs/control-plane/etcd.ts'
import { credentials, type CredentialInputs } from '../credentials/graph.ts'
import { bundleOf, rootIn, sealingKeysIn, type Held } from '../credentials/held.ts'
import { keepCredentials } from '../credentials/keep.ts'
import { ownCredentials } from '../credentials/own.ts'
import { CLUSTER_AUTHORITY, ENCRYPTION_KEY } from '../credentials/recipe.ts'
import type { Sealed, ServerReports } from '../credentials/rotation.ts'
import { heldIn } from '../credentials/secrets.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { defined } from '#lib/defined.ts'
import { addressIn } from '#lib/range-address.ts'
import type { OwnCredentials, RotationRequest } from '../port.ts'
import { ENCRYPTION_SECRET, readEncryptionKeys } from './encryption-keys.ts'
import { credentialSettings, secretFiles, type SecretFiles } from './mounted-secrets.ts'
import { programsWith, type Place } from './plane-objects.ts'
import { urlOf } from './plane-of.ts'
import { planeNamespace, sealsAll, type PlaneRecord } from './plane-record.ts'
import { kubernetesRecipe } from './recipe.ts'

export interface CredentialTools {
  readonly place: Place
  readonly now: () => number
  readonly rotation: RotationRequest | undefined
}

/** What the host reports about them. */
export interface PlaneCredentials {
  /** PEM of the authorities of clients and servers. */
  readonly ca: string
  /** Left out while something is missing. */
  readonly own?: OwnCredentials
  /** Number of the key that seals the store. */
  readonly sealsWith?: number
}

const SECRETS = coreKind('Secret')

export async function keepPlaneCredentials(
  tools: CredentialTools,
  record: PlaneRecord,
): Promise<{ readonly files: SecretFiles } | { readonly why: string }> {
  const inputs = inputsOf(tools, record)
  if (inputs === undefined) return { why: 'its address is not settled' }
  const older = await lostKey(tools, record)
  if (older !== undefined) return { why: older }
  const keeping = { ...tools.place, now: tools.now, hasServed: record.isFounded === true }
  let kept = await keepCredentials(keeping, inputs)
  // Compares programs with the previous state: with "0 of 0" every phase would pass before the first pod trusts the new one.
  if (kept.kind === 'Kept' && kept.graph.rotations.length > 0) {
    const { serverDigest } = kept.graph
    const servers = await serversOf(tools, record, kept.held, serverDigest)
    if (servers !== undefined) kept = await keepCredentials(keeping, { ...inputs, servers })
  }
  if (kept.kind === 'Damaged')
    return { why: `Secrets cannot be read, or are missing: ${kept.secrets.join(', ')}; restore them from a backup` }
  if (kept.kind !== 'Kept') return { why: kept.why }
  const files = secretFiles(kept.held)
  return files === undefined ? { why: 'credentials are being made' } : { files }
}

/** A Secret from an older backup: a different key would be created under the number of the one that encrypts Secrets in etcd. */
async function lostKey({ place }: CredentialTools, record: PlaneRecord): Promise<string | undefined> {
  const known = [sealsAll(record), ...record.snapshots.map(({ sealedWith }) => sealedWith)]
  const needed = known.filter((number) => number !== undefined)
  if (needed.length === 0) return undefined
  const [name, { namespace }] = [ENCRYPTION_SECRET, place]
  const keys = await readEncryptionKeys(place.client, namespace)
  if (keys === undefined) {
    // If it has served, every missing Secret is listed.
    if (record.isFounded === true) return undefined
    const snapshots = record.snapshots.map((s) => s.name).join(', ')
    return `Secret ${name}, with which Secrets in snapshot ${snapshots} are encrypted, is missing or damaged; restore it from a backup, or delete namespace ${namespace} with the snapshot`
  }
  const lost = needed.find((number) => keys.generations.every((key) => key.number !== number))
  return lost === undefined
    ? undefined
    : `Secret ${name} lacks key ${lost}, with which Secrets in etcd are encrypted; restore it from a newer backup`
}

export async function seenCredentials(
  tools: CredentialTools,
  record: PlaneRecord,
): Promise<PlaneCredentials | undefined> {
  const { client, namespace, signal } = tools.place
  const { held } = heldIn(await listAll(client, SECRETS, { namespace, ...defined({ signal }) }))
  const root = rootIn(held, CLUSTER_AUTHORITY)
  if (root === undefined) return undefined
  const inputs = inputsOf(tools, record)
  const ca = bundleOf(root)
  if (inputs === undefined || secretFiles(held) === undefined) return { ca }
  let graph = credentials(inputs, tools.now(), held)
  const servers = graph.rotations.length === 0 ? undefined : await serversOf(tools, record, held, graph.serverDigest)
  if (servers !== undefined) graph = credentials({ ...inputs, servers }, tools.now(), held)
  const { signs } = sealingKeysIn(held, ENCRYPTION_KEY) ?? {}
  return { ca, own: ownCredentials(held, graph), ...defined({ sealsWith: signs }) }
}

/** Undefined for a control plane whose programs change for another reason. */
async function serversOf(
  { place }: CredentialTools,
  record: PlaneRecord,
  held: Held,
  digest: string | undefined,
): Promise<ServerReports | undefined> {
  const files = secretFiles(held)
  if (files === undefined || digest === undefined || isBusy(record)) return undefined
  const { credentials: wanted } = credentialSettings(files)
  const { total, current } = await programsWith(place, { cluster: record.id, credentials: wanted })
  return { total, running: Array.from({ length: current }, () => digest) }
}

const isBusy = ({ isStopped, restoring, upgrade }: PlaneRecord): boolean =>
  isStopped || restoring !== undefined || upgrade !== undefined

/** A starting rotation restarts etcd's members: if one is missing, the serving ones only keep their majority while none of them restarts. */
const isShort = ({ isFounded, unready }: PlaneRecord): boolean => isFounded === true && unready.etcd !== undefined

/** Assumes nothing about the programs. An authority in the last third of its life gets a successor that is trusted next to it, and keeps signing. */
function inputsOf({ rotation }: CredentialTools, record: PlaneRecord): CredentialInputs | undefined {
  const { address, shape, id } = record
  if (address === undefined) return undefined
  const namespace = planeNamespace(id)
  return {
    recipe: kubernetesRecipe({ etcdHosts: etcdHosts({ namespace, etcd: shape.etcd }) }),
    endpoint: urlOf(address),
    hosts: [`kube-apiserver.${namespace}.svc`, firstOf(shape.network.services)],
    declared: isBusy(record) || isShort(record) ? {} : (rotation?.declared ?? {}),
    servers: undefined,
    agents: rotation?.agents,
    sealed: sealedOf(record),
  }
}

/** A restore brings back content sealed with an older key. */
function sealedOf(record: PlaneRecord): Sealed {
  const { snapshots, taking, sealed } = record
  const [all, failed] = [sealsAll(record), sealed?.failed]
  return {
    ...(all !== undefined && { all: { with: all } }),
    ...(failed !== undefined && { left: { objects: failed.objects, why: failed.why } }),
    snapshots: [...snapshots, ...(taking === undefined ? [] : [taking])].map(({ name, sealedWith }) => ({
      name,
      ...defined({ with: sealedWith }),
    })),
  }
}

/** The address of `kubernetes.default` in the cluster. */
const firstOf = (range: string): string => addressIn(range, 1)

/**
 * In the certificates of members. A member looks up every name in the certificate of another one, and accepts it only from the address of one of them: a wildcard
 * has none. A single member has no others, and keeps the certificate that it has.
 */
export const etcdHosts = (settings: EtcdPlace): readonly string[] => [
  ...(settings.etcd.members === 1 ? [`*.etcd.${settings.namespace}.svc`] : memberHosts(settings)),
  'localhost',
  '127.0.0.1',
]
