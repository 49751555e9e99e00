// The first start of a checkout: twenty processes would each compile the same hundreds of files. One of each kind does it for all.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface WarmOptions {
  readonly node: string
  /** The program that loads what it is told and ends. */
  readonly entry: string
  readonly env: Readonly<Record<string, string>>
}

/** A slow machine takes a tenth of it. */
const LONGEST_MS = 30_000

export const isWarm = (cache: string): boolean => existsSync(join(cache, 'warm'))

/** Resolves when the programs of these parts load quickly, or never will: it only saves time. */
export function warm({ node, entry, env }: WarmOptions, parts: readonly string[]): Promise<void> {
  return new Promise((done) => {
    const child = spawn(node, [entry, ...parts], { stdio: 'ignore', env, timeout: LONGEST_MS, killSignal: 'SIGKILL' })
    child.once('error', () => done())
    child.once('exit', () => done())
  })
}

/** A folder that cannot be written only means that the next start is a first one too. */
export function keepWarm(cache: string): void {
  try {
    mkdirSync(cache, { recursive: true })
    writeFileSync(join(cache, 'warm'), '')
  } catch {
    // Read-only checkouts stay cold.
  }
}
