// Fills a slot: unpacks the archive, renders files, syncs everything, and writes the completion mark last. A manifest records the content, so every
// later change is noticed.
import { filled } from '#api/templates/fill.ts'
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { Version } from '#api/protocol/component-order.ts'
import { statementDigest } from '#api/trust/statement.ts'
import { makeFolderDurably, readState, removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { slotFolder, slotsFolder, type NodeDir } from '../node-dir.ts'
import { TREE, isPlainPath, layoutOf, type Layout } from './layout.ts'
import { MANIFEST, keptFile, manifestOf, type PlacedDigest } from './manifest.ts'
import type { Slot } from './record.ts'
import { ARCHIVE_LIMITS, readTar, tarRefused, type TarFileSink, type TarSink } from '#artifacts/oci/component-tar.ts'
import { agentErrors } from '../agent-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** Written last: a slot without it is incomplete. */
const MARK = 'slot.json'

export interface SlotContent {
  readonly spec: MachineComponentSpec
  readonly config: { readonly name: string; readonly digest: string; readonly values: JsonObject } | undefined
  /** The checked artifact; undefined for a component that installs nothing. */
  readonly artifact: CheckedArtifact | undefined
}

export interface CheckedArtifact {
  readonly path: string
  readonly sha256: string
  readonly size: number
}

export interface SlotDeps {
  readonly files: Files
  readonly dir: NodeDir
}

/** Identifies an installation: the statement and the configuration, nothing that differs between nodes. */
export const installedDigest = (spec: MachineComponentSpec, configDigest: string | undefined): string =>
  sha256Hex(`${statementDigest(spec)}\n${configDigest ?? ''}`)

export const slotId = (digest: string, generation: number): string => `${digest.slice(0, 16)}-${generation}`

/** The statement of a complete slot; undefined when the slot is incomplete. */
export const readSlot = async ({ files, dir }: SlotDeps, component: string, slot: string) =>
  readState(files, join(slotFolder(dir, component, slot), MARK), (v) =>
    isObject(v) && isObject(v['spec']) ? (v['spec'] as unknown as MachineComponentSpec) : undefined,
  )

export const unreadableSlot = ({ version, id }: Pick<Slot, 'version' | 'id'>): string =>
  `what was installed of ${version} cannot be read on the disk (slot ${id})`

/** Caches the definition in one slot. A missing one is read again next time. */
export class KeptSpec {
  readonly #deps: SlotDeps
  readonly #component: string
  #kept: { readonly slot: string; readonly spec: MachineComponentSpec } | undefined

  constructor(deps: SlotDeps, component: string) {
    this.#deps = deps
    this.#component = component
  }

  isOf(slot: string): boolean {
    return this.#kept?.slot === slot
  }

  async read(slot: string): Promise<MachineComponentSpec | undefined> {
    if (!this.isOf(slot)) {
      const spec = await readSlot(this.#deps, this.#component, slot)
      this.#kept = spec && { slot, spec }
    }
    return this.#kept?.spec
  }
}

/** Finds a complete slot by its folder alone, after the journal is lost. */
export async function slotByFolder({ files, dir }: SlotDeps, component: string, id: string): Promise<Slot | undefined> {
  return readState(files, join(slotFolder(dir, component, id), MARK), (v) => {
    if (!isObject(v) || !isObject(v['spec']) || typeof v['digest'] !== 'string') return undefined
    const { version } = v['spec']
    if (typeof version !== 'string') return undefined
    const config = typeof v['config'] === 'string' ? { config: v['config'] } : {}
    const statement = statementDigest(v['spec'] as unknown as MachineComponentSpec)
    return { id, digest: v['digest'], statement, version, ...config }
  })
}

/** Idempotent: a complete slot is left alone, an incomplete one is rebuilt. A `generation` above 0 is another copy of the same version. */
export async function fillSlot(deps: SlotDeps, target: Version, content: SlotContent, generation = 0): Promise<Slot> {
  const { files, dir } = deps
  const { spec, config } = content
  const digest = installedDigest(spec, config?.digest)
  const id = slotId(digest, generation)
  const slot: Slot = {
    id,
    digest,
    statement: statementDigest(spec),
    version: target.version,
    ...defined({ config: target.config }),
  }
  if ((await readSlot(deps, spec.component, id)) !== undefined) return slot
  const folder = slotFolder(dir, spec.component, id)
  const layout = layoutOf(spec)
  const bad = layout.links.find((l) => !isPlainPath(l.path))
  if (bad !== undefined)
    throw new KubeNodeError(agentErrors.KN8021({ component: spec.component, version: spec.version, path: bad.path }))
  await files.remove(folder)
  await makeFolderDurably(files, slotsFolder(dir, spec.component))
  await files.makeFolder(folder)
  const out = new SlotWriter(files, folder)
  if (content.artifact !== undefined) await unpackChecked(files, out, layout, content.artifact)
  await renderFiles(out, layout, config?.values ?? {}, spec)
  await out.syncFolders()
  await writeDurably(files, join(folder, MANIFEST), JSON.stringify(await manifestOf(files, folder, out.placed)))
  await files.syncFolder(slotsFolder(dir, spec.component))
  await writeDurably(files, join(folder, MARK), JSON.stringify({ spec, config: config?.name, digest }))
  return slot
}

/** Remove the mark first: a partly removed slot must never look complete. */
export async function removeSlot({ files, dir }: SlotDeps, component: string, slot: string): Promise<void> {
  const folder = slotFolder(dir, component, slot)
  await removeDurably(files, join(folder, MARK))
  await files.remove(folder)
}

/** Receives the files of a slot. */
export interface SlotSink {
  folder(path: string): Promise<void>
  file(path: string, mode: number): Promise<TarFileSink>
}

/** The file was checked earlier and is hashed again here, because only the bytes that were unpacked count. */
async function unpackChecked(
  files: Files,
  out: SlotSink,
  layout: Layout,
  { path, sha256, size }: CheckedArtifact,
): Promise<void> {
  const hash = createHash('sha256')
  let got = 0
  const stream = async function* (from: string): AsyncIterable<Buffer> {
    for await (const chunk of files.stream(from)) {
      hash.update(chunk)
      got += chunk.length
      yield chunk
    }
  }
  await unpack({ stream }, out, layout, path)
  const digest = hash.digest('hex')
  if (digest === sha256) return
  const seen = { place: path, got, digest: digest.slice(0, 12), size, sha256: sha256.slice(0, 12) }
  // The next attempt checks the file first, and downloads it again.
  throw new KubeNodeError(agentErrors.KN8012(seen), { retry: 'later' })
}

export async function unpack(
  files: Pick<Files, 'stream'>,
  out: SlotSink,
  layout: Layout,
  artifact: string,
): Promise<void> {
  const whole =
    layout.binaries.length === 1 && layout.binaries[0]?.source === undefined ? layout.binaries[0] : undefined
  if (whole !== undefined) {
    const file = await out.file(whole.inSlot, whole.mode)
    for await (const chunk of files.stream(artifact)) await file.write(chunk)
    return file.end()
  }
  const missing = new Map([...layout.binaries, ...layout.packages].map((b) => [b.source, b]))
  await readTar(files.stream(artifact), ARCHIVE_LIMITS, sinkOf(out, layout, missing))
  const [lost] = missing.keys()
  if (lost !== undefined) throw tarRefused(`${lost} is missing`)
  return undefined
}

const NOWHERE: TarFileSink = { write: async () => undefined, end: async () => undefined }

function sinkOf(out: SlotSink, layout: Layout, missing: Map<string | undefined, Layout['binaries'][number]>): TarSink {
  const { tree } = layout
  const inTree = (path: string): string | undefined => {
    if (tree === undefined) return undefined
    const rest = path.split('/').slice(tree.strip)
    return rest.length === 0 ? '' : `${TREE}/${rest.join('/')}`
  }
  return {
    async folder(path) {
      const place = inTree(path)
      if (place !== undefined && place !== '') await out.folder(place)
    },
    async file(path, mode) {
      const binary = missing.get(path)
      if (binary !== undefined) {
        missing.delete(path)
        return out.file(binary.inSlot, binary.mode)
      }
      const place = inTree(path)
      if (place === '') throw tarRefused(`${path} has no name left once ${tree?.strip ?? 0} parts are taken off`)
      return place === undefined ? NOWHERE : out.file(place, (mode & 0o755) | 0o400)
    },
  }
}

async function renderFiles(
  out: SlotWriter,
  layout: Layout,
  values: JsonObject,
  spec: MachineComponentSpec,
): Promise<void> {
  for (const { inSlot, mode, template, format, path } of layout.files) {
    const result = filled(template, format, values)
    if (result.kind === 'Refused')
      throw new KubeNodeError(
        agentErrors.KN8021_value({ path, component: spec.component, version: spec.version, why: result.reason }),
      )
    const text = Buffer.from(result.text)
    // A modified file is restored from this second copy.
    for (const place of [inSlot, keptFile(inSlot)]) {
      const file = await out.file(place, place === inSlot ? mode : 0o600)
      await file.write(text)
      await file.end()
    }
  }
}

/** Creates files and folders below one new folder, and remembers which folders to sync. */
class SlotWriter implements SlotSink {
  readonly #files: Files
  readonly #root: string
  readonly #folders = new Set<string>()
  readonly #placed = new Map<string, PlacedDigest>()

  constructor(files: Files, root: string) {
    this.#files = files
    this.#root = root
    this.#folders.add(root)
  }

  get placed(): readonly PlacedDigest[] {
    return [...this.#placed.values()]
  }

  async folder(path: string): Promise<void> {
    const full = join(this.#root, path)
    if (this.#folders.has(full)) return
    await this.#files.makeFolder(full)
    for (let at = full; !this.#folders.has(at); at = dirname(at)) this.#folders.add(at)
  }

  async file(path: string, mode: number): Promise<TarFileSink> {
    await this.folder(dirname(path))
    const full = join(this.#root, path)
    // A rendered file may replace a default from the archive.
    await this.#files.remove(full)
    const writer = await this.#files.create(full, mode)
    const hash = createHash('sha256')
    return {
      write: (chunk) => {
        hash.update(chunk)
        return writer.write(chunk)
      },
      end: async () => {
        await writer.sync()
        await writer.close()
        this.#placed.set(path, { path, mode, sha256: hash.digest('hex') })
      },
    }
  }

  /** Deepest first. */
  async syncFolders(): Promise<void> {
    for (const path of [...this.#folders].sort((a, b) => b.length - a.length)) await this.#files.syncFolder(path)
  }
}
