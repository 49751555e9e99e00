// Named formats in CEL: !format.dns1123Label().validate("a_b").hasValue(). What validate gives is what is wrong, or nothing.
import { stringFormat } from '../formats.ts'
import {
  label1035Problems,
  labelNameProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '#api/schema/name-problems.ts'
import { toCel } from './convert.ts'
import { fn, method, type Overload, readsFirst, traversal } from './functions.ts'
import { listOf, opaque, optionalOf, STRING } from './types.ts'
import { CelOpaque, CelOptional, sizeOf, type CelValue } from './values.ts'

export const NAMED_FORMAT = opaque('kubernetes.NamedFormat')
const STRINGS = listOf(STRING)

type Problems = (text: string) => readonly string[]

/** The prefix of a generated name may end in a dash. */
const prefix =
  (problems: Problems): Problems =>
  (text) =>
    problems(text.endsWith('-') ? `${text.slice(0, -1)}a` : text)

const known =
  (name: string, what: string): Problems =>
  (text) =>
    stringFormat(name)?.(text) === true ? [] : [what]

const FORMATS: ReadonlyMap<string, Problems> = new Map([
  ['dns1123Label', labelNameProblems],
  ['dns1123LabelPrefix', prefix(labelNameProblems)],
  ['dns1123Subdomain', subdomainProblems],
  ['dns1123SubdomainPrefix', prefix(subdomainProblems)],
  ['dns1035Label', label1035Problems],
  ['dns1035LabelPrefix', prefix(label1035Problems)],
  ['qualifiedName', (text) => qualifiedNameProblems(text)],
  ['labelValue', labelValueProblems],
  ['uri', known('uri', 'invalid URI')],
  ['uuid', known('uuid', 'does not match the UUID format')],
  ['byte', known('byte', 'invalid base64')],
  ['date', known('date', 'invalid date')],
  ['datetime', known('datetime', 'invalid datetime')],
])

class CelFormat extends CelOpaque {
  readonly type = NAMED_FORMAT
  readonly name: string
  readonly problems: Problems

  constructor(name: string, problems: Problems) {
    super()
    this.name = name
    this.problems = problems
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CelFormat && other.name === this.name
  }
}

function named(name: string): CelValue {
  const problems = FORMATS.get(name)
  return problems === undefined ? CelOptional.none : new CelOptional(new CelFormat(name, problems))
}

function validate(format: CelFormat, text: string): CelValue {
  const problems = format.problems(text)
  return problems.length === 0 ? CelOptional.none : new CelOptional(toCel(problems, STRINGS))
}

export const FORMAT_FUNCTIONS: readonly Overload[] = [
  fn('format.named', [STRING], optionalOf(NAMED_FORMAT), named, readsFirst()),
  ...[...FORMATS].map(([name, problems]) =>
    fn(`format.${name}`, [], NAMED_FORMAT, () => new CelFormat(name, problems)),
  ),
  method('validate', [NAMED_FORMAT, STRING], optionalOf(STRINGS), validate, ([, text = null]) =>
    traversal(sizeOf(text)),
  ),
]
