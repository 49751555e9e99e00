// A host of bootc with GRUB on a disk in memory: deployments, what is staged until the next shutdown, and a GRUB that counts boots as greenboot's
// configuration has it. What outlasts a power cut is files, so a power cut may hit any change.
import { type BootHost, realBootHost } from '#agent/os/boot-host.ts'
import { BOOTC, LOCK_FILE, OSTREE_PROGRAM, REBOOT_REQUEST } from '#agent/os/bootc-status.ts'
import { OSTREE, type Running } from '#agent/os/boot-loader.ts'
import { grubEnvironment, parseGrubEnvironment } from '#agent/os/grub-environment.ts'
import { writeDurably } from '#agent/files/durable.ts'
import { defined } from '#lib/defined.ts'
import type { MemoryFiles } from '#test/doubles/files/memory-files.ts'

const ENV = '/boot/grub2/grubenv'
const ORDER = '/sysroot/order.json'
/** Below /run: gone with the next boot. */
const STAGED = '/run/ostree/staged-deployment'
const MOUNTS = [
  '22 1 0:30 / / ro,relatime - overlay composefs ro',
  '30 22 254:2 / /boot ro,relatime - ext4 /dev/vda2 ro',
].join('\n')

/** As bootupd puts it together, with the part of greenboot. */
export const BOOTC_MENU = `if [ -f \${config_directory}/grubenv ]; then
  load_env -f \${config_directory}/grubenv
elif [ -s $prefix/grubenv ]; then
  load_env
fi
insmod increment
if [ -n "\${boot_counter}" -a "\${boot_success}" = "0" ]; then
  if  [ "\${boot_counter}" = "0" -o "\${boot_counter}" = "-1" ]; then
    set default=1
    set boot_counter=-1
  else
    decrement boot_counter
  fi
  save_env boot_counter
fi
set boot_success=0
save_env boot_success
blscfg
`

interface FakeDeployment {
  readonly checksum: string
  readonly serial: number
  readonly digest: string
}

export interface Image {
  readonly digest: string
  readonly kernel: string
}

/** Deterministic, and as long as the real ones. */
export const digestOf = (name: string): string =>
  `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0').slice(0, 64)}`
export const imageOf = (name: string): string => `registry.example.com/os/node@${digestOf(name)}`

export class FakeBootcMachine {
  disk: MemoryFiles
  /** Of a registry, by digest. */
  readonly images: ReadonlyMap<string, Image>
  /** Digests of images that do not come up; each returns at once to the boot loader, as with panic=. */
  readonly panics = new Set<string>()
  /** Another answer of `bootc status` than the true one. */
  answer: ((text: string) => string | undefined) | undefined
  /** A second judge, such as greenboot, that finds each boot good as soon as it is up. */
  hasOtherJudge = false
  /** What the updater of the image does. */
  updater: 'active' | 'inactive' = 'inactive'
  /** A digest of an index, and what the registry has for it. */
  readonly indexes = new Map<string, string>()
  running: Running = { kernel: '', arguments: [] }
  booted: FakeDeployment
  /** Digests that the firmware started, in order. */
  readonly bootedDigests: string[] = []
  readonly commands: string[] = []

  private constructor(disk: MemoryFiles, images: readonly Image[], first: Image) {
    this.disk = disk
    this.images = new Map(images.map((i) => [i.digest, i]))
    this.booted = { checksum: checksumOf(first.digest), serial: 0, digest: first.digest }
    this.running = { kernel: first.kernel, arguments: [] }
  }

  static async with(disk: MemoryFiles, images: readonly Image[]): Promise<FakeBootcMachine> {
    const [first] = images
    if (first === undefined) throw new Error('no image')
    const machine = new FakeBootcMachine(disk, images, first)
    for (const path of [BOOTC, OSTREE_PROGRAM, OSTREE]) await writeDurably(disk, path, '')
    await writeDurably(disk, '/boot/grub2/grub.cfg', BOOTC_MENU)
    await machine.setEnvironment({ boot_success: '1', kernelopts: 'kept' })
    await machine.#setOrder([machine.booted])
    return machine
  }

