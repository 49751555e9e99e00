// Finds the URL of a kind on a server: our kinds and the usual ones from a table, all others from discovery, once.
import { KINDS } from '#api/kinds.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { servedResources } from '#kube/served-resources.ts'
import { apiVersionOf, type ResourceType } from '#api/schema/resource.ts'
import { deliveryErrors } from './delivery-errors.ts'

const BY_HEART: readonly ResourceType[] = [
  ...KINDS,
  core('Namespace', 'namespaces', false),
  core('ConfigMap', 'configmaps', true),
  core('Secret', 'secrets', true),
  core('Service', 'services', true),
  core('ServiceAccount', 'serviceaccounts', true),
  { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  { group: 'apps', version: 'v1', kind: 'StatefulSet', plural: 'statefulsets', namespaced: true },
  { group: 'apps', version: 'v1', kind: 'DaemonSet', plural: 'daemonsets', namespaced: true },
]

function core(kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group: '', version: 'v1', kind, plural, namespaced }
}

/** A kind that is not served is asked for again after this long: its CustomResourceDefinition may have come. */
const FORGET_MISSING_MS = 10_000

export class ResourceTypes {
  readonly #client: KubeClient
  readonly #now: () => number
  readonly #known = new Map<string, ResourceType>()
  readonly #askedAt = new Map<string, number>()

  constructor(client: KubeClient, now: () => number) {
    this.#client = client
    this.#now = now
    for (const type of BY_HEART) this.#known.set(`${apiVersionOf(type)} ${type.kind}`, type)
  }

  /** Throws when the server does not serve the kind. */
  async of(apiVersion: string, kind: string, signal?: AbortSignal): Promise<ResourceType> {
    const id = `${apiVersion} ${kind}`
    const known = this.#known.get(id)
    if (known !== undefined) return known
    await this.#discover(apiVersion, signal)
    const found = this.#known.get(id)
    if (found !== undefined) return found
    throw new KubeNodeError(deliveryErrors.KN7201({ kind, apiVersion }), { retry: 'later' })
  }

  /** The kind in any version of its group: what an inventory needs, which remembers no versions. */
  async ofGroup(group: string, kind: string, signal?: AbortSignal): Promise<ResourceType | undefined> {
    const find = () => [...this.#known.values()].find((t) => t.group === group && t.kind === kind)
    const known = find()
    if (known !== undefined) return known
    const path = group === '' ? undefined : `/apis/${group}`
    const answer =
      path === undefined ? undefined : await this.#client.raw({ method: 'GET', path, ...defined({ signal }) })
    const body: unknown = answer?.status === 200 ? JSON.parse(answer.text) : undefined
    const preferred =
      isObject(body) && isObject(body['preferredVersion']) ? body['preferredVersion']['groupVersion'] : undefined
    await this.#discover(typeof preferred === 'string' ? preferred : 'v1', signal)
    return find()
  }

  async #discover(apiVersion: string, signal: AbortSignal | undefined): Promise<void> {
    const asked = this.#askedAt.get(apiVersion)
    if (asked !== undefined && this.#now() - asked < FORGET_MISSING_MS) return
    const served = await servedResources(this.#client, apiVersion, signal)
    this.#askedAt.set(apiVersion, this.#now())
    for (const type of served ?? []) this.#known.set(`${apiVersion} ${type.kind}`, type)
  }
}
