// The file system that isomorphic-git gets. Objects are read within limits and checked against their hash, then passed on as loose objects. It finds no
// packs, which it would read into memory as a whole, and no other files.
import { deflateSync } from 'node:zlib'
import type { PromiseFsClient } from 'isomorphic-git'
import type { GitObject } from './object-store.ts'

export interface ObjectFiles {
  readonly objectOf: (oid: string) => GitObject | undefined
  /** Contents of additional files by their path in the repository, such as refs. */
  readonly texts?: ReadonlyMap<string, string>
  /** Receives its writes, by path in the repository; without it nothing is written. */
  readonly write?: (path: string, content: Uint8Array) => Promise<void>
}

/** Passed as the repository folder in every call. */
export const GIT_DIR = '/git'

const OBJECT = /^objects\/([0-9a-f]{2})\/([0-9a-f]{38})$/

const missing = (): never => {
  throw Object.assign(new Error('there is no such file'), { code: 'ENOENT' })
}

const looseOf = ({ type, content }: GitObject): Buffer =>
  deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]), { level: 0 })

export function objectFiles({ objectOf, texts = new Map(), write }: ObjectFiles): PromiseFsClient {
  const found = (path: string): string | GitObject | undefined => {
    const name = path.slice(GIT_DIR.length + 1)
    const [, folder, rest] = OBJECT.exec(name) ?? []
    return folder === undefined || rest === undefined ? texts.get(name) : objectOf(folder + rest)
  }
  const readFile = async (path: string, options?: { readonly encoding?: string } | string) => {
    const file = found(path) ?? missing()
    const bytes = typeof file === 'string' ? Buffer.from(file) : looseOf(file)
    const encoding = typeof options === 'string' ? options : options?.encoding
    return encoding === undefined ? bytes : bytes.toString('utf8')
  }
  const stat = async (path: string) => (found(path) === undefined ? missing() : {})
  const nothing = async () => undefined
  const promises = {
    readFile,
    stat,
    lstat: stat,
    writeFile: async (path: string, content: string | Uint8Array) =>
      write === undefined
        ? missing()
        : write(path.slice(GIT_DIR.length + 1), typeof content === 'string' ? Buffer.from(content) : content),
    readdir: async () => [],
    mkdir: nothing,
    rmdir: nothing,
    unlink: nothing,
    readlink: async () => missing(),
    symlink: async () => missing(),
  }
  return { promises }
}
