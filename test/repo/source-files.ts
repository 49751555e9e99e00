// Reads the repository's own TypeScript as text: files, what they import, what they name. For tests about the repository only.
import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface Import {
  readonly specifier: string
  /** Path from the root when it is one of the repository's files. */
  readonly file: string | undefined
  readonly typeOnly: boolean
}

export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

const SKIPPED = new Set(['node_modules', 'dist', 'recorded'])

export function filesUnder(folder: string): string[] {
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((e) => {
      if (e.isDirectory()) return SKIPPED.has(e.name) || e.name.startsWith('.') ? [] : filesUnder(`${folder}/${e.name}`)
      return /\.tsx?$/.test(e.name) ? [`${folder}/${e.name}`] : []
    })
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return [] // a folder appears when it has content
    throw e
  }
}

const STATEMENT = /^\s*(import|export)\s+(type\s+)?[^'"]*?\bfrom\s+['"]([^'"]+)['"]|^\s*(import)\s+()['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

/** As package.json exports it. */
function exportedFile(specifier: string): string | undefined {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  const name = specifier.replace(/^kubenode/, '.')
  const file = exports[name] ?? exports[`${dirname(name)}/*`]?.replace('*', basename(name))
  return file?.slice('./'.length)
}

function fileOf(specifier: string, from: string): string | undefined {
  if (/^#(test|build)\//.test(specifier)) return specifier.slice(1)
  // A package may import itself by its name; fleets do.
  if (specifier.startsWith('kubenode/')) return exportedFile(specifier)
  if (specifier.startsWith('#')) return `src/${specifier.slice(1)}`
  if (specifier.startsWith('.')) return relative(ROOT, resolve(ROOT, dirname(from), specifier))
  return undefined
}

/** Code alone: an import in a comment or a template does not count. */
const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

export function parseImports(path: string, text: string): Import[] {
  const code = withoutComments(text)
  const of = (specifier: string, typeOnly: boolean) => ({ specifier, file: fileOf(specifier, path), typeOnly })
  return [
    ...[...code.matchAll(STATEMENT)].map((m) => of(m[3] ?? m[6] ?? '', m[2] !== undefined && m[2] !== '')),
    ...[...code.matchAll(DYNAMIC)].map((m) => of(m[1] ?? '', false)),
  ]
}

export function sourceFiles(...folders: string[]): SourceFile[] {
  return folders.flatMap(filesUnder).map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, imports: parseImports(path, text) }
  })
}

export const isTest = (path: string): boolean => /\.(test|cases)\.tsx?$/.test(path)
export const codeOf = (f: SourceFile): string => withoutComments(f.text)
