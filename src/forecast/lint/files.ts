// Selects the files to lint: the named ones, and every YAML and JSON file below a named folder except those of tools and packages.
import { isUtf8 } from 'node:buffer'
import { lstatSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { MAX_TEXT_BYTES } from '#lib/documents.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { lintErrors } from './lint-errors.ts'

export interface LintFile {
  /** The path relative to the user's working folder. */
  readonly name: string
  readonly text: string
  /** The user named the file itself, not its folder: its content is intended. */
  readonly isNamed: boolean
}

const SKIPPED = new Set(['node_modules', 'dist'])
const ENDINGS = /\.(ya?ml|json)$/i
/** A larger tree was not written by hand. */
const MAX_FILES = 10_000

function walk(folder: string, found: string[]): string[] {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) continue
    const path = join(folder, entry.name)
    // Skip links: they may lead out of the tree or in circles.
    if (entry.isDirectory()) walk(path, found)
    else if (entry.isFile() && ENDINGS.test(entry.name)) found.push(path)
    if (found.length > MAX_FILES) throw new KubeNodeError(lintErrors.KN1012({ folder, maxFiles: MAX_FILES }))
  }
  return found
}

function read(path: string, name: string, isNamed: boolean): LintFile {
  const stat = statSync(path)
  // Reading a pipe waits for a writer, and some devices never end.
  if (!stat.isFile()) throw new KubeNodeError(lintErrors.KN1011_notRegular({ file: name }))
  const { size } = stat
  if (size > MAX_TEXT_BYTES) {
    throw new KubeNodeError(lintErrors.KN1012_size({ name, size, maxTextBytes: MAX_TEXT_BYTES }))
  }
  const bytes = readFileSync(path)
  if (!isUtf8(bytes)) throw new KubeNodeError(lintErrors.KN1014({ name }))
  return { name, text: bytes.toString('utf8'), isNamed }
}

export function filesToLint(paths: readonly string[], cwd: string): LintFile[] {
  return paths.flatMap((given) => {
    const path = resolve(cwd, given)
    const shown = (p: string) => (relative(cwd, p).startsWith('..') ? p : relative(cwd, p)) || '.'
    try {
      const stat = lstatSync(path)
      if (stat.isDirectory()) return walk(path, []).map((p) => read(p, shown(p), false))
      return [read(path, shown(path), true)]
    } catch (e) {
      if (e instanceof KubeNodeError) throw e
      throw new KubeNodeError(lintErrors.KN1011({ file: given, why: systemTrouble(e) }), { cause: e })
    }
  })
}
