// Digests of served files, computed once per version of a file.
import { createHash } from 'node:crypto'
import { Semaphore } from '#lib/semaphore.ts'
import type { OpenFile } from './served-file.ts'

/** More than any fleet has; a forgotten digest is computed again. */
const MAX_KNOWN = 10_000
/** Two large files keep a disk busy. */
const MAX_AT_ONCE = 2

export class Digests {
  readonly #known = new Map<string, Promise<string>>()
  readonly #atOnce = new Semaphore(MAX_AT_ONCE, { what: 'digests of files' })

  /** SHA-256 in hex. */
  async of(file: OpenFile): Promise<string> {
    const { dev, ino, size, mtimeNs, ctimeNs } = file.stats
    const version = [dev, ino, size, mtimeNs, ctimeNs].join(':')
    const known = this.#known.get(version)
    if (known !== undefined) return known
    const made = this.#atOnce.run(() => digestOf(file))
    this.#known.set(version, made)
    made.catch(() => this.#known.delete(version))
    for (const old of [...this.#known.keys()].slice(0, -MAX_KNOWN)) this.#known.delete(old)
    return made
  }
}

async function digestOf({ handle }: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
