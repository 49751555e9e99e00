// The kubeconfigs of one program for the Clusters of a replica: read from its namespace on the hub, checked, and kept in a private folder for its processes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cluster } from '#api/kinds/cluster.ts'
import {
  ANNOTATIONS,
  hostedKubeconfigName,
  hostedNamespace,
  type HostedProgram,
  KUBECONFIG_KEY,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { sha256Hex } from '#lib/sha256.ts'
import { writeWholeFile } from '#lib/whole-file.ts'

const SECRET = coreKind('Secret')

export type Provided =
  | { readonly kind: 'File'; readonly path: string }
  | { readonly kind: 'None'; readonly why: string }

export class Kubeconfigs {
  readonly #client: KubeClient
  readonly #program: HostedProgram
  readonly #folder = mkdtempSync(join(tmpdir(), 'kubenode-hosted-'))
  readonly #texts = new Map<string, string>()

  constructor(client: KubeClient, program: HostedProgram) {
    this.#client = client
    this.#program = program
  }

  /** Processes notice a replaced file by themselves. While the hub does not answer, the last file stays. */
  async provide(id: string, cluster: Cluster, signal: AbortSignal): Promise<Provided> {
    const { namespace = '', name = '' } = cluster.metadata
    const key = { namespace: hostedNamespace(this.#program), name: hostedKubeconfigName(namespace, name) }
    const path = join(this.#folder, `${sha256Hex(id).slice(0, 32)}.kubeconfig`)
    let secret: KubeObject | undefined
    try {
      secret = await this.#client.get(SECRET, key, { signal })
    } catch (error) {
      if (this.#texts.has(id)) return { kind: 'File', path }
      return { kind: 'None', why: messageOf(error) }
    }
    const read = secret === undefined ? { why: 'there is none' } : kubeconfigIn(secret, cluster)
    if ('why' in read) {
      this.forget(id)
      return { kind: 'None', why: `Secret ${key.namespace}/${key.name}: ${read.why}` }
    }
    if (this.#texts.get(id) !== read.text) writeWholeFile(path, read.text)
    this.#texts.set(id, read.text)
    return { kind: 'File', path }
  }

  forget(id: string): void {
    if (this.#texts.delete(id)) rmSync(join(this.#folder, `${sha256Hex(id).slice(0, 32)}.kubeconfig`), { force: true })
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A kubeconfig that runs or reads something here is refused, and so is one of another Cluster: names with dots can be those of two. */
export function kubeconfigIn(
  secret: KubeObject,
  cluster: Cluster,
): { readonly text: string } | { readonly why: string } {
  const { namespace = '', name = '', uid } = cluster.metadata
  const { annotations = {} } = secret.metadata
  const of = annotations[ANNOTATIONS.cluster]
  const madeFor = annotations[ANNOTATIONS.madeForUid]
  const isNamed =
    of === undefined ? namespace === SYSTEM_NAMESPACE && !name.includes('.') : of === `${namespace}/${name}`
  if (!isNamed) return { why: `it is of ${of ?? 'no Cluster'}: annotation ${ANNOTATIONS.cluster}` }
  if (madeFor !== undefined && madeFor !== uid) return { why: 'it is of an earlier Cluster' }
  const data = isObject(secret['data']) ? secret['data'][KUBECONFIG_KEY] : undefined
  if (typeof data !== 'string') return { why: `it has no key ${KUBECONFIG_KEY}` }
  const text = Buffer.from(data, 'base64').toString('utf8')
  try {
    const { server } = parseSafeKubeconfig(text, 'the kubeconfig').config
    return server.startsWith('https://') ? { text } : { why: 'its server is not https' }
  } catch (error) {
    return { why: error instanceof KubeNodeError ? error.message : 'it is no kubeconfig' }
  }
}