  host(): BootHost {
    const { disk, running } = this
    const proc = { kernel: running.kernel, cmdline: running.arguments.join(' '), mountinfo: MOUNTS }
    return {
      ...realBootHost({
        files: disk,
        proc,
        freeIn: async () => 2 ** 30,
        overwrite: (path, content) => writeDurably(disk, path, content),
      }),
      query: (command) => this.#query(command),
      change: async (command) => {
        this.commands.push(command.slice(0, 3).join(' ').replaceAll('/usr/bin/', ''))
        return this.#change(command)
      },
    }
  }

  /** A shutdown makes the staged deployment the default; a power cut loses it. Then GRUB boots. */
  async boot(how: 'Shutdown' | 'PowerCut' = 'PowerCut'): Promise<void> {
    const staged = how === 'Shutdown' && (await this.#isStagedForShutdown())
    // Only what runs and what is staged remain.
    if (staged) await this.#setOrder([JSON.parse(await this.#text(STAGED)) as FakeDeployment, this.booted])
    for (const path of [STAGED, LOCK_FILE, REBOOT_REQUEST]) await this.disk.remove(path)
    for (let tries = 0; tries < 4; tries++) {
      const found = await this.#grub()
      this.bootedDigests.push(found.digest)
      if (this.panics.has(found.digest)) continue
      this.booted = found
      this.running = { kernel: this.images.get(found.digest)?.kernel ?? '', arguments: [] }
      if (this.hasOtherJudge) {
        const { boot_counter: _, ...rest } = await this.environment()
        await this.setEnvironment({ ...rest, boot_success: '1' })
      }
      return
    }
    throw new Error('the machine boots a deployment that panics, again and again')
  }

  async environment(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries(parseGrubEnvironment((await this.disk.read(ENV)) ?? Buffer.alloc(0)) ?? [])
  }

  async setEnvironment(variables: Readonly<Record<string, string>>): Promise<void> {
    await writeDurably(this.disk, ENV, grubEnvironment(new Map(Object.entries(variables))) ?? '')
  }

  async digests(): Promise<readonly string[]> {
    return (await this.#order()).map((d) => d.digest)
  }

  async isStaged(): Promise<boolean> {
    return this.#isThere(STAGED)
  }

  /** The digest that a shutdown now makes the default. */
  async atShutdown(): Promise<string> {
    if (await this.#isStagedForShutdown()) return (JSON.parse(await this.#text(STAGED)) as FakeDeployment).digest
    return (await this.#order())[0]?.digest ?? ''
  }

  /** The digest that boots if the power goes now. */
  async afterPowerCut(): Promise<string> {
    return (await this.#choice()).found.digest
  }

  async #isStagedForShutdown(): Promise<boolean> {
    return (await this.#isThere(STAGED)) && !(await this.#isThere(LOCK_FILE))
  }

  /** Which entry boots, and what GRUB writes before it does. */
  async #grub(): Promise<FakeDeployment> {
    const { found, environment } = await this.#choice()
    await this.setEnvironment(environment)
    return found
  }

  async #choice() {
    const { boot_counter: counter, boot_success: success, ...rest } = await this.environment()
    const order = await this.#order()
    const isCounting = counter !== undefined && success === '0'
    const isOver = isCounting && (counter === '0' || counter === '-1')
    const left = isOver ? '-1' : isCounting ? String(Number(counter) - 1) : counter
    const found = order[isOver ? 1 : 0] ?? order[0]
    if (found === undefined) throw new Error('no deployment')
    return { found, environment: { ...rest, boot_success: '0', ...defined({ boot_counter: left }) } }
  }

  async #query(command: readonly string[]): Promise<string | undefined> {
    const [program, what] = command
    if (program === '/usr/bin/systemctl') return this.updater === 'active' ? 'active\n' : undefined
    if (program !== BOOTC || what !== 'status') return undefined
    const text = JSON.stringify(await this.status())
    return this.answer === undefined ? text : this.answer(text)
  }

  /** As bootc 1.x prints it. */
  async status(): Promise<Record<string, unknown>> {
    const order = await this.#order()
    const at = order.findIndex((d) => d.checksum === this.booted.checksum && d.serial === this.booted.serial)
    const [rollback] = order.filter((_, i) => i !== at)
    const staged = (await this.#isThere(STAGED)) ? (JSON.parse(await this.#text(STAGED)) as FakeDeployment) : undefined
    return {
      apiVersion: 'org.containers.bootc/v1',
      kind: 'BootcHost',
      metadata: { name: 'host' },
      spec: { image: { image: 'registry.example.com/os/node', transport: 'registry' }, bootOrder: 'default' },
      status: {
        staged: staged === undefined ? null : entryOf(staged),
        booted: entryOf(this.booted),
        rollback: rollback === undefined ? null : entryOf(rollback),
        rollbackQueued: rollback !== undefined && at > 0,
        type: 'bootcHost',
      },
    }
  }

  async #change([program, what, ...args]: readonly string[]): Promise<string | undefined> {
    if (program === BOOTC && what === 'switch') return this.#switch(args.at(-1) ?? '')
    if (program === BOOTC && what === 'rollback') {
      const [first, second, ...rest] = await this.#order()
      if (first === undefined || second === undefined) return 'error: No rollback available'
      await this.disk.remove(STAGED)
      await this.#setOrder([second, first, ...rest])
      await writeDurably(this.disk, REBOOT_REQUEST, 'bootc: Reboot required for image: …')
      return undefined
    }
    if (program !== OSTREE_PROGRAM || args[0] !== 'lock-finalization') return 'error: unknown command'
    if (!(await this.#isThere(STAGED))) return 'error: No staged deployment'
    if (args[1] === '--unlock') await this.disk.remove(LOCK_FILE)
    else await writeDurably(this.disk, LOCK_FILE, '')
    return undefined
  }

  async #switch(image: string): Promise<string | undefined> {
    const [, wanted = ''] = image.split('@')
    const digest = this.indexes.get(wanted) ?? wanted
    if (!this.images.has(digest)) return 'error: manifest unknown'
    const used = (await this.#order()).filter((d) => d.digest === digest).map((d) => d.serial)
    await this.disk.remove(LOCK_FILE)
    const staged: FakeDeployment = { checksum: checksumOf(digest), serial: Math.max(-1, ...used) + 1, digest }
    await writeDurably(this.disk, STAGED, JSON.stringify(staged))
    return undefined
  }

  async #order(): Promise<readonly FakeDeployment[]> {
    return JSON.parse(await this.#text(ORDER)) as readonly FakeDeployment[]
  }

  async #setOrder(order: readonly FakeDeployment[]): Promise<void> {
    await writeDurably(this.disk, ORDER, JSON.stringify(order))
  }

  async #isThere(path: string): Promise<boolean> {
    return (await this.disk.stat(path)) !== undefined
  }

  async #text(path: string): Promise<string> {
    return (await this.disk.read(path))?.toString() ?? ''
  }
}

const checksumOf = (digest: string): string => digest.slice('sha256:'.length).replaceAll('0', 'c')

const entryOf = ({ checksum, serial, digest }: FakeDeployment) => ({
  image: {
    image: { image: 'registry.example.com/os/node', transport: 'registry' },
    version: '9.1',
    timestamp: '2026-05-05T02:10:00Z',
    imageDigest: digest,
    architecture: 'amd64',
  },
  cachedUpdate: null,
  incompatible: false,
  pinned: false,
  store: 'ostreeContainer',
  ostree: { checksum, deploySerial: serial, stateroot: 'default' },
})
