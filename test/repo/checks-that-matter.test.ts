// Every check of "Checks that matter" in docs/operations/security/checks.md names the file that checks, and a test that tries the wrong one, by words of it.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

/** What every format has to answer, or to say why it has no answer. */
const ALWAYS = ['algorithm', 'key size', 'effort|one meaning', 'expir', 'audience|purpose']

const formats = readFileSync(join(ROOT, 'docs/operations/security/checks.md'), 'utf8')
  .split('\n## ')
  .slice(1)
  .map((text) => ({ title: text.split('\n')[0] ?? '', text }))
const rows = formats.flatMap(({ title, text }) =>
  [...text.matchAll(/^\| (.*) \|$/gm)].slice(1).map(([, row = '']) => ({ title, cells: row.split(' | ') })),
)

test('four formats, each with its algorithm, key size, end, audience and effort', () => {
  expect(formats.map(({ title }) => title.split(':')[0])).toEqual(['X.509', 'OpenPGP', 'age', 'OpenID Connect'])
  const missing = formats.flatMap(({ title, text }) =>
    ALWAYS.filter((words) => !new RegExp(`^\\| (${words})|^Nothing of age ${words}`, 'm').test(text)).map(
      (words) => `${title}: ${words}`,
    ),
  )
  expect(missing).toEqual([])
})

test('the file that checks and the test that tries the wrong one are there', () => {
  expect(rows.length).toBeGreaterThan(30)
  const wrong = rows.flatMap(({ title, cells }) => {
    const [, , source = '', tried = ''] = cells
    const file = /^`(src\/[^`]+\.ts)`$/.exec(source)?.[1]
    const [, attempt = '', words = ''] = /^`((?:src|test)\/[^`]+\.test\.ts)`: (.+)$/.exec(tried) ?? []
    const isThere =
      cells.length === 4 &&
      file !== undefined &&
      existsSync(join(ROOT, file)) &&
      existsSync(join(ROOT, attempt)) &&
      words !== '' &&
      readFileSync(join(ROOT, attempt), 'utf8').includes(words)
    return isThere ? [] : [`${title}: ${cells.join(' | ')}`]
  })
  expect(wrong).toEqual([])
})
