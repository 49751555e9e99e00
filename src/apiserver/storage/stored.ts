// One version of one object in the store: its bytes, and its value, parsed on demand.
import type { KubeObject } from '#api/schema/object.ts'
import { parseJson } from '../codec/json.ts'

export class Stored {
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  readonly bytes: Buffer
  #value: WeakRef<KubeObject> | undefined

  constructor(
    at: { readonly resource: string; readonly namespace: string; readonly name: string },
    revision: number,
    bytes: Buffer,
    value?: KubeObject,
  ) {
    this.resource = at.resource
    this.namespace = at.namespace
    this.name = at.name
    this.revision = revision
    this.bytes = bytes
    this.#value = value === undefined ? undefined : new WeakRef(value)
  }

  /** Parsed on demand and kept as long as memory allows; shared, so callers must not change it. */
  get value(): KubeObject {
    const held = this.#value?.deref()
    if (held !== undefined) return held
    const parsed = parseJson(this.bytes.toString('utf8')) as KubeObject
    this.#value = new WeakRef(parsed)
    return parsed
  }
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** A committed change. For DELETED, `object` is the last content with the revision of the deletion. */
export interface StoreEvent {
  readonly type: ChangeType
  readonly revision: number
  readonly object: Stored
  readonly previous: Stored | undefined
  /** When it was written, by the monotonic clock. */
  readonly at: number
  /** Encoded forms, shared by all watchers that asked for the same one. */
  readonly lines: Map<string, Buffer>
}
