// The files that define components to systemd: a unit of its own, or a drop-in beside a foreign unit. No other unit is ever touched.
import { basename, dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { relink, removeDurably, writeDurably } from '../../files/durable.ts'
import type { Files } from '../../files/port.ts'
import { currentLink, onNode, slotsFolder, type NodeDir } from '../../node-dir.ts'
import type { Service } from '../port.ts'
import type { Systemctl, UnitState } from './systemctl.ts'
import { disowned, dropInText, ownerOf, unitText, withoutComponentName } from './unit.ts'
import { agentErrors } from '../../agent-errors.ts'

export interface UnitFilesDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly systemctl: Systemctl
  readonly environment: Readonly<Record<string, string>>
}

/** A component's files in systemd's folders. */
export interface OwnUnit {
  readonly unit: string
  /** The agent wrote the whole unit. */
  readonly ours: boolean
}

interface DesiredUnit {
  readonly component: string
  readonly service: Service
}

const UNITS = '/etc/systemd/system'
/** Where users put drop-ins for one unit. Drop-ins that a distribution applies to all units do not count. */
const DROP_IN_PLACES = [UNITS, '/run/systemd/system']
const MAX_ADDITIONS = 20
const DROP_IN = '50-kubenode.conf'
const DEPENDENCIES = /\.(wants|requires|upholds)$/

/**
 * systemd knows the unit's current files. If a unit failed before its files were removed, it is not-found, or in error after they return, and does not
 * report that it needs a reload.
 */
const isKnown = ({ load, needsReload }: UnitState): boolean => !needsReload && load !== 'not-found' && load !== 'error'

export class UnitFiles {
  readonly #deps: UnitFilesDeps

  constructor(deps: UnitFilesDeps) {
    this.#deps = deps
  }

