// `kubenode run … -- …`: parses every cluster's options like the first one's, and no two roles of a process share an identity.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../program.ts'

let dir: string
const kubeconfig = (token: string, server: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token } }],
  })
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-several-'))
  writeFileSync(join(dir, 'a'), kubeconfig('one', 'https://127.0.0.1:1'))
  writeFileSync(join(dir, 'a-elsewhere'), kubeconfig('one', 'https://127.0.0.1:2'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const FIRST = 'run --roles defender --kubeconfig a --cluster x --'
test.each<[string, string, RegExp]>([
  ['an unknown role', `${FIRST} --roles nonsense --kubeconfig a`, /^KN1002: .*"nonsense"/],
  ['no roles', `${FIRST} --kubeconfig a`, /^KN1002: cannot run without roles/],
  ['an unknown option', `${FIRST} --roles sync --nope`, /^KN1002: unknown option '--nope'/],
  ['a word too many', `${FIRST} --roles sync stray`, /^KN1002: too many arguments/],
  ['a word without --', 'run --roles sync stray', /^KN(1355|1303|1002)/],
  ['a bad third', `${FIRST} --roles controllers --kubeconfig b -- --roles x`, /^KN13/],
  [
    'an identity that a role of the first has',
    `${FIRST} --roles approver --kubeconfig approver=a-elsewhere --cluster y`,
    /^KN1320: cannot run defender and approver with one identity/,
  ],
])('%s in a later cluster is refused', async (_, line, message) => {
  let err = ''
  const io = { out: () => undefined, err: (t: string) => void (err += t), cwd: dir, env: {}, isTerminal: false }
  const args = line
    .split(' ')
    .map((w) => w.replace(/^((?:approver=)?)(a|a-elsewhere|b)$/, (__, r, f) => `${r}${join(dir, f)}`))
  expect(await run(args, io)).toBe(2)
  expect(err).toMatch(message)
})
