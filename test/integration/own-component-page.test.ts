// The page "Your own component in ten minutes", run as printed in an empty repository: each command ends well, and what it promises is there.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { debOf } from '#test/doubles/node/deb.ts'

const ROOT = join(import.meta.dirname, '../..')
const UNIT = '[Service]\nUser=prometheus\nExecStart=/usr/bin/prometheus-node-exporter $ARGS\nRestart=on-failure\n'

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

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-own-component-'))
  fleet = join(folder, 'fleet-repository')
  mkdirSync(join(fleet, 'fleet/components/trust'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'node-exporter.deb'), standIn())
  const programs = {
    kubenode: `exec '${join(ROOT, 'bin/kubenode')}' "$@"`,
    'apt-get': `cp '${join(folder, 'node-exporter.deb')}' "$2_1.5.0-1+b6_amd64.deb"`,
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  execFileSync('git', ['init', '-q', fleet])
  for (const [key, value] of [
    ['user.name', 'A'],
    ['user.email', 'a@example.org'],
  ] as const)
    execFileSync('git', ['-C', fleet, 'config', key, value])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const statementOf = (name: string): MachineComponentInput['spec'] =>
  (JSON.parse(readFileSync(join(fleet, 'fleet/components', name), 'utf8')) as MachineComponentInput).spec

test('the page "Your own component in ten minutes" runs as printed', () => {
  const page = readFileSync(join(ROOT, 'docs/own-component.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
  expect(blocks.length).toBe(6)
  for (const block of blocks) {
    const { status, stdout, stderr } = spawnSync('sh', ['-e'], {
      input: block,
      cwd: fleet,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
    })
    expect([block, status, status === 0 ? '' : `${stdout}${stderr}`]).toEqual([block, 0, ''])
  }
  expect(statementOf('lamp-1.0.0.json')).toMatchObject({
    install: { binaries: [{ path: '/usr/local/bin/lamp' }] },
    service: { unit: 'lamp.service', restart: 'Always' },
    signatures: [{}],
  })
  expect(statementOf('node-exporter-1.5.0+1-b6.json')).toMatchObject({
    service: { unit: 'prometheus-node-exporter.service' },
    probes: [{ name: 'metrics' }],
    signatures: [{}],
  })
  expect(execFileSync('git', ['-C', fleet, 'log', '--format=%s'], { encoding: 'utf8' })).toBe('lamp 1.0.0\n')
}, 60_000)
