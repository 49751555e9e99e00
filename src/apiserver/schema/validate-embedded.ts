// Objects inside objects (x-kubernetes-embedded-resource): they need apiVersion and kind, and valid object metadata.
import { isObject } from '#lib/json.ts'
import { childPath, invalid, keyPath, required, type FieldError } from './field-error.ts'
import { labelNameProblems, labelValueProblems, qualifiedNameProblems } from '#api/schema/name-problems.ts'
import { ownValue } from './ratchet.ts'
import type { PartialWalk } from './validate-node.ts'

export const checkEmbedded: PartialWalk = (node, value, path, relevant, out) => {
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

/** Names that would break a URL path, and invalid labels, annotations and finalizers. */
function metadataProblems(metadata: unknown, path: string): readonly FieldError[] {
  if (!isObject(metadata)) return [invalid(path, metadata, 'must be an object')]
  const text = (field: string, problems: (value: string) => readonly string[]): readonly FieldError[] => {
    const value = ownValue(metadata, field)
    if (value === undefined || value === '') return []
    const at = childPath(path, field)
    if (typeof value !== 'string') return [invalid(at, value, 'must be a string')]
    return problems(value).map((p) => invalid(at, value, p))
  }
  // a prefix need not be a name yet
  const prefix = (value: string) => pathSegmentProblems(value).filter((p) => !p.startsWith('may not be'))
  return [
    ...text('generateName', prefix),
    ...text('name', pathSegmentProblems),
    ...text('namespace', labelNameProblems),
    ...mapProblems(ownValue(metadata, 'labels'), childPath(path, 'labels'), (key, value) => [
      ...qualifiedNameProblems(key, 'a valid label key').map((p) => [key, p] as const),
      ...labelValueProblems(value).map((p) => [value, p] as const),
    ]),
    ...mapProblems(ownValue(metadata, 'annotations'), childPath(path, 'annotations'), (key) =>
      qualifiedNameProblems(key.toLowerCase()).map((p) => [key, p] as const),
    ),
    ...finalizerProblems(ownValue(metadata, 'finalizers'), childPath(path, 'finalizers')),
  ]
}

type Wrong = readonly (readonly [value: string, problem: string])[]

function mapProblems(
  map: unknown,
  path: string,
  problems: (key: string, value: string) => Wrong,
): readonly FieldError[] {
  if (!isObject(map)) return []
  return Object.entries(map).flatMap(([key, value]) =>
    typeof value === 'string' ? problems(key, value).map(([v, p]) => invalid(path, v, p)) : [],
  )
}

const finalizerProblems = (finalizers: unknown, path: string): readonly FieldError[] =>
  !Array.isArray(finalizers)
    ? []
    : finalizers
        .filter((f) => typeof f === 'string')
        .flatMap((f) => qualifiedNameProblems(f).map((p) => invalid(path, f, p)))

const pathSegmentProblems = (name: string): readonly string[] =>
  name === '.' || name === '..'
    ? [`may not be '${name}'`]
    : ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`)
