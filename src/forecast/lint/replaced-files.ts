// Files of the demo that `clusters.json` replaced. A fleet that was copied from it may still have them: nothing reads them, so that a size in them would seem declared.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Finding } from './finding.ts'
import { lintErrors } from './lint-errors.ts'

const FOLDER = 'fleet/clusters'
const BY = 'clusters.json'
/** With what each entry of `clusters.json` says in their place. */
const REPLACED: Readonly<Record<string, string>> = {
  'size.json': 'the number of nodes is "nodes" of each cluster there',
  'registered.json': 'a cluster that exists already has "registered": true there',
}
/** A demo has a dozen files. */
const MOST_FILES = 200

export function replacedFiles(root: string, cwd: string): readonly Finding[] {
  const at = (name: string) => join(root, FOLDER, name)
  const left = Object.keys(REPLACED).filter((name) => existsSync(at(name)))
  if (left.length === 0 || !existsSync(at(BY))) return []
  const code = globSync('**/*.ts', { cwd: join(root, 'fleet') })
    .slice(0, MOST_FILES)
    .map((file) => readFileSync(join(root, 'fleet', file), 'utf8'))
  return left
    .filter((name) => !code.some((text) => text.includes(name)))
    .map((name) => {
      const { code: number, text } = lintErrors.KN1026({
        file: `${FOLDER}/${name}`,
        by: `${FOLDER}/${BY}`,
        instead: REPLACED[name] ?? '',
      })
      return { file: relative(cwd, at(name)), line: 1, column: 1, code: number, message: text }
    })
}
