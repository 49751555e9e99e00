// `kubenode import -o ts`: what it prints compiles against the types that a fleet repository sees, and says so where a field does not exist.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { machineCode } from '#install/machines/machine-code.ts'

const ROOT = resolve(import.meta.dirname, '../..')
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-import-code-'))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  symlinkSync(ROOT, join(modules, 'kubenode'))
  for (const name of ['cdk8s', 'constructs', '@types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  const config = { extends: join(ROOT, 'tsconfig.json'), include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What the type check finds in a fleet repository whose only file is this. */
function findings(code: string): string {
  writeFileSync(join(folder, 'imported.ts'), code)
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['--noEmit', '-p', folder], { cwd: folder, encoding: 'utf8' })
    return ''
  } catch (e) {
    return String((e as { readonly stdout?: string }).stdout)
  }
}

const machine = (name: string, spec: Machine['spec']): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name, labels: { 'kubenode.io/pool': 'base' }, annotations: { 'example.org/a': '1' } },
  spec,
})

test('compiles, with all that an import may write', { timeout: 120_000 }, () => {
  const all = [
    machine('db-1', { channel: 'Observe', provider: { name: 'static', params: { address: '10.0.0.1' } } }),
    machine('db-2', {
      channel: 'Agent',
      zone: 'z-1',
      rack: 'r-1',
      taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
    }),
    machine('bare', {} as Machine['spec']),
  ]
  expect(findings(machineCode(all))).toBe('')
  expect(findings(machineCode([machine('db-1', { channel: 'Agent', chanel: 'Observe' } as Machine['spec'])]))).toMatch(
    /imported\.ts.*chanel/,
  )
})
