// Every program prints the same version.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseVersion } from '#lib/semver.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { versionInfo } from './commands/other/version.ts'
import { VERSION } from '#lib/program-version.ts'

const root = join(import.meta.dirname, '../..')
const out = mkdtempSync(join(tmpdir(), 'kubenode-version-'))
const said = (...args: readonly string[]): string => execFileSync(execPath, [...args], { encoding: 'utf8' }).trim()

beforeAll(() => bundleAgent({ root, out, prefix: '/opt/kubenode' }))
afterAll(() => rmSync(out, { recursive: true, force: true }))

test('the package names one that people can compare', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  expect(VERSION).toBe(manifest.version)
  expect(parseVersion(VERSION)).toBeDefined()
  expect(VERSION).not.toMatch(/^0\.0\./)
})

test('commands, agent and bundled agent are of that version', () => {
  expect([
    versionInfo().kubenode,
    said(join(root, 'src/cli/agent-main.ts'), '--version'),
    said(join(out, 'agent.mjs'), '--version'),
  ]).toEqual([VERSION, VERSION, VERSION])
})
