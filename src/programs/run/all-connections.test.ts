// Contexts of a fleet: one that cannot be used is part of the answer, one that does not exist is bad input.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { foundContexts } from './all-connections.ts'

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: east
clusters: [{ name: east, cluster: { server: 'https://east.example' } }]
users: [{ name: ada, user: { token: none } }]
contexts:
- { name: east, context: { cluster: east, user: ada } }
- { name: west, context: { cluster: west, user: ada } }
`

const folder = mkdtempSync(join(tmpdir(), 'kubenode-contexts-'))
const file = join(folder, 'config')
writeFileSync(file, KUBECONFIG)
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

test('a named context that does not exist is refused, and one that cannot be used does not hide the others', async () => {
  const wanted = { file, env: {}, cwd: folder }
  await expect(foundContexts({ ...wanted, contexts: ['eats'] })).rejects.toThrow(/KN2015: .*"eats"/)
  const found = await foundContexts({ ...wanted, contexts: [] })
  expect(found.map((one) => [one.context, 'problem' in one])).toEqual([
    ['east', false],
    ['west', true],
  ])
})
