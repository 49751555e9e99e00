// A Debian host with GRUB on a disk in memory: dpkg, update-grub, and what the firmware boots. Everything it holds is files, so a power cut may hit any change.
import { argumentsOf, menuEntries } from '#agent/os/boot-entries.ts'
import { type BootHost, realBootHost } from '#agent/os/boot-host.ts'
import type { Running } from '#agent/os/boot-loader.ts'
import { grubEnvironment, parseGrubEnvironment } from '#agent/os/grub-environment.ts'
import { writeDurably } from '#agent/files/durable.ts'
import type { MemoryFiles } from '#test/doubles/files/memory-files.ts'

const ENV = '/boot/grub/grubenv'
const CONFIG = '/boot/grub/grub.cfg'
const STATUS = '/var/lib/dpkg/status.json'
const MOUNTS = '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw'
const ROOT_ARGUMENTS = 'root=UUID=a1 ro quiet'

/** As /etc/grub.d/00_header of Debian 12 writes it, whatever GRUB_DEFAULT is. */
export const grubHeader = (byDefault: string) => `if [ -s $prefix/grubenv ]; then
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

const body = (kernel: string, indent: string) =>
  [
    'load_video',
    'insmod gzio',
    'if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi',
    'search --no-floppy --fs-uuid --set=root a1',
    `echo\t'Loading Linux ${kernel} ...'`,
    `linux\t/boot/vmlinuz-${kernel} ${ROOT_ARGUMENTS}`,
    `initrd\t/boot/initrd.img-${kernel}`,
  ]
    .map((line) => `${indent}\t${line}\n`)
    .join('')

/** As grub-mkconfig of Debian 12 lists kernels, the newest first. */
export function grubMenu(kernels: readonly string[], byDefault = '${saved_entry}'): string {
  const [newest = '', ...others] = kernels.toSorted().toReversed()
  const entry = (kernel: string, kind: string, more = '') =>
    `\tmenuentry 'Debian GNU/Linux, with Linux ${kernel}${more}' --class debian $menuentry_id_option 'gnulinux-${kernel}-${kind}-a1' {\n${body(kernel, '\t').replace(' ro quiet', more === '' ? ' ro quiet' : ' ro single')}\t}\n`
  return `${grubHeader(byDefault)}menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-a1' {
${body(newest, '')}}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-a1' {
${[newest, ...others].map((k) => entry(k, 'advanced') + entry(k, 'recovery', ' (recovery mode)')).join('')}}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
if [ -f  \${config_directory}/custom.cfg ]; then
  source \${config_directory}/custom.cfg
