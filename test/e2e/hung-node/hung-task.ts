// A task that really hangs in the kernel: it writes to a file system that is frozen. Lifting it is what a power cycle does to the real thing.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { KmsgReader } from '#agent/detect/npd/kmsg.ts'
import { systemClock } from '#lib/system-clock.ts'

const TIMEOUT = '/proc/sys/kernel/hung_task_timeout_secs'
const WARNINGS = '/proc/sys/kernel/hung_task_warnings'
/** Other processes on this host occasionally wait for its disk longer than a second. */
const SAID_AFTER_S = 3
const IMAGE_BYTES = 32 * 2 ** 20

export const kernelWatches = (): boolean => existsSync(TIMEOUT)

/** Longer than another such test takes. */
const TURN_MS = 540_000
const RETRY_MS = 2_000

/** All machines of this host share one kernel, so that such tests take turns. */
export async function aloneWithTheKernel(): Promise<(() => void) | undefined> {
  const end = systemClock.monotonic() + TURN_MS
  for (;;) {
    const release = await holdKernel()
    if (release !== undefined || systemClock.monotonic() > end) return release
    await systemClock.sleep(RETRY_MS)
  }
}

/** The name must be unique, and it disappears with the process. */
async function holdKernel(): Promise<(() => void) | undefined> {
  const server = net.createServer()
  const isMine = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen('\0kubenode-hung-task', () => resolve(true))
  })
  return isMine ? () => void server.close() : undefined
}

const run = (program: string, ...args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' })

/** A disk of a machine, mounted where the machine will look. */
export class FreezableDisk {
  readonly #image: string
  readonly #mount: string
  #isFrozen = false
  #settings: readonly (readonly [path: string, value: string])[] = []

  constructor(image: string, mount: string) {
    this.#image = image
    this.#mount = mount
    mkdirSync(mount, { recursive: true })
    writeFileSync(image, '')
    truncateSync(image, IMAGE_BYTES)
    run('mkfs.ext4', '-q', '-F', image)
    run('mount', '-o', 'loop,errors=continue', image, mount)
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** From now on any writer there hangs, and the kernel reports it soon. */
  freeze(): void {
    run('fsfreeze', '--freeze', this.#mount)
    this.#isFrozen = true
    this.#settings = [TIMEOUT, WARNINGS].map((path) => [path, readFileSync(path, 'utf8').trim()] as const)
    writeFileSync(TIMEOUT, String(SAID_AFTER_S))
    writeFileSync(WARNINGS, '100')
  }

  /** Tasks that hang briefly elsewhere on this host are no longer reported. */
  quieten(): void {
    for (const [path, value] of this.#settings) writeFileSync(path, value)
    this.#settings = []
  }

  lift(): void {
    this.quieten()
    if (!this.#isFrozen) return
    run('fsfreeze', '--unfreeze', this.#mount)
    this.#isFrozen = false
  }

  /** Whatever happened before: nothing of it is left. */
  dispose(): void {
    this.quieten()
    spawnSync('fsfreeze', ['--unfreeze', this.#mount])
    this.#isFrozen = false
    spawnSync('umount', [this.#mount])
    rmSync(this.#image, { force: true })
  }
}

/** When the kernel first said that the task hangs, by our clock. */
export class KernelWords {
  readonly #reader: KmsgReader
  #task: string | undefined
  #saidAt: number | undefined

  constructor() {
    this.#reader = new KmsgReader({
      path: '/dev/kmsg',
      clock: systemClock,
      after: undefined,
      onRecord: ({ message }) => {
        if (this.#task !== undefined && message.includes(`task ${this.#task}:`)) this.#saidAt ??= Date.now()
      },
      onLost: () => undefined,
      onProblem: () => undefined,
    })
    this.#reader.start()
  }

  listenFor(task: string): void {
    this.#task = task
  }

  get saidAt(): number | undefined {
    return this.#saidAt
  }

  close(): void {
    this.#reader.close()
  }
}
