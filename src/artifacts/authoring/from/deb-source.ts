// A Debian package as a source: its control record, and the files of data.tar. Lists its maintainer scripts but never runs them.
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { debParts, type DebPart, type DebParts } from '../../oci/deb-parts.ts'
import type { FilePart } from '../../oci/unpacked-stream.ts'
import { semverOfDebian } from './debian-version.ts'
import { digestOfFile, readTree, refusalOf, sourceRefused, wholeFile, type Publisher, type Source } from './source.ts'

const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm', 'config'] as const

export async function debSource(file: string): Promise<Source> {
  const parts = await partsOf(wholeFile(file))
  const at = (part: DebPart): FilePart => ({ file, ...part })
  const control = await readTree([at(parts.control)], () => true)
  const data = at(parts.data)
  const text = (name: string): string => control.file(name)?.content?.toString('utf8') ?? ''
  return {
    kind: 'deb',
    name: basename(file),
    sha256: await digestOfFile(file),
    tree: await readTree([data], isTextOfPackage),
    layers: [data],
    facts: publisherOf(file, fieldsOf(text('control')), {
      scripts: SCRIPTS.filter((name) => control.file(name) !== undefined),
      conffiles: text('conffiles')
        .split('\n')
        .filter((line) => line.startsWith('/')),
    }),
  }
}

async function partsOf({ file, length }: FilePart): Promise<DebParts> {
  const handle = await open(file, 'r')
  const read = async (at: number, bytes: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at)
    return buffer.subarray(0, bytesRead)
  }
  try {
    return await debParts(read, length, refusalOf(file))
  } finally {
    await handle.close()
  }
}

/** Some packages keep a default configuration below usr/share, and their scripts copy it from there. */
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

/** Continuation lines belong to the field above; only single-line fields are read here. */
const fieldsOf = (record: string): ReadonlyMap<string, string> =>
  new Map(
    [...record.matchAll(/^([A-Za-z-]+):(.*)$/gm)].map(([, name = '', value = '']) => [
      name.toLowerCase(),
      value.trim(),
    ]),
  )
