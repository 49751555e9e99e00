// The name in a certificate or a request for one: written from a subject, read for what the server decides by.
import { der, dottedId, inside, objectId, sequence, TAG, type DerValue } from './der.ts'
import { ID } from './object-ids.ts'

export interface Subject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

const COMMON_NAME = objectId(ID.commonName)
const ORGANIZATION = objectId(ID.organization)

const value = (type: Buffer, text: string): Buffer => sequence(type, der(TAG.utf8String, Buffer.from(text, 'utf8')))
/** A set in DER is ordered by the bytes of its members. */
const setOf = (members: readonly Buffer[]): Buffer => der(TAG.set, ...members.toSorted((a, b) => a.compare(b)))

const part = (type: Buffer, text: string): Buffer => setOf([value(type, text)])

/** As signers written in Go repeat the name of a request: all organizations in one set. A name with anything else in it stays as it was written. */
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
  /** Identifiers of its other parts, in numbers and dots. */
  readonly others: readonly string[]
}

/** The common name, '' when there is none, and all organizations. Of two common names others go by the last one. */
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

/** Allowed content of each kind of text: bytes beyond ASCII are different letters to different readers unless the text is declared as UTF-8. */
const TEXTS: ReadonlyMap<number, RegExp> = new Map([
  [TAG.utf8String, /^\P{Cc}*$/u],
  [TAG.printableString, /^[ -~]*$/],
  [TAG.ia5String, /^[ -~]*$/],
])

/** What others may read in another way is refused: other encodings, and characters that end or hide text. */
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
