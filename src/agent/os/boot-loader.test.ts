// Boot loaders over file trees of distributions: what boots next, before and after each step. The real grub-editenv reads and writes the same blocks.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  BOOT_MARK,
  type BootEntry,
  customMenu,
  fileEntry,
  isOwn,
  menuEntries,
  ownEntryId,
  ownFile,
} from './boot-entries.ts'
import {
  type BootLoader,
  type BootTree,
  FIRMWARE_DEFAULT,
  type Running,
  type Steps,
  bootLoaderOf,
  setDefault,
} from './boot-loader.ts'
import { debianEntry, grubHeader, grubMenu } from '#test/doubles/node/fake-boot-machine.ts'
import { grubEnvironment, parseGrubEnvironment } from './grub-environment.ts'

const block = (variables: Readonly<Record<string, string>>): Buffer =>
  grubEnvironment(new Map(Object.entries(variables))) ?? Buffer.alloc(0)
const READS = grubHeader('${saved_entry}')
const DEBIAN = grubMenu(['6.1.0-27-amd64', '6.1.0-28-amd64'])

interface Host {
  readonly tree: () => BootTree
  readonly carryOut: (steps: Steps) => void
  /** What this boot loader boots now, with what it changes by itself. */
  readonly boot: () => string | undefined
}

const textOf = (files: ReadonlyMap<string, Buffer>, path: string): string => files.get(path)?.toString() ?? ''
const runningFrom = ({ kernel = '', arguments: all }: BootEntry): Running => ({ kernel, arguments: all })

/** Files, and what runs of the entries in them. */
class Disk {
  readonly files: Map<string, Buffer>
  readonly paths: readonly string[]
  readonly type: string
  running: Running
  constructor(files: Readonly<Record<string, Buffer>>, paths: readonly string[], type: string, running: string) {
    this.files = new Map(Object.entries(files))
    this.paths = paths
    this.type = type
    this.running = { kernel: '', arguments: [] }
    this.started(running)
  }
  tree(): BootTree {
    const boot = { type: this.type, device: '/dev/vda1' }
    return { files: this.files, paths: new Set([...this.paths, ...this.files.keys()]), boot, running: this.running }
  }
  entries(): readonly BootEntry[] {
    const menus = ['grub.cfg', 'custom.cfg'].flatMap((n) => menuEntries(textOf(this.files, `/boot/grub/${n}`)))
    const entries = [...this.files].flatMap(([path, text]) =>
      path.endsWith('.conf')
        ? [fileEntry(path.replace(/^.*\/|(\+\d.*)?\.conf$/g, ''), text.toString(), OF_FEDORA)]
        : [],
    )
    return [...menus, ...entries]
  }
  started(id: string | undefined): string | undefined {
    const entry = this.entries().find((e) => e.id === id)
    if (entry !== undefined) this.running = runningFrom(entry)
    return entry && id
  }
  carryOut(steps: Steps, run: (command: readonly string[]) => void): void {
    if (steps.kind === 'Refused') throw new Error(steps.missing)
    for (const step of steps.steps) {
      if (step.kind === 'Run') run(step.command)
      else if (step.kind === 'Remove') this.files.delete(step.path)
      else {
        if (step.kind === 'WriteInPlace') expect(step.content.length).toBe(this.files.get(step.path)?.length)
        this.files.set(step.path, step.content)
      }
    }
  }
}

const OF_FEDORA = new Map([['kernelopts', 'root=UUID=a1 ro']])

/** GRUB, as its configuration has it: next_entry is cleared before the kernel starts. */
function grub(folder: string, config: string, saved: string, entries: Readonly<Record<string, Buffer>> = {}): Host {
  const path = `${folder}/grubenv`
  const env = block({ saved_entry: saved, kernelopts: 'root=UUID=a1 ro' })
  const menu = { [`${folder}/grub.cfg`]: Buffer.from(config), [path]: env }
  const disk = new Disk({ ...menu, ...entries }, [], 'ext4', saved)
  return {
    tree: () => disk.tree(),
    carryOut: (steps) => disk.carryOut(steps, () => expect.unreachable()),
    boot: () => {
      const variables = new Map(parseGrubEnvironment(disk.files.get(path) ?? env))
      expect(variables.get('kernelopts')).toBe('root=UUID=a1 ro')
      const next = variables.get('next_entry')
      variables.delete('next_entry')
      disk.files.set(path, grubEnvironment(variables) ?? env)
      return disk.started(next ?? variables.get('saved_entry'))
    },
  }
}

