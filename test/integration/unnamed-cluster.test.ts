// A command that names no cluster takes that of ~/.kube/config or of the local fleet around the current folder, never a guess between the two, and says which one it changes.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { run } from '#cli/program.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { layoutOf } from '#programs/local/layout.ts'
import { takeLock } from '#programs/local/lock.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'

let server: RunningServer
let admin: HttpKubeClient
let dir = ''
const unlock: (() => void)[] = []

beforeAll(async () => {
  server = await startEmbedded()
  const identity = { cert: { data: server.cert }, key: { data: server.key } }
  admin = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate: identity })
  await installAll(admin)
})
afterAll(() => server?.stop())
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-unnamed-'))))
afterEach(async () => {
  for (const end of unlock.splice(0)) end()
  rmSync(dir, { recursive: true, force: true })
  for (const { metadata } of (await admin.list(operationalHold)).items)
    await admin.delete(operationalHold, { name: metadata.name ?? '' })
})

/** The kubeconfig of the server, with another name for its context. */
function kubeconfigAt(file: string, context: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const text = readFileSync(server.kubeconfig, 'utf8')
  const before = /^current-context: (.*)$/m.exec(text)?.[1]?.trim() ?? ''
  writeFileSync(file, text.replaceAll(before, context))
}

const home = (context = 'work') => kubeconfigAt(join(dir, 'home/.kube/config'), context)

function fleet({ isRunning = true, context = 'hub' } = {}): void {
  const layout = layoutOf(join(dir, 'checkout/.kubenode'))
  mkdirSync(layout.root, { recursive: true })
  mkdirSync(join(dir, 'checkout/src'), { recursive: true })
  writeFileSync(layout.state, '{}')
  kubeconfigAt(layout.adminKubeconfig, context)
  if (isRunning) unlock.push(takeLock(layout))
}

async function kubenode(line: string, env: Readonly<Record<string, string>> = {}) {
  let [out, err] = ['', '']
  const cwd = join(dir, 'checkout/src')
  mkdirSync(cwd, { recursive: true })
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd,
    env: { HOME: join(dir, 'home'), ...env },
    isTerminal: false,
  }
  return { code: await run(line.split(' '), io), out, err }
}

const FREEZE = 'freeze --reason test --even-if-absent'
const held = async () => (await admin.list(operationalHold)).items.length

test('~/.kube/config is used as kubectl uses it; a read says nothing of it, a change names its context', async () => {
  home()
  expect(await kubenode('get machines')).toMatchObject({
    code: 0,
    err: 'no machines.kubenode.io found in context work of ~/.kube/config\n',
  })
  const { code, err } = await kubenode(FREEZE)
  expect([code, err.split('\n')[0]]).toEqual([0, `changing context work of ~/.kube/config (${server.url})`])
  expect(err.match(/changing/g)).toHaveLength(1)
  expect(await held()).toBe(1)
})

test.each([[{ KUBECONFIG: 'listed' }], [{ KUBENODE_KUBECONFIG: 'listed' }]])(
  'a file that %j names wins, and nothing is announced',
  async (names) => {
    home()
    fleet()
    const file = join(dir, 'listed')
    copyFileSync(server.kubeconfig, file)
    const env = Object.fromEntries(Object.keys(names).map((name) => [name, file]))
    const { code, err } = await kubenode(FREEZE, env)
    expect([code, err]).toEqual([0, expect.not.stringContaining('changing context')])
  },
)

test('a local fleet that runs is found from a folder inside of its own, and a change names it', async () => {
  fleet()
  expect(await kubenode('get machines')).toMatchObject({ code: 0 })
  const { code, err } = await kubenode(FREEZE)
  const data = join(dir, 'checkout/.kubenode')
  expect([code, err.split('\n')[0]]).toEqual([0, `changing context hub of the local fleet in ${data} (${server.url})`])
})

