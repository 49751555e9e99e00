// Every command of docs/operations/install.md, in order, against an embedded server: with the settings, charts and texts that are shipped.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'
import { makeReadyNodes, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const DOCUMENT = 'docs/operations/install.md'
let world: InstallWorld
let folder = ''
let answers: string[] = []

beforeAll(async () => {
  world = await startInstallWorld()
  folder = mkdtempSync(join(tmpdir(), 'kubenode-install-'))
  const text = readFileSync(join(import.meta.dirname, '../..', DOCUMENT), 'utf8')
  const [, values = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? []
  // The double does not serve the Defender's webhook.
  writeFileSync(join(folder, 'values.yaml'), `${values}webhook: { enabled: false }\n`)
  await makeReadyNodes(world.admin, ['n-1', 'n-2'])
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await world.stop()
})

async function kubenode(...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd: folder,
    env: { KUBECONFIG: world.server.kubeconfig },
    isTerminal: false,
    ...(answers.length > 0 && { ask: async () => answers.shift() ?? '' }),
  }
  return { code: await run(argv, io), out, err }
}

const commands = shellBlocks(DOCUMENT).flatMap((block) => block.trim().split('\n'))

test('the document shows each of the four commands', () => {
  const verbs = new Set(commands.map((c) => c.split(' ').slice(0, 2).join(' ')))
  expect([...verbs].toSorted()).toEqual([
    'kubenode check',
    'kubenode install',
    'kubenode uninstall',
    'kubenode upgrade',
  ])
})

test('all commands succeed in the order of the document', async () => {
  const said = new Map<string, string>()
  for (const command of commands) {
    const { code, out, err } = await kubenode(...command.split(' ').slice(1))
    expect(code, `${command}\n${out}\n${err}`).toBe(0)
    said.set(command, `${out}${err}`)
  }
  expect(said.get('kubenode check --pre --values values.yaml')).toMatch(/^✔ server: Kubernetes v1\./m)
  expect(said.get('kubenode install --values values.yaml --diff')).toMatch(
    /^\+ Deployment\.apps\/kubenode-system\/kubenode-sync$/m,
  )
  expect(said.get('kubenode check')).toMatch(/^✔ leaders: each role has one$/m)
  expect(said.get('kubenode upgrade --diff')).toBe('nothing would change\n')
  expect(said.get('kubenode uninstall --yes hub')).toMatch(/KubeNode is uninstalled from hub\n/)
  expect(said.get('kubenode uninstall --dry-run')).toMatch(
    /^no machines, rules or other objects of the kinds of KubeNode$/m,
  )
  const namespaces = await world.admin.list(coreKind('Namespace'))
  expect(namespaces.items.map((n) => n.metadata.name).filter((n) => n?.startsWith('kubenode'))).toEqual([])
})

test('wrong input is refused before anything is written', async () => {
  const refused = async (...argv: readonly string[]) => {
    const { code, err } = await kubenode(...argv)
    return `${code} ${err.split('\n')[0]}`
  }
  expect(await refused('install', '--cluster', 'hub', '--roles', 'hub', '--image', 'kubenode:latest')).toMatch(
    /^2 KN1433: cannot use these settings: image has the wrong format \(found "kubenode:latest"\)/,
  )
  expect(await refused('install', '--values', 'nowhere.yaml')).toMatch(/^2 KN1002: cannot use --values nowhere\.yaml/)
  expect(await refused('install', '--values', 'values.yaml', '--timeout', 'soon')).toMatch(
    /^2 KN1002: cannot use --timeout soon/,
  )
  expect(await refused('check', '--pre', '--values', 'nowhere.yaml')).toMatch(/^2 KN1002: cannot use --values nowhere/)
  expect(await refused('install', '--values', 'values.yaml', '--ignore', 'nodez')).toMatch(
    /^2 KN1002: there is no check named "nodez"; give --ignore some of: server, policies/,
  )
  expect(await refused('install', '--values', 'values.yaml', '--ignore', 'rights')).toMatch(
    /^2 KN1435: check rights cannot be ignored/,
  )
  expect(await refused('install', '--roles', 'business')).toMatch(
    /^2 this kubeconfig names https:\/\/127\.0\.0\.1:\d+, where hosts do not reach the API server/,
  )
  expect(await refused('upgrade')).toMatch(/^2 KN1422: KubeNode is not installed/)
  expect((await kubenode('check')).out).toMatch(/^✗ versions: KN1422: KubeNode is not installed/m)
  expect(await refused('upgrade', '--values', 'values.yaml')).toMatch(/^2 KN1422: KubeNode is not installed/)
  // Definitions are left, which nothing but a name deletes; without that, an uninstall that is run again finds its work done.
  const absent = 'KubeNode is not installed in this cluster; only leftovers are deleted'
  expect(await refused('uninstall', '--delete-crds')).toBe(`2 ${absent}`)
  expect((await kubenode('uninstall', '--delete-crds', '--yes', 'other')).err).toMatch(/KN1423: not confirmed: "other"/)
  expect(await refused('uninstall')).toBe(`0 ${absent}`)
  expect(await refused('uninstall', '--yes', 'hub')).toBe(`0 ${absent}`)
  answers = ['no']
  expect((await kubenode('install', '--values', 'values.yaml')).code).toBe(0)
  expect((await world.admin.list(coreKind('Namespace'))).items.map((n) => n.metadata.name)).not.toContain(
    'kubenode-system',
  )
})

test('a user without rights learns which right is missing first', async () => {
  const config = parse(readFileSync(world.server.kubeconfig, 'utf8')) as { readonly users: { user: object }[] }
  for (const user of config.users) user.user = { ...user.user, as: 'guest' }
  writeFileSync(join(folder, 'guest.yaml'), stringify(config))
  for (const verb of ['install', 'check', 'upgrade', 'uninstall'])
    expect((await kubenode(verb, '--kubeconfig', join(folder, 'guest.yaml'))).err).toMatch(
      /^KN(2403: you may not get secret kubenode-install of namespace kubenode-system; run this as a cluster administrator|1429: cannot read )/,
    )
})

test('settings of another cluster are not applied with a wrong context, whatever --yes says', async () => {
  const { code, out } = await kubenode('install', '--values', 'values.yaml', '--yes', '--no-wait')
  expect(code).toBe(0)
  const advice = 'to follow a git repository: kubenode bootstrap --git URL'
  expect(out).toContain(advice)
  const metadata = { namespace: SYSTEM_NAMESPACE, name: 'fleet' }
  await world.admin.apply(fleetSource, { ...fleetSource.example, metadata }, { fieldManager: 'test' })
  const other = ['install', '--values', 'values.yaml', '--cluster', 'prod-1', '--no-wait', '--yes'] as const
  const refused = await kubenode(...other)
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('KN1448: this cluster is installed as hub')])
  answers = ['n']
  expect((await kubenode(...other)).code).toBe(0)
  const name = async () => (await kubenode('install', '--diff', '--values', 'values.yaml')).err
  expect(await name()).not.toContain('is installed as')
  const renamed = await kubenode(...other, '--rename')
  expect(renamed.code).toBe(0)
  expect(renamed.out).not.toContain(advice)
  expect(await name()).toContain('this cluster is installed as prod-1; these settings call it hub\n')
  expect((await kubenode('uninstall', '--yes', 'prod-1', '--delete-crds', '--now')).code).toBe(0)
})

test('an uninstall that was ended asks for the same name, also once the settings are deleted', async (context) => {
  // The names that an uninstall takes have unit tests.
  onlyInFull(context)
  expect((await kubenode('install', '--values', 'values.yaml', '--yes', '--no-wait')).code).toBe(0)
  const other = await kubenode('install', '--values', 'values.yaml', '--cluster', 'prod-1', '--diff')
  expect(other.err).toContain('this cluster is installed as hub; these settings call it prod-1\n')
  await world.admin.delete(coreKind('Secret'), { namespace: 'kubenode-system', name: 'kubenode-install' })
  const { code, err } = await kubenode('uninstall', '--yes', 'hub', '--delete-crds', '--now')
  expect(err).not.toContain('KN1423')
  expect(code).toBe(0)
})
