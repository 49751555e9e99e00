// Clients for the clusters, made from the kubeconfigs in the hub's Secrets. Recreated when a Secret changes, closed when the Cluster is deleted.
import { X509Certificate } from 'node:crypto'
import type { Cluster } from '#api/kinds/cluster.ts'
import {
  ANNOTATIONS,
  hostedKubeconfigKey,
  KUBECONFIG_KEY,
  kubeconfigSecretName,
  syncSecretsNamespace,
} from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { connectTo, type ClusterConnection } from '#delivery/connection.ts'
import type { SyncContext } from './context.ts'
import { syncErrors } from '../sync-errors.ts'

export const SECRET = coreKind('Secret')
/** Keys of the kubeconfig when the reference names none. */
const DEFAULT_KEYS = ['value', 'kubeconfig'] as const
/** How often the Secret is read. */
const TRUST_MS = 30_000

interface Known {
  readonly connection: ClusterConnection
  /** The Cluster and its reference that the connection was made for. */
  readonly by: string
  readonly stamp: string
  readonly checkedAt: number
  readonly config: ConnectionConfig
}

export class Connections {
  readonly #context: Pick<SyncContext, 'client' | 'clock' | 'connect'>
  readonly #known = new Map<string, Known>()

  readonly #isThere: (id: string) => boolean

  /** `isThere`: whether the hub has a Cluster with this `namespace/name`. */
  constructor(context: Pick<SyncContext, 'client' | 'clock' | 'connect'>, isThere: (id: string) => boolean) {
    this.#context = context
    this.#isThere = isThere
  }

