// Loads what another worker compiled already: without it each of some fifty workers strips and compiles a thousand files of its own.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { afterAll } from 'vitest'
import { compileCache } from '#cli/compile-cache.ts'

const folder = compileCache()
if (folder !== undefined) enableCompileCache(folder)
// The runner kills its workers, and Node.js itself writes only at a clean exit.
afterAll(() => flushCompileCache())
