// A Debian package as a source: its control record, and the files of data.tar. Its maintainer scripts are named and never run.
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { semverOfDebian } from './debian-version.ts'
import { readTree, digestOfFile, wholeFile, type Publisher, type Source } from './source.ts'
import { sourceRefused, type FilePart } from './unpacked-stream.ts'

const AR_MAGIC = '!<arch>\n'
const AR_HEADER = 60
/** `debian-binary`, `control.tar`, `data.tar`, and what signing tools add. */
const MAX_MEMBERS = 16
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm', 'config'] as const

export async function debSource(file: string): Promise<Source> {
  const members = await membersOf(wholeFile(file))
  const [format] = members
  if (format?.name !== 'debian-binary') throw sourceRefused(file, 'it is no Debian package')
  const part = (stem: string): FilePart => {
    const found = members.filter(({ name }) => name.startsWith(`${stem}.tar`))
    const [one] = found
    // Two of them: each reader would see another package.
    if (one === undefined || found.length > 1)
      throw sourceRefused(file, `it has ${found.length} members ${stem}.tar, one is expected`)
    return one.part
  }
  const control = await readTree([part('control')], () => true)
  const data = part('data')
  const text = (name: string): string => control.file(name)?.content?.toString('utf8') ?? ''
  return {
    kind: 'deb',
    name: basename(file),
    sha256: await digestOfFile(file),
    tree: await readTree([data], isTextOfPackage),
    layers: [data],
    says: publisherOf(file, fieldsOf(text('control')), {
      scripts: SCRIPTS.filter((name) => control.file(name) !== undefined),
      conffiles: text('conffiles')
        .split('\n')
        .filter((line) => line.startsWith('/')),
    }),
  }
}

/** Some packages keep the first version of a configuration below usr/share, where their scripts copy it from. */
const isTextOfPackage = (path: string): boolean =>
  /^etc\/|^(?:usr\/)?lib\/systemd\/system\/|^usr\/share\/[^/]+\/[^/]+\.(?:conf|cfg|toml|yaml|keys)$/.test(path)

function publisherOf(
  file: string,
  fields: ReadonlyMap<string, string>,
  more: Pick<Publisher, 'scripts' | 'conffiles'>,
): Publisher {
  const [name, version, arch] = ['package', 'version', 'architecture'].map((f) => fields.get(f))
  if (name === undefined || version === undefined || arch === undefined)
    throw sourceRefused(file, 'its control record names no package, version and architecture')
  const depends = ['pre-depends', 'depends'].flatMap((f) => (fields.get(f) ?? '').split(','))
  return {
    component: name,
    version: semverOfDebian(version),
    arch: KUBERNETES_ARCH[arch] ?? arch,
    depends: depends.map((d) => d.trim()).filter((d) => d !== ''),
    ...more,
  }
}

const KUBERNETES_ARCH: Readonly<Record<string, string>> = { all: 'any', ppc64el: 'ppc64le' }

/** Continued lines belong to the field above; only single-line fields are read here. */
const fieldsOf = (record: string): ReadonlyMap<string, string> =>
  new Map(
    [...record.matchAll(/^([A-Za-z-]+):(.*)$/gm)].map(([, name = '', value = '']) => [
      name.toLowerCase(),
      value.trim(),
    ]),
  )

interface Member {
  readonly name: string
  readonly part: FilePart
}

async function membersOf({ file, length }: FilePart): Promise<readonly Member[]> {
  const handle = await open(file, 'r')
  const text = async (at: number, bytes: number): Promise<string> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at)
    return buffer.toString('latin1', 0, bytesRead)
  }
  try {
    if ((await text(0, AR_MAGIC.length)) !== AR_MAGIC) throw sourceRefused(file, 'it is no Debian package')
    const members: Member[] = []
    for (let at = AR_MAGIC.length; at < length;) {
      const header = await text(at, AR_HEADER)
      const digits = /^(\d{1,10}) *$/.exec(header.slice(48, 58))?.[1]
      const start = at + AR_HEADER
      if (header.length < AR_HEADER || !header.endsWith('`\n') || digits === undefined || members.length >= MAX_MEMBERS)
        throw sourceRefused(file, `it is damaged at byte ${at}`)
      const size = Number(digits)
      if (start + size > length) throw sourceRefused(file, `it is truncated: ${length} bytes`)
      members.push({ name: header.slice(0, 16).trim().replace(/\/$/, ''), part: { file, start, length: size } })
      at = start + size + (size % 2)
    }
    return members
  } finally {
    await handle.close()
  }
}
