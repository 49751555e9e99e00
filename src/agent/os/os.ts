// A kernel from packages, as a component. Invariant: until `confirm`, the default is what it was before, and what runs is never removed.
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { isReservedArgument } from '#api/kinds/component-os.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { agentErrors } from '../agent-errors.ts'
import { layoutOf } from '../components/layout.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { kernelsFile, slotFolder, type NodeDir } from '../node-dir.ts'
import { type BootEntry, BOOT_MARK, isOwn, isRecovery, ownEntryId, slotIn } from './boot-entries.ts'
import type { BootHost } from './boot-host.ts'
import { type BootLoader, type BootTree, type Steps, bootLoaderOf, setDefault } from './boot-loader.ts'
import { TOOLS, toolFor } from './packages.ts'
import type { Mismatch, OsPort, OsVersion } from './port.ts'

export interface OsDeps {
  readonly host: BootHost
  readonly files: Files
  readonly dir: NodeDir
  readonly log: Logger
}

/** Packages that were not on the host before, by the kernel that they were installed for. */
interface OwnKernels {
  readonly [kernel: string]: readonly string[]
}

/** A kernel with its initial file system takes up to 150 MiB where all drivers are included. */
const ROOM_FOR_KERNEL = 200 * 2 ** 20
/** Without it a kernel that panics, or whose initial file system does not find the disk, stops and waits for a person. */
const PANIC = 'panic=30'

export class OperatingSystem implements OsPort {
  readonly #deps: OsDeps

  constructor(deps: OsDeps) {
    this.#deps = deps
  }

  async refusal(spec: MachineComponentSpec): Promise<string | undefined> {
    const tree = await this.#deps.host.read()
    const found = bootLoaderOf(tree)
    if (found.name === 'unknown') return found.missing
    if (found.running === undefined) return noEntry(found, tree.running.kernel)
    const { packages: [first] = [], kernel, bootArguments = [] } = osOf(spec)
    const reserved = bootArguments.find(isReservedArgument)
    if (reserved !== undefined) return `the boot argument ${reserved} is decided by the host and the agent`
    if (first === undefined)
      return entryFor(found, kernel) === undefined ? `${noEntry(found, kernel)}, and it has no packages` : undefined
    const { program } = toolFor(first)
    if (!tree.paths.has(program)) return `${program} is not installed, which ${first} needs`
    const { freeBytes } = tree
    return freeBytes !== undefined && freeBytes < ROOM_FOR_KERNEL
      ? `/boot has ${Math.floor(freeBytes / 2 ** 20)} MiB free, and a kernel needs ${ROOM_FOR_KERNEL / 2 ** 20}`
      : undefined
  }

  async stage(version: OsVersion): Promise<void> {
    const { kernel, bootArguments = [] } = osOf(version.spec)
    const byDefault = await this.#defaultToKeep(kernel)
    await this.#keepDefault(byDefault)
    await this.#installPackages(version)
    // Packages of Red Hat may make a new kernel the default.
    await this.#keepDefault(byDefault)
    const loader = await this.#loader()
    const from = entryFor(loader, kernel)
    if (from === undefined)
      throw new KubeNodeError(agentErrors.KN8097({ what: `Linux ${kernel}`, why: noEntry(loader, kernel) }))
    const panics = [...from.arguments, ...bootArguments].some((a) => a.startsWith('panic=')) ? [] : [PANIC]
    const title = `Linux ${kernel} (KubeNode, ${version.spec.component} ${version.spec.version})`
    const more = [...bootArguments, ...panics, `${BOOT_MARK}${version.slot}`]
    await this.#carryOut(loader.add({ id: ownEntryId(version.slot), title, from, arguments: more }))
  }

  /** Staging made it one entry. */
  async byDefault(): Promise<string | undefined> {
    const { byDefault, running } = await this.#loader()
    return byDefault ?? running?.id
  }

