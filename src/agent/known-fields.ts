// Writes to a server that is older than this agent: a field that it does not know makes it refuse the whole object, so such fields are left out, which is what an
// agent of that age says. What the server knows is said as ever.
import type { Logger } from '#lib/log.ts'
import { isObject } from '#lib/json.ts'
import type { ApplyOptions, KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'

/** Only what an agent says of states is learned to be left out. A server tells of the first unknown field of each object, so fields beside each other are learned one by one. */
const MAX_TRIES = 16
/** Two minors of additions are a handful; more is another kind of trouble. */
const MAX_FIELDS = 64
const REFUSAL = /(?:^|\s)(\.(?:[^\s:[]|\[[^\]]*\])+): field not declared in schema/g

/** Names on the way to a field; which item of a list it was does not matter. */
export type FieldPath = readonly string[]

/** The fields that a refusal names: `.status.components[name="a"].hint: field not declared in schema`. */
export const unknownFields = (message: string): readonly FieldPath[] =>
  [...message.matchAll(REFUSAL)].map(([, path = '']) =>
    path
      .replaceAll(/\[[^\]]*\]/g, '')
      .split('.')
      .filter((name) => name !== ''),
  )

export function withoutField(value: unknown, [name, ...rest]: FieldPath): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutField(item, name === undefined ? [] : [name, ...rest]))
  if (!isObject(value) || name === undefined || !(name in value)) return value
  const { [name]: inner, ...others } = value
  return rest.length === 0 ? others : { ...value, [name]: withoutField(inner, rest) }
}

export class KnownFields {
  readonly #log: Logger
  /** By kind, and by path. */
  readonly #unknown = new Map<string, Map<string, FieldPath>>()

  constructor(log: Logger) {
    this.#log = log
  }

  async apply(
    client: Pick<KubeClient, 'apply'>,
    type: ResourceType,
    object: KubeObject,
    options: ApplyOptions,
  ): Promise<void> {
    for (let n = 1; ; n++)
      try {
        await client.apply(type, this.#known(type, object), options)
        return
      } catch (e) {
        if (n >= MAX_TRIES || !(e instanceof ApiError) || !this.#learn(type, e.serverMessage)) throw e
      }
  }

  /** Forgotten with the process: a server that is newer is met by the next agent at the latest. */
  #learn(type: ResourceType, message: string): boolean {
    const known = this.#unknown.get(type.kind) ?? new Map<string, FieldPath>()
    const fresh = unknownFields(message).filter((path) => path[0] === 'status' && !known.has(path.join('.')))
    if (fresh.length === 0 || known.size + fresh.length > MAX_FIELDS) return false
    for (const path of fresh) {
      known.set(path.join('.'), path)
      this.#log.warn('field not known to this API server is omitted', { kind: type.kind, field: path.join('.') })
    }
    this.#unknown.set(type.kind, known)
    return true
  }

  #known(type: ResourceType, object: KubeObject): KubeObject {
    const paths = [...(this.#unknown.get(type.kind)?.values() ?? [])]
    return paths.reduce<KubeObject>((o, path) => withoutField(o, path) as KubeObject, object)
  }
}
