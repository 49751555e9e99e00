// Computes the digest of a file's content.
import { createHash } from 'node:crypto'
import type { Files } from './port.ts'

export async function digestOf(files: Files, path: string): Promise<string> {
  if (files.digest !== undefined) return files.digest(path)
  const hash = createHash('sha256')
  for await (const chunk of files.stream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** Far more files than one component has. */
const MOST = 256

/** Reads a file again only when its metadata changed. */
export class KnownDigests {
  readonly #files: Files
  readonly #known = new Map<string, { readonly as: string; readonly digest: string }>()

  constructor(files: Files) {
    this.#files = files
  }

  async of(path: string): Promise<string> {
    const stat = await this.#files.stat(path)
    const as = `${stat?.size} ${stat?.modifiedMs} ${stat?.changedMs}`
    const known = this.#known.get(path)
    if (known?.as === as) return known.digest
    const digest = await digestOf(this.#files, path)
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(path, { as, digest })
    return digest
  }
}
