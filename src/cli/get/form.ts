// Parses `-o`: a table, names, YAML or JSON. Templates and custom columns are left to kubectl. Pure; mistakes are reported before any request.
import { InvalidArgumentError, Option } from 'commander'

export type Form =
  | { readonly kind: 'table'; readonly isWide: boolean }
  | { readonly kind: 'name' | 'json' | 'yaml' }
  | { readonly kind: 'kubectl'; readonly text: string }

export const TABLE: Form = { kind: 'table', isWide: false }

const FORMS = 'wide, name, json, yaml'

const OF_KUBECTL = /^(jsonpath(-as-json|-file)?|go-template(-file)?|template(file)?|custom-columns(-file)?)(=|$)/

/** Formats that people know from other tools, and the equivalent here. */
const OTHER_FORMS: Readonly<Record<string, string>> = {
  table: 'A table is what is shown without --output; -o wide has more columns.',
  text: 'A table is what is shown without --output; -o wide has more columns.',
  tree: 'Type kubenode tree KIND/NAME.',
}

export const formOption = (): Option =>
  new Option('-o, --output <form>', `form of the output: ${FORMS}`).argParser((text: string) => formOf(text))

function formOf(text: string): Form {
  if (text === 'wide') return { kind: 'table', isWide: true }
  if (text === 'name' || text === 'json' || text === 'yaml') return { kind: text }
  if (OF_KUBECTL.test(text)) return { kind: 'kubectl', text }
  const [asked = ''] = text.split('=', 1)
  const other = Object.hasOwn(OTHER_FORMS, asked) ? OTHER_FORMS[asked] : undefined
  if (other !== undefined) throw new InvalidArgumentError(other)
  throw new InvalidArgumentError(`Allowed forms are ${FORMS}.`)
}