/** systemd-boot, with the two variables of the firmware that bootctl sets. */
function systemdBoot(entries: Readonly<Record<string, Buffer>>, running: string): Host {
  const variables = new Map<string, string>([['set-default', `${running}.conf`]])
  const paths = ['/boot/loader/loader.conf', '/usr/bin/bootctl', '/sys/firmware/efi/efivars']
  const disk = new Disk(entries, paths, 'vfat', running)
  return {
    tree: () => {
      const tree = disk.tree()
      const byDefault = Buffer.from(`\x07\0${variables.get('set-default')}\0`, 'utf16le')
      return { ...tree, files: new Map([...tree.files, [FIRMWARE_DEFAULT, byDefault]]) }
    },
    carryOut: (steps) =>
      disk.carryOut(steps, ([program, name = '', value = '']) => {
        expect(program).toBe('/usr/bin/bootctl')
        if (value === '') variables.delete(name)
        else variables.set(name, value)
      }),
    boot: () => {
      const next = variables.get('set-oneshot') ?? variables.get('set-default')
      variables.delete('set-oneshot')
      return disk.started(next?.slice(0, -'.conf'.length))
    },
  }
}

const OLD = debianEntry('6.1.0-27-amd64')
const NEW = debianEntry('6.1.0-28-amd64')
const FEDORA = ['0f3c-6.11.4-301.fc41.x86_64', '0f3c-6.11.3-300.fc41.x86_64'] as const
const RESCUE = '0f3c-0-rescue'
const fileOf = (release: string, options: string) =>
  Buffer.from(
    `title Fedora\nversion ${release}\nlinux /vmlinuz-${release}\ninitrd /initramfs-${release}.img\noptions ${options}\n`,
  )
/** The newest has tries left. */
const filesOf = (options: string) => ({
  [`/boot/loader/entries/${FEDORA[0]}+2-1.conf`]: fileOf('6.11.4-301.fc41.x86_64', options),
  [`/boot/loader/entries/${FEDORA[1]}.conf`]: fileOf('6.11.3-300.fc41.x86_64', options),
  [`/boot/loader/entries/${RESCUE}.conf`]: fileOf('6.11.3-300.fc41.x86_64', options),
})
const HOSTS: readonly (readonly [string, () => Host, string, string])[] = [
  ['Debian 12 with GRUB', () => grub('/boot/grub', DEBIAN, OLD), OLD, NEW],
  [
    'Fedora with GRUB and entry files',
    () => grub('/boot/grub2', READS, FEDORA[1], filesOf('$kernelopts $tuned_params')),
    FEDORA[1],
    FEDORA[0],
  ],
  ['systemd-boot', () => systemdBoot(filesOf('root=UUID=a1 ro'), FEDORA[1]), FEDORA[1], FEDORA[0]],
]

const SLOTS = ['0123456789abcdef-0', '1123456789abcdef-2'] as const
const loaderOf = (host: Host): BootLoader => {
  const found = bootLoaderOf(host.tree())
  if (found.name === 'unknown') throw new Error(found.missing)
  return found
}

