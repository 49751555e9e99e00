// If a local fleet runs, advice to type kubectl includes its kubeconfig; otherwise nothing is added.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { layoutOf } from '#programs/local/layout.ts'
import { takeLock } from '#programs/local/lock.ts'
import { run } from './program.ts'

let cwd = ''
let unlock = (): void => undefined
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'kubenode-kubectl-'))
  const data = join(cwd, '.kubenode')
  const layout = layoutOf(data)
  mkdirSync(data)
  writeFileSync(layout.state, '{}')
  writeFileSync(layout.adminKubeconfig, '')
  unlock = takeLock(layout)
})
afterEach(() => {
  unlock()
  rmSync(cwd, { recursive: true, force: true })
})

async function output(line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  let err = ''
  const io = { out: () => undefined, err: (t: string) => void (err += t), cwd, env, isTerminal: false }
  expect(await run(line.split(' '), io)).toBe(2)
  return err
}

const hint = () => `export KUBECONFIG=${join(cwd, '.kubenode', 'admin.kubeconfig')})\n`

test.each([
  'cordon n-1',
  'get pods',
  'config get-contexts',
  '--context test drain n-1',
  'help cordon',
  'get km --cluster a',
  'get km -o jsonpath={.a}',
])('kubenode %s ends with the kubeconfig of the local fleet', async (line) =>
  expect(await output(line)).toMatch(new RegExp(`${RegExp.escape(hint())}$`)),
)

test.each(['get foos', 'app list', 'get applications', 'cordon n-1 --kubeconfig a', '--kubeconfig=a cordon n-1'])(
  'kubenode %s does not',
  async (line) => expect(await output(line)).not.toContain('KUBECONFIG'),
)

test('nor does a line where KUBECONFIG names the cluster, or no fleet runs', async () => {
  expect(await output('cordon n-1', { KUBECONFIG: '/a' })).not.toContain('export')
  expect(await output('cordon n-1', { KUBENODE_KUBECONFIG: '/a' })).not.toContain('export')
  unlock()
  unlock = () => undefined
  expect(await output('cordon n-1')).not.toContain('export')
})
