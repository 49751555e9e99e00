// Writes to a server that is older than this agent. Such a server rejects an object with an unknown field, so unknown fields are left out, as an agent
// of the server's age would do. Known fields are written as usual, with texts as long as allowed.
import type { Logger } from '#lib/log.ts'
import { isObject } from '#lib/json.ts'
import type { ApplyOptions, KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { fitTexts } from '#api/schema/fit-texts.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'

/** Only status fields can be left out. A server names the first unknown field of each object, so sibling fields are found one at a time. */
const MAX_TRIES = 16
/** Two minor releases add a handful of fields; more means another problem. */
const MAX_FIELDS = 64
const REFUSAL = /(?:^|\s)(\.(?:[^\s:[]|\[[^\]]*\])+): field not declared in schema/g

/** The names on the path to a field; list indexes do not matter. */
export type FieldPath = readonly string[]

/** The fields that a rejection names: `.status.components[name="a"].hint: field not declared in schema`. */
export const unknownFields = (message: string): readonly FieldPath[] =>
  [...message.matchAll(REFUSAL)].map(([, path = '']) =>
    path
      .replaceAll(/\[[^[\]]*\]/g, '')
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

  /** Kept until exit: at the latest, the next agent notices a newer server. */
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
    const fitted = type.schema === undefined ? object : (fitTexts(type.schema, object) as KubeObject)
    return paths.reduce<KubeObject>((o, path) => withoutField(o, path) as KubeObject, fitted)
  }
}
