import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../../program.ts'
import { packFolder } from '#artifacts/authoring/pack.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-artifact-'))
  mkdirSync(join(dir, 'src/bin'), { recursive: true })
  writeFileSync(join(dir, 'src/bin/beacon'), '#!/bin/sh\necho beacon\n', { mode: 0o755 })
  writeFileSync(join(dir, 'src/README'), 'what it is\n')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

async function kubenode(...argv: string[]) {
  let out = ''
  let err = ''
  const code = await run(argv, { out: (t) => (out += t), err: (t) => (err += t), cwd: dir, env: {}, isTerminal: false })
  return { code, out, err }
}

const statement = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponent',
  metadata: { name: 'beacon.1.0.0' },
  spec: {
    component: 'beacon',
    version: '1.0.0',
    type: 'Package',
    artifacts: [{ arch: 'any', url: 'x', sha256: '0'.repeat(64), size: 1 }],
    install: { unpack: { path: '/opt/beacon' } },
    service: { exec: '/opt/beacon/bin/beacon' },
    disruption: 'Restart',
  },
}

test('packing depends on names, contents and what can be run alone', async () => {
  const first = await packFolder(join(dir, 'src'), join(dir, 'a.tar'))
  utimesSync(join(dir, 'src/README'), 1_000, 2_000)
  const second = await packFolder(join(dir, 'src'), join(dir, 'b.tar'))
  expect(second).toEqual(first)
  expect(readFileSync(join(dir, 'b.tar')).equals(readFileSync(join(dir, 'a.tar')))).toBe(true)
  // A checkout with umask 077.
  for (const [path, mode] of Object.entries({
    src: 0o700,
    'src/bin': 0o700,
    'src/README': 0o600,
    'src/bin/beacon': 0o700,
  }))
    chmodSync(join(dir, path), mode)
  expect(await packFolder(join(dir, 'src'), join(dir, 'd.tar'))).toEqual(first)
  chmodSync(join(dir, 'src/README'), 0o755)
  expect((await packFolder(join(dir, 'src'), join(dir, 'c.tar'))).sha256).not.toBe(first.sha256)
})

test('a work tree that git made under another umask packs to the same bytes', async () => {
  const first = await packFolder(join(dir, 'src'), join(dir, 'a.tar'))
  for (const [path, mode] of [
    ['src', 0o700],
    ['src/bin', 0o770],
    ['src/bin/beacon', 0o700],
    ['src/README', 0o600],
  ] as const)
    chmodSync(join(dir, path), mode)
  expect(await packFolder(join(dir, 'src'), join(dir, 'b.tar'))).toEqual(first)
  chmodSync(join(dir, 'src/README'), 0o700)
  expect((await packFolder(join(dir, 'src'), join(dir, 'c.tar'))).sha256).not.toBe(first.sha256)
})

test('what an agent would refuse to unpack is refused here (S9)', async () => {
  symlinkSync('/etc/passwd', join(dir, 'src/link'))
  await expect(packFolder(join(dir, 'src'), join(dir, 'a.tar'))).rejects.toThrow(/^KN1101: cannot pack .*link/)
})

test('pack, sign and verify agree, and a changed byte anywhere is found', async () => {
  const p = (name: string) => join(dir, name)
  writeFileSync(p('s.json'), JSON.stringify(statement))
  await kubenode('artifact', 'keys', 'new', '-f', p('k.pem'))
  expect(
    (
      await kubenode(
        'artifact',
        'keys',
        'trust',
        '-f',
        p('t.json'),
        '--sign-with',
        p('k.pem'),
        '--expires',
        '2999-01-01T00:00:00Z',
      )
    ).code,
  ).toBe(0)
  expect((await kubenode('artifact', 'pack', p('src'), '-f', p('a.tar'), '--statement', p('s.json'))).code).toBe(0)
  expect(await kubenode('artifact', 'verify', p('s.json'), '--trust', p('t.json'))).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^KN1108: .*0 of 1/) as string,
  })
  expect((await kubenode('artifact', 'sign', p('s.json'), '--key', p('k.pem'))).code).toBe(0)
  expect(
    await kubenode('artifact', 'verify', p('s.json'), '--trust', p('t.json'), '--artifact', p('a.tar')),
  ).toMatchObject({
    code: 0,
    out: `${p('s.json')}: beacon 1.0.0 is trusted\n`,
  })
  writeFileSync(p('a.tar'), 'other bytes')
  expect(
    (await kubenode('artifact', 'verify', p('s.json'), '--trust', p('t.json'), '--artifact', p('a.tar'))).err,
  ).toMatch(/^KN1108/)
  writeFileSync(p('s.json'), readFileSync(p('s.json'), 'utf8').replace('/opt/beacon/bin', '/opt/evil/bin'))
  expect((await kubenode('artifact', 'verify', p('s.json'), '--trust', p('t.json'))).err).toMatch(/^KN1108/)
})

test('a statement without an artifact, or with a placeholder for one, gets what was packed', async () => {
  const path = join(dir, 's.json')
  const { artifacts: _, ...bare } = statement.spec
  for (const spec of [bare, { ...bare, artifacts: [{ arch: 'any', url: 'x', sha256: 'to be packed' }] }]) {
    writeFileSync(path, JSON.stringify({ ...statement, spec }))
    expect(
      await kubenode('artifact', 'pack', join(dir, 'src'), '-f', join(dir, 'a.tar'), '--statement', path),
    ).toMatchObject({
      code: 0,
    })
    const written = JSON.parse(readFileSync(path, 'utf8')) as { spec: { artifacts: unknown[] } }
    expect(written.spec.artifacts).toEqual([
      {
        os: 'linux',
        arch: 'any',
        url: 'a.tar',
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        size: expect.any(Number) as number,
      },
    ])
  }
  writeFileSync(path, JSON.stringify({ ...statement, spec: { ...bare, version: 'one' } }))
  const { code, err } = await kubenode(
    'artifact',
    'pack',
    join(dir, 'src'),
    '-f',
    join(dir, 'a.tar'),
    '--statement',
    path,
  )
  expect([code, err]).toEqual([2, expect.stringContaining('KN5007')])
})

test('an existing key is never overwritten', async () => {
  writeFileSync(join(dir, 'k.pem'), 'precious')
  const { code, err } = await kubenode('artifact', 'keys', 'new', '-f', join(dir, 'k.pem'))
  expect([code, readFileSync(join(dir, 'k.pem'), 'utf8')]).toEqual([2, 'precious'])
  expect(err).toMatch(/^KN1002: cannot open .*k\.pem: it exists already/)
})
