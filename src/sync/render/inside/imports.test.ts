import { expect, test } from 'vitest'
import { judgeImport } from './imports.ts'

const FILES = new Set(['fleet/main.ts', 'fleet/a/b.ts', 'rules/r.ts', 'fleet/x.json', 'fleet/dir/index.ts'])
const judge = (specifier: string, from = 'fleet:///fleet/main.ts') => judgeImport(specifier, from, (p) => FILES.has(p))

test.each([
  ['./a/b.ts', 'fleet/a/b.ts'],
  ['../rules/r.ts', 'rules/r.ts'],
  ['./x.json', 'fleet/x.json'],
  ['../../../../rules/r.ts', 'rules/r.ts'],
])('%s is the file %s of the commit', (specifier, path) => {
  expect(judge(specifier)).toEqual({ kind: 'File', path })
})

test.each([
  ['cdk8s', 'cdk8s'],
  ['constructs', 'constructs'],
  ['kubenode/constructs', 'kubenode/constructs'],
  ['kubenode/kinds/machine-set', 'kubenode/kinds/machine-set'],
  ['path', 'node:path'],
  ['node:util', 'node:util'],
])('%s comes from the release as %s', (specifier, resolved) => {
  expect(judge(specifier)).toEqual({ kind: 'Release', specifier: resolved })
})

test.each([
  'fs',
  'node:fs',
  'node:fs/promises',
  'node:child_process',
  'node:http',
  'node:net',
  'node:worker_threads',
  'node:vm',
  'node:module',
  'node:process',
  'node:crypto',
  'node:os',
  'node:events',
  'string_decoder',
  'util/types',
  'cdk8s/lib/app.js',
  'isomorphic-git',
  '#lib/errors.ts',
  '#sync/role.ts',
  '#api/constructs/constructs.ts',
  'kubenode',
  'kubenode/',
  'kubenode/../lib/errors',
  'kubenode/src/lib/errors.ts',
  'kubenode/package.json',
  '/etc/passwd',
  'file:///etc/passwd',
  'data:text/javascript,1',
  'https://example.org/x.js',
  '',
])('%j is refused', (specifier) => {
  expect(judge(specifier).kind).toBe('Refused')
})

test.each([
  ['#api/constructs/constructs.ts', 'import "kubenode/constructs"'],
  ['#api/constructs/agent-config.ts', 'import "kubenode/agent-config"'],
  ['#api/kinds/machine-set.ts', 'import "kubenode/kinds/machine-set"'],
  ['kubenode/rule-case.ts', 'import "kubenode/rule-case"'],
  ['./a/b', 'write the whole name, as in fleet/a/b.ts'],
  ['./dir', 'write the whole name, as in fleet/dir/index.ts'],
  ['./nothing.ts', 'check the path and its ending'],
])('%s is answered with how to write it', (specifier, hint) => {
  expect(judge(specifier)).toMatchObject({ kind: 'Refused', why: expect.stringContaining(hint) as string })
})
