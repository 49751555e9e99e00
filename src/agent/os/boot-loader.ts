// Which boot loader a host has, and how an entry is booted once, made the default, or given up. Pure: decides over a snapshot of files and returns steps.
// Invariant: until `confirm`, the default entry is the one that ran before, so a kernel that does not come up is followed by the old one.
import { type GrubVariables, grubEnvironment, parseGrubEnvironment } from './grub-environment.ts'

/** What was read of a host. */
export interface BootTree {
  readonly files: ReadonlyMap<string, Buffer>
  /** Paths that exist, also where their content does not matter. */
  readonly paths: ReadonlySet<string>
  /** The file system that holds /boot, and its device. */
  readonly boot: { readonly type: string; readonly device: string }
}

type BootStep =
  /** Overwrites without another size: GRUB knows the blocks on the disk. */
  | { readonly kind: 'WriteInPlace'; readonly path: string; readonly content: Buffer }
  | { readonly kind: 'Run'; readonly command: readonly string[] }

export type Steps =
  | { readonly kind: 'Steps'; readonly steps: readonly BootStep[] }
  | { readonly kind: 'Refused'; readonly missing: string }

export interface BootLoader {
  readonly name: 'grub' | 'systemd-boot'
  /** IDs of what can be booted. */
  readonly entries: readonly string[]
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

export function bootLoaderOf(tree: BootTree): Found {
  if (tree.paths.has('/run/ostree-booted'))
    return unknown('bootc and ostree cannot boot a deployment once: their next boot is always the default')
  for (const folder of ['/boot/grub', '/boot/grub2']) {
    const config = tree.files.get(`${folder}/grub.cfg`)
    if (config !== undefined) return grubOf(tree, folder, config.toString('utf8'))
  }
  for (const folder of ['/boot', '/efi', '/boot/efi'])
    if (tree.paths.has(`${folder}/loader/loader.conf`)) return systemdBootOf(tree, folder)
  return unknown('neither the configuration of GRUB nor that of systemd-boot is below /boot or /efi')
}

/** GRUB writes to these by itself; on others `next_entry` would boot the new kernel for ever. */
const WRITABLE: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'vfat'])
const STACKED = /^\/dev\/(mapper\/|md|dm-)/

/** grub-mkconfig writes both names in any case, so only what sets the default tells which of them count. */
const READS_NEXT = /^[ \t]{0,64}set default="\$\{next_entry\}"/m
const READS_SAVED = /^[ \t]{0,64}set default="\$\{saved_entry\}"/m

function grubOf(tree: BootTree, folder: string, config: string): Found {
  const { type, device } = tree.boot
  const path = `${folder}/grubenv`
  const block = tree.files.get(path)
  const variables = block && parseGrubEnvironment(block)
  if (block === undefined || variables === undefined)
    return unknown(`${path} is missing or is not an environment block`)
  if (!READS_NEXT.test(config) || !READS_SAVED.test(config))
    return unknown(
      `${folder}/grub.cfg does not read saved_entry: set GRUB_DEFAULT=saved in /etc/default/grub, and write it again`,
    )
  if (!WRITABLE.has(type) || STACKED.test(device))
    return unknown(`GRUB cannot write to ${type} on ${device}, so an entry that is booted once would be booted again`)
  if ((variables.get('saved_entry') ?? '') === '')
    return unknown(
      'saved_entry is not set, so it is unknown what boots by default: run grub-set-default with the running kernel',
    )
  const entries = [...menuEntries(config), ...blsEntries(tree, '/boot')]
  const change = (to: GrubVariables): Steps => {
    const content = grubEnvironment(to, block.length)
    return content === undefined ? refused(`${path} has no room left`) : steps({ kind: 'WriteInPlace', path, content })
  }
  return {
    name: 'grub',
    entries,
    arm: (entry) =>
      entries.includes(entry)
        ? change(new Map([...variables, ['next_entry', entry]]))
        : refused(`GRUB has no entry ${entry}`),
    confirm: (entry) =>
      entries.includes(entry)
        ? change(new Map([...without(variables, 'next_entry'), ['saved_entry', entry]]))
        : refused(`GRUB has no entry ${entry}`),
    disarm: () => change(without(variables, 'next_entry')),
  }
}

const without = (variables: GrubVariables, name: string): GrubVariables =>
  new Map([...variables].filter(([n]) => n !== name))

const MENU = /^(\s*)(submenu|menuentry)\s.*?\$menuentry_id_option\s+'([^']{1,256})'/

/** An entry in a submenu is named by the way to it. grub-mkconfig indents what is in a submenu. */
function menuEntries(config: string): readonly string[] {
  const found: string[] = []
  let submenu: string | undefined
  for (const line of config.split('\n')) {
    const [, indent = '', kind, id = ''] = MENU.exec(line) ?? []
    if (kind === 'submenu') submenu = id
    else if (kind === 'menuentry') found.push(indent === '' || submenu === undefined ? id : `${submenu}>${id}`)
    else if (line === '}') submenu = undefined
  }
  return found
}

/** Of the Boot Loader Specification: the name of the file, without a counter of tries. */
function blsEntries({ paths }: BootTree, folder: string): readonly string[] {
  const prefix = `${folder}/loader/entries/`
  return [...paths].flatMap((path) =>
    path.startsWith(prefix) && path.endsWith('.conf')
      ? path.slice(prefix.length, -'.conf'.length).replace(/\+\d+(-\d+)?$/, '')
      : [],
  )
}

function systemdBootOf(tree: BootTree, folder: string): Found {
  if (!tree.paths.has('/usr/bin/bootctl')) return unknown('bootctl is not installed')
  if (!tree.paths.has('/sys/firmware/efi/efivars'))
    return unknown('the variables of the firmware are not mounted at /sys/firmware/efi/efivars')
  const entries = blsEntries(tree, folder)
  const id = (entry: string) => `${entry}.conf`
  const run = (...args: readonly string[]) => ({ kind: 'Run', command: ['/usr/bin/bootctl', ...args] }) as const
  const known = (entry: string, then: () => Steps) =>
    entries.includes(entry) ? then() : refused(`systemd-boot has no entry ${entry}`)
  return {
    name: 'systemd-boot',
    entries,
    arm: (entry) => known(entry, () => steps(run('set-oneshot', id(entry)))),
    confirm: (entry) => known(entry, () => steps(run('set-default', id(entry)), run('set-oneshot', ''))),
    disarm: () => steps(run('set-oneshot', '')),
  }
}
