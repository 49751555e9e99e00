// Demo files that `clusters.json` replaced. A fleet copied from the demo may still have them. Nothing reads them, so a size in them would only seem declared.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Finding } from './finding.ts'
import { lintErrors } from './lint-errors.ts'

const FOLDER = 'fleet/clusters'
const BY = 'clusters.json'
/** With the replacement in `clusters.json` for each. */
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
