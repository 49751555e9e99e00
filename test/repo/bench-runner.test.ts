// The form in which every benchmark speaks is a contract: a table, then one line of JSON, the last of stdout.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

const bench = (...args: readonly string[]) =>
  spawnSync(join(ROOT, 'node_modules/.bin/node'), ['bench/main.ts', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 100_000,
  })

describe('the benchmark runner', () => {
  it('lists the benchmarks, and nothing that cannot be run', () => {
    const { status, stdout } = bench('--list')
    const names = stdout.trim().split('\n')
    expect([status, names.filter((name) => name === 'rules-storm')]).toEqual([0, ['rules-storm']])
    const runs = (name: string) =>
      /^export (async function|const) run\b/m.test(readFileSync(join(ROOT, `bench/${name}.ts`), 'utf8'))
    expect(names.filter((name) => !runs(name))).toEqual([])
    const isSmall = (name: string) =>
      /^export const smoke\b/m.test(readFileSync(join(ROOT, `bench/${name}.ts`), 'utf8'))
    expect(names.filter((name) => !isSmall(name))).toEqual([])
  })

  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown name', ['rules-strom'], /^KN9001: cannot run "rules-strom"; use one of: .*rules-storm/],
    ['no name', [], /^KN9001: /],
    ['a file beside the benchmarks', ['main'], /^KN9001: /],
    ['the errors of the benchmarks', ['bench-errors'], /^KN9001: /],
    ['a path', ['../src/cli/main'], /^KN9001: /],
    ['an argument that is no number', ['rules-storm', 'nodes=many'], /^KN9001: cannot read the argument "nodes=many"/],
  ]
  it.each(refused)('refuses %s', (_name, args, message) => {
    const { status, stdout, stderr } = bench(...args)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })

  it('runs benchmarks in their smallest form, and fails with one that does not end well', () => {
    const good = bench('--smoke', 'rules-storm')
    expect([good.status, good.stdout]).toEqual([
      0,
      expect.stringMatching(/^bench +seconds\nrules-storm +ok +[\d.]+\n$/),
    ])
    const unknown = bench('--smoke', 'rules-strom')
    expect([unknown.status, unknown.stdout]).toEqual([2, ''])
  })

  it('ends with one line of JSON', () => {
    const { status, stdout, stderr } = bench('rules-storm', 'nodes=60', 'naive_sample=20', 'rounds=1')
    expect([status, stderr]).toEqual([0, ''])
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, object>
    expect(Object.keys(last)).toEqual(['bench', 'figures', 'peer', 'ratio', 'versions'])
    expect(Object.keys(last['figures'] ?? {})).toEqual([
      'storm_s',
      'dense_s',
      'nodes',
      'rules',
      'fired',
      'rounds',
      'naive_sampled_nodes',
    ])
    expect(Object.keys(last['ratio'] ?? {})).toEqual(['naive', 'naive_dense'])
    expect(last['versions']).toMatchObject({ node: expect.stringMatching(/^26\./) as string })
  })
})
