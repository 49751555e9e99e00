// Whether an object's identifying fields are safe to use in paths, plans and logs. Checked once, before anything else reads the object. Pure.
import { isObject } from '#lib/json.ts'

export interface IdentityProblem {
  /** JSON pointer into the object. */
  readonly pointer: string
  readonly message: string
}

const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?'
const API_VERSION = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*/)?[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$`)
const KIND = /^[A-Za-z](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/
const NAMESPACE = new RegExp(`^(?:${LABEL})?$`)
/** Roles have colons, component versions a plus. A slash or a percent sign would change a request's path. */
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.:+]{0,251}[A-Za-z0-9])?$/
const KEY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
/** Longest group and version that a server accepts, with the slash between them. */
const MAX_API_VERSION = 253 + 1 + 63
const MAX_KEY = MAX_API_VERSION

/** The first problem; undefined when every identifying part is valid for Kubernetes. */
export function identityProblem(value: Readonly<Record<string, unknown>>): IdentityProblem | undefined {
  const { apiVersion, kind, metadata } = value
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    return { pointer: '', message: 'has no apiVersion and kind' }
  if (apiVersion.length > MAX_API_VERSION || !API_VERSION.test(apiVersion))
    return { pointer: '/apiVersion', message: `has an invalid apiVersion ${quoted(apiVersion)}` }
  if (!KIND.test(kind)) return { pointer: '/kind', message: `has an invalid kind ${quoted(kind)}` }
  if (!isObject(metadata) || typeof metadata['name'] !== 'string')
    return { pointer: '/metadata/name', message: 'has no metadata.name' }
  const { name, namespace } = metadata
  if (!NAME.test(name)) return { pointer: '/metadata/name', message: `has an invalid metadata.name ${quoted(name)}` }
  if (namespace !== undefined && (typeof namespace !== 'string' || !NAMESPACE.test(namespace)))
    return { pointer: '/metadata/namespace', message: `has an invalid metadata.namespace ${quoted(namespace)}` }
  return mapProblem(metadata, 'labels', (v) => LABEL_VALUE.test(v)) ?? mapProblem(metadata, 'annotations', () => true)
}

function mapProblem(
  metadata: Readonly<Record<string, unknown>>,
  field: 'labels' | 'annotations',
  isValue: (text: string) => boolean,
): IdentityProblem | undefined {
  const map = metadata[field]
  if (map === undefined) return undefined
  const pointer = `/metadata/${field}`
  if (!isObject(map)) return { pointer, message: `has metadata.${field} that are not a map` }
  for (const [key, value] of Object.entries(map))
    if (key.length > MAX_KEY || !KEY.test(key) || typeof value !== 'string' || !isValue(value))
      return { pointer, message: `has an invalid entry ${quoted(key)} in metadata.${field}` }
  return undefined
}

/** Texts in messages are cut: a name of a megabyte would fill a status. */
const MAX_QUOTED = 80

/** ASCII only, so that it cannot control a terminal or start a new line. */
const quoted = (value: unknown): string =>
  (JSON.stringify(value) ?? typeof value)
    .slice(0, MAX_QUOTED)
    .replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
