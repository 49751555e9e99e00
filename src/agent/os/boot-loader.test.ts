// Boot loaders over file trees of distributions: what boots next, before and after each step. The real grub-editenv reads and writes the same blocks.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type BootLoader, type BootTree, type Steps, bootLoaderOf } from './boot-loader.ts'
import { grubEnvironment, parseGrubEnvironment } from './grub-environment.ts'

const EXT4 = { type: 'ext4', device: '/dev/vda2' }
const block = (variables: Readonly<Record<string, string>>): Buffer =>
  grubEnvironment(new Map(Object.entries(variables))) ?? Buffer.alloc(0)
/** As /etc/grub.d/00_header of Debian 12 writes it, whatever GRUB_DEFAULT is. */
const header = (byDefault: string) => `if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "\${next_entry}" ] ; then
   set default="\${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="${byDefault}"
fi

if [ "\${prev_saved_entry}" ]; then
  set saved_entry="\${prev_saved_entry}"
  save_env saved_entry
  set prev_saved_entry=
  save_env prev_saved_entry
  set boot_once=true
fi

function savedefault {
  if [ -z "\${boot_once}" ]; then
    saved_entry="\${chosen}"
    save_env saved_entry
  fi
}
`
const READS = header('${saved_entry}')
const DEBIAN = `${READS}menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-a1' {
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-a1' {
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-28-amd64' --class debian $menuentry_id_option 'gnulinux-6.1.0-28-amd64-advanced-a1' {
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-27-amd64' --class debian $menuentry_id_option 'gnulinux-6.1.0-27-amd64-advanced-a1' {
	}
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
}
`

interface Host {
  readonly tree: () => BootTree
  readonly carryOut: (steps: Steps) => void
  /** What this boot loader boots now, with what it changes by itself. */
  readonly boot: () => string | undefined
}

/** GRUB, as its configuration has it: next_entry is cleared before the kernel starts. */
function grub(folder: string, config: string, saved: string, entries: readonly string[] = []): Host {
  const path = `${folder}/grubenv`
  let env = block({ saved_entry: saved, kernelopts: 'root=UUID=a1 ro' })
  return {
    tree: () => ({
      files: new Map([
        [`${folder}/grub.cfg`, Buffer.from(config)],
        [path, env],
      ]),
      paths: new Set(entries.map((e) => `/boot/loader/entries/${e}.conf`)),
      boot: EXT4,
    }),
    carryOut: (steps) => {
      if (steps.kind === 'Refused') throw new Error(steps.missing)
      for (const step of steps.steps) {
        if (step.kind !== 'WriteInPlace' || step.path !== path) throw new Error('GRUB has only its block')
        expect(step.content.length).toBe(env.length)
        env = step.content
      }
    },
    boot: () => {
      const variables = new Map(parseGrubEnvironment(env))
      expect(variables.get('kernelopts')).toBe('root=UUID=a1 ro')
      const next = variables.get('next_entry')
      variables.delete('next_entry')
      env = grubEnvironment(variables) ?? env
      return next ?? variables.get('saved_entry')
    },
  }
}

/** systemd-boot, with the two variables of the firmware that bootctl sets. */
function systemdBoot(entries: readonly string[], running: string): Host {
  const variables = new Map<string, string>([['set-default', `${running}.conf`]])
  const paths = ['/boot/loader/loader.conf', '/usr/bin/bootctl', '/sys/firmware/efi/efivars']
  return {
    tree: () => ({
      files: new Map(),
      // The newest entry has tries left.
      paths: new Set([...paths, ...entries.map((e, i) => `/boot/loader/entries/${e}${i === 0 ? '+2-1' : ''}.conf`)]),
      boot: { type: 'vfat', device: '/dev/vda1' },
    }),
    carryOut: (steps) => {
      if (steps.kind === 'Refused') throw new Error(steps.missing)
      for (const step of steps.steps) {
        const [program, name = '', value = ''] = step.kind === 'Run' ? step.command : []
        expect(program).toBe('/usr/bin/bootctl')
        if (value === '') variables.delete(name)
        else variables.set(name, value)
      }
    },
    boot: () => {
      const next = variables.get('set-oneshot') ?? variables.get('set-default')
      variables.delete('set-oneshot')
      return next?.slice(0, -'.conf'.length)
    },
  }
}

const OLD = 'gnulinux-advanced-a1>gnulinux-6.1.0-27-amd64-advanced-a1'
const NEW = 'gnulinux-advanced-a1>gnulinux-6.1.0-28-amd64-advanced-a1'
const FEDORA = ['0f3c-6.11.4-301.fc41.x86_64', '0f3c-6.11.3-300.fc41.x86_64'] as const
const HOSTS: readonly (readonly [string, () => Host, string, string])[] = [
  ['Debian 12 with GRUB', () => grub('/boot/grub', DEBIAN, OLD), OLD, NEW],
  ['Fedora with GRUB and entry files', () => grub('/boot/grub2', READS, FEDORA[1], FEDORA), FEDORA[1], FEDORA[0]],
  ['systemd-boot', () => systemdBoot(FEDORA, FEDORA[1]), FEDORA[1], FEDORA[0]],
]

const loaderOf = (host: Host): BootLoader => {
  const found = bootLoaderOf(host.tree())
  if (found.name === 'unknown') throw new Error(found.missing)
  return found
}

describe.each(HOSTS)('%s', (_, made, old, next) => {
  test('lists both kernels', () => {
    expect(loaderOf(made()).entries).toEqual(expect.arrayContaining([old, next]))
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
  ['bootc', () => ({ ...debian(), paths: new Set(['/run/ostree-booted']) }), /cannot boot a deployment once/],
  ['no block', () => unset(debian(), '/boot/grub/grubenv', undefined), /grubenv is missing/],
  [
    'a block of others',
    () => unset(debian(), '/boot/grub/grubenv', Buffer.from('saved_entry=0\n')),
    /not an environment block/,
  ],
  ['no default', () => unset(debian(), '/boot/grub/grubenv', block({})), /saved_entry is not set/],
  [
    'a fixed default',
    () => unset(debian(), '/boot/grub/grub.cfg', Buffer.from(DEBIAN.replace(READS, header('0')))),
    /GRUB_DEFAULT=saved/,
  ],
  ['LVM', () => ({ ...debian(), boot: { type: 'ext4', device: '/dev/mapper/vg-boot' } }), /cannot write to ext4 on/],
  ['btrfs', () => ({ ...debian(), boot: { type: 'btrfs', device: '/dev/vda2' } }), /cannot write to btrfs/],
  [
    'no bootctl',
    () => ({ files: new Map(), paths: new Set(['/efi/loader/loader.conf']), boot: EXT4 }),
    /bootctl is not installed/,
  ],
])('refuses what it does not know, and says what is missing: %s', (_, tree, missing) => {
  expect(bootLoaderOf(tree())).toEqual({ name: 'unknown', missing: expect.stringMatching(missing) })
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
