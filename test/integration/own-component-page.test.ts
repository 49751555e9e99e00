// The page "Your own component in ten minutes", run as printed in a repository that `kubenode init` makes: each command ends well, and what it promises is there.
// A fleet on this machine ("Try it") is that of the tests of `local up`.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { initFleet, type InitWorld } from '#install/init/init.ts'
import { debOf } from '#test/doubles/node/deb.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/tasks/own-component.md'
const UNIT = '[Service]\nUser=prometheus\nExecStart=/usr/bin/prometheus-node-exporter $ARGS\nRestart=on-failure\n'

const [, write = '', look = '', from = '', sign = '', declare = '', deb = '', script = ''] = shellBlocks(PAGE)
let folder = ''
let fleet = ''

/** Debian's mirror is not asked: a package of the same form takes its place. */
function standIn(): Buffer {
  return debOf({
    control: 'Package: prometheus-node-exporter\nVersion: 1.5.0-1+b6\nArchitecture: all\nDepends: libc6 (>= 2.34)\n',
    scripts: ['postinst'],
    conffiles: ['/etc/default/prometheus-node-exporter'],
    data: [
      { name: './usr/bin/prometheus-node-exporter', content: '#!/bin/sh\n', mode: 0o755 },
      { name: './lib/systemd/system/prometheus-node-exporter.service', content: UNIT },
      { name: './etc/default/prometheus-node-exporter', content: 'ARGS=""\n' },
    ],
  })
}

function program(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
}

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-own-component-')))
  fleet = join(folder, 'my-fleet')
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'node-exporter.deb'), standIn())
  program(join(folder, 'bin/kubenode'), `exec '${join(ROOT, 'bin/kubenode')}' "$@"`)
  program(join(folder, 'bin/apt-get'), `cp '${join(folder, 'node-exporter.deb')}' "$2_1.5.0-1+b6_amd64.deb"`)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const env = () => ({
  ...process.env,
  PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
  HOME: folder,
  XDG_CONFIG_HOME: '',
  GIT_AUTHOR_NAME: 't',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 't',
  GIT_COMMITTER_EMAIL: 't@example.org',
})

function run(block: string, cwd = fleet): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-e'], { input: block, cwd, encoding: 'utf8', env: env() })
  expect([block, status, status === 0 ? '' : `${stdout}${stderr}`]).toEqual([block, 0, ''])
  return stdout
}

const statementOf = (name: string): MachineComponentInput['spec'] =>
  (JSON.parse(readFileSync(join(fleet, 'fleet/components', name), 'utf8')) as MachineComponentInput).spec

function madeSignedAndDeclared(): void {
  for (const block of [write, look, from, sign]) run(block)
  expect(statementOf('lamp-1.0.0.json')).toMatchObject({
    install: { binaries: [{ path: '/usr/local/bin/lamp' }] },
    service: { exec: '/usr/local/bin/lamp', restart: 'Always' },
    signatures: [{}],
  })
  expect(run(declare)).toContain('lamp')
  expect(execFileSync('git', ['-C', fleet, 'log', '-1', '--format=%s'], { encoding: 'utf8' })).toBe('lamp 1.0.0\n')
}

function fromDebian(): void {
  run(deb)
  expect(statementOf('node-exporter-1.5.0+1-b6.json')).toMatchObject({
    service: { unit: 'prometheus-node-exporter.service' },
    probes: [{ name: 'metrics' }],
    signatures: [{}],
  })
}

/** init without its package, which takes a minute: kubenode is that of this checkout. */
async function starter(): Promise<void> {
  const pack: InitWorld['pack'] = async (to) => {
    mkdirSync(to, { recursive: true })
    writeFileSync(join(to, 'kubenode-1.tgz'), 'packed')
    return { file: join(to, 'kubenode-1.tgz'), bytes: 6, integrity: 'sha512-x', entries: {} }
  }
  await initFleet(
    { dir: 'my-fleet', cluster: 'prod-1', force: false },
    { cwd: folder, env: env(), now: Date.now(), pack },
  )
  mkdirSync(join(fleet, 'node_modules/.bin'), { recursive: true })
  const own = `exec '${join(ROOT, 'bin/kubenode')}' "$@"`
  program(join(fleet, 'node_modules/.bin/kubenode'), own)
  program(join(folder, 'bin/npx'), `shift\n${own}`)
  run("git add -A\ngit commit -qm 'fleet: start'")
}

test('a component is made, signed, declared and planned in a repository of init', async () => {
  await starter()
  madeSignedAndDeclared()
  fromDebian()
  run(script)
  expect(statementOf('memcheck-1.0.0.json')).toMatchObject({
    type: 'Script',
    script: { command: ['/usr/local/bin/memcheck'] },
    install: { binaries: [{ path: '/usr/local/bin/memcheck' }] },
    signatures: [{}],
  })
}, 300_000)
