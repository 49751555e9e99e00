// The name in a certificate or a request for one: written from a subject, read for what the server decides by.
import { der, inside, objectId, sequence, TAG, type DerValue } from '#lib/der.ts'

export interface Subject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

const COMMON_NAME = objectId('550403') // 2.5.4.3
const ORGANIZATION = objectId('55040a') // 2.5.4.10

const part = (type: Buffer, value: string): Buffer =>
  der(TAG.set, sequence(type, der(TAG.utf8String, Buffer.from(value, 'utf8'))))

export const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(...organizations.map((o) => part(ORGANIZATION, o)), part(COMMON_NAME, commonName))

/** The first common name, '' when there is none, and all organizations. */
export function readName(name: DerValue): Required<Subject> {
  const commonNames: string[] = []
  const organizations: string[] = []
  for (const set of inside(name))
    for (const pair of inside(set, TAG.set)) {
      const [type, value] = inside(pair)
      if (type?.whole.equals(COMMON_NAME) === true) commonNames.push(textOf(value))
      if (type?.whole.equals(ORGANIZATION) === true) organizations.push(textOf(value))
    }
  return { commonName: commonNames[0] ?? '', organizations }
}

const TEXTS: ReadonlySet<number> = new Set([TAG.utf8String, TAG.printableString, TAG.ia5String])
const CONTROL = /\p{Cc}/u

/** What others may read in another way is refused: other encodings, and characters that end or hide text. */
function textOf(value: DerValue | undefined): string {
  if (value === undefined || !TEXTS.has(value.tag))
    throw new SyntaxError('a name that is no UTF-8, printable or IA5 text')
  const text = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(value.content)
  if (CONTROL.test(text) || !Buffer.from(text, 'utf8').equals(value.content))
    throw new SyntaxError('a name with control characters or broken UTF-8')
  return text
}
