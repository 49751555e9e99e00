// Objects inside objects (x-kubernetes-embedded-resource): they must say what they are, and their metadata must be that of an object.
import { isObject } from '#lib/json.ts'
import { childPath, invalid, keyPath, required, type FieldError } from './field-error.ts'
import { ownValue } from './ratchet.ts'
import type { SchemaNode } from './validate-node.ts'

export function checkEmbedded(
  node: SchemaNode,
  value: unknown,
  path: string,
  relevant: ReadonlySet<SchemaNode>,
  out: FieldError[],
): void {
  if (!relevant.has(node)) return
  if (Array.isArray(value)) {
    const { items } = node
    if (items) value.forEach((item, i) => checkEmbedded(items, item, keyPath(path, i), relevant, out))
  } else if (isObject(value)) {
    if (node.embedded) checkResource(value, path, out)
    for (const [name, child] of node.properties)
      checkEmbedded(child, ownValue(value, name), childPath(path, name), relevant, out)
    const { additional } = node
    if (additional !== undefined && additional !== 'none')
      for (const k of Object.keys(value).toSorted())
        if (!node.properties.has(k)) checkEmbedded(additional, value[k], keyPath(path, k), relevant, out)
  }
}

function checkResource(value: Readonly<Record<string, unknown>>, path: string, out: FieldError[]): void {
  const apiVersion = ownValue(value, 'apiVersion')
  const kind = ownValue(value, 'kind')
  const metadata = ownValue(value, 'metadata')
  out.push(...apiVersionProblems(apiVersion, childPath(path, 'apiVersion')))
  out.push(...kindProblems(kind, childPath(path, 'kind')))
  if (metadata !== undefined && metadata !== null) out.push(...metadataProblems(metadata, childPath(path, 'metadata')))
}

function apiVersionProblems(value: unknown, path: string): readonly FieldError[] {
  if (value === undefined) return [required(path)]
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')]
  if (value === '') return [invalid(path, value, 'must not be empty')]
  return value.split('/').length > 2 ? [invalid(path, value, `unexpected GroupVersion string: ${value}`)] : []
}

const KIND_FORM = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const LONGEST_KIND = 63
const KIND_RULE =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
  "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

function kindProblems(value: unknown, path: string): readonly FieldError[] {
  if (value === undefined) return [required(path)]
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')]
  if (value === '') return [invalid(path, value, 'must not be empty')]
  const wrong: string[] = []
  if (value.length > LONGEST_KIND) wrong.push(`must be no more than ${LONGEST_KIND} characters`)
  if (!KIND_FORM.test(value.toLowerCase())) wrong.push(KIND_RULE)
  return wrong.length === 0
    ? []
    : [invalid(path, value, `may have mixed case, but should otherwise match: ${wrong.join(',')}`)]
}

/** Names that would break a URL path. */
function metadataProblems(metadata: unknown, path: string): readonly FieldError[] {
  if (!isObject(metadata)) return [invalid(path, metadata, 'must be an object')]
  const name = ownValue(metadata, 'name')
  if (name === undefined || name === '') return []
  const field = childPath(path, 'name')
  if (typeof name !== 'string') return [invalid(field, name, 'must be a string')]
  if (name === '.' || name === '..') return [invalid(field, name, `may not be '${name}'`)]
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => invalid(field, name, `may not contain '${c}'`))
}
