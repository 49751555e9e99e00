// Reads everything that the user may read for an explanation, and records what the API server refused: an answer with its gaps named is better than none.
import type { KubeClient, ListOptions, ListPage } from '#kube/client.ts'
import { isForbidden, isNotFound } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import type { Finding } from './finding.ts'

export type Reader = Pick<KubeClient, 'get' | 'list'>

interface Refused {
  readonly verb: 'get' | 'list'
  readonly type: ResourceType
  readonly namespace: string | undefined
}

export class PartialReader implements Reader {
  readonly #client: Reader
  readonly #refused: Refused[] = []

  constructor(client: Reader) {
    this.#client = client
  }

  async get<T extends KubeObject>(type: ResourceType<T>, key: ObjectKey): Promise<T | undefined> {
    try {
      return await this.#client.get(type, key)
    } catch (e) {
      if (!isForbidden(e)) throw e
      this.#refused.push({ verb: 'get', type, namespace: key.namespace })
      return undefined
    }
  }

  /** A member has no Releases, and a hub may have no Machines: a kind that the server does not know has no objects. */
  async list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    try {
      return await this.#client.list(type, options)
    } catch (e) {
      if (isForbidden(e)) this.#refused.push({ verb: 'list', type, namespace: options.namespace })
      else if (!isNotFound(e)) throw e
      return { items: [], resourceVersion: '' }
    }
  }

  /** The missing rights, one line each. */
  get gaps(): readonly Finding[] {
    return [...new Set(this.#refused.map(refusalText))].toSorted().map((text) => ({ text }))
  }
}

function refusalText({ verb, type: { group, plural }, namespace }: Refused): string {
  const resource = group === '' ? plural : `${plural}.${group}`
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`
  return `Not included: ${resource}${place}; you lack the right to ${verb} them`
}
