// Locates the two archives in a Debian package, an `ar` archive: bounded, and refused where readers could disagree.
import type { Refuse } from './unpacked-stream.ts'

export interface DebPart {
  readonly start: number
  /** In bytes. */
  readonly length: number
}

export interface DebParts {
  readonly control: DebPart
  readonly data: DebPart
}

interface Member extends DebPart {
  readonly name: string
}

const AR_MAGIC = '!<arch>\n'
const AR_HEADER = 60
/** `debian-binary`, `control.tar`, `data.tar`, and what signing tools add. */
const MAX_MEMBERS = 16

/** Reads the bytes at a position; fewer at the end. */
type ReadAt = (at: number, bytes: number) => Promise<Buffer> | Buffer

export async function debParts(read: ReadAt, length: number, refuse: Refuse): Promise<DebParts> {
  const members = await membersOf(read, length, refuse)
  const [format] = members
  if (format?.name !== 'debian-binary') throw refuse('it is no Debian package')
  const part = (stem: string): DebPart => {
    const found = members.filter(({ name }) => name.startsWith(`${stem}.tar`))
    const [one] = found
    // With two of them, readers would disagree about the package.
    if (one === undefined || found.length > 1)
      throw refuse(`it has ${found.length} members ${stem}.tar, one is expected`)
    return one
  }
  return { control: part('control'), data: part('data') }
}

async function membersOf(read: ReadAt, length: number, refuse: Refuse): Promise<readonly Member[]> {
  const text = async (at: number, bytes: number): Promise<string> => (await read(at, bytes)).toString('latin1')
  if ((await text(0, AR_MAGIC.length)) !== AR_MAGIC) throw refuse('it is no Debian package')
  const members: Member[] = []
  for (let at = AR_MAGIC.length; at < length;) {
    const header = await text(at, AR_HEADER)
    const digits = /^(\d{1,10}) *$/.exec(header.slice(48, 58))?.[1]
    const start = at + AR_HEADER
    if (header.length < AR_HEADER || !header.endsWith('`\n') || digits === undefined || members.length >= MAX_MEMBERS)
      throw refuse(`it is damaged at byte ${at}`)
    const size = Number(digits)
    if (start + size > length) throw refuse(`it is truncated: ${length} bytes`)
    members.push({ name: header.slice(0, 16).trim().replace(/\/$/, ''), start, length: size })
    at = start + size + (size % 2)
  }
  return members
}