test('a local fleet that does not run is not taken', async () => {
  fleet({ isRunning: false })
  expect(await kubenode('get machines')).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /^KN1312: .*the local fleet of this folder does not run or is another user's; start it with kubenode local up/,
    ) as string,
  })
  home()
  expect((await kubenode(FREEZE)).err).toContain('of ~/.kube/config')
})

test('between ~/.kube/config and a local fleet that runs nothing is guessed, neither for a read nor for a change', async () => {
  home()
  fleet()
  for (const line of ['get machines', FREEZE]) {
    const { code, err } = await kubenode(line)
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /^KN1002: cannot choose a cluster: ~\/\.kube\/config and the local fleet in .* are both there/,
      ),
    ])
    expect(err).toContain(`--kubeconfig ${join(dir, 'checkout/.kubenode/admin.kubeconfig')}`)
  }
  expect(await held()).toBe(0)
})

test('a context that only one of them has decides; one that both have does not', async () => {
  home('work')
  fleet({ context: 'test' })
  expect((await kubenode(`${FREEZE} --context test`)).err).toContain('changing context test of the local fleet')
  expect((await kubenode(`${FREEZE} --context work`)).err).toContain('changing context work of ~/.kube/config')
  home('test')
  expect((await kubenode(`${FREEZE} --context test`)).err).toMatch(/^KN1002/)
})

test('a named file without the context names the local fleet that has it', async () => {
  fleet({ context: 'hub' })
  const file = join(dir, 'listed')
  copyFileSync(server.kubeconfig, file)
  const { code, err } = await kubenode('get machines --context hub', { KUBECONFIG: file })
  const data = join(dir, 'checkout/.kubenode')
  expect([code, err]).toEqual([2, expect.stringMatching(/^KN2015: /)])
  expect(err).toContain(`; the local fleet in ${data} has it: --kubeconfig ${join(data, 'admin.kubeconfig')}`)
  expect((await kubenode('get machines --context other', { KUBECONFIG: file })).err).not.toContain('local fleet')
})

test('a ~/.kube/config without a context counts as none, and one that cannot be read is never passed over', async () => {
  const file = join(dir, 'home/.kube/config')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, 'apiVersion: v1\nkind: Config\ncontexts: []\n')
  const { err } = await kubenode('get machines')
  expect(err).toMatch(/^KN1312/)
  // A start makes its fleet elsewhere, so it helps nothing here.
  expect(err).not.toContain('local up')
  fleet()
  expect((await kubenode('get machines')).code).toBe(0)
  rmSync(file)
  mkdirSync(file)
  for (const end of unlock.splice(0)) end()
  expect((await kubenode('get machines')).err).toMatch(/^KN1301: cannot read the kubeconfig .*config: it is a folder/)
  fleet()
  expect((await kubenode('get machines')).err).toMatch(/^KN1002/)
})

test.each([
  ['get machines --kubeconfig /nonexistent/a', {}, '/nonexistent/a (named by --kubeconfig): there is no such file'],
  ['get machines', { KUBECONFIG: '/nonexistent/b' }, '/nonexistent/b (named by KUBECONFIG): there is no such file'],
  [
    'get machines',
    { KUBECONFIG: '/nonexistent/b:/nonexistent/c' },
    '/nonexistent/b and /nonexistent/c (named by KUBECONFIG)',
  ],
  ['get machines', { KUBENODE_KUBECONFIG: '/nonexistent/d' }, '/nonexistent/d (named by KUBENODE_KUBECONFIG)'],
] as const)('a missing file is named with what named it: %s %j', async (line, env, words) => {
  home()
  const { code, err } = await kubenode(line, env)
  expect([code, err]).toEqual([2, expect.stringMatching(/^KN1301: cannot read the kubeconfig /)])
  expect(err).toContain(words)
  expect(err).toContain('name another file with --kubeconfig FILE')
})

test('a context that a file lacks is answered with those that it has', async () => {
  home('work')
  const { code, err } = await kubenode('get machines --context wrok')
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^KN2015: cannot use context "wrok": not found in .*; use one of: work/),
  ])
})
