// Finds enabled host units that start a component's program under a different unit name: adopting the component would run the program twice.
import { basename, join } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { onNode } from '../node-dir.ts'
import type { KeptDeps } from './kept.ts'
import { startedBy, UNITS } from './host-units.ts'

/** Folders of units written by an administrator, and of the links to enabled units. */
const FOLDERS = [UNITS, '/run/systemd/system']
const OF_TARGET = /\.(?:wants|requires)$/
/** A host has about sixty enabled services; units beyond this limit are not compared. */
const MOST_UNITS = 512

/** `/usr/bin/x` for `/bin/x`: the folders are the same on every host with a merged /usr. */
const merged = (path: string): string => path.replace(/^\/(bin|sbin)\//, '/usr/$1/')

/** A component may omit the suffix. */
const unitNameOf = ({ service }: MachineComponentSpec): string | undefined =>
  service?.unit === undefined || service.unit.endsWith('.service') ? service?.unit : `${service.unit}.service`

interface OtherUnit {
  readonly unit: string
  readonly program: string
}

type Deps = Pick<KeptDeps, 'files' | 'dir'>

/** Reads the units again when a name in their folders changes. */
export class OtherUnits {
  readonly #deps: Deps
  #seen: { readonly key: string; readonly units: readonly OtherUnit[] } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async of(spec: MachineComponentSpec): Promise<readonly string[]> {
    const programs = (spec.install?.binaries ?? []).map((b) => merged(b.path))
    const names = new Set(programs.map((p) => basename(p)))
    const own = unitNameOf(spec)
    const isOther = ({ unit, program }: OtherUnit): boolean =>
      unit !== own &&
      !unit.startsWith('kubenode-') &&
      (programs.includes(merged(program)) || names.has(basename(program)))
    return (await this.#units()).filter(isOther).map(({ unit, program }) => `${unit} (starts ${program})`)
  }

  async #units(): Promise<readonly OtherUnit[]> {
    const { files, dir } = this.#deps
    const folders: string[] = []
    for (const folder of FOLDERS) {
      const below = (await files.list(onNode(dir, folder))).filter((name) => OF_TARGET.test(name))
      folders.push(folder, ...below.map((name) => join(folder, name)))
    }
    const stats = await Promise.all(folders.map((folder) => files.stat(onNode(dir, folder))))
    const key = folders.map((folder, n) => `${folder}:${stats[n]?.modifiedMs ?? 0}`).join('\n')
    if (this.#seen?.key === key) return this.#seen.units
    const units = await this.#read(folders)
    this.#seen = { key, units }
    return units
  }

  async #read(folders: readonly string[]): Promise<readonly OtherUnit[]> {
    const { files, dir } = this.#deps
    const found = new Map<string, OtherUnit>()
    let count = 0
    for (const folder of folders)
      for (const entry of await files.list(onNode(dir, folder))) {
        if (!entry.endsWith('.service') || ++count > MOST_UNITS) continue
        // An alias is a link to the actual unit.
        const unit = basename((await files.readLink(onNode(dir, join(folder, entry)))) ?? entry)
        if (found.has(unit)) continue
        const text = await files.read(onNode(dir, join(folder, entry))).catch(() => undefined)
        const [program] = startedBy(text?.toString('utf8') ?? '')
        if (program !== undefined) found.set(unit, { unit, program })
      }
    return [...found.values()]
  }
}
