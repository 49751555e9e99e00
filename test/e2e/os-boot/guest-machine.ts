// A machine under qemu with such a disk: switched on, and its power cut. What it writes on its serial lines is in files.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GuestDisk } from './guest-disk.ts'
import { HERE } from './orders.ts'

export class GuestMachine {
  readonly #folder: string
  readonly #disk: GuestDisk
  readonly #network: string
  #running: ChildProcess | undefined

  constructor(folder: string, disk: GuestDisk, network = 'none') {
    this.#folder = folder
    this.#disk = disk
    this.#network = network
  }

  /** GRUB installs itself. */
  async setUp(): Promise<void> {
    const { kernel, initrd } = this.#disk
    const first = `root=/dev/vda1 ro console=ttyS0 init=${HERE}/setup`
    await once(this.start('-kernel', kernel, '-initrd', initrd, '-append', first, '-no-reboot'), 'exit')
  }

  start(...more: readonly string[]): ChildProcess {
    const line = (id: string) => [
      '-chardev',
      `file,id=${id},path=${join(this.#folder, id)},append=on`,
      '-serial',
      `chardev:${id}`,
    ]
    this.#running = spawn(
      'qemu-system-x86_64',
      [
        '-accel tcg -cpu max -m 1024 -smp 2 -display none -nic'.split(' '),
        this.#network,
        ['-drive', `file=${this.#disk.path},format=raw,if=virtio,cache=writeback`],
        line('console'),
        line('reports'),
        more,
      ].flat(),
      { stdio: 'inherit' },
    )
    return this.#running
  }

  get isOn(): boolean {
    return this.#running !== undefined && this.#running.exitCode === null && this.#running.signalCode === null
  }

  async cutPower(): Promise<void> {
    if (!this.isOn || this.#running === undefined) return
    this.#running.kill('SIGKILL')
    await once(this.#running, 'exit')
  }

  get console(): string {
    return this.#text('console')
  }

  get reports(): string {
    return this.#text('reports')
  }

  get panics(): number {
    return this.console.split('] Kernel panic').length - 1
  }

  #text(id: string): string {
    const path = join(this.#folder, id)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
}
