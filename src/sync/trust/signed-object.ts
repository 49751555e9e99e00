// Splits a stored commit or tag into the signed content and its signature. The signed bytes are the object without its signature; nothing is serialized
// again. A form that two readers could understand differently is refused, even if git would accept it.
import { SSH_BEGIN } from './ssh-signature.ts'
import { Malformed } from './ssh-wire.ts'

export interface CommitLinks {
  readonly tree: string
  readonly parents: readonly string[]
  /** Seconds since 1970, according to the committer: for reading order, never as proof. */
  readonly time: number
}

export interface SignedCommit extends CommitLinks {
  readonly payload: Buffer
  /** Armored; absent: unsigned. */
  readonly signature?: string
}

export interface SignedTag {
  readonly object: string
  readonly name: string
  readonly payload: Buffer
  readonly signature?: string
}

const ID = /^[0-9a-f]{40}$/
const PERSON = /^[^\n\0]* (\d{1,12}) [+-]\d{4}$/
const SIGNATURE_HEADERS: ReadonlySet<string> = new Set(['gpgsig', 'gpgsig-sha256'])
/** These appear once, at the start: git uses the first and other readers the last. */
const LEADING: ReadonlySet<string> = new Set(['tree', 'parent', 'author', 'committer'])
const NEWLINE = 0x0a
const SPACE = 0x20

interface Header {
  readonly name: string
  /** Without the leading spaces of continuation lines. */
  readonly value: string
  readonly from: number
  readonly to: number
}

function headersOf(bytes: Buffer): { readonly headers: readonly Header[]; readonly body: number } {
  const headers: Header[] = []
  for (let at = 0; ;) {
    if (bytes[at] === NEWLINE) return { headers, body: at + 1 }
    // A commit without a message ends here.
    if (at === bytes.length) return { headers, body: at }
    const from = at
    const lines: string[] = []
    do {
      const end = bytes.indexOf(NEWLINE, at)
      if (end < 0) throw new Malformed('has a header that does not end')
      lines.push(bytes.toString('latin1', lines.length === 0 ? at : at + 1, end))
      at = end + 1
    } while (bytes[at] === SPACE)
    const [, name, first] = /^([A-Za-z0-9][A-Za-z0-9:._-]*) (.*)$/s.exec(lines[0] ?? '') ?? []
    if (name === undefined || first === undefined) throw new Malformed('has a line among its headers that is none')
    headers.push({ name, value: [first, ...lines.slice(1)].join('\n'), from, to: at })
  }
}

/** Everything after the headers. */
export const messageOf = (bytes: Buffer): string => bytes.toString('utf8', headersOf(bytes).body)

/** Tree, parents and time, as git reads them: also for old commits that are not judged. */
export function parseLinks(bytes: Buffer): CommitLinks {
  return linksOf(headersOf(bytes).headers).links
}

function linksOf([tree, ...rest]: readonly Header[]): {
  readonly links: CommitLinks
  readonly others: readonly Header[]
} {
  const first = rest.findIndex((h) => h.name !== 'parent')
  const parents = first < 0 ? rest : rest.slice(0, first)
  const [author, committer, ...others] = rest.slice(parents.length)
  const id = (h: Header | undefined, name: string): string => {
    if (h?.name !== name || !ID.test(h.value)) throw new Malformed(`has no readable ${name}`)
    return h.value
  }
  const person = (h: Header | undefined, name: string): number => {
    const [, time] = (h?.name === name ? PERSON.exec(h.value) : undefined) ?? []
    if (time === undefined) throw new Malformed(`has no readable ${name}`)
    return Number(time)
  }
  person(author, 'author')
  const time = person(committer, 'committer')
  return { links: { tree: id(tree, 'tree'), parents: parents.map((h) => id(h, 'parent')), time }, others }
}

export function parseSignedCommit(bytes: Buffer): SignedCommit {
  if (bytes.includes(0)) throw new Malformed('has a zero byte, at which some programs stop reading')
  const { links, others } = linksOf(headersOf(bytes).headers)
  const twice = others.find((h) => LEADING.has(h.name))
  if (twice !== undefined) throw new Malformed(`has the header ${twice.name} a second time or out of order`)
  const signatures = others.filter((h) => SIGNATURE_HEADERS.has(h.name))
  if (signatures.length > 1) throw new Malformed(`has ${signatures.length} signature headers; one is allowed`)
  const [signature] = signatures
  if (signature === undefined) return { ...links, payload: bytes }
  if (signature.name !== 'gpgsig') throw new Malformed('is signed for the SHA-256 object format only')
  const payload = Buffer.concat([bytes.subarray(0, signature.from), bytes.subarray(signature.to)])
  return { ...links, payload, signature: signature.value }
}

const PGP_BEGIN = '-----BEGIN PGP SIGNATURE-----'
const BEGINS = [SSH_BEGIN, PGP_BEGIN]

/** A tag's signature is at the end of its message. */
export function parseSignedTag(bytes: Buffer): SignedTag {
  if (bytes.includes(0)) throw new Malformed('has a zero byte, at which some programs stop reading')
  const { headers, body } = headersOf(bytes)
  const names = headers.map((h) => h.name).join(' ')
  if (names !== 'object type tag tagger') throw new Malformed('has other headers than object, type, tag and tagger')
  const [object, type, tag] = headers
  if (!ID.test(object?.value ?? '')) throw new Malformed('names no object')
  if (type?.value !== 'commit') throw new Malformed(`names a ${type?.value.slice(0, 16) ?? ''}, not a commit`)
  const starts = lineStarts(bytes, body).filter((at) =>
    BEGINS.some((b) => bytes.toString('latin1', at, at + b.length) === b),
  )
  if (starts.length > 1) throw new Malformed(`has ${starts.length} signatures; one is allowed`)
  const [start] = starts
  const name = Buffer.from(tag?.value ?? '', 'latin1').toString('utf8')
  const facts = { object: object?.value ?? '', name }
  if (start === undefined) return { ...facts, payload: bytes }
  return { ...facts, payload: bytes.subarray(0, start), signature: bytes.toString('latin1', start) }
}

function lineStarts(bytes: Buffer, from: number): readonly number[] {
  const starts: number[] = []
  for (let at = from; at < bytes.length; at++) {
    starts.push(at)
    at = bytes.indexOf(NEWLINE, at)
    if (at < 0) break
  }
  return starts
}
