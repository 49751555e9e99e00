// Field selectors: a few paths that a kind offers, compared as text with = and !=.
import type { KubeObject } from '#api/schema/object.ts'
import type { Served } from '../registry/served.ts'
import { badRequest, Refusal } from '../status/refusal.ts'

export interface FieldSelector {
  /** Set when only one name can match: lists and watches then go through the index. */
  readonly name: string | undefined
  readonly namespace: string | undefined
  /** The rest, beside name and namespace; undefined when there is none. */
  readonly matches: ((object: KubeObject) => boolean) | undefined
}

const NOTHING: FieldSelector = { name: undefined, namespace: undefined, matches: undefined }

interface Term {
  readonly field: string
  readonly equal: boolean
  readonly value: string
}

export function parseFieldSelector(text: string, served: Served): FieldSelector {
  if (text === '') return NOTHING
  const terms = split(text)
    .filter((t) => t !== '')
    .map(parseTerm)
  for (const { field } of terms) if (!isKnown(field, served)) throw unknownField(field, served)
  const exact = (field: string) => terms.find((t) => t.field === field && t.equal && t.value !== '')?.value
  const name = exact('metadata.name')
  const namespace = exact('metadata.namespace')
  const rest = terms.filter(
    (t) =>
      !(
        t.equal &&
        ((t.field === 'metadata.name' && t.value === name) ||
          (t.field === 'metadata.namespace' && t.value === namespace))
      ),
  )
  return {
    name,
    namespace,
    matches:
      rest.length === 0 ? undefined : (o) => rest.every((t) => (valueOf(t.field, o, served) === t.value) === t.equal),
  }
}

/** The one name that a selector requires: rights to named objects count for lists and watches of that name. '' when there is none. */
export const nameAskedFor = (text: string): string => valueAskedFor(text, 'metadata.name')

/** The one value of a field that a selector requires; '' when there is none. Terms are joined by "and", so the others only narrow it. */
export function valueAskedFor(text: string, field: string): string {
  try {
    const terms = split(text).map((t) => (t === '' ? undefined : parseTerm(t)))
    return terms.find((t) => t?.field === field && t.equal)?.value ?? ''
  } catch (e) {
    // errors in it are reported only to users who may list at all
    if (e instanceof Refusal) return ''
    throw e
  }
}

const isKnown = (field: string, served: Served): boolean =>
  field === 'metadata.name' || field === 'metadata.namespace' || served.selectableFields.has(field)

function unknownField(field: string, served: Served): Error {
  if (served.custom) return badRequest(`field label not supported: ${field}`)
  if (served.selectableFields.size > 0) return badRequest(`field label not supported: ${field}`)
  return badRequest(
    `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  )
}

function valueOf(field: string, object: KubeObject, served: Served): string {
  if (field === 'metadata.name') return object.metadata.name ?? ''
  if (field === 'metadata.namespace') return object.metadata.namespace ?? ''
  return served.selectableFields.get(field)?.(object) ?? ''
}

/** Commas separate terms, unless escaped. */
function split(text: string): readonly string[] {
  const out: string[] = []
  let term = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? ''
    if (c === '\\') {
      term += c + (text[i + 1] ?? '')
      i++
    } else if (c === ',') {
      out.push(term)
      term = ''
    } else term += c
  }
  return [...out, term]
}

function parseTerm(text: string): Term {
  const m = /^((?:[^=!\\]|\\.)*?)(!=|==|=)([^]*)$/.exec(text)
  if (m === null) throw badRequest(`invalid selector: '${text}'; can't understand '${text}'`)
  return { field: (m[1] ?? '').trim(), equal: m[2] !== '!=', value: unescaped(m[3] ?? '') }
}

/** A backslash precedes itself, a comma or an equals sign. */
const unescaped = (text: string): string =>
  text.replace(/\\([^]?)/g, (escape, char: string) => {
    if (char === '\\' || char === ',' || char === '=') return char
    throw badRequest(`invalid field selector: invalid escape sequence: ${escape}`)
  })
