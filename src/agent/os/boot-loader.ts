// Which boot loader a host has, and how an entry is booted once, made the default, or given up. Pure: decides over a snapshot of files and returns steps.
// Invariant: until `confirm`, the default entry is the one that ran before, so a kernel that does not come up is followed by the old one.
import {
  type BootEntry,
  type OwnEntry,
  customMenu,
  fileEntry,
  isOwn,
  isRecovery,
  menuEntries,
  ownEntryId,
  ownFile,
  sameArguments,
  slotIn,
} from './boot-entries.ts'
import { type GrubVariables, grubEnvironment, parseGrubEnvironment } from './grub-environment.ts'

/** What was read of a host. */
export interface BootTree {
  readonly files: ReadonlyMap<string, Buffer>
  /** Paths that exist, also where their content does not matter. */
  readonly paths: ReadonlySet<string>
  /** The file system that holds /boot, and its device. */
  readonly boot: { readonly type: string; readonly device: string }
  readonly running: Running
  /** Undefined where that cannot be read. */
  readonly freeBytes?: number | undefined
}

export interface Running {
  /** As `uname -r`. */
  readonly kernel: string
  /** As `/proc/cmdline`. */
  readonly arguments: readonly string[]
}

export type BootStep =
  /** Overwrites without another size: GRUB knows the blocks on the disk. */
  | { readonly kind: 'WriteInPlace'; readonly path: string; readonly content: Buffer }
  | { readonly kind: 'Write'; readonly path: string; readonly content: Buffer }
  | { readonly kind: 'Remove'; readonly path: string }
  | { readonly kind: 'Run'; readonly command: readonly string[] }

export type Steps =
  | { readonly kind: 'Steps'; readonly steps: readonly BootStep[] }
  | { readonly kind: 'Refused'; readonly missing: string }

export interface BootLoader {
  readonly name: 'grub' | 'systemd-boot'
  readonly entries: readonly BootEntry[]
  /** The entry of what runs now. Undefined: there is none for this kernel any longer. */
  readonly running: BootEntry | undefined
  /** The ID of what boots by default; undefined where that cannot be read. */
  readonly byDefault: string | undefined
  /** Writes an own entry; what boots does not change. */
  readonly add: (entry: OwnEntry) => Steps
  /** Removes the own entries that `keeps` does not name, but never what runs or boots by default. */
  readonly tidy: (keeps: ReadonlySet<string>) => Steps
  /** Boots this entry once, at the next boot. */
  readonly arm: (entry: string) => Steps
  /** Makes this entry the default. */
  readonly confirm: (entry: string) => Steps
  /** Undoes `arm`; the default is not touched. */
  readonly disarm: () => Steps
}

export type Found = BootLoader | { readonly name: 'unknown'; readonly missing: string }

const steps = (...all: readonly BootStep[]): Steps => ({ kind: 'Steps', steps: all })
const refused = (missing: string): Steps => ({ kind: 'Refused', missing })
const unknown = (missing: string): Found => ({ name: 'unknown', missing })

/** On hosts of OSTree, and so of bootc. */
export const OSTREE = '/run/ostree-booted'
export const RAUC = ['/etc/rauc/system.conf', '/usr/lib/rauc/system.conf'] as const

export function bootLoaderOf(tree: BootTree): Found {
  if (tree.paths.has(OSTREE))
    return unknown('this host boots whole images, so packages of a kernel are not for it: name os.images')
  const rauc = RAUC.find((path) => tree.paths.has(path))
  if (rauc !== undefined) return unknown(`this host boots A/B images of RAUC (${rauc}), which are not known here`)
  const folder = grubFolder(tree)
  if (folder !== undefined) return grubOf(tree, folder, textIn(tree, `${folder}/grub.cfg`))
  for (const top of ['/boot', '/efi', '/boot/efi'])
    if (tree.paths.has(`${top}/loader/loader.conf`)) return systemdBootOf(tree, top)
  return unknown('neither the configuration of GRUB nor that of systemd-boot is below /boot or /efi')
}

/** GRUB writes to these by itself; on others `next_entry` would boot the new kernel for ever. */
const WRITABLE: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'vfat'])
const STACKED = /^\/dev\/(mapper\/|md|dm-)/

/** grub-mkconfig writes both names in any case, so only what sets the default tells which of them count. */
const READS_NEXT = /^[ \t]{0,64}set default="\$\{next_entry\}"/m
const READS_SAVED = /^[ \t]{0,64}set default="\$\{saved_entry\}"/m
const READS_CUSTOM = /^[ \t]{0,64}source \S{0,64}\/custom\.cfg/m

