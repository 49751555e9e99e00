// Loads what another worker compiled already: without it each of some fifty workers strips and compiles a thousand files of its own.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { afterAll } from 'vitest'
import { compileCache } from '#lib/compile-cache.ts'

/** What others may write in the cache of a checkout is not trusted, and then all of it is made again, also under programs that run. */
const CLOSED = 0o022

function closedToOthers(write: () => unknown): void {
  const before = process.umask(CLOSED)
  try {
    write()
  } finally {
    process.umask(before)
  }
}

const folder = compileCache()
if (folder !== undefined) closedToOthers(() => enableCompileCache(folder))
// The runner kills its workers, and Node.js itself writes only at a clean exit.
afterAll(() => closedToOthers(() => flushCompileCache()))
