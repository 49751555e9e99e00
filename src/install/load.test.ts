// What a values file may contain, with errors for the user who wrote it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import { valuesFile } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-values-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['two documents', 'cluster: a\n---\ncluster: b\n', /KN1002: .* the file must be one document; remove what follows/],
  ['a list', '- cluster: a\n', /KN1002: .* the file must be a map of settings/],
  ['a setting twice', 'cluster: a\ncluster: b\n', /KN1002: .* Map keys must be unique at line 2/],
])('%s', (_, text, words) => {
  writeFileSync(join(folder, 'values.yaml'), text)
  let said = ''
  try {
    valuesFile('values.yaml', folder)
  } catch (error) {
    said = messageOf(error)
  }
  expect(said).toMatch(words)
})