describe.each(HOSTS)('%s', (_, made, old, next) => {
  test('lists both kernels', () => {
    expect(loaderOf(made()).entries.map((e) => e.id)).toEqual(expect.arrayContaining([old, next]))
  })

  test('knows what runs, also when the configuration of the distribution has other arguments by now', () => {
    const { tree } = made()
    expect(bootLoaderOf(tree())).toMatchObject({ running: { id: old } })
    const now = { ...tree(), running: { ...tree().running, arguments: ['root=UUID=a0'] } }
    expect(bootLoaderOf(now)).toMatchObject({ running: { id: old } })
    expect(bootLoaderOf({ ...now, running: { kernel: '5.5.5', arguments: [] } })).toMatchObject({ running: undefined })
  })

  test('boots an own entry with the arguments of the distribution and more, and removes it when it is no longer kept', () => {
    const host = made()
    for (const slot of [SLOTS[0], SLOTS[1], SLOTS[0]]) {
      const loader = loaderOf(host)
      const from = loader.entries.find((e) => e.id === next)
      if (from === undefined) throw new Error('no entry')
      const own = { id: ownEntryId(slot), title: "A kernel of 'ours'", from }
      host.carryOut(loader.add({ ...own, arguments: ['panic=30', `${BOOT_MARK}${slot}`] }))
    }
    const ids = SLOTS.map(ownEntryId)
    const own = () => loaderOf(host).entries.filter(isOwn)
    expect(
      own()
        .map((e) => e.id)
        .toSorted(),
    ).toEqual(ids)
    host.carryOut(loaderOf(host).arm(ids[0] ?? ''))
    expect(host.boot()).toBe(ids[0])
    const { running } = host.tree()
    expect(running.arguments).toEqual(expect.arrayContaining(['root=UUID=a1', 'ro', 'panic=30']))
    expect(loaderOf(host).running?.id).toBe(ids[0])
    host.carryOut(loaderOf(host).tidy(new Set()))
    expect(own().map((e) => e.id)).toEqual([ids[0]])
    expect(host.boot()).toBe(old)
    host.carryOut(loaderOf(host).tidy(new Set()))
    expect([own(), host.boot()]).toEqual([[], old])
    expect(loaderOf(host).entries.map((e) => e.id)).toEqual(loaderOf(made()).entries.map((e) => e.id))
  })

  test('boots an armed entry once, and the old one again when it is not confirmed', () => {
    const host = made()
    expect(host.boot()).toBe(old)
    for (let times = 0; times < 2; times++) host.carryOut(loaderOf(host).arm(next))
    expect([host.boot(), host.boot(), host.boot()]).toEqual([next, old, old])
  })

  test('boots a confirmed entry from then on', () => {
    const host = made()
    host.carryOut(loaderOf(host).arm(next))
    expect(host.boot()).toBe(next)
    for (let times = 0; times < 2; times++) host.carryOut(loaderOf(host).confirm(next))
    expect([host.boot(), host.boot()]).toEqual([next, next])
    expect(setDefault(loaderOf(host))?.id).toBe(next)
  })

  test('boots the old one when what was armed is taken back', () => {
    const host = made()
    host.carryOut(loaderOf(host).arm(next))
    host.carryOut(loaderOf(host).disarm())
    expect(host.boot()).toBe(old)
  })

  test('refuses an entry that does not exist, and changes nothing', () => {
    const host = made()
    const loader = loaderOf(host)
    for (const steps of [loader.arm('6.6.6'), loader.confirm('6.6.6')])
      expect(steps).toEqual({ kind: 'Refused', missing: expect.stringMatching(/has no entry 6\.6\.6$/) })
    expect(host.boot()).toBe(old)
  })
})

const debian = () => grub('/boot/grub', DEBIAN, OLD).tree()
const unset = (tree: BootTree, path: string, content: Buffer | undefined): BootTree => ({
  ...tree,
  files: new Map(
    [...tree.files].flatMap(([p, c]) => (p !== path ? [[p, c]] : content === undefined ? [] : [[p, content]])),
  ),
})
test.each([
  ['nothing known', () => unset(debian(), '/boot/grub/grub.cfg', undefined), /neither the configuration of GRUB/],
  ['bootc', () => ({ ...debian(), paths: new Set(['/run/ostree-booted']) }), /boots whole images.*name os\.images/],
  ['RAUC', () => ({ ...debian(), paths: new Set(['/etc/rauc/system.conf']) }), /A\/B images of RAUC.*not known/],
  ['no block', () => unset(debian(), '/boot/grub/grubenv', undefined), /grubenv is missing/],
  [
    'a block of others',
    () => unset(debian(), '/boot/grub/grubenv', Buffer.from('saved_entry=0\n')),
    /not an environment block/,
  ],
  ['no default', () => unset(debian(), '/boot/grub/grubenv', block({})), /saved_entry is not set/],
  [
    'a fixed default',
    () => unset(debian(), '/boot/grub/grub.cfg', Buffer.from(DEBIAN.replace(READS, grubHeader('0')))),
    /GRUB_DEFAULT=saved/,
  ],
  ['LVM', () => ({ ...debian(), boot: { type: 'ext4', device: '/dev/mapper/vg-boot' } }), /cannot write to ext4 on/],
  ['btrfs', () => ({ ...debian(), boot: { type: 'btrfs', device: '/dev/vda2' } }), /cannot write to btrfs/],
  [
    'no bootctl',
    () => ({ ...debian(), files: new Map(), paths: new Set(['/efi/loader/loader.conf']) }),
    /bootctl is not installed/,
  ],
])('refuses what it does not know, and says what is missing: %s', (_, tree, missing) => {
  expect(bootLoaderOf(tree())).toEqual({ name: 'unknown', missing: expect.stringMatching(missing) })
})

