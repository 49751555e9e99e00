// Parses `Machine.spec.provider.params` of cloud hosts: texts checked by the vendor's schema, and their small inner formats. Pure.
import { str, type Field } from '#api/build.ts'
import { createFieldReader } from '#api/field-problems.ts'

export type ReadParams<P> =
  | { readonly kind: 'Params'; readonly params: P }
  | { readonly kind: 'Refused'; readonly reason: string }

/** Refuses unknown parameters: a typo, or meant for another provider. Compiles the schema at the first use: a thousand hosts share one set. */
export function paramsReader<P>(
  schema: Field<P, unknown>,
): (params: Readonly<Record<string, string>>) => ReadParams<P> {
  const read = createFieldReader()
  return (params) => {
    const found = read(schema, params)
    if (found.kind === 'Value') return { kind: 'Params', params: found.value }
    const [{ pointer, message, suggestion }] = found.problems
    const name = pointer === '' ? 'parameters' : `parameter ${pointer.slice(1)}`
    return {
      kind: 'Refused',
      reason: `${name} ${message}${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`,
    }
  }
}

/** "a,b" */
export const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** "a=1,b=2"; an entry without a name has the empty one. */
export const pairsOf = (text = ''): ReadonlyMap<string, string> =>
  new Map(
    listOf(text).map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? ['', part] : [part.slice(0, at), part.slice(at + 1)]
    }),
  )

export interface Disk {
  readonly category: string
  readonly gib: string
}

/** "gp3:40" */
export const diskOf = (text: string): Disk => {
  const [category = '', gib = ''] = text.split(':')
  return { category, gib }
}

const ID_CHARS = '[A-Za-z0-9][-A-Za-z0-9_.]{0,127}'
const LONGEST = 1_024

export const idParam = (doc: string): Field<string> =>
  str(doc, { min: 1, max: 128, pattern: `^${ID_CHARS}$`, expects: 'an id or name of the cloud' })

export const idListParam = (doc: string): Field<string> =>
  str(doc, { min: 1, max: LONGEST, pattern: `^${ID_CHARS}(, ?${ID_CHARS})*$`, expects: 'a list of ids, with commas' })

export const zoneMapParam = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: LONGEST,
    pattern: `^${ID_CHARS}(=${ID_CHARS})?(, ?${ID_CHARS}=${ID_CHARS})*$`,
    expects: 'one id, or a list such as ZONE=ID,ZONE=ID',
  })

const DISK = '[a-z0-9_]{2,32}:[1-9][0-9]{0,5}'

export const diskParam = (doc: string): Field<string> =>
  str(doc, { min: 1, max: 64, pattern: `^${DISK}$`, expects: 'a category and its size in GiB, such as CATEGORY:40' })

export const diskListParam = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: LONGEST,
    pattern: `^${DISK}(, ?${DISK}){0,15}$`,
    expects: 'disks such as CATEGORY:40,CATEGORY:100',
  })

export const tagsParam = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: LONGEST,
    pattern: '^(?!kubenode\\.io/)[^,=]{1,127}=[^,]{0,127}(, ?(?!kubenode\\.io/)[^,= ][^,=]{0,126}=[^,]{0,127}){0,9}$',
    expects: 'tags such as NAME=VALUE,NAME=VALUE, none of which begins with kubenode.io/',
  })

export const priceParam = (doc: string): Field<string> =>
  str(doc, { min: 1, max: 16, pattern: '^[0-9]+(\\.[0-9]{1,6})?$', expects: 'a price such as 0.25' })

/** The network of the wanted zone, and that zone. */
export function placeIn(
  networks: string,
  wantedZone: string | undefined,
): { readonly network: string; readonly zone: string | undefined } | undefined {
  const byZone = pairsOf(networks)
  const only = byZone.get('')
  if (only !== undefined && byZone.size === 1) return { network: only, zone: wantedZone }
  const [zone = '', network] = wantedZone === undefined ? ([...byZone][0] ?? []) : [wantedZone, byZone.get(wantedZone)]
  return network === undefined ? undefined : { network, zone }
}