  /** With a user, the source's objects are read and written as that user. Throws when it cannot connect; the first call shows whether the cluster answers. */
  async to(cluster: Cluster, user: string | undefined, signal?: AbortSignal): Promise<ClusterConnection> {
    const { clock, client, connect } = this.#context
    const { namespace = '', name = '' } = cluster.metadata
    const id = `${namespace}/${name}`
    const cached = user === undefined ? id : `${id} ${user}`
    const known = this.#known.get(cached)
    const ref = kubeconfigRef(cluster)
    // A Cluster that names another Secret, or was made again, is another server.
    const by = `${cluster.metadata.uid ?? ''} ${ref?.namespace ?? ''}/${ref?.name ?? ''}/${ref?.key ?? ''}`
    if (known?.by === by && clock.monotonic() - known.checkedAt < TRUST_MS) return known.connection
    if (ref === undefined) throw new KubeNodeError(syncErrors.KN7301({ id }), { retry: 'later' })
    const from = ref.namespace
    const secret = await client.get(SECRET, { namespace: from, name: ref.name }, signal === undefined ? {} : { signal })
    // The clusters program stores it there.
    if (secret === undefined && cluster.spec.controlPlane !== undefined)
      throw new KubeNodeError(syncErrors.KN7305({ id }), { retry: 'later' })
    const text = secret === undefined ? undefined : kubeconfigIn(secret, ref.key)
    if (secret === undefined || text === undefined)
      throw new KubeNodeError(
        syncErrors.KN7301_secret({
          id,
          namespace: from,
          ref: ref.name,
          detail: secret === undefined ? 'does not exist' : `has no key ${ref.key ?? DEFAULT_KEYS.join(' or ')}`,
        }),
        { retry: 'later' },
      )
    if (!isFor(secret, cluster))
      throw new KubeNodeError(
        syncErrors.KN3096_connect({
          id,
          namespace: from,
          ref: ref.name,
          expected: kubeconfigSecretName(name),
          annotation: ANNOTATIONS.cluster,
        }),
        { retry: 'later' },
      )
    const stamp = `${secret.metadata.uid ?? ''}/${secret.metadata.resourceVersion ?? ''}/${ref.key ?? ''}`
    if (known?.stamp === stamp) {
      this.#known.set(cached, { ...known, by, checkedAt: clock.monotonic() })
      return known.connection
    }
    // The Cluster was deleted while its Secret was read: a connection opened now would never be closed.
    if (!this.#isThere(id)) throw new Error(`Cluster ${id} not found on the hub`)
    const { config } = parseSafeKubeconfig(text, `Secret ${from}/${ref.name}`)
    if (known !== undefined) closeAll(known.connection)
    const asSource = user === undefined ? undefined : connect({ ...config, impersonate: { user } })
    const connection = connectTo(name, connect(config), () => clock.monotonic(), asSource)
    this.#known.set(cached, { connection, by, stamp, checkedAt: clock.monotonic(), config })
    return connection
  }

  /** Expiry of the client certificate of the last connection; undefined for other credentials, such as a token. */
  credentialsEnd({ metadata: { namespace = '', name = '' } }: Cluster): number | undefined {
    const cert = this.#known.get(`${namespace}/${name}`)?.config.clientCertificate?.cert
    return cert === undefined || !('data' in cert) ? undefined : new X509Certificate(cert.data).validToDate.getTime()
  }

  /** For a deleted Cluster: ends requests in progress, and keeps no credentials. */
  forget(id: string): void {
    for (const [cached, { connection }] of this.#known) {
      if (cached !== id && !cached.startsWith(`${id} `)) continue
      this.#known.delete(cached)
      closeAll(connection)
    }
  }

  close(): void {
    for (const { connection } of this.#known.values()) closeAll(connection)
    this.#known.clear()
  }
}

/** Clients for the hub: as sync itself, and as the users of its sources. */
export class HubConnections {
  readonly #context: Pick<SyncContext, 'client' | 'clock' | 'hubAs'>
  readonly #known = new Map<string | undefined, ClusterConnection>()

  constructor(context: Pick<SyncContext, 'client' | 'clock' | 'hubAs'>) {
    this.#context = context
  }

  as(user: string | undefined): ClusterConnection {
    const known = this.#known.get(user)
    if (known !== undefined) return known
    const { client, clock, hubAs } = this.#context
    const made = connectTo('hub', client, () => clock.monotonic(), user === undefined ? client : hubAs(user))
    this.#known.set(user, made)
    return made
  }

  /** sync's own client belongs to its creator. */
  close(): void {
    for (const { client, program } of this.#known.values()) if (client !== program) close(client)
    this.#known.clear()
  }
}

/** Closes idle connections after a pass over a cluster: otherwise hundreds of clusters would keep four connections each until the next pass. */
export function rest({ client, program }: ClusterConnection): void {
  for (const each of new Set([client, program])) if ('rest' in each && typeof each.rest === 'function') each.rest()
}

function closeAll({ client, program }: ClusterConnection): void {
  for (const each of new Set([client, program])) close(each)
}

function close(client: KubeClient): void {
  if ('close' in client && typeof client.close === 'function') client.close()
}

interface KubeconfigRef {
  readonly namespace: string
  readonly name: string
  readonly key?: string
}

/** For a control plane on the hub, the Secret that the clusters program makes: no field names it. */
function kubeconfigRef({ spec, metadata: { namespace = '', name = '' } }: Cluster): KubeconfigRef | undefined {
  if (spec.controlPlane !== undefined) return { ...hostedKubeconfigKey(namespace, name), key: KUBECONFIG_KEY }
  const ref = spec.kubeconfigSecretRef
  return ref === undefined
    ? undefined
    : { namespace: syncSecretsNamespace(namespace), name: ref.name, ...defined({ key: ref.key }) }
}

/** Otherwise a Cluster that names another's Secret could replace that cluster's content with its own, bypassing the other's stages and gates. */
function isFor({ metadata }: KubeObject, cluster: Cluster): boolean {
  const { namespace = '', name = '' } = cluster.metadata
  const declared = metadata.annotations?.[ANNOTATIONS.cluster]
  return declared === undefined ? metadata.name === kubeconfigSecretName(name) : declared === `${namespace}/${name}`
}

function kubeconfigIn(secret: KubeObject, key: string | undefined): string | undefined {
  const data = isObject(secret['data']) ? secret['data'] : {}
  const plain = isObject(secret['stringData']) ? secret['stringData'] : {}
  for (const name of key === undefined ? DEFAULT_KEYS : [key]) {
    const [encoded, text] = [data[name], plain[name]]
    if (typeof encoded === 'string') return Buffer.from(encoded, 'base64').toString('utf8')
    if (typeof text === 'string') return text
  }
  return undefined
}