  pathOf({ unit, ours }: OwnUnit): string {
    return onNode(this.#deps.dir, ours ? join(UNITS, unit) : join(UNITS, `${unit}.d`, DROP_IN))
  }

  /** `known`: the previous files. Returns whether the agent owns the unit. */
  async write(desired: DesiredUnit, unit: string, known: OwnUnit | undefined): Promise<boolean> {
    const { files, systemctl } = this.#deps
    const ours = await this.#isOurs(desired, unit, known)
    const { path, wanted } = this.#place(desired, { unit, ours })
    const before = await this.#read(path)
    if (wanted !== undefined && wanted !== before) await writeDurably(files, path, wanted, 0o644)
    else if (wanted === undefined && ownerOf(before ?? '') === desired.component) await removeDurably(files, path)
    // The component's own files include a new unit: systemd must reload although the agent wrote nothing.
    else if (isKnown(await this.state(unit))) return ours
    await systemctl.run('daemon-reload')
    return ours
  }

  async state(unit: string): Promise<UnitState> {
    const [state] = await this.#deps.systemctl.show([unit])
    if (state === undefined)
      throw new KubeNodeError(agentErrors.KN8037({ command: `show ${unit}`, answer: 'no answer' }), { retry: 'later' })
    return state
  }

  /** Modifications by other programs or users. */
  async drift(desired: DesiredUnit, own: OwnUnit): Promise<string | undefined> {
    const { path, wanted } = this.#place(desired, own)
    if (wanted === undefined) return undefined
    const found = await this.#read(path)
    if (found === wanted || found === withoutComponentName(wanted, desired.component)) return undefined
    return `unit ${own.unit} was changed`
  }

  /** Foreign drop-ins for a KubeNode unit. Any program may extend a foreign unit. */
  async additions({ unit, ours }: OwnUnit): Promise<readonly string[]> {
    if (!ours) return []
    const { files, dir } = this.#deps
    const found: string[] = []
    for (const place of DROP_IN_PLACES) {
      const folder = join(place, `${unit}.d`)
      if ((await files.stat(onNode(dir, folder))) === undefined) continue
      const names = await files.list(onNode(dir, folder))
      found.push(...names.filter((n) => n.endsWith('.conf') && n !== DROP_IN).map((n) => join(folder, n)))
    }
    return found.slice(0, MAX_ADDITIONS)
  }

  async mend(desired: DesiredUnit, own: OwnUnit): Promise<void> {
    const { path, wanted } = this.#place(desired, own)
    if (wanted === undefined) return
    await writeDurably(this.#deps.files, path, wanted, 0o644)
    await this.#deps.systemctl.run('daemon-reload')
  }

  async remove(component: string, unit: string): Promise<void> {
    const { files, systemctl } = this.#deps
    let hasChanged = await this.#disableBrought(component, unit)
    for (const ours of [true, false]) {
      const path = this.pathOf({ unit, ours })
      if (ownerOf((await this.#read(path)) ?? '') !== component) continue
      if (ours) await systemctl.run('disable', '--', unit)
      await removeDurably(files, path)
      if (!ours && (await files.list(dirname(path))).length === 0) await files.remove(dirname(path))
      hasChanged = true
    }
    if (!hasChanged) return
    // systemd would remember a failed unit without its file; a healthy one is no longer known.
    await systemctl.run('reset-failed', '--', unit).catch(() => undefined)
    await systemctl.run('daemon-reload')
  }

  /** The agent wrote the whole unit. */
  async isOwn(component: string, unit: string): Promise<boolean> {
    return ownerOf((await this.#read(this.pathOf({ unit, ours: true }))) ?? '') === component
  }

  /**
   * systemd resolves links when it enables a unit, so its links and aliases point into a slot, which is removed after a switch. Points them to the unit's
   * path instead.
   */
  async anchor(component: string, unit: string): Promise<void> {
    const { files } = this.#deps
    for (const path of await this.#linksTo(component, unit)) await relink(files, path, join(UNITS, unit))
  }

  /** Its links point to a component unit that no longer exists: points them to the unit in force. */
  async lead(component: string, unit: string, inForce: string): Promise<void> {
    const { files, dir } = this.#deps
    if (inForce === '') return
    for (const path of await this.#linksTo(component, unit)) await relink(files, path, inForce)
    const own = join(UNITS, unit)
    if (inForce === own || (await files.stat(onNode(dir, own))) !== undefined) return
    for (const path of await this.#linksTo(component, unit, (target) => target === own))
      await relink(files, path, inForce)
  }

  /** Links in systemd's folder that enable or alias the unit; without `isOne`, those that point into a slot. */
  async #linksTo(component: string, unit: string, isOne?: (target: string) => boolean): Promise<readonly string[]> {
    const { files, dir } = this.#deps
    const slots = `${slotsFolder(dir, component)}/`
    const isMeant = isOne ?? ((target: string) => target.startsWith(slots) && basename(target) === unit)
    const names = await files.list(onNode(dir, UNITS))
    const wants = names.filter((n) => DEPENDENCIES.test(n)).map((n) => join(n, unit))
    const paths = [...wants, ...names.filter((n) => n !== unit)].map((name) => onNode(dir, join(UNITS, name)))
    const targets = await Promise.all(paths.map((path) => files.readLink(path)))
    return paths.filter((_, n) => targets[n] !== undefined && isMeant(targets[n] ?? ''))
  }

  /** The files stay, and belong to the host from now on. */
  async disown(component: string, unit: string): Promise<void> {
    const { files, systemctl } = this.#deps
    await this.anchor(component, unit)
    for (const ours of [true, false]) {
      const path = this.pathOf({ unit, ours })
      const text = await this.#read(path)
      if (text !== undefined && ownerOf(text) === component) await writeDurably(files, path, disowned(text), 0o644)
    }
    await systemctl.run('daemon-reload')
  }

  /** Foreign drop-ins, which stay in force. */
  async dropIns(unit: string): Promise<readonly string[]> {
    const { files, dir } = this.#deps
    const found: string[] = []
    for (const place of [...DROP_IN_PLACES, '/usr/lib/systemd/system']) {
      const folder = join(place, `${unit}.d`)
      const names = await files.list(onNode(dir, folder))
      found.push(...names.filter((n) => n.endsWith('.conf') && n !== DROP_IN).map((n) => join(folder, n)))
    }
    return found.slice(0, MAX_ADDITIONS)
  }

  /** For a unit that the component installed: systemd's links to it would dangle. */
  async #disableBrought(component: string, unit: string): Promise<boolean> {
    const { files, dir, systemctl } = this.#deps
    const target = await files.readLink(onNode(dir, join(UNITS, unit)))
    if (target?.startsWith(`${currentLink(dir, component)}/`) !== true) return false
    await systemctl.run('disable', '--', unit)
    return true
  }

  async #isOurs({ component, service }: DesiredUnit, unit: string, known: OwnUnit | undefined): Promise<boolean> {
    if (service.exec === undefined) return false
    if (known?.unit === unit) return known.ours
    const there = await this.#read(this.pathOf({ unit, ours: true }))
    const owner = there === undefined ? undefined : ownerOf(there)
    if (owner !== undefined && owner !== component)
      throw new KubeNodeError(agentErrors.KN8039({ component, unit, owner }))
    if (there !== undefined) return owner === component
    const state = await this.state(unit)
    return state.load !== 'loaded' || state.path === join(UNITS, unit)
  }

  #place(desired: DesiredUnit, own: OwnUnit): { readonly path: string; readonly wanted: string | undefined } {
    const content = { ...desired, environment: this.#deps.environment }
    return { path: this.pathOf(own), wanted: own.ours ? unitText(content) : dropInText(content) }
  }

  async #read(path: string): Promise<string | undefined> {
    return (await this.#deps.files.read(path))?.toString('utf8')
  }
}