test('what others wrote into custom.cfg stays, and a menu that does not read it is refused', () => {
  const other = "menuentry 'Rescue' $menuentry_id_option 'mine' {\n\tlinux /rescue\n}"
  const tree = debian()
  const files = new Map([...tree.files, ['/boot/grub/custom.cfg', Buffer.from(other)]])
  const add = (from: BootTree) => {
    const found = bootLoaderOf(from)
    if (found.name === 'unknown') throw new Error(found.missing)
    const [entry] = found.entries.filter((e) => e.id === NEW)
    return entry && found.add({ id: ownEntryId(SLOTS[0]), title: 't', from: entry, arguments: [] })
  }
  const added = add({ ...tree, files })
  expect(added).toMatchObject({ steps: [{ kind: 'Write', path: '/boot/grub/custom.cfg' }] })
  const written = added?.kind === 'Steps' && added.steps[0]?.kind === 'Write' ? added.steps[0].content.toString() : ''
  expect(written.startsWith(`${other}\n### begin kubenode-`)).toBe(true)
  expect(menuEntries(written).map((e) => e.kernel)).toEqual([undefined, '6.1.0-28-amd64'])
  const without = unset(tree, '/boot/grub/grub.cfg', Buffer.from(DEBIAN.replaceAll('custom.cfg', 'other.cfg')))
  expect(add(without)).toEqual({ kind: 'Refused', missing: expect.stringMatching(/does not read custom\.cfg/) })
})

test.each(['0', 'gnulinux-simple-a1', 'gnulinux-advanced-a1>gnulinux-6.1.0-27-amd64-recovery-a1', 'uefi-firmware'])(
  'a default that is not one entry with an agent is not kept: %s',
  (saved) => {
    const tree = unset(debian(), '/boot/grub/grubenv', block({ saved_entry: saved }))
    const found = bootLoaderOf(tree)
    expect(found.name === 'grub' && [found.running?.id, setDefault(found)]).toEqual([OLD, undefined])
  },
)

test('a recovery entry that runs is not what becomes the default', () => {
  const recovery = menuEntries(DEBIAN).find((e) => e.id.includes('27-amd64-recovery'))
  expect(recovery && bootLoaderOf({ ...debian(), running: runningFrom(recovery) })).toMatchObject({
    running: { id: OLD },
  })
})

test('an own entry boots without the password of the menu', () => {
  const entry = fileEntry('mine', 'title T\ngrub_users $grub_users\ngrub_arg --unrestricted\ngrub_hotkey k\nlinux /l')
  const own = { id: ownEntryId(SLOTS[0]), title: 't', from: entry, arguments: [] }
  expect(ownFile(own)).toBe('title t\ngrub_users $grub_users\ngrub_arg --unrestricted\nlinux /l\n')
  expect(customMenu('', own, () => false)).toContain("menuentry 't' --unrestricted $menuentry_id_option")
})

test('a block without room is refused', () => {
  const tree = unset(debian(), '/boot/grub/grubenv', block({ saved_entry: OLD, filler: 'x'.repeat(900) }))
  const found = bootLoaderOf(tree)
  expect(found.name === 'grub' && found.arm(NEW)).toEqual({
    kind: 'Refused',
    missing: '/boot/grub/grubenv has no room left',
  })
})

function versionOfEditenv(): string | undefined {
  try {
    return execFileSync('grub-editenv', ['--version'], { encoding: 'utf8' })
  } catch {
    return undefined
  }
}
const isThere = versionOfEditenv() !== undefined

const ODD = new Map([
  ['saved_entry', NEW],
  ['odd', String.raw`a\b "c" 'd' # = e`],
  ['empty', ''],
])

describe('with the real grub-editenv', () => {
  beforeEach((context) => {
    if (!isThere) context.skip('grub-editenv (package grub-common) is not installed')
  })
  const inFile = (content: Buffer | undefined, then: (path: string) => void) => {
    const folder = mkdtempSync(join(tmpdir(), 'grubenv-'))
    try {
      const path = join(folder, 'grubenv')
      if (content !== undefined) writeFileSync(path, content)
      then(path)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  const editenv = (...args: readonly string[]) => execFileSync('grub-editenv', args, { encoding: 'utf8' })

  test('it reads what we write', () => {
    inFile(grubEnvironment(ODD), (path) => {
      expect(editenv(path, 'list').trimEnd().split('\n')).toEqual([...ODD].map(([k, v]) => `${k}=${v}`))
    })
  })

  test('we read what it writes, also into a block of ours', () => {
    for (const ours of [undefined, grubEnvironment(new Map([['kept', 'yes']]))])
      inFile(ours, (path) => {
        if (ours === undefined) editenv(path, 'create')
        for (const [name, value] of ODD) editenv(path, 'set', `${name}=${value}`)
        const read = parseGrubEnvironment(readFileSync(path))
        expect(new Map(read)).toEqual(new Map([...(ours === undefined ? [] : [['kept', 'yes'] as const]), ...ODD]))
      })
  })
})