export const grubFolder = (tree: BootTree): string | undefined =>
  ['/boot/grub', '/boot/grub2'].find((folder) => tree.files.has(`${folder}/grub.cfg`))

export const textIn = ({ files }: BootTree, path: string): string => files.get(path)?.toString('utf8') ?? ''

export interface GrubBlock {
  readonly variables: GrubVariables
  readonly change: (to: GrubVariables) => Steps
}

export function grubBlock(tree: BootTree, folder: string): GrubBlock | undefined {
  const path = `${folder}/grubenv`
  const block = tree.files.get(path)
  const variables = block && parseGrubEnvironment(block)
  if (block === undefined || variables === undefined) return undefined
  return {
    variables,
    change: (to) => {
      const content = grubEnvironment(to, block.length)
      return content === undefined
        ? refused(`${path} has no room left`)
        : steps({ kind: 'WriteInPlace', path, content })
    },
  }
}

export const noBlock = (folder: string): string => `${folder}/grubenv is missing or is not an environment block`

/** Why GRUB cannot write its block; undefined when it can. */
export const notWritable = ({ boot: { type, device } }: BootTree): string | undefined =>
  !WRITABLE.has(type) || STACKED.test(device)
    ? `GRUB cannot write to ${type} on ${device}, so an entry that is booted once would be booted again`
    : undefined

function grubOf(tree: BootTree, folder: string, config: string): Found {
  const block = grubBlock(tree, folder)
  if (block === undefined) return unknown(noBlock(folder))
  const { variables, change } = block
  if (!READS_NEXT.test(config) || !READS_SAVED.test(config))
    return unknown(
      `${folder}/grub.cfg does not read saved_entry: set GRUB_DEFAULT=saved in /etc/default/grub, and write it again`,
    )
  const fixed = notWritable(tree)
  if (fixed !== undefined) return unknown(fixed)
  if ((variables.get('saved_entry') ?? '') === '')
    return unknown(
      'saved_entry is not set, so it is unknown what boots by default: run grub-set-default with the running kernel',
    )
  const custom = `${folder}/custom.cfg`
  const ownMenu = tree.files.get(custom)?.toString('utf8') ?? ''
  const files = fileEntries(tree, '/boot', variables)
  const entries = [...menuEntries(config), ...menuEntries(ownMenu), ...files]
  const running = runningEntry(entries, tree.running)
  const byDefault = variables.get('saved_entry')
  const armed = variables.get('next_entry')
  const drops = (keeps: ReadonlySet<string>) => (id: string) =>
    isOwn({ id }) && !keeps.has(id) && ![running?.id, byDefault, armed].includes(id)
  const menu = (add: OwnEntry | undefined, dropped: (id: string) => boolean): readonly BootStep[] => {
    const after = customMenu(ownMenu, add, dropped)
    return after === ownMenu ? [] : [{ kind: 'Write', path: custom, content: Buffer.from(after) }]
  }
  const isKnown = (id: string) => entries.some((e) => e.id === id)
  return {
    name: 'grub',
    entries,
    running,
    byDefault,
    add: (entry) => {
      if (files.includes(entry.from)) return steps(addFile('/boot', entry))
      return READS_CUSTOM.test(config)
        ? steps(...menu(entry, () => false))
        : refused(`${folder}/grub.cfg does not read custom.cfg: restore 41_custom in /etc/grub.d, and write it again`)
    },
    tidy: (keeps) => steps(...menu(undefined, drops(keeps)), ...tidyFiles(tree, '/boot', drops(keeps))),
    arm: (entry) =>
      isKnown(entry) ? change(new Map([...variables, ['next_entry', entry]])) : refused(`GRUB has no entry ${entry}`),
    confirm: (entry) =>
      isKnown(entry)
        ? change(new Map([...without(variables, 'next_entry'), ['saved_entry', entry]]))
        : refused(`GRUB has no entry ${entry}`),
    disarm: () => change(without(variables, 'next_entry')),
  }
}

/** Another entry at each time: of the newest kernel. */
const IS_NEWEST = /^gnulinux-simple-/

/** The default, where it is one entry of Linux that the installation of a kernel does not change, and that starts the agent. */
export const setDefault = ({ entries, byDefault }: BootLoader): BootEntry | undefined =>
  entries.find((e) => e.id === byDefault && e.kernel !== undefined && !IS_NEWEST.test(e.id) && !isRecovery(e))