  async arm({ slot }: OsVersion): Promise<void> {
    await this.#carryOut((await this.#loader()).arm(ownEntryId(slot)))
  }

  /** The default is the version before until `confirm`. */
  async putOnTrial(): Promise<void> {}

  async disarm(before: string | undefined): Promise<void> {
    const loader = await this.#loader()
    const isThere = loader.entries.some((e) => e.id === before)
    await this.#carryOut(before === undefined || !isThere ? loader.disarm() : loader.confirm(before))
  }

  async confirm(): Promise<void> {
    const tree = await this.#deps.host.read()
    const loader = knownLoader(tree)
    const { running } = loader
    if (running === undefined)
      throw new KubeNodeError(agentErrors.KN8099({ why: noEntry(loader, tree.running.kernel) }))
    await this.#carryOut(loader.confirm(running.id))
  }

  async mismatch(version: OsVersion): Promise<Mismatch | undefined> {
    const what = await this.#difference(version)
    return what === undefined ? undefined : { what, booted: 'Other' }
  }

  async #difference({ slot, spec }: OsVersion): Promise<string | undefined> {
    const running = await this.#deps.host.running()
    const { kernel, bootArguments = [] } = osOf(spec)
    if (running.kernel !== kernel) return `Linux ${running.kernel} runs, not ${kernel}`
    // Another own entry may have the same kernel. One of the distribution counts if it has all the arguments.
    const own = slotIn(running.arguments)
    if (own !== undefined)
      return isCopyOf(own, slot) ? undefined : `Linux ${kernel} runs from the entry of another version`
    const lost = bootArguments.find((a) => !running.arguments.includes(a))
    return lost === undefined ? undefined : `Linux ${kernel} runs without the boot argument ${lost}`
  }

  async tidy(kept: readonly OsVersion[]): Promise<void> {
    const { host, log } = this.#deps
    const tree = await host.read()
    const found = bootLoaderOf(tree)
    if (found.name === 'unknown') return
    await this.#carryOut(found.tidy(new Set(kept.map((v) => ownEntryId(v.slot)))))
    const own = await this.#ownKernels()
    const { byDefault } = found
    const needed = new Set([
      tree.running.kernel,
      ...kept.map((v) => osOf(v.spec).kernel),
      ...found.entries.filter((e) => e.id === byDefault).map((e) => e.kernel),
    ])
    for (const [kernel, packages] of Object.entries(own)) {
      if (needed.has(kernel)) continue
      const tool = tree.paths.has(TOOLS[0]?.program ?? '') ? TOOLS[0] : TOOLS[1]
      const problem = tool && packages.length > 0 ? await host.change(tool.remove(packages)) : undefined
      // Tried again with the next switch; a kernel too many harms nothing.
      if (problem !== undefined) log.warn('cannot remove an old kernel', { kernel, problem })
      else
        await this.#writeOwn(Object.fromEntries(Object.entries(await this.#ownKernels()).filter(([k]) => k !== kernel)))
    }
  }

  /**
   * What runs may be a kernel that failed and whose reboot back is pending, so a default that is one entry stays. What runs becomes the default where it is
   * "the newest kernel", which the packages change, or this kernel, which the packages made it before a power cut.
   */
  async #defaultToKeep(staged: string): Promise<string | undefined> {
    const loader = await this.#loader()
    const before = setDefault(loader)
    const { running } = loader
    const isChanged = before !== undefined && !isOwn(before) && before.kernel === staged && running?.kernel !== staged
    return before === undefined || isChanged ? running?.id : before.id
  }

  async #keepDefault(entry: string | undefined): Promise<void> {
    const loader = await this.#loader()
    if (entry !== undefined && entry !== loader.byDefault) await this.#carryOut(loader.confirm(entry))
  }

  async #installPackages({ slot, spec }: OsVersion): Promise<void> {
    const { host, dir, log } = this.#deps
    const { kernel } = osOf(spec)
    const files = layoutOf(spec).packages.map((p) => join(slotFolder(dir, spec.component, slot), p.inSlot))
    const [first] = files
    if (first === undefined) return
    const tool = toolFor(first)
    const own = await this.#ownKernels()
    if (own[kernel] !== undefined && tool.repair !== undefined) await host.change(tool.repair)
    const find = () => Promise.all(files.map((file) => tool.find(host.query, file)))
    const found = await find()
    const replaced = found.find(
      (p) => p.name.includes(kernel) && p.installed !== undefined && p.installed !== p.version,
    )
    if (replaced !== undefined)
      throw new KubeNodeError(
        agentErrors.KN8097({
          what: `${replaced.name} ${replaced.version}`,
          why: `it would replace ${replaced.installed ?? ''}, and no kernel is left to go back to`,
        }),
        { retry: 'never' },
      )
    if (found.every((p) => p.installed === p.version)) return
    // Recorded first: after a power cut, what is half installed is known as ours.
    const fresh = found.filter((p) => p.installed === undefined && p.name.includes(kernel)).map((p) => p.name)
    const ours = new Set([...(own[kernel] ?? []), ...fresh])
    await this.#writeOwn({ ...own, [kernel]: [...ours] })
    const problem = await host.change(tool.install(files))
    if (problem === undefined) return
    // What is unpacked and not configured would make every later call of apt fail.
    for (const { name, isAbsent } of found) if (isAbsent) ours.add(name)
    const broken = (await find()).filter((p) => ours.has(p.name) && !p.isAbsent && p.installed === undefined)
    const left = broken.length > 0 ? await host.change(tool.remove(broken.map((p) => p.name))) : undefined
    if (left !== undefined) log.warn('cannot remove packages that were not installed whole', { kernel, problem: left })
    throw new KubeNodeError(agentErrors.KN8097({ what: `the packages of Linux ${kernel}`, why: problem }), {
      retry: 'later',
    })
  }

  async #loader(): Promise<BootLoader> {
    return knownLoader(await this.#deps.host.read())
  }

  async #carryOut(steps: Steps): Promise<void> {
    if (steps.kind === 'Refused') throw new KubeNodeError(agentErrors.KN8099({ why: steps.missing }))
    await this.#deps.host.carryOut(steps.steps)
  }

  async #ownKernels(): Promise<OwnKernels> {
    const { files, dir } = this.#deps
    return (await readState(files, kernelsFile(dir), (v) => (isOwnKernels(v) ? v : undefined))) ?? {}
  }

  #writeOwn(own: OwnKernels): Promise<void> {
    const { files, dir } = this.#deps
    return writeDurably(files, kernelsFile(dir), JSON.stringify(own))
  }
}

/** Another copy of the same version has another generation. */
const isCopyOf = (a: string, b: string): boolean => a.split('-')[0] === b.split('-')[0]

const isOwnKernels = (v: unknown): v is OwnKernels =>
  isObject(v) && Object.values(v).every((names) => Array.isArray(names) && names.every((n) => typeof n === 'string'))

function osOf({ os, component, version }: MachineComponentSpec): NonNullable<MachineComponentSpec['os']> {
  if (os === undefined) throw new KubeNodeError(agentErrors.KN8016({ component, version, type: 'OS without os' }))
  return os
}

function knownLoader(tree: BootTree): BootLoader {
  const found = bootLoaderOf(tree)
  if (found.name === 'unknown') throw new KubeNodeError(agentErrors.KN8099({ why: found.missing }))
  return found
}

const noEntry = ({ name }: BootLoader, kernel: string): string =>
  `${name === 'grub' ? 'GRUB' : 'systemd-boot'} has no entry for Linux ${kernel}`

/** Of the distribution: own ones have arguments of other versions. */
const entryFor = ({ entries }: BootLoader, kernel: string): BootEntry | undefined =>
  entries.find((e) => e.kernel === kernel && !isOwn(e) && !isRecovery(e))
