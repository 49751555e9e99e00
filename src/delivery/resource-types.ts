// Finds the URL of a kind on a server: our kinds and common ones from a table, all others from discovery, once.
import { KINDS } from '#api/kinds.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { type ApiError, isApiError } from '#kube/errors.ts'
import { preferredVersion, servedResources } from '#kube/served-resources.ts'
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

/**
 * A kind that is not served is looked up again after this time: its CustomResourceDefinition may exist by now. The same goes for a kind about which
 * the server does not answer.
 */
const FORGET_MISSING_MS = 10_000
/** A server has some thousand kinds, in some hundred groups. One that was taken over has new ones with each answer. */
const MOST_KNOWN = 10_000
const MOST_ASKED = 1_000

export class ResourceTypes {
  readonly #client: KubeClient
  readonly #now: () => number
  readonly #known = new Map<string, ResourceType>()
  readonly #asked = new Map<string, { readonly at: number; readonly refusal?: ApiError }>()

  constructor(client: KubeClient, now: () => number) {
    this.#client = client
    this.#now = now
    this.#knowByHeart()
  }

  #knowByHeart(): void {
    for (const type of BY_HEART) this.#known.set(`${apiVersionOf(type)} ${type.kind}`, type)
  }

  #forgetIfFull(): void {
    if (this.#known.size < MOST_KNOWN && this.#asked.size < MOST_ASKED) return
    this.#known.clear()
    this.#asked.clear()
    this.#knowByHeart()
  }

  /** Throws KN1315 if the server does not serve the kind. */
  async of(apiVersion: string, kind: string, signal?: AbortSignal): Promise<ResourceType> {
    const id = `${apiVersion} ${kind}`
    const known = this.#known.get(id)
    if (known !== undefined) return known
    await this.#discover(apiVersion, signal)
    const found = this.#known.get(id)
    if (found !== undefined) return found
    throw new KubeNodeError(deliveryErrors.KN1315_apply({ kind, apiVersion }), { retry: 'later' })
  }

  /** The kind in any version of its group: an inventory needs this because it stores no versions. Undefined: not served. */
  async ofGroup(group: string, kind: string, signal?: AbortSignal): Promise<ResourceType | undefined> {
    const find = () => [...this.#known.values()].find((t) => t.group === group && t.kind === kind)
    const known = find()
    if (known !== undefined) return known
    const version = group === '' ? 'v1' : await preferredVersion(this.#client, group, signal)
    if (version !== undefined) await this.#discover(version, signal)
    return find()
  }

  /** Throws if the server does not answer, also for callers that ask again at once. */
  async #discover(apiVersion: string, signal: AbortSignal | undefined): Promise<void> {
    const last = this.#asked.get(apiVersion)
    if (last !== undefined && this.#now() - last.at < FORGET_MISSING_MS) {
      if (last.refusal !== undefined) throw last.refusal
      return
    }
    this.#forgetIfFull()
    try {
      const served = await servedResources(this.#client, apiVersion, signal)
      this.#asked.set(apiVersion, { at: this.#now() })
      for (const type of served ?? []) this.#known.set(`${apiVersion} ${type.kind}`, type)
    } catch (error) {
      if (isApiError(error)) this.#asked.set(apiVersion, { at: this.#now(), refusal: error })
      throw error
    }
  }
}