export const without = (variables: GrubVariables, name: string): GrubVariables =>
  new Map([...variables].filter(([n]) => n !== name))

/** What runs has the same kernel and arguments. Its arguments may have been changed since in the configuration: then another entry of the same kernel. */
function runningEntry(entries: readonly BootEntry[], { kernel, arguments: own }: Running): BootEntry | undefined {
  const same = entries.filter((e) => e.kernel === kernel && !isRecovery(e))
  const slot = slotIn(own)
  const marked = slot === undefined ? undefined : same.find((e) => e.id === ownEntryId(slot))
  if (marked !== undefined) return marked
  const exact = same.filter((e) => sameArguments(e.arguments, own))
  // The first entry of the menu of Debian is of the newest kernel, whichever that will be.
  const byName = (all: readonly BootEntry[]) =>
    all.find((e) => e.id.includes(kernel)) ?? all.find((e) => !IS_NEWEST.test(e.id))
  return byName(exact.filter((e) => !isOwn(e))) ?? byName(same.filter((e) => !isOwn(e)))
}

const entriesFolder = (folder: string): string => `${folder}/loader/entries/`

/** Of the Boot Loader Specification: the name of the file, without a counter of tries. */
function fileEntries({ paths, files }: BootTree, folder: string, variables?: GrubVariables): readonly BootEntry[] {
  const prefix = entriesFolder(folder)
  return [...paths].flatMap((path) =>
    path.startsWith(prefix) && path.endsWith('.conf')
      ? [fileEntry(entryId(path), files.get(path)?.toString('utf8') ?? '', variables)]
      : [],
  )
}

const entryId = (path: string): string => {
  const name = path.slice(path.lastIndexOf('/') + 1, -'.conf'.length)
  return name.replace(/\+\d+(-\d+)?$/, '')
}

const addFile = (folder: string, entry: OwnEntry): BootStep => ({
  kind: 'Write',
  path: `${entriesFolder(folder)}${entry.id}.conf`,
  content: Buffer.from(ownFile(entry)),
})

const tidyFiles = ({ paths }: BootTree, folder: string, drops: (id: string) => boolean): readonly BootStep[] =>
  [...paths]
    .filter((path) => path.startsWith(entriesFolder(folder)) && path.endsWith('.conf') && drops(entryId(path)))
    .map((path) => ({ kind: 'Remove', path }))

/** What `bootctl set-default` sets. */
export const FIRMWARE_DEFAULT = '/sys/firmware/efi/efivars/LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f'
const ATTRIBUTE_BYTES = 4

function defaultOfFirmware(variable: Buffer | undefined): string | undefined {
  const [name] = variable?.subarray(ATTRIBUTE_BYTES).toString('utf16le').split('\0') ?? []
  return name?.endsWith('.conf') === true ? name.slice(0, -'.conf'.length) : undefined
}

function systemdBootOf(tree: BootTree, folder: string): Found {
  if (!tree.paths.has('/usr/bin/bootctl')) return unknown('bootctl is not installed')
  if (!tree.paths.has('/sys/firmware/efi/efivars'))
    return unknown('the variables of the firmware are not mounted at /sys/firmware/efi/efivars')
  const entries = fileEntries(tree, folder)
  const running = runningEntry(entries, tree.running)
  const byDefault = defaultOfFirmware(tree.files.get(FIRMWARE_DEFAULT))
  const id = (entry: string) => `${entry}.conf`
  const run = (...args: readonly string[]) => ({ kind: 'Run', command: ['/usr/bin/bootctl', ...args] }) as const
  const known = (entry: string, then: () => Steps) =>
    entries.some((e) => e.id === entry) ? then() : refused(`systemd-boot has no entry ${entry}`)
  return {
    name: 'systemd-boot',
    entries,
    running,
    byDefault,
    add: (entry) => steps(addFile(folder, entry)),
    tidy: (keeps) =>
      steps(
        ...tidyFiles(tree, folder, (id) => isOwn({ id }) && !keeps.has(id) && ![running?.id, byDefault].includes(id)),
      ),
    arm: (entry) => known(entry, () => steps(run('set-oneshot', id(entry)))),
    confirm: (entry) => known(entry, () => steps(run('set-default', id(entry)), run('set-oneshot', ''))),
    disarm: () => steps(run('set-oneshot', '')),
  }
}
