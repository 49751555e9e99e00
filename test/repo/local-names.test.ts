// The local fleet runs the clusters that a commit declares: its code names none of them.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STAGES } from '../../fleet/clusters/clusters.ts'

const FOLDER = join(import.meta.dirname, '../../src/programs/local')
/** A method of every regular expression, files of tests, and a field of the bundler. */
const OTHERWISE = /\.test\(|\.test\.ts|\btest: \//g
const names = new RegExp(`\\b(?:${STAGES.join('|')})\\b`)

test('no file of src/programs/local names a cluster or a stage of the fleet', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  expect(files.length).toBeGreaterThan(20)
  const found = files.flatMap((name) =>
    readFileSync(join(FOLDER, name), 'utf8')
      .split('\n')
      .flatMap((line, at) => (names.test(line.replaceAll(OTHERWISE, '')) ? [`${name}:${at + 1}: ${line.trim()}`] : [])),
  )
  expect(found).toEqual([])
})
