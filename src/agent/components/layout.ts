// Where a component's parts are inside its slot, and which paths on the node lead to them. Every such path is a symbolic link through `current`, so one
// rename switches programs and configuration together.
import { basename } from 'node:path'
import type { TemplateFormat } from '#api/templates/placeholders.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'

interface PlacedBinary {
  /** Path inside the archive; undefined when the artifact itself is the program. */
  readonly source: string | undefined
  readonly inSlot: string
  readonly mode: number
}

interface PlacedFile {
  readonly inSlot: string
  readonly mode: number
  readonly template: string
  /** Absent in statements from before formats existed. */
  readonly format?: TemplateFormat
  readonly path: string
}

export interface NodeLink {
  /** The path as the component declares it. */
  readonly path: string
  readonly inSlot: string
}

export interface Layout {
  /** Set when the whole archive is unpacked. */
  readonly tree: { readonly strip: number } | undefined
  readonly binaries: readonly PlacedBinary[]
  readonly files: readonly PlacedFile[]
  /** Of the operating system; in the slot only. */
  readonly packages: readonly PlacedBinary[]
  readonly links: readonly NodeLink[]
}

export const TREE = 'tree'
const BINARIES = 'binaries'

/** Not in a tree, and not a file that the component configures. */
export const isProgram = ({ inSlot }: NodeLink): boolean => inSlot.startsWith(`${BINARIES}/`)

const modeOf = (text: string): number => Number.parseInt(text, 8)

/** The rest of the path below the folder, if it is inside it. */
const below = (path: string, folder: string | undefined): string | undefined =>
  folder !== undefined && path.startsWith(`${folder.replace(/\/$/, '')}/`)
    ? path.slice(folder.replace(/\/$/, '').length + 1)
    : undefined

export function layoutOf(spec: Pick<MachineComponentSpec, 'install' | 'files' | 'os'>): Layout {
  const unpack = spec.install?.unpack
  const binaries = (spec.install?.binaries ?? []).map((b, n) => ({
    source: b.source,
    path: b.path,
    inSlot: `${BINARIES}/${n}/${basename(b.path)}`,
    mode: modeOf(b.mode),
  }))
  const files = (spec.files ?? []).map((f, n) => {
    const rest = below(f.path, unpack?.path)
    const inSlot = rest === undefined ? `files/${n}/${basename(f.path)}` : `${TREE}/${rest}`
    return { path: f.path, inSlot, mode: modeOf(f.mode), template: f.template, format: f.format }
  })
  return {
    tree: unpack === undefined ? undefined : { strip: unpack.strip },
    binaries,
    files,
    packages: (spec.os?.packages ?? []).map((source, n) => ({
      source,
      inSlot: `packages/${n}/${basename(source)}`,
      mode: 0o644,
    })),
    links: [
      ...(unpack === undefined ? [] : [{ path: unpack.path, inSlot: TREE }]),
      ...binaries.map(({ path, inSlot }) => ({ path, inSlot })),
      ...files.filter((f) => !f.inSlot.startsWith(`${TREE}/`)).map(({ path, inSlot }) => ({ path, inSlot })),
    ],
  }
}

/** A path that the agent may turn into a link. Any other target is refused, even in a signed statement. */
export const isPlainPath = (path: string): boolean =>
  path.startsWith('/') &&
  path !== '/' &&
  path
    .slice(1)
    .split('/')
    .every((p) => p !== '' && p !== '.' && p !== '..')
