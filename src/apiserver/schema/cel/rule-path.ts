// The fieldPath of a rule: `.spec.ports`, `['a-b']`, through fields and keys of maps, never through lists.
import type { Schema } from '#api/schema/schema.ts'

const STEP = /\.([^.[\]]+)|\['((?:\\.|[^'\\])*)'\]/y
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
}

/** The path as messages print it, or undefined when it leads nowhere in the schema. */
export function rulePath(text: string, root: Schema): string | undefined {
  STEP.lastIndex = 0
  let schema: Schema | undefined = root
  let path = ''
  while (STEP.lastIndex < text.length) {
    const step = STEP.exec(text)
    if (step === null) return undefined
    const name = step[1] ?? unescape(step[2] ?? '')
    if (name === undefined) return undefined
    const { properties, additionalProperties: additional }: Schema = schema
    if (properties !== undefined) {
      schema = Object.hasOwn(properties, name) ? properties[name] : undefined
      path += path === '' ? name : `.${name}`
    } else {
      schema = typeof additional === 'object' ? additional : undefined
      path += `[${name}]`
    }
    if (schema === undefined) return undefined
  }
  return path
}

function unescape(text: string): string | undefined {
  let bad = false
  const out = text.replace(/\\(.)/gs, (_, c: string) => {
    bad ||= !Object.hasOwn(ESCAPES, c)
    return ESCAPES[c] ?? ''
  })
  return bad ? undefined : out
}
