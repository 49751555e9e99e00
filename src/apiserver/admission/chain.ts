// The interface for admission: links that may change an object, then links that may refuse it. Built-in ones are always present;
// policies and webhooks join at the same place.
import type { KubeObject } from '#api/schema/object.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { Served } from '../registry/served.ts'

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface AdmissionRequest {
  readonly operation: Operation
  readonly served: Served
  /** The version of the request, where its objects are shown in another. */
  readonly sentAs?: Served
  /** Of the object, where it differs from the resource: an eviction of a pod is no Pod. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string }
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** The name in the path of the request; '' where the body alone has one. */
  readonly pathName?: string
  readonly object: KubeObject | undefined
  readonly old: KubeObject | undefined
  readonly user: RequestUser
  readonly dryRun: boolean
  readonly options: unknown
  /** Texts for Warning headers. */
  readonly warn: (text: string) => void
}

export interface AdmissionLink {
  /** The resulting object; the same one when the link changes nothing. */
  readonly mutate?: (request: AdmissionRequest) => KubeObject | undefined | Promise<KubeObject | undefined>
  /** Throws a refusal. */
  readonly validate?: (request: AdmissionRequest) => void | Promise<void>
  /** False when the link has nothing to do at present, so that requests need not wait for it. */
  readonly active?: () => boolean
}

export class AdmissionChain {
  readonly #links: AdmissionLink[]

  constructor(links: readonly AdmissionLink[]) {
    this.#links = [...links]
  }

  add(link: AdmissionLink): void {
    this.#links.push(link)
  }

  async mutate(request: AdmissionRequest): Promise<KubeObject | undefined> {
    let now = request
    for (const link of this.#links) {
      if (link.mutate === undefined || link.active?.() === false) continue
      const made = link.mutate(now)
      const object = made instanceof Promise ? await made : made
      if (object !== now.object) now = { ...now, object }
    }
    return now.object
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const link of this.#links) {
      if (link.validate === undefined || link.active?.() === false) continue
      const judged = link.validate(request)
      if (judged instanceof Promise) await judged
    }
  }
}