fi
`
}

export const debianEntry = (kernel: string): string => `gnulinux-advanced-a1>gnulinux-${kernel}-advanced-a1`
export const packageOf = (kernel: string): string => `linux-image-${kernel}`

interface Installed {
  readonly [name: string]: { readonly version: string; readonly isWhole: boolean }
}

export class FakeBootMachine {
  disk: MemoryFiles
  /** Kernels that do not come up; each returns at once to the boot loader, as with panic=. */
  readonly panics = new Set<string>()
  freeBytes = 2 ** 30
  running: Running
  /** Everything that the firmware started, in order. */
  readonly booted: string[] = []

  private constructor(disk: MemoryFiles, running: Running) {
    this.disk = disk
    this.running = running
  }

  static async with(disk: MemoryFiles, kernel: string): Promise<FakeBootMachine> {
    const machine = new FakeBootMachine(disk, {
      kernel,
      arguments: argumentsOf(`BOOT_IMAGE=/boot/vmlinuz-${kernel} ${ROOT_ARGUMENTS}`),
    })
    for (const path of ['/usr/bin/dpkg', '/usr/bin/bootctl']) await writeDurably(disk, path, '')
    await machine.#installed({ [packageOf(kernel)]: { version: '1', isWhole: true } })
    await machine.setEnvironment({ saved_entry: 'gnulinux-simple-a1', kernelopts: 'kept' })
    return machine
  }

  host(): BootHost {
    const { disk, running } = this
    const proc = { kernel: running.kernel, cmdline: running.arguments.join(' '), mountinfo: MOUNTS }
    return {
      ...realBootHost({
        files: disk,
        proc,
        freeIn: async () => this.freeBytes,
        overwrite: (path, content) => writeDurably(disk, path, content),
      }),
      query: (command) => this.#query(command),
      change: (command) => this.#change(command),
    }
  }

  /** Boots from the disk as it is: GRUB clears next_entry before it starts the kernel. A kernel that panics boots again. */
  async boot(): Promise<void> {
    const config = `${await this.#text(CONFIG)}\n${await this.#text('/boot/grub/custom.cfg')}`
    const entries = menuEntries(config)
    for (let tries = 0; tries < 3; tries++) {
      const { next_entry: next, ...rest } = await this.environment()
      await this.setEnvironment(rest)
      const wanted = next ?? rest['saved_entry']
      // An unknown ID boots the first entry.
      const entry = entries.find((e) => e.id === wanted) ?? entries[0]
      const { kernel } = entry ?? {}
      if (entry === undefined || kernel === undefined) throw new Error(`GRUB cannot boot ${wanted ?? ''}`)
      this.booted.push(kernel)
      if (this.panics.has(kernel)) continue
      this.running = { kernel, arguments: [`BOOT_IMAGE=/boot/vmlinuz-${kernel}`, ...entry.arguments] }
      return
    }
    throw new Error('the machine boots a kernel that panics, again and again')
  }

  async environment(): Promise<Readonly<Record<string, string>>> {
    const block = await this.disk.read(ENV)
    return Object.fromEntries(parseGrubEnvironment(block ?? Buffer.alloc(0)) ?? [])
  }

  async setEnvironment(variables: Readonly<Record<string, string>>): Promise<void> {
    await writeDurably(this.disk, ENV, grubEnvironment(new Map(Object.entries(variables))) ?? '')
  }

  async kernels(): Promise<readonly string[]> {
    return Object.keys(await this.#status()).map((name) => name.slice(packageOf('').length))
  }

  async ownEntries(): Promise<readonly string[]> {
    return menuEntries(await this.#text('/boot/grub/custom.cfg')).map((e) => e.id)
  }

  /** Of GRUB_DEFAULT in /etc/default/grub. */
  async setDefaultOfMenu(byDefault: string): Promise<void> {
    await writeDurably(this.disk, CONFIG, grubMenu(await this.kernels(), byDefault))
  }

  async #installed(now: Installed): Promise<void> {
    await writeDurably(this.disk, STATUS, JSON.stringify(now))
    await writeDurably(this.disk, CONFIG, grubMenu(await this.kernels()))
  }

  async #query([program, ...args]: readonly string[]): Promise<string | undefined> {
    const last = args.at(-1) ?? ''
    if (program === '/usr/bin/dpkg-deb') return (await this.disk.read(last))?.toString()
    const found = (await this.#status())[last]
    return found && `${found.isWhole ? 'installed' : 'half-installed'} ${found.version}`
  }

  async #change([, verb, ...args]: readonly string[]): Promise<string | undefined> {
    const before = await this.#status()
    if (verb === '--configure') return undefined
    if (verb === '--purge') {
      await this.#installed(Object.fromEntries(Object.entries(before).filter(([name]) => !args.includes(name))))
      return undefined
    }
    for (const file of args.slice(1)) {
      const [name = '', version = ''] = (await this.#text(file)).split(' ')
      for (const isWhole of [false, true]) {
        if (isWhole && name.includes('broken')) return 'dependency problems'
        await this.#installed({ ...(await this.#status()), [name]: { version, isWhole } })
      }
    }
    return undefined
  }

  async #status(): Promise<Installed> {
    return JSON.parse((await this.#text(STATUS)) || '{}') as Installed
  }

  async #text(path: string): Promise<string> {
    return (await this.disk.read(path))?.toString() ?? ''
  }
}
