// Follows a simple JSON path (`.spec.role`, `.spec['a.b']`) through a schema, for the field paths of rules and for selectable fields.
import { isObject } from '#lib/json.ts'
import { childPath, keyPath } from './field-error.ts'
import { nested, properties, property, type Raw } from './structural-raw.ts'

export interface FindOptions {
  /** `['name']` is allowed; selectable fields take dots only. */
  readonly brackets?: boolean
}

export type Found =
  /** As field errors name it, with its schema; the schema is unknown below a map that takes anything. */
  { readonly path: string; readonly schema: Raw | undefined } | { readonly problem: string }

const NOT_THERE = { problem: 'does not refer to a valid field' }
const UNEXPECTED_END = { problem: 'unexpected end of JSON path' }
/** No path of a schema is longer; quotes that never close cost its square. */
const MAX_PATH_CHARS = 4_096
const TOKENS = /'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]']+|'/g

/** Lists have no path: their items cannot be named. */
export function findField(schema: unknown, jsonPath: string, { brackets = true }: FindOptions = {}): Found {
  if (jsonPath.length > MAX_PATH_CHARS) return NOT_THERE
  const tokens = jsonPath.match(TOKENS) ?? []
  let at: { readonly path: string; readonly schema: Raw | undefined } = {
    path: '',
    schema: isObject(schema) ? schema : undefined,
  }
  for (let i = 0; i < tokens.length;) {
    const token = tokens[i]
    let name: string | undefined
    if (token === '.') {
      name = tokens[i + 1]
      i += 2
    } else if (token === '[') {
      if (!brackets) return { problem: 'array notation is not allowed' }
      const quoted = tokens[i + 1]
      if (quoted === undefined) return UNEXPECTED_END
      if (!/^'[^]*'$/.test(quoted) || quoted.length < 2)
        return { problem: `expected single quoted string but got ${quoted}` }
      if (tokens[i + 2] === undefined) return UNEXPECTED_END
      if (tokens[i + 2] !== ']') return { problem: `expected ] but got ${tokens[i + 2]}` }
      name = quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1')
      i += 3
    } else return { problem: `expected [ or . but got: ${token}` }
    if (name === undefined) return UNEXPECTED_END
    const next = step(at.path, at.schema, name)
    if (!next) return NOT_THERE
    at = next
  }
  return at
}

function step(path: string, schema: Raw | undefined, name: string) {
  if (!schema) return undefined
  if (properties(schema).length > 0) {
    const sub = property(schema, name)
    return sub && { path: childPath(path, name), schema: sub }
  }
  const additional = nested(schema, 'additionalProperties')
  return additional && { path: keyPath(path, name), schema: additional }
}
