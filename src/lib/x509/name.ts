// The name in a certificate or signing request: written from a subject, parsed for the server's decisions.
import { der, dottedId, inside, objectId, sequence, TAG, type DerValue } from './der.ts'
import { ID } from './object-ids.ts'

export interface Subject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

const COMMON_NAME = objectId(ID.commonName)
const ORGANIZATION = objectId(ID.organization)

const value = (type: Buffer, text: string): Buffer => sequence(type, der(TAG.utf8String, Buffer.from(text, 'utf8')))
/** DER orders a set by its members' bytes. */
const setOf = (members: readonly Buffer[]): Buffer => der(TAG.set, ...members.toSorted((a, b) => a.compare(b)))

const part = (type: Buffer, text: string): Buffer => setOf([value(type, text)])

/** Signers written in Go repeat a request's name this way: all organizations in one set. A name with any other part stays as written. */
export function repeatedName(name: DerValue): Buffer {
  const read = nameIn(name)
  if (read === undefined || read.others.length > 0) return name.whole
  const { commonName, organizations } = read
  return sequence(
    ...(organizations.length === 0 ? [] : [setOf(organizations.map((o) => value(ORGANIZATION, o)))]),
    ...(commonName === '' ? [] : [setOf([value(COMMON_NAME, commonName)])]),
  )
}

export const encodedName = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(...organizations.map((o) => part(ORGANIZATION, o)), part(COMMON_NAME, commonName))

export interface NameRead extends Required<Subject> {
  /** Identifiers of its other parts, in dotted form. */
  readonly others: readonly string[]
}

/** The common name, '' if there is none, and all organizations. With two common names, other programs use the last one. */
export function readName(name: DerValue): NameRead {
  const commonNames: string[] = []
  const organizations: string[] = []
  const others: string[] = []
  for (const set of inside(name))
    for (const pair of inside(set, TAG.set)) {
      const [type, value, ...rest] = inside(pair)
      if (rest.length > 0) throw new SyntaxError('a part of a name with more than a value')
      if (type?.whole.equals(COMMON_NAME) === true) commonNames.push(valueText(value))
      else if (type?.whole.equals(ORGANIZATION) === true) organizations.push(valueText(value))
      else others.push(dottedId(type))
    }
  if (commonNames.length > 1) throw new SyntaxError(`${commonNames.length} common names`)
  return { commonName: commonNames[0] ?? '', organizations, others }
}

/** Allowed content of each text type: bytes beyond ASCII are read differently unless the text is declared as UTF-8. */
const TEXTS: ReadonlyMap<number, RegExp> = new Map([
  [TAG.utf8String, /^\P{Cc}*$/u],
  [TAG.printableString, /^[ -~]*$/],
  [TAG.ia5String, /^[ -~]*$/],
])

/** Refuses what others may read differently: other encodings, and characters that end or hide text. */
function valueText(value: DerValue | undefined): string {
  const allowed = value && TEXTS.get(value.tag)
  if (value === undefined || allowed === undefined)
    throw new SyntaxError('a name that is no UTF-8, printable or IA5 text')
  const text = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(value.content)
  if (!allowed.test(text) || !Buffer.from(text, 'utf8').equals(value.content))
    throw new SyntaxError('a name with control characters, or in letters that its kind of text has not')
  return text
}

function nameIn(name: DerValue): NameRead | undefined {
  try {
    return readName(name)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
