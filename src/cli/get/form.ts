// What `-o` asks for: a table, names, YAML, JSON, a JSONPath template or columns of one's own. Pure; a mistake is found before any request.
import { InvalidArgumentError, Option } from 'commander'
import { type Part, type Step, TemplateProblem, parsePath, parseTemplate } from './jsonpath-parse.ts'

export interface Column {
  readonly head: string
  readonly path: readonly Step[]
}

export type Form =
  | { readonly kind: 'table'; readonly isWide: boolean }
  | { readonly kind: 'name' | 'json' | 'yaml' }
  | { readonly kind: 'jsonpath'; readonly text: string; readonly parts: readonly Part[] }
  | { readonly kind: 'columns'; readonly columns: readonly Column[] }

export const TABLE: Form = { kind: 'table', isWide: false }

const FORMS = 'wide, name, json, yaml, jsonpath=TEMPLATE, custom-columns=HEAD:PATH'

const PATHS = 'Write -o jsonpath={.metadata.name}, or columns: -o custom-columns=NAME:.metadata.name.'

/** Forms that hands know from elsewhere, and what prints the same here. */
const OTHER_FORMS: Readonly<Record<string, string>> = {
  'custom-columns': PATHS,
  'custom-columns-file': PATHS,
  'go-template': PATHS,
  'go-template-file': PATHS,
  jsonpath: PATHS,
  'jsonpath-as-json': PATHS,
  'jsonpath-file': PATHS,
  table: 'A table is what is shown without --output; -o wide has more columns.',
  text: 'A table is what is shown without --output; -o wide has more columns.',
  tree: 'Type kubenode tree KIND/NAME.',
}

export const formOption = (): Option =>
  new Option('-o, --output <form>', `form of the output: ${FORMS},…`).argParser((text: string) => formOf(text))

function formOf(text: string): Form {
  if (text === 'wide') return { kind: 'table', isWide: true }
  if (text === 'name' || text === 'json' || text === 'yaml') return { kind: text }
  const [, word, rest] = /^(jsonpath|custom-columns)=(.*)$/s.exec(text) ?? []
  try {
    if (word === 'jsonpath') return { kind: 'jsonpath', text: rest ?? '', parts: parseTemplate(rest ?? '') }
    if (word === 'custom-columns') return { kind: 'columns', columns: columnsOf(rest ?? '') }
  } catch (e) {
    if (e instanceof TemplateProblem) throw new InvalidArgumentError(e.message)
    throw e
  }
  const [asked = ''] = text.split('=', 1)
  const other = Object.hasOwn(OTHER_FORMS, asked) ? OTHER_FORMS[asked] : undefined
  if (other !== undefined) throw new InvalidArgumentError(other)
  throw new InvalidArgumentError(`Allowed forms are ${FORMS} (more columns after commas).`)
}

/** Commas inside brackets and quotes belong to a path. */
const COLUMN = /(?:\[[^\]]*\]|[^,[])+/g

function columnsOf(text: string): readonly Column[] {
  const columns = (text.match(COLUMN) ?? []).map((column) => {
    const colon = column.indexOf(':')
    if (colon < 1) throw new TemplateProblem(`${JSON.stringify(column)} is not HEAD:PATH`)
    return { head: column.slice(0, colon), path: parsePath(column.slice(colon + 1)) }
  })
  if (columns.length === 0) throw new TemplateProblem('write HEAD:PATH, such as NAME:.metadata.name')
  return columns
}
