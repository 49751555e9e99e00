// Remembers hooks that were killed and do not end, because they hang in the kernel: a component gets no second hook beside one. A later agent on the same
// host finds them too.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isObject } from '#lib/json.ts'
import { hungHookFile, type NodeDir } from './node-dir.ts'
import { livingStat, type ProcessId } from './supervise/proc.ts'

export class HungHooks {
  readonly #dir: NodeDir
  readonly #isAlive: (id: ProcessId) => boolean
  readonly #known = new Map<string, readonly ProcessId[]>()

  constructor(dir: NodeDir, isAlive = (id: ProcessId): boolean => livingStat(id) !== undefined) {
    this.#dir = dir
    this.#isAlive = isAlive
  }

  note(component: string, left: readonly ProcessId[]): void {
    this.#known.set(component, left)
    try {
      writeFileSync(hungHookFile(this.#dir, component), JSON.stringify(left))
    } catch {
      // This agent remembers it. What hangs is often the disk.
    }
  }

  /** The first process of it that has not ended. */
  pidOf(component: string): number | undefined {
    const known = this.#known.get(component) ?? this.#read(component)
    const alive = known.filter(this.#isAlive)
    this.#known.set(component, alive)
    if (alive.length === 0 && known.length > 0) this.#forget(component)
    return alive[0]?.pid
  }

  #read(component: string): readonly ProcessId[] {
    try {
      const value: unknown = JSON.parse(readFileSync(hungHookFile(this.#dir, component), 'utf8'))
      return Array.isArray(value) ? value.filter(isProcessId) : []
    } catch {
      // None, or foreign content.
      return []
    }
  }

  #forget(component: string): void {
    try {
      rmSync(hungHookFile(this.#dir, component), { force: true })
    } catch {
      // What it names has ended, which the next agent finds out again.
    }
  }
}

const isProcessId = (v: unknown): v is ProcessId =>
  isObject(v) && Number.isSafeInteger(v['pid']) && Number(v['pid']) > 1 && typeof v['startTime'] === 'string'
